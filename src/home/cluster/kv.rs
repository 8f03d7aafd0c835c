//! What the cluster home needs of an engine: keys with revisions that change together or not at all. etcd is one (`etcd/`); the model in
//! `model.rs` is another, which does what it is told to.

use std::fmt;

/// Counts the changes of the whole store; a key's is that of its last change, 0 if there is no such key.
pub(crate) type Revision = i64;

/// A key, what is there, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub key: String,
    pub value: Vec<u8>,
    pub modified: Revision,
}

/// One of several things to be done together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Op {
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
pub(crate) struct Range {
    pub from: String,
    pub to: String,
}

/// If every key still has this revision, all of this is done; if not, nothing is, and these are read instead.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Txn {
    pub unchanged: Vec<(String, Revision)>,
    pub then: Vec<Op>,
    pub otherwise: Vec<Range>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Done(Revision),
    /// What was asked for in that case.
    Changed(Vec<Vec<Entry>>),
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Surely nothing was done.
    Unreachable(String),
    /// It may have been done, or be done yet.
    Unknown(String),
    /// The engine will not have it: not now, and not later.
    Refused(String),
}

impl Trouble {
    /// Would it be the same later?
    pub fn is_final(&self) -> bool {
        matches!(self, Trouble::Refused(_))
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Trouble::Unreachable(text) | Trouble::Unknown(text) | Trouble::Refused(text)) = self;
        f.write_str(text)
    }
}

/// An engine.
pub(crate) trait Kv: Send + Sync {
    fn txn(&self, txn: &Txn) -> Result<Answer, Trouble>;
    /// All of these at one revision, which is told.
    fn read(&self, range: &Range) -> Result<(Vec<Entry>, Revision), Trouble>;
}
