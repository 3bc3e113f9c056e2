//! Clients: the connection to a store.

use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use fencehold::{Client, ClientOptions, Error, LockName, ReleaseId, Result};

use crate::boundary::{NOT_HELD, OK, Poison, guard, null, place, value};
use crate::error::fh_error;
use crate::fh_status;
use crate::info::fh_info;
use crate::text::{fh_str, out, text};

/// A store, opened. Needed for as long as locks are made from it; they go on without it.
pub struct fh_client {
    pub(crate) shared: Arc<Shared>,
}

/// A client together with the locks and steps that were made from it.
pub(crate) struct Shared {
    pub(crate) client: Client,
    store: CString,
    pub(crate) poison: Poison,
}

/// What a client may be told; all of it optional.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct fh_client_options {
    /// Set by FH_CLIENT_OPTIONS_INIT; fields are only appended.
    pub struct_size: usize,
    /// How long one request may take, at most a fourth of the lifetime; 0: 5 s.
    pub request_timeout_ms: u64,
    /// A bearer token.
    pub auth_token: fh_str,
    /// A file with a bearer token, read again when it changes.
    pub auth_token_file: fh_str,
    /// The user to log in as.
    pub user: fh_str,
    /// The user's password.
    pub password: fh_str,
    /// A file with the password.
    pub password_file: fh_str,
    /// A file with the certificates of authorities to trust.
    pub ca_file: fh_str,
    /// A file with this client's certificate.
    pub cert_file: fh_str,
    /// A file with this client's key.
    pub key_file: fh_str,
    /// What holders call themselves, for people; the program's name if not given.
    pub label: fh_str,
}

/// Reads a struct that says its size: what the caller's version does not have keeps its default; what only a newer version
/// has must be zero.
///
/// # Safety
/// `T` begins with its `struct_size`; `given` is NULL or has as many bytes as its own says.
pub(crate) unsafe fn options<T: Copy>(given: *const T, default: T) -> Result<T> {
    if given.is_null() {
        return Ok(default);
    }
    // SAFETY: as the caller vouches; the size is the first field.
    let size = unsafe { given.cast::<usize>().read() };
    if size < size_of::<usize>() || size > 4096 {
        let detail = format!("the options were not begun with their _INIT macro: struct_size is {size}");
        return Err(Error::bad_argument("bad_options", detail));
    }
    let known = size.min(size_of::<T>());
    // SAFETY: as the caller vouches.
    let rest = unsafe { std::slice::from_raw_parts(given.cast::<u8>().add(known), size - known) };
    if rest.iter().any(|byte| *byte != 0) {
        let detail = "the options have a field that this library is too old for; see fh_require_version()";
        return Err(Error::bad_argument("bad_options", detail));
    }
    let mut read = default;
    // SAFETY: both have `known` bytes.
    unsafe { ptr::copy_nonoverlapping(given.cast::<u8>(), ptr::from_mut(&mut read).cast::<u8>(), known) };
    Ok(read)
}

impl fh_client_options {
    const DEFAULT: Self = Self {
        struct_size: size_of::<Self>(),
        request_timeout_ms: 0,
        auth_token: fh_str::NONE,
        auth_token_file: fh_str::NONE,
        user: fh_str::NONE,
        password: fh_str::NONE,
        password_file: fh_str::NONE,
        ca_file: fh_str::NONE,
        cert_file: fh_str::NONE,
        key_file: fh_str::NONE,
        label: fh_str::NONE,
    };

    /// # Safety
    /// The texts are NULL or as long as they say.
    unsafe fn to_core(self) -> Result<ClientOptions> {
        let mut options = ClientOptions::new();
        if self.request_timeout_ms != 0 {
            options = options.request_timeout(Duration::from_millis(self.request_timeout_ms));
        }
        // SAFETY: as the caller vouches.
        let given = |text: fh_str, what| unsafe { text.given("bad_options", what) };
        if let Some(token) = given(self.auth_token, "auth_token")? {
            options = options.auth_token(token);
        }
        if let Some(file) = given(self.auth_token_file, "auth_token_file")? {
            options = options.auth_token_file(file);
        }
        if let Some(user) = given(self.user, "user")? {
            options = options.user(user);
        }
        if let Some(password) = given(self.password, "password")? {
            options = options.password(password);
        }
        if let Some(file) = given(self.password_file, "password_file")? {
            options = options.password_file(file);
        }
        if let Some(file) = given(self.ca_file, "ca_file")? {
            options = options.ca_file(file);
        }
        if let Some(file) = given(self.cert_file, "cert_file")? {
            options = options.cert_file(file);
        }
        if let Some(file) = given(self.key_file, "key_file")? {
            options = options.key_file(file);
        }
        // SAFETY: as the caller vouches.
        if let Some(label) = unsafe { self.label.given("locks_bad_label", "a label") }? {
            options = options.label(label);
        }
        Ok(options)
    }
}

