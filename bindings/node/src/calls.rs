//! The native functions. None of them blocks: what cannot be decided at once gets a thread.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use fencehold::{
    Acquire, Cancel, Client, ClientOptions, Crash, Error, Kind, Lock, LockOptions, LostReason, ReleaseId, Renewal,
    Result, Wait,
};
use napi_sys as sys;

use crate::arguments::Call;
use crate::convert;
use crate::js::{Answer, Env, Fail, Type, Value};
use crate::mailbox::{Message, Outcome};
use crate::rows;
use crate::state::{Handle, Opened, in_background};
use crate::steps;

/// A native function and its name in JavaScript.
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) body: fn(&Call<'_>) -> Answer,
}

macro_rules! functions {
    ($($name:literal => $body:expr,)*) => { &[$(Function { name: $name, body: $body },)*] };
}

pub(crate) static FUNCTIONS: &[Function] = functions! {
    "version" => |call| call.env.text(fencehold::VERSION),
    "open" => open,
    "store" => |call| call.env.text(call.state.client(call.id(0)?)?.store()),
    "closeAll" => |call| { call.state.close_all(); call.env.undefined() },
    "forgetClient" => forget_client,
    "advance" => advance,
    "holders" => holders,
    "show" => show,
    "list" => list,
    "forceRelease" => force_release,
    "ping" => |call| on_client(call, |client| client.ping().map(|()| Outcome::Done)),
    "close" => |call| on_client(call, |client| client.close().map(|()| Outcome::Done)),
    "step" => steps::step,
    "forgetStep" => steps::forget_step,
    "stepGuard" => steps::guard,
    "stepAdd" => steps::add,
    "stepCommit" => steps::commit,
    "kvGet" => rows::get,
    "kvGetMany" => rows::get_many,
    "kvGetPrefix" => rows::get_prefix,
    "kvPut" => rows::put,
    "kvPutIfAbsent" => rows::put_if_absent,
    "kvDelete" => rows::delete,
    "kvIncr" => rows::incr,
    "kvCheck" => rows::check,
    "lock" => lock,
    "keepAlive" => keep_alive,
    "idle" => idle,
    "watch" => watch,
    "discard" => discard,
    "acquire" => acquire,
    "stepAside" => step_aside,
    "cancel" => |call| { call.state.cancel(call.id(0)?); call.env.undefined() },
    "release" => release,
    "releaseEpoch" => release_epoch,
    "leave" => leave,
    "lose" => lose,
    "epoch" => |call| call.env.number(handle(call)?.epoch() as f64),
    "held" => |call| call.env.bool(handle(call)?.held()),
    "atRisk" => |call| call.env.bool(handle(call)?.at_risk()),
    "lostReason" => |call| call.env.text_or_null(handle(call)?.lost_reason().map(|reason| reason.id())),
    "refusal" => refusal,
    "lastError" => last_error,
    "token" => |call| call.env.bigint(handle(call)?.token()?.get()),
    "fence" => |call| call.env.bigint(handle(call)?.fence()?.get()),
    "slot" => |call| call.env.number(f64::from(handle(call)?.slot()?)),
    "position" => |call| call.env.number(f64::from(handle(call)?.position())),
    "name" => |call| call.env.text(handle(call)?.name()),
    "owner" => |call| call.env.text(handle(call)?.owner()),
    "ttlMs" => |call| call.env.number(handle(call)?.ttl().as_secs_f64() * 1000.0),
    "remainingMs" => |call| call.env.number(handle(call)?.remaining().as_secs_f64() * 1000.0),
};

fn handle(call: &Call<'_>) -> Answer<Arc<Lock>> {
    Ok(call.state.handle(call.id(0)?)?.lock)
}

