//! Which waiters still have their place in line.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};

use fencehold::internal::ClientId;

/// The waiters whose tickets count, by the number of their word. Shared with readers.
#[derive(Clone, Default)]
pub(crate) struct Presence(Arc<RwLock<HashSet<u32>>>);

/// Who a ticket belongs to: the number of its waiter's word and, so that it is known after a
/// restart too, for how many seconds the place is kept without a connection.
pub(crate) fn client_of(word: u32, keep_seconds: u32) -> ClientId {
    ClientId(u64::from(keep_seconds) << 32 | u64::from(word))
}

/// The number of the word, and the seconds, of a ticket's client.
pub(crate) fn word_of(client: ClientId) -> (u32, u32) {
    (client.0 as u32, (client.0 >> 32) as u32)
}

impl Presence {
    pub(crate) fn add(&self, word: u32) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(word);
    }

    pub(crate) fn remove(&self, word: u32) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(&word);
    }

    /// Whether the row of this client counts. A permit lives by its lifetime alone.
    pub(crate) fn is_alive(&self, client: ClientId) -> bool {
        client == ClientId::NONE || self.0.read().unwrap_or_else(PoisonError::into_inner).contains(&word_of(client).0)
    }
}