/// The name of a lock, checked as the core checks it.
///
/// # Safety
/// `ptr` is NULL or points to `len` bytes.
pub(crate) unsafe fn lock_name(ptr: *const c_char, len: usize) -> Result<LockName> {
    // SAFETY: as the caller vouches.
    LockName::from_bytes(unsafe { crate::text::bytes(ptr, len, "locks_bad_name", "a name") }?)
}

/// Opens a client: reads the URL and the options, and does no I/O.
///
/// @param url      "memory:", "file:/var/lib/fencehold" and so on. NULL or length 0: FENCEHOLD_URL, else the one line of
///                 /etc/fencehold/url, else FH_ERR_INVALID with the reason locks_no_store.
/// @param options  NULL, or begun with FH_CLIENT_OPTIONS_INIT; copied.
/// @param client   Not NULL. Gets the client; free it with fh_client_free().
/// @return FH_OK. FH_ERR_INVALID: locks_bad_url, locks_no_store, locks_bad_label. FH_ERR_UNSUPPORTED: no such store here.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_client_open(
    url: *const c_char,
    url_len: usize,
    options: *const fh_client_options,
    client: *mut *mut fh_client,
    error: *mut *mut fh_error,
) -> fh_status {
    let body = || {
        let place = place(client, "client")?;
        // SAFETY: the header asks for a pointer and its length.
        let url = unsafe { text(url, url_len, "locks_bad_url", "a URL") }?;
        // SAFETY: the header asks for NULL or options that say their size, with texts as long as they say.
        let options = unsafe { self::options(options, fh_client_options::DEFAULT)?.to_core() }?;
        let client = Client::open_with(url, options)?;
        let shared = Shared { store: out(client.store()), client, poison: Poison::default() };
        // SAFETY: not NULL; the header asks for a writable place.
        unsafe { place.write(Box::into_raw(Box::new(fh_client { shared: Arc::new(shared) }))) };
        Ok(OK)
    };
    // SAFETY: the header asks for NULL or a writable place.
    unsafe { guard(error, None, body) }
}

/// A call through a client.
///
/// # Safety
/// `client` is NULL or live, `error` is NULL or writable.
unsafe fn with(
    client: *const fh_client,
    error: *mut *mut fh_error,
    body: impl FnOnce(&Shared) -> Result<fh_status>,
) -> fh_status {
    // A share of its own: a loss handler that runs inside the call may free the client.
    // SAFETY: as the caller vouches.
    let shared = unsafe { client.as_ref() }.map(|client| client.shared.clone());
    let poison = shared.as_deref().map(|shared| &shared.poison);
    // SAFETY: as the caller vouches.
    let status = unsafe { guard(error, poison, || body(shared.as_deref().ok_or_else(|| null("client"))?)) };
    value((), || drop(shared));
    status
}

/// Cancels the waits of the client's locks, gives back all their holds (3 s in all) and ends the client: later calls through
/// it and its locks answer FH_ERR_INVALID with the reason client_closed.
///
/// @return FH_OK, also when it was closed before. FH_ERR_IN_DOUBT: the message names the locks that could not be given back.
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_client_close(client: *const fh_client, error: *mut *mut fh_error) -> fh_status {
    // SAFETY: the header asks for a live client and NULL or a writable place.
    unsafe { with(client, error, |shared| shared.client.close().map(|()| OK)) }
}

/// Frees a client; NULL does nothing. Locks made from it go on; close it first to give them back.
///
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_client_free(client: *mut fh_client) {
    if !client.is_null() {
        // SAFETY: it was made by `Box::into_raw` and, as the header asks, is not used any more.
        value((), || drop(unsafe { Box::from_raw(client) }));
    }
}

/// Asks the store whether it is there.
///
/// @return FH_OK. FH_ERR_UNREACHABLE, FH_ERR_UNAUTHORIZED, FH_ERR_STORE and so on: why not.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_client_ping(client: *const fh_client, error: *mut *mut fh_error) -> fh_status {
    // SAFETY: the header asks for a live client and NULL or a writable place.
    unsafe { with(client, error, |shared| shared.client.ping().map(|()| OK)) }
}