/// `work` with a client, on a thread that may block.
pub(crate) fn on_client(call: &Call<'_>, work: impl FnOnce(Client) -> Result<Outcome> + Send + 'static) -> Answer {
    let Opened { client, answered } = call.state.opened(call.id(0)?)?;
    call.state.start(call.env, None, move || work(client).inspect(|_| answered.store(true, Relaxed)))
}

/// open(url, authToken, authTokenFile, user, password, passwordFile, caFile, certFile, keyFile, label, requestTimeout)
fn open(call: &Call<'_>) -> Answer {
    let url = call.text(0, "locks_bad_url", "the URL")?.map(|url| {
        // An empty text is no way to ask for the default: it is what a missing variable looks like.
        if url.is_empty() {
            Err(Error::bad_argument("locks_bad_url", "the URL is empty (locks_bad_url)"))
        } else {
            Ok(url)
        }
    });
    let url = url.transpose()?.unwrap_or_default();
    let mut options = ClientOptions::new();
    type Setter = fn(ClientOptions, &str) -> ClientOptions;
    let texts: [(&str, Setter); 9] = [
        ("authToken", |options, text| options.auth_token(text)),
        ("authTokenFile", |options, text| options.auth_token_file(text)),
        ("user", |options, text| options.user(text)),
        ("password", |options, text| options.password(text)),
        ("passwordFile", |options, text| options.password_file(text)),
        ("caFile", |options, text| options.ca_file(text)),
        ("certFile", |options, text| options.cert_file(text)),
        ("keyFile", |options, text| options.key_file(text)),
        ("label", |options, text| options.label(text)),
    ];
    for (index, (what, set)) in texts.iter().enumerate() {
        let reason = if *what == "label" { "locks_bad_label" } else { "locks_bad_option" };
        if let Some(text) = call.text(index + 1, reason, what)? {
            options = set(options, &text);
        }
    }
    if let Some(timeout) = call.span(10, "requestTimeout")? {
        options = options.request_timeout(timeout);
    }
    let client = Client::open_with(&url, options)?;
    call.env.number(call.state.add_client(client) as f64)
}

/// forgetClient(client): nobody can reach it any more.
fn forget_client(call: &Call<'_>) -> Answer {
    if let Some(client) = call.state.forget_client(call.id(0)?) {
        in_background(move || drop(client))?;
    }
    call.env.undefined()
}

/// advance(client, duration): on a manual clock.
fn advance(call: &Call<'_>) -> Answer {
    let by = call.span(1, "the duration")?.unwrap_or_default();
    call.state.client(call.id(0)?)?.advance(by)?;
    call.env.undefined()
}

fn holders(call: &Call<'_>) -> Answer {
    let name = call.needed(1, "locks_bad_name", "the name")?;
    on_client(call, move |client| client.holders(&name).map(Outcome::Holders))
}

fn show(call: &Call<'_>) -> Answer {
    let name = call.needed(1, "locks_bad_name", "the name")?;
    on_client(call, move |client| client.show(&name).map(Outcome::Lock))
}

/// list(client, prefix, limit, after)
fn list(call: &Call<'_>) -> Answer {
    let prefix = call.text(1, "locks_bad_name", "the prefix")?.unwrap_or_default();
    let limit = call.count(2, "locks_bad_limit", "limit")?.unwrap_or(1000);
    let after = call.text(3, "locks_bad_name", "after")?.unwrap_or_default();
    on_client(call, move |client| client.list(&prefix, limit, &after).map(Outcome::Locks))
}

/// forceRelease(client, name, slot, token, owner)
fn force_release(call: &Call<'_>) -> Answer {
    let name = call.needed(1, "locks_bad_name", "the name")?;
    let slot = call.count(2, "locks_bad_slot", "slot")?.unwrap_or(0);
    let owner = call.text(4, "locks_bad_owner", "owner")?;
    let token = match call.env.type_of(call.arguments[3])? {
        Type::Undefined => None,
        Type::BigInt => call.env.get_bigint(call.arguments[3])?.and_then(fencehold::Token::new),
        _ => None,
    };
    let id = match (token, owner) {
        (Some(token), None) => ReleaseId::Token(token.get()),
        (None, Some(owner)) if call.env.type_of(call.arguments[3])? == Type::Undefined => ReleaseId::Owner(owner),
        _ => {
            let detail = "pass { token } as a bigint from 1 to 2^63-1, or { owner }, and not both (locks_bad_token)";
            return Err(Error::bad_argument("locks_bad_token", detail).into());
        }
    };
    on_client(call, move |client| client.force_release(&name, slot, &id).map(Outcome::Bool))
}

