//! The connections of a client: made when they are needed, kept for the next use, never many.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::connection::Connection;
use super::failure::Failure;
use crate::clock::{Moment, boot_now};

/// How many connections a client has at most, beside the one that listens: a database has few.
const MOST: usize = 8;

#[derive(Default)]
struct State {
    idle: Vec<Connection>,
    lent: usize,
}

/// The connections.
#[derive(Default)]
pub(super) struct Pool {
    /// Guards the connections that nobody uses.
    state: Mutex<State>,
    returned: Condvar,
}

/// The right to one connection, and the connection once there is one.
pub(super) struct Lent<'a> {
    pool: &'a Pool,
    connection: Option<Connection>,
    /// Whether the connection was used before.
    pub(super) was_used: bool,
}

impl Pool {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection, by `until`; `make` makes one when none is idle.
    pub(super) fn lend(
        &self,
        until: Moment,
        make: impl FnOnce() -> Result<Connection, Failure>,
    ) -> Result<Lent<'_>, Failure> {
        let mut state = self.state();
        while state.lent >= MOST {
            let left = until.since(boot_now());
            if left.is_zero() {
                return Err(Failure::Unreachable("every connection of this client was in use".into()));
            }
            state = self.returned.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.lent += 1;
        let mut lent = Lent { pool: self, connection: None, was_used: true };
        while let Some(known) = state.idle.pop() {
            if known.is_open() {
                lent.connection = Some(known);
                return Ok(lent);
            }
        }
        drop(state);
        lent.connection = Some(make()?);
        lent.was_used = false;
        Ok(lent)
    }

    /// Ends the idle connections.
    pub(super) fn close(&self) {
        let idle = std::mem::take(&mut self.state().idle);
        for connection in idle {
            connection.close();
        }
    }
}

impl Lent<'_> {
    pub(super) fn connection(&mut self) -> Result<&mut Connection, Failure> {
        self.connection.as_mut().ok_or_else(|| Failure::Unreachable("there is no connection".into()))
    }

    /// Forgets the connection, whose transaction may not have ended.
    pub(super) fn discard(&mut self) {
        self.connection = None;
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut state = self.pool.state();
        state.lent -= 1;
        state.idle.extend(self.connection.take().filter(|connection| !connection.is_broken()));
        drop(state);
        self.pool.returned.notify_one();
    }
}