/// The store's URL without credentials. Never NULL.
///
/// @return Borrowed until the client is freed.
/// @since ABI 0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_client_store(client: *const fh_client) -> *const c_char {
    // SAFETY: the header asks for NULL or a live client.
    unsafe { client.as_ref() }.map_or(c"".as_ptr(), |client| client.shared.store.as_ptr())
}

/// Asks who holds a lock and who waits for it.
///
/// @param name  1 to 256 bytes of UTF-8 without control characters or '#'.
/// @param info  Not NULL. Gets an answer of one lock; free it with fh_info_free().
/// @return FH_OK, also when nobody holds it. FH_ERR_INVALID: locks_bad_name. FH_ERR_UNREACHABLE and so on.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_client_holders(
    client: *const fh_client,
    name: *const c_char,
    name_len: usize,
    info: *mut *mut fh_info,
    error: *mut *mut fh_error,
) -> fh_status {
    let body = |shared: &Shared| {
        let place = place(info, "info")?;
        // SAFETY: the header asks for a pointer and its length.
        let name = unsafe { lock_name(name, name_len) }?;
        fh_info::one(&shared.client.show(name.as_str())?).put(place)
    };
    // SAFETY: the header asks for a live client and NULL or a writable place.
    unsafe { with(client, error, body) }
}

/// Lists locks that are held or waited for, by name, byte for byte.
///
/// @param prefix  Only names that start with it; length 0: all.
/// @param after   Only names that come after it, to go on from the last one of the answer before; length 0: from the first.
/// @param limit   At most so many; 0: 1000.
/// @param info    Not NULL. Gets the answer; free it with fh_info_free().
/// @return FH_OK. FH_ERR_INVALID. FH_ERR_UNREACHABLE and so on.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_client_list(
    client: *const fh_client,
    prefix: *const c_char,
    prefix_len: usize,
    after: *const c_char,
    after_len: usize,
    limit: u32,
    info: *mut *mut fh_info,
    error: *mut *mut fh_error,
) -> fh_status {
    let body = |shared: &Shared| {
        let place = place(info, "info")?;
        // SAFETY: the header asks for pointers and their lengths.
        let (prefix, after) = unsafe {
            (
                text(prefix, prefix_len, "locks_bad_name", "a prefix")?,
                text(after, after_len, "locks_bad_name", "a name")?,
            )
        };
        let limit = if limit == 0 { 1000 } else { limit };
        let locks = shared.client.list(prefix, limit, after)?;
        fh_info::list(shared.client.store(), &locks).put(place)
    };
    // SAFETY: the header asks for a live client and NULL or a writable place.
    unsafe { with(client, error, body) }
}

/// Ends somebody's hold by hand. Its holder finds out at its next renewal.
///
/// @param slot   Which permit; 0 for a lock.
/// @param token  The token that the hold has now; 0: go by owner.
/// @param owner  Used if token is 0: the holder's owner.
/// @return FH_OK: ended. FH_NOT_HELD: it was not theirs any more and nothing changed. FH_ERR_INVALID: neither token nor owner,
///         or both. FH_ERR_UNREACHABLE and so on.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_client_force_release(
    client: *const fh_client,
    name: *const c_char,
    name_len: usize,
    slot: u32,
    token: u64,
    owner: *const c_char,
    owner_len: usize,
    error: *mut *mut fh_error,
) -> fh_status {
    let body = |shared: &Shared| {
        // SAFETY: the header asks for pointers and their lengths.
        let (name, owner) =
            unsafe { (lock_name(name, name_len)?, text(owner, owner_len, "locks_bad_owner", "an owner")?) };
        let id = match (token, owner) {
            (0, "") => {
                return Err(Error::bad_argument("locks_token_required", "pass the holder's token or its owner"));
            }
            (0, owner) => ReleaseId::Owner(owner.into()),
            (token, "") => ReleaseId::Token(token),
            _ => return Err(Error::bad_argument("locks_token_required", "pass a token or an owner, not both")),
        };
        Ok(if shared.client.force_release(name.as_str(), slot, &id)? { OK } else { NOT_HELD })
    };
    // SAFETY: the header asks for a live client and NULL or a writable place.
    unsafe { with(client, error, body) }
}

/// Moves the clock of a store "memory:?clock=manual" forward, to rehearse expiry.
///
/// @return FH_OK. FH_ERR_UNSUPPORTED: the store has no manual clock.
/// @since ABI 0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fh_client_advance(client: *const fh_client, ms: u64, error: *mut *mut fh_error) -> fh_status {
    // SAFETY: the header asks for a live client and NULL or a writable place.
    unsafe { with(client, error, |shared| shared.client.advance(Duration::from_millis(ms)).map(|()| OK)) }
}