/// lock(client, name, permits, ttl, wait, owner, resume, label, fair, reentrant, background, crash)
fn lock(call: &Call<'_>) -> Answer {
    let Opened { client, answered } = call.state.opened(call.id(0)?)?;
    let name = call.needed(1, "locks_bad_name", "the name")?;
    let (lock, wait) = make(call, &client, &name).map_err(|fail| match fail {
        Fail::Ours(error, _) => Fail::Ours(error, Some(name)),
        Fail::Node => Fail::Node,
    })?;
    call.env.number(call.state.add_handle(Handle { answered, lock: Arc::new(lock), wait }) as f64)
}

fn make(call: &Call<'_>, client: &Client, name: &str) -> Answer<(Lock, Wait)> {
    let wait = call.wait(4)?;
    let mut options = LockOptions::from_ttl(call.ttl(3)?).wait(wait);
    if let Some(owner) = call.text(5, "locks_bad_owner", "owner")? {
        options = options.owner(&owner);
    }
    if let Some(resume) = call.flag(6, "resume")? {
        options = options.resume(resume);
    }
    if let Some(label) = call.text(7, "locks_bad_label", "label")? {
        options = options.label(&label);
    }
    if let Some(fair) = call.flag(8, "fair")? {
        options = options.set_fair(fair);
    }
    if let Some(reentrant) = call.flag(9, "reentrant")? {
        options = options.reentrant(reentrant);
    }
    // A checkpoint handle may renew inside keepAlive in other languages; here that would block the event loop.
    if call.flag(10, "background")? == Some(false) {
        options = options.renewal(Renewal::CheckpointStarted);
    }
    match call.text(11, "locks_bad_option", "crash")?.as_deref() {
        None => {}
        Some("takeover") => options = options.crash(Crash::Takeover),
        Some("expire") => options = options.crash(Crash::Expire),
        Some(other) => {
            let detail = format!("crash {other:?} is not understood (locks_bad_option). Write 'takeover' or 'expire'");
            return Err(Error::bad_argument("locks_bad_option", detail).into());
        }
    }
    let lock = match call.env.type_of(call.arguments[2])? {
        Type::Undefined => client.lock(name, options)?,
        _ => {
            let permits = call.count(2, "locks_bad_permits", "the number of permits")?.unwrap_or(0);
            client.semaphore(name, permits, options)?
        }
    };
    Ok((lock, wait))
}

/// keepAlive(lock): a function that carries its handle and asks nothing but the clock.
///
/// A method of a class would have to find the handle behind `this` first, which costs several times as much.
fn keep_alive(call: &Call<'_>) -> Answer {
    let data = Arc::into_raw(handle(call)?).cast_mut().cast::<c_void>();
    // SAFETY: the pointer is a counted reference, which the function's finalizer gives up.
    let function = unsafe { call.env.function("keepAlive", Some(call_keep_alive), data) };
    let function = function.inspect_err(|_| drop_handle(data))?;
    // SAFETY: a function is an object; the finalizer runs once, after the function can no longer be called.
    let status = unsafe {
        sys::napi_add_finalizer(call.env.raw(), function.0, data, Some(finalize), ptr::null_mut(), ptr::null_mut())
    };
    if status == sys::Status::napi_ok { Ok(function) } else { Err(Fail::Node) }
}

