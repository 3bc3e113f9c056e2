//! The Node add-on of fencehold: native functions for `lib/*.js`, which makes the classes that users see.
//!
//! It speaks Node-API directly. What a binding layer would add is a search for the object behind
//! `this` in every call, which alone costs several times what `keepAlive` may cost.

mod arguments;
mod calls;
mod convert;
mod js;
mod mailbox;
mod rows;
mod state;
mod steps;
mod threads;

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use fencehold::Error;
use napi_sys as sys;

use crate::arguments::{Call, MOST};
use crate::calls::{FUNCTIONS, Function, give};
use crate::js::{Answer, Env, Fail, Value};
use crate::mailbox::Mailbox;
use crate::state::State;

/// The arguments of the running callback, `undefined` where there are fewer, and its data.
fn arguments(env: Env, info: sys::napi_callback_info) -> Answer<([Value; MOST], *mut c_void)> {
    let mut raw = [ptr::null_mut(); MOST];
    let (mut count, mut data) = (MOST, ptr::null_mut());
    // SAFETY: Node's own environment and info; `count` says how many places there are.
    let status =
        unsafe { sys::napi_get_cb_info(env.raw(), info, &mut count, raw.as_mut_ptr(), ptr::null_mut(), &mut data) };
    if status == sys::Status::napi_ok { Ok((raw.map(Value), data)) } else { Err(Fail::Node) }
}

/// The one door for every native function but `keepAlive`: a panic becomes an error.
unsafe extern "C" fn enter(raw: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    // SAFETY: Node calls us on the thread of this environment.
    let env = unsafe { Env::new(raw) };
    let prepared = arguments(env, info).and_then(|(arguments, data)| Ok((arguments, data, state::state(env)?)));
    let (arguments, data, state) = match prepared {
        Ok(prepared) => prepared,
        Err(fail) => return give(env, None, Err(fail)),
    };
    // SAFETY: `napi_register_module_v1` made the function with an entry of the static table.
    let function = unsafe { &*data.cast::<Function>() };
    let call = Call { env, state, arguments };
    let answer = catch_unwind(AssertUnwindSafe(|| (function.body)(&call)))
        .unwrap_or_else(|_| Err(Error::internal("the call panicked; this is a fault of fencehold").into()));
    give(env, Some(&call), answer)
}

/// init(dispatch, makeError): once for each JavaScript thread, before any other function.
unsafe extern "C" fn init(raw: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    // SAFETY: as in `enter`.
    let env = unsafe { Env::new(raw) };
    let begun = || -> Answer {
        let ([dispatch, make_error, ..], _) = arguments(env, info)?;
        let mailbox = Mailbox::new(env, dispatch, Some(state::deliver))?;
        let state = Box::into_raw(Box::new(State::new(mailbox, env.reference(make_error)?))).cast::<c_void>();
        // SAFETY: `free_state` unboxes it once, after the last callback. The hook was added later than Node's own
        // for the thread-safe function, and hooks run from last to first: the mailbox is closed in time.
        let status = unsafe {
            let set = sys::napi_set_instance_data(raw, state, Some(free_state), ptr::null_mut());
            let hooked = sys::napi_add_env_cleanup_hook(raw, Some(end), state);
            set.max(hooked)
        };
        if status == sys::Status::napi_ok { env.undefined() } else { Err(Fail::Node) }
    };
    give(env, None, begun())
}

/// The JavaScript thread ends, perhaps without having run its last line (`worker.terminate()`).
unsafe extern "C" fn end(state: *mut c_void) {
    // SAFETY: `init` added the hook with its state, which is freed after all hooks.
    let state = unsafe { &*state.cast::<State>() };
    state.mailbox.close();
    state.close_all();
}

unsafe extern "C" fn free_state(_env: sys::napi_env, state: *mut c_void, _hint: *mut c_void) {
    // SAFETY: boxed by `init`; Node calls this once.
    drop(unsafe { Box::from_raw(state.cast::<State>()) });
}

/// Called by Node in every JavaScript thread that loads the add-on.
///
/// # Safety
/// Called by Node only, with its own environment and the module's exports.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn napi_register_module_v1(raw: sys::napi_env, exports: sys::napi_value) -> sys::napi_value {
    // SAFETY: as the caller promises.
    let env = unsafe { Env::new(raw) };
    let filled = || -> Answer {
        let mut members = Vec::new();
        for function in FUNCTIONS {
            let data = ptr::from_ref(function).cast_mut().cast();
            // SAFETY: `enter` reads the table's entry, which is never written.
            members.push((function.name, unsafe { env.function(function.name, Some(enter), data)? }));
        }
        // SAFETY: `init` looks at no data.
        members.push(("init", unsafe { env.function("init", Some(init), ptr::null_mut())? }));
        env.object(&members)
    };
    match filled() {
        Ok(Value(module)) => module,
        Err(fail) => {
            give(env, None, Err(fail));
            exports
        }
    }
}

/// The Node-API version that the add-on needs; Node 20 has it.
#[unsafe(no_mangle)]
pub extern "C" fn node_api_module_get_api_version_v1() -> i32 {
    8
}
