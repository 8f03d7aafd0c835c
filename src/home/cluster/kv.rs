//! What the cluster home needs of an engine: keys with revisions that change together or not at all. etcd is one (`etcd/`); `tests/sim` has others, in memory and simulated.

use std::fmt;
use std::time::Duration;

use crate::table::{Error, Time};

/// Counts the changes of the whole store; a key's is that of its last change, 0 if there is no such key.
pub type Revision = i64;

/// A key, what is there, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub key: String,
    pub value: Vec<u8>,
    pub modified: Revision,
}

/// One of several things to be done together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    Put {
        key: String,
        value: Vec<u8>,
        session: Option<i64>,
    },
    /// All keys from `from` up to `to`, which is not one of them.
    Delete {
        from: String,
        to: String,
    },
}

/// All keys from `from` up to `to`, which is not one of them.
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

/// If every key still has this revision, all of this is done; if not, nothing is, and these are read instead.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Txn {
    pub unchanged: Vec<(String, Revision)>,
    pub then: Vec<Op>,
    pub otherwise: Vec<Range>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Done(Revision),
    /// What was asked for in that case.
    Changed(Vec<Vec<Entry>>),
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

/// Keys and what is there.
pub trait Kv: Send + Sync {
    fn txn(&self, txn: &Txn) -> Result<Answer, StoreError>;
    /// All of these at one revision, which is told.
    fn read(&self, range: &Range) -> Result<(Vec<Entry>, Revision), StoreError>;
}

/// What a session has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionNews {
    /// Renewals are not answered any more. The session lives on until its deadline, and perhaps longer.
    Jeopardy { since: Time },
    /// It was renewed after all.
    Safe,
    /// It is over: the engine does not know it any more.
    Lost,
}

/// What a watch has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchNews {
    /// Everything that changed at one revision: keys, and whether they are there now.
    Changed(Vec<(String, bool)>),
    /// What changed may have been missed.
    Missed,
}

/// Who listens to news. Called on a thread of the engine's: it must be quick, and cannot wait for the engine.
pub type Listener<News> = Box<dyn FnMut(News) + Send>;

/// A session: renewed until this goes. Keys that were written with it vanish some time after.
pub trait Session: Send + Sync + fmt::Debug {
    fn id(&self) -> i64;
    /// Until when it is surely alive, by [`Clock::Real`](crate::home::clock::Clock::Real); 0 after it was lost.
    fn deadline(&self) -> Time;
    /// Ends it at once, and deletes the keys that were written with it.
    fn revoke(self: Box<Self>) -> Result<(), StoreError>;
}

/// Listens until it goes. It may have something to say once more while that happens.
pub trait Watch: Send + Sync + fmt::Debug {}

/// An engine: keys, sessions with which some of them vanish, and news of changes.
pub trait Engine: Kv + fmt::Debug {
    fn session(
        &self,
        ttl: Duration,
        tell: Listener<SessionNews>,
    ) -> Result<Box<dyn Session>, StoreError>;
    /// Every change of these keys from now on. `known` is a key that may be asked for by whoever may ask for these.
    fn watch(
        &self,
        range: Range,
        known: &str,
        tell: Listener<WatchNews>,
    ) -> Result<Box<dyn Watch>, StoreError>;
    /// Why nothing is asked of it any more, if it is not the store that it was. Final.
    fn refusal(&self) -> Option<Error> {
        None
    }
    /// After how many changes a process writes a whole copy of the table.
    fn changes_per_base(&self) -> u64 {
        256
    }
    fn close(&self);
}