unsafe extern "C" fn call_keep_alive(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let mut data = ptr::null_mut();
    // SAFETY: Node's own environment and info; only the data is asked for.
    unsafe { sys::napi_get_cb_info(env, info, ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), &mut data) };
    // SAFETY: `keep_alive` above made the function with a counted reference to a handle.
    let lock = unsafe { &*data.cast::<Lock>() };
    let alive = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| lock.keep_alive())).unwrap_or(false);
    let mut value = ptr::null_mut();
    // SAFETY: Node's own environment and a place for the value.
    unsafe { sys::napi_get_boolean(env, alive, &mut value) };
    value
}

unsafe extern "C" fn call_nothing(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let mut data = ptr::null_mut();
    let mut value = ptr::null_mut();
    // SAFETY: as in `call_keep_alive`, of which this is all but the core's part.
    unsafe {
        sys::napi_get_cb_info(env, info, ptr::null_mut(), ptr::null_mut(), ptr::null_mut(), &mut data);
        sys::napi_get_boolean(env, data.is_null(), &mut value);
    }
    value
}

/// idle(): a function that does nothing, for bench/bench.mjs to compare with.
fn idle(call: &Call<'_>) -> Answer {
    // SAFETY: `call_nothing` looks behind no pointer.
    unsafe { call.env.function("idle", Some(call_nothing), ptr::null_mut()) }
}

unsafe extern "C" fn finalize(_env: sys::napi_env, data: *mut c_void, _hint: *mut c_void) {
    drop_handle(data);
}

/// Gives up the reference of a keepAlive function.
fn drop_handle(data: *mut c_void) {
    // SAFETY: `keep_alive` above took it out of an `Arc`, and this is called once for each.
    let lock = unsafe { Arc::from_raw(data.cast::<Lock>()) };
    if Arc::strong_count(&lock) == 1 && lock.held() {
        // The last reference gives the hold back, which may take a while: not on the event loop.
        let _ = in_background(move || drop(lock));
    }
}

/// watch(lock): the event loop hears of every loss from now on, and of one that was.
fn watch(call: &Call<'_>) -> Answer {
    let id = call.id(0)?;
    let mailbox = Arc::clone(&call.state.mailbox);
    handle(call)?.add_lost_handler(move |reason| mailbox.post(Message::Lost(id, reason)));
    call.env.undefined()
}

/// discard(lock): nobody can reach it any more. True if it still held.
fn discard(call: &Call<'_>) -> Answer {
    let Some(handle) = call.state.forget_handle(call.id(0)?) else { return call.env.bool(false) };
    let held = handle.lock.held();
    // Dropping gives back what is held, in the time that the core allows for it.
    in_background(move || {
        let _ = handle.lock.release();
    })?;
    call.env.bool(held)
}

/// Whether a failure to ask is ridden out by waiting rather than raised.
fn may_pass(error: &Error) -> bool {
    matches!(error.kind(), Kind::Unreachable | Kind::InDoubt | Kind::RateLimited)
}

/// acquire(lock, wait, raise): true, a refusal, or the number of a call.
fn acquire(call: &Call<'_>) -> Answer {
    let Handle { answered, lock, wait: own } = call.state.handle(call.id(0)?)?;
    let given = call.wait(1)?;
    let raise = call.flag(2, "raise")?.unwrap_or(false);
    let one_try = matches!(if given == Wait::Default { own } else { given }, Wait::Default | Wait::No);
    match if answered.load(Relaxed) { lock.acquire_at_once() } else { Ok(None) } {
        Ok(Some(Acquire::Granted)) => return call.env.bool(true),
        Ok(Some(Acquire::Refused(why))) if one_try && !raise => return convert::refusal(call.env, &why),
        Ok(_) => {}
        Err(error) if !one_try && may_pass(&error) => {}
        Err(error) => return Err(error.into()),
    }
    let cancel = Cancel::new();
    let theirs = cancel.clone();
    call.state.start(call.env, Some(cancel), move || {
        let outcome = if raise {
            Outcome::Granted(lock.acquire_or_raise(given, Some(&theirs))?)
        } else {
            outcome(&lock, lock.acquire_cancellable(given, &theirs)?)
        };
        answered.store(true, Relaxed);
        Ok(outcome)
    })
}

