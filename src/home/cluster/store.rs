//! What the cluster home needs of a store: keys that change together or not at all, sessions and
//! watches. etcd is one (`on_etcd.rs`); `tests/sim` has others, in memory and simulated.

use std::fmt;
use std::time::Duration;

use crate::home::ClusterInfo;
use crate::table::{Error, Time};

/// Counts the changes of the whole store.
pub type Revision = i64;

/// A key and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub key: String,
    pub value: Vec<u8>,
    /// The revision that created the key.
    pub created: Revision,
    /// The revision of the last write.
    pub modified: Revision,
    /// How often the key was written since it was created, from 1.
    pub version: i64,
}

/// All keys from `from` up to `to`, exclusive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    pub from: String,
    pub to: String,
}

impl Range {
    /// One key.
    pub fn only(key: String) -> Range {
        Range { to: format!("{key}\0"), from: key }
    }
}

/// What to read of a range, in the order of the keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    pub range: Range,
    /// Skip what was last written at this revision or before.
    pub after: Revision,
    /// Leave the values empty.
    pub keys_only: bool,
}

impl Read {
    /// Everything in a range.
    pub fn all(range: Range) -> Read {
        Read { range, after: 0, keys_only: false }
    }

    /// One key.
    pub fn key(key: String) -> Read {
        Read::all(Range::only(key))
    }
}

/// A condition of a transaction. Revision 0: there is no such key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compare {
    Created(String, Revision),
    Modified(String, Revision),
}

/// A write of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Writes a value. With a session, the key is deleted when the session ends.
    Put {
        key: String,
        value: Vec<u8>,
        session: Option<i64>,
    },
    /// Writes a value and returns the entry that it replaces.
    Swap {
        key: String,
        value: Vec<u8>,
    },
    Delete(Range),
}

/// If every condition holds, all writes are done; otherwise none, and the reads are answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Txn {
    pub compare: Vec<Compare>,
    pub then: Vec<Op>,
    pub otherwise: Vec<Read>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TxnReply {
    /// The writes were done at this revision. `replaced` has one element for each [`Op::Swap`].
    Done { revision: Revision, replaced: Vec<Option<Entry>> },
    /// A condition did not hold: what was found, one list for each read.
    Failed(Vec<Vec<Entry>>),
}

/// Why a request to the store failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreError {
    /// Nothing was done.
    Unavailable(String),
    /// The outcome is unknown: it may have been done, or may be done later.
    Unknown(String),
    /// The store denies it, now and later.
    Denied(String),
}

impl StoreError {
    /// Would a retry fail in the same way?
    pub fn is_final(&self) -> bool {
        matches!(self, StoreError::Denied(_))
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (StoreError::Unavailable(text) | StoreError::Unknown(text) | StoreError::Denied(text)) =
            self;
        f.write_str(text)
    }
}

/// What a session reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionEvent {
    /// Renewals are not answered. The session lasts until its deadline, and perhaps longer.
    Jeopardy { since: Time },
    /// A renewal was answered after all.
    Safe,
    /// The store does not know the session any more.
    Lost,
}

/// One change of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub key: String,
    /// `None`: the key was deleted.
    pub value: Option<Vec<u8>>,
    /// As in [`Entry`]; 0 if the key was deleted.
    pub version: i64,
}

/// What a watch reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchEvent {
    /// All changes of one revision.
    Changed { revision: Revision, changes: Vec<Change> },
    /// Changes may have been missed: the store does not remember them.
    Missed,
}

/// Receives the reports of a session or a watch. It runs on a thread of the store: it must be
/// quick, and must not call the store.
pub type Listener<Event> = Box<dyn FnMut(Event) + Send>;

/// A session, renewed until it is dropped. Its keys are deleted some time after that.
pub trait Session: Send + Sync + fmt::Debug {
    fn id(&self) -> i64;
    /// Until when it certainly lasts, by [`Clock::Real`](crate::home::clock::Clock::Real); 0 after
    /// it was lost.
    fn deadline(&self) -> Time;
    /// Ends it at once, and deletes its keys.
    fn revoke(self: Box<Self>) -> Result<(), StoreError>;
}

/// A watch, until it is dropped. Its listener may be called once more while it is dropped.
pub trait Watch: Send + Sync + fmt::Debug {}

/// A store: keys, sessions and watches.
pub trait Store: fmt::Debug + Send + Sync {
    fn txn(&self, txn: &Txn) -> Result<TxnReply, StoreError>;
    /// Reads at one revision, which is returned, after all writes that were answered before.
    fn read(&self, reads: &[Read]) -> Result<(Vec<Vec<Entry>>, Revision), StoreError>;
    fn session(
        &self,
        ttl: Duration,
        listener: Listener<SessionEvent>,
    ) -> Result<Box<dyn Session>, StoreError>;
    /// Reports each change of these keys after a revision, in order. Does not wait for the store.
    fn watch(
        &self,
        range: Range,
        after: Revision,
        listener: Listener<WatchEvent>,
    ) -> Result<Box<dyn Watch>, StoreError>;
    /// As [`Self::watch`], for a listener that looks at deletions only.
    fn watch_deletions(
        &self,
        range: Range,
        after: Revision,
        listener: Listener<WatchEvent>,
    ) -> Result<Box<dyn Watch>, StoreError> {
        self.watch(range, after, listener)
    }
    /// Why no request is sent any more, if it is not the store that it was. Final.
    fn refusal(&self) -> Option<Error> {
        None
    }
    /// What the store reports of itself, given a key that this process may read. The other fields
    /// are not set.
    fn status(&self, _readable: &str) -> Result<ClusterInfo, StoreError> {
        Ok(ClusterInfo::default())
    }
    /// After how many entries of the log a snapshot is written.
    fn entries_per_snapshot(&self) -> u64 {
        128
    }
    fn close(&self);
}
