//! What one JavaScript thread has open, and the calls that it waits for.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fencehold::{Cancel, Client, Error, Lock, Result, StepParts, Wait};
use napi_sys as sys;

use crate::convert;
use crate::js::{Answer, Env, Fail, Value};
use crate::mailbox::{Mailbox, Message, Outcome};
use crate::threads;

/// A client that JavaScript knows by its number.
#[derive(Clone)]
pub(crate) struct Opened {
    pub(crate) client: Client,
    /// Whether its store has answered: from then on an uncontended call is decided in microseconds. The first one
    /// may have to make a folder and wait for a disk.
    pub(crate) answered: Arc<AtomicBool>,
}

/// A handle that JavaScript knows by its number.
#[derive(Clone)]
pub(crate) struct Handle {
    /// As of its client.
    pub(crate) answered: Arc<AtomicBool>,
    pub(crate) lock: Arc<Lock>,
    /// The wait that the handle was made with.
    pub(crate) wait: Wait,
}

/// Everything that belongs to one JavaScript thread; touched by that thread only.
///
/// JavaScript names clients, handles and calls by numbers that are never used twice, so a number
/// that it makes up or keeps too long finds nothing instead of something else.
pub(crate) struct State {
    pub(crate) mailbox: Arc<Mailbox>,
    /// Makes an `Error` object of a description.
    pub(crate) make_error: sys::napi_ref,
    clients: RefCell<HashMap<u64, Opened>>,
    handles: RefCell<HashMap<u64, Handle>>,
    cancels: RefCell<HashMap<u64, Cancel>>,
    steps: RefCell<HashMap<u64, StepParts>>,
    last: Cell<u64>,
    pending: Cell<usize>,
}

impl State {
    pub(crate) fn new(mailbox: Mailbox, make_error: sys::napi_ref) -> Self {
        Self {
            mailbox: Arc::new(mailbox),
            make_error,
            clients: RefCell::default(),
            handles: RefCell::default(),
            cancels: RefCell::default(),
            steps: RefCell::default(),
            last: Cell::new(0),
            pending: Cell::new(0),
        }
    }

    fn next(&self) -> u64 {
        self.last.set(self.last.get() + 1);
        self.last.get()
    }

    pub(crate) fn add_client(&self, client: Client) -> u64 {
        let id = self.next();
        // Nothing is behind this one that could take its time.
        let answered = Arc::new(AtomicBool::new(client.store().starts_with("memory:")));
        self.clients.borrow_mut().insert(id, Opened { client, answered });
        id
    }

    pub(crate) fn opened(&self, id: u64) -> Answer<Opened> {
        self.clients.borrow().get(&id).cloned().ok_or_else(|| convert::gone("client"))
    }

    pub(crate) fn client(&self, id: u64) -> Answer<Client> {
        Ok(self.opened(id)?.client)
    }

    pub(crate) fn forget_client(&self, id: u64) -> Option<Client> {
        Some(self.clients.borrow_mut().remove(&id)?.client)
    }

    pub(crate) fn add_handle(&self, handle: Handle) -> u64 {
        let id = self.next();
        self.handles.borrow_mut().insert(id, handle);
        id
    }

    pub(crate) fn handle(&self, id: u64) -> Answer<Handle> {
        self.handles.borrow().get(&id).cloned().ok_or_else(|| convert::gone("lock"))
    }

    pub(crate) fn forget_handle(&self, id: u64) -> Option<Handle> {
        self.handles.borrow_mut().remove(&id)
    }

    pub(crate) fn add_step(&self, parts: StepParts) -> u64 {
        let id = self.next();
        self.steps.borrow_mut().insert(id, parts);
        id
    }

    /// What `change` answers of the step; `None` when it is not there any more.
    pub(crate) fn with_step<T>(&self, id: u64, change: impl FnOnce(&mut StepParts) -> T) -> Option<T> {
        self.steps.borrow_mut().get_mut(&id).map(change)
    }

    pub(crate) fn take_step(&self, id: u64) -> Option<StepParts> {
        self.steps.borrow_mut().remove(&id)
    }