fn outcome(lock: &Lock, answer: Acquire) -> Outcome {
    match answer {
        Acquire::Granted => Outcome::Granted(lock.epoch()),
        Acquire::Refused(why) => Outcome::Refused(why),
    }
}

/// stepAside(lock, wait): the number of a call.
fn step_aside(call: &Call<'_>) -> Answer {
    let lock = handle(call)?;
    let wait = call.wait(1)?;
    let cancel = Cancel::new();
    let theirs = cancel.clone();
    call.state
        .start(call.env, Some(cancel), move || Ok(outcome(&lock, lock.step_aside_cancellable(wait, Some(&theirs))?)))
}

/// release(lock): true, false, or the number of a call.
fn release(call: &Call<'_>) -> Answer {
    let lock = handle(call)?;
    match lock.release_at_once()? {
        Some(released) => call.env.bool(released),
        None => call.state.start(call.env, None, move || lock.release().map(Outcome::Bool)),
    }
}

/// releaseEpoch(lock, epoch): the number of a call.
fn release_epoch(call: &Call<'_>) -> Answer {
    let (lock, epoch) = (handle(call)?, call.id(1)?);
    call.state.start(call.env, None, move || lock.release_epoch(epoch).map(Outcome::Bool))
}

/// leave(lock, epoch): ends the scope that took this hold. undefined, or the number of a call.
fn leave(call: &Call<'_>) -> Answer {
    let (lock, epoch) = (handle(call)?, call.id(1)?);
    if lock.epoch() == epoch && lock.held() && lock.release_at_once()? == Some(true) {
        return call.env.undefined();
    }
    call.state.start(call.env, None, move || lock.leave(epoch).map(|()| Outcome::Done))
}

/// lose(lock, reason): on a memory store only.
fn lose(call: &Call<'_>) -> Answer {
    let word = call.needed(1, "locks_bad_option", "the reason")?;
    let Some(reason) = LostReason::from_id(&word) else {
        let detail = format!(
            "{word:?} is no reason to lose a lock (locks_bad_option). Write 'renew', 'guard', 'expired' or 'forked'"
        );
        return Err(Error::bad_argument("locks_bad_option", detail).into());
    };
    handle(call)?.lose(reason)?;
    call.env.undefined()
}

fn refusal(call: &Call<'_>) -> Answer {
    match handle(call)?.refusal() {
        Some(why) => convert::refusal(call.env, &why),
        None => call.env.null(),
    }
}

fn last_error(call: &Call<'_>) -> Answer {
    match handle(call)?.last_error() {
        Some(error) => convert::error(call.env, &error, None),
        None => call.env.null(),
    }
}

/// The value that a native function returns for `answer`, after throwing what has to be thrown.
pub(crate) fn give(env: Env, call: Option<&Call<'_>>, answer: Answer) -> sys::napi_value {
    match answer {
        Ok(Value(value)) => value,
        Err(Fail::Node) => {
            // Does nothing where an exception is pending, which says more.
            env.throw_text(c"fencehold: Node refused a native call");
            ptr::null_mut()
        }
        Err(Fail::Ours(error, lock)) => {
            let thrown = || -> Answer<()> {
                let call = call.ok_or(Fail::Node)?;
                let description = convert::error(env, &error, lock.as_deref())?;
                let error = env.call(env.referenced(call.state.make_error)?, &[description])?;
                env.throw(error);
                Ok(())
            };
            if thrown().is_err() {
                env.throw_text(c"fencehold: the error could not be made");
            }
            ptr::null_mut()
        }
    }
}
