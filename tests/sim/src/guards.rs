//! Guards of the protocol that a test can remove, with no change of the library: conditions of its
//! transactions, and promises of its store.

use super::plans::TABLE;
use ternlease::sim_api::keys::{END, Keys};
use ternlease::sim_api::store::{Compare, Op, Txn};

/// See the module's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Guard {
    /// An append requires the key of its session.
    Session,
    /// An append, or an end, requires that the last entry of the session is unchanged.
    LastEntry,
    /// An append, or an end, requires that its own key does not exist.
    OwnKey,
    /// A join requires that the key of its session does not exist.
    Join,
    /// A snapshot replaces the one that its author has read.
    Base,
    /// A session has a deadline.
    Deadline,
    /// An append is answered after it was executed.
    Execution,
    /// The answer to an append has the entry in front of it.
    Predecessor,
    /// The author of an entry writes the hints of the holders whose leases it has ended.
    Hint,
}

/// The session and the number of the entry that a transaction appends.
pub(super) fn entry_in(txn: &Txn) -> Option<(i64, u64)> {
    let keys = Keys::new(TABLE);
    txn.then.iter().find_map(|op| match op {
        Op::Put { key, .. } => keys.entry_of(key),
        _ => None,
    })
}

/// Does a transaction append commands?
pub(super) fn has_commands(txn: &Txn) -> bool {
    entry_in(txn).is_some_and(|(_, number)| number != 0 && number != END)
}

/// Does a transaction write only hints?
pub(super) fn is_hint(txn: &Txn) -> bool {
    let keys = Keys::new(TABLE);
    let is_hint = |op: &Op| matches!(op, Op::Put { key, .. } if keys.hinted(key).is_some());
    !txn.then.is_empty() && txn.then.iter().all(is_hint)
}

impl Guard {
    /// Removes the condition, if the guard is one, from a transaction.
    pub fn remove_from(self, txn: &mut Txn) {
        let keys = Keys::new(TABLE);
        let (entry, appends) = (entry_in(txn), has_commands(txn));
        let is_entry = |key: &str| keys.entry_of(key).is_some();
        let is_session = |key: &str| keys.session_of(key).is_some();
        txn.compare.retain(|compare| {
            let (created, key) = match compare {
                Compare::Created(key, _) => (true, key),
                Compare::Modified(key, _) => (false, key),
            };
            let is_guard = match (self, entry) {
                (Guard::Session, Some(_)) => appends && created && is_session(key),
                (Guard::LastEntry, Some(_)) => !created && is_entry(key),
                (Guard::OwnKey, Some(_)) => created && is_entry(key),
                (Guard::Join, Some((_, 0))) => created && is_session(key),
                (Guard::Base, None) => !created && *key == keys.base(),
                _ => false,
            };
            !is_guard
        });
    }
}