    /// Does `work` on a thread of ours and answers the number of the call; the event loop hears
    /// of its end. Until then the process is kept alive.
    pub(crate) fn start(
        &self,
        env: Env,
        cancel: Option<Cancel>,
        work: impl FnOnce() -> Result<Outcome> + Send + 'static,
    ) -> Answer {
        let id = self.next();
        let mailbox = Arc::clone(&self.mailbox);
        in_background(move || {
            let outcome = catch_unwind(AssertUnwindSafe(work))
                .unwrap_or_else(|_| Err(Error::internal("the call panicked; this is a fault of fencehold")));
            mailbox.post(Message::Settled(id, outcome));
        })?;
        if let Some(cancel) = cancel {
            self.cancels.borrow_mut().insert(id, cancel);
        }
        self.pending.set(self.pending.get() + 1);
        if self.pending.get() == 1 {
            self.mailbox.keep_process(env, true);
        }
        env.number(id as f64)
    }

    /// The call is done.
    pub(crate) fn settled(&self, env: Env, id: u64) {
        self.cancels.borrow_mut().remove(&id);
        self.pending.set(self.pending.get().saturating_sub(1));
        if self.pending.get() == 0 {
            self.mailbox.keep_process(env, false);
        }
    }

    pub(crate) fn cancel(&self, id: u64) {
        if let Some(cancel) = self.cancels.borrow().get(&id) {
            cancel.trigger();
        }
    }

    /// Closes every client: waits end and holds are given back, in three seconds at most.
    pub(crate) fn close_all(&self) {
        let clients: Vec<Client> = self.clients.borrow().values().map(|opened| opened.client.clone()).collect();
        std::thread::scope(|scope| {
            for client in &clients {
                // Nobody is left to tell; what could not be given back ends by itself.
                let close = move || drop(catch_unwind(AssertUnwindSafe(|| client.close())));
                if std::thread::Builder::new().spawn_scoped(scope, close).is_err() {
                    close();
                }
            }
        });
    }
}

/// Runs `work` on a thread that may block.
pub(crate) fn in_background(work: impl FnOnce() + Send + 'static) -> Answer<()> {
    threads::run(work)
        .map_err(|error| Error::internal(format!("no thread could be started for the call: {error}")).into())
}

/// Gets a thread's message on the event loop and hands it to the JavaScript layer.
pub(crate) unsafe extern "C" fn deliver(
    raw: sys::napi_env,
    dispatch: sys::napi_value,
    _context: *mut c_void,
    data: *mut c_void,
) {
    // SAFETY: `Mailbox::post` boxed it, and every message is delivered once.
    let message = unsafe { Box::from_raw(data.cast::<Message>()) };
    if raw.is_null() || dispatch.is_null() {
        return;
    }
    // SAFETY: Node calls us on the thread of this environment.
    let env = unsafe { Env::new(raw) };
    let told = || -> Answer {
        match &*message {
            Message::Settled(id, outcome) => {
                state(env)?.settled(env, *id);
                let (error, value) = match outcome {
                    Ok(outcome) => (env.undefined()?, convert::outcome(env, outcome)?),
                    Err(error) => (convert::error(env, error, None)?, env.undefined()?),
                };
                env.call(Value(dispatch), &[env.text("settled")?, env.number(*id as f64)?, error, value])
            }
            Message::Lost(id, reason) => env.call(
                Value(dispatch),
                &[env.text("lost")?, env.number(*id as f64)?, env.undefined()?, env.text(reason.id())?],
            ),
        }
    };
    // A failure is an exception of the JavaScript layer, which Node reports after this callback.
    let _ = told();
}

/// The state of the running callback's thread.
pub(crate) fn state<'a>(env: Env) -> Answer<&'a State> {
    let mut data = std::ptr::null_mut();
    // SAFETY: the environment of the running callback, and a place for a pointer.
    let status = unsafe { sys::napi_get_instance_data(env.raw(), &mut data) };
    if status != sys::Status::napi_ok || data.is_null() {
        return Err(Fail::Node);
    }
    // SAFETY: `init` put a boxed `State` there, which is freed after the last callback of this environment.
    Ok(unsafe { &*data.cast::<State>() })
}
