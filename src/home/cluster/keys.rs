//! The keys of one table.
//!
//! ```text
//! shape             the versions, the limits and the time 0 of the table
//! head              the last entry of the log; its version counts the entries
//! l/SESSION/NUMBER  the entries of one session, numbered from 0; ffffffffffffffff: its end
//! s/SESSION         a session that lasts
//! w/SESSION         written when a lease of this session was ended by another one; `left` once the
//!                   session has left
//! base              the position of the snapshot
//! b/POSITION/PIECE  the pieces of a snapshot
//! n/NODE            the devices of a machine, as it publishes them
//! ```
//!
//! SESSION is the id of the session in the store, which is never used again, in hexadecimal.

use super::store::Range;

/// The number of the entry that ends a session.
pub const END: u64 = u64::MAX;

/// The keys of one table all begin with its name.
#[derive(Debug, Clone)]
pub struct Keys {
    prefix: String,
}

impl Keys {
    pub fn new(name: &str) -> Self {
        Keys { prefix: format!("/ternlease/{name}/") }
    }

    pub fn shape(&self) -> String {
        format!("{}shape", self.prefix)
    }

    pub fn head(&self) -> String {
        format!("{}head", self.prefix)
    }

    pub fn base(&self) -> String {
        format!("{}base", self.prefix)
    }

    pub fn piece(&self, position: u64, piece: usize) -> String {
        format!("{}b/{position:016x}/{piece:04x}", self.prefix)
    }

    pub fn pieces(&self, position: u64) -> Range {
        Range { from: self.piece(position, 0), to: format!("{}b/{position:016x}0", self.prefix) }
    }

    /// The pieces of all snapshots from one position up to another, exclusive.
    pub fn pieces_between(&self, from: u64, to: u64) -> Range {
        Range { from: self.piece(from, 0), to: self.piece(to, 0) }
    }

    pub fn entry(&self, session: i64, number: u64) -> String {
        format!("{}l/{session:016x}/{number:016x}", self.prefix)
    }

    pub fn entries(&self) -> Range {
        Range { from: format!("{}l/", self.prefix), to: format!("{}l0", self.prefix) }
    }

    /// Entries of a session, from the first number to the last.
    pub fn entries_of(&self, session: i64, (first, last): (u64, u64)) -> Range {
        Range { from: self.entry(session, first), to: format!("{}\0", self.entry(session, last)) }
    }

    /// The session and the number of an entry.
    pub fn entry_of(&self, key: &str) -> Option<(i64, u64)> {
        let (session, number) =
            key.strip_prefix(&self.prefix)?.strip_prefix("l/")?.split_once('/')?;
        Some((i64::from_str_radix(session, 16).ok()?, u64::from_str_radix(number, 16).ok()?))
    }

    pub fn session(&self, session: i64) -> String {
        format!("{}s/{session:016x}", self.prefix)
    }

    pub fn sessions(&self) -> Range {
        Range { from: format!("{}s/", self.prefix), to: format!("{}s0", self.prefix) }
    }

    /// The session that a key of [`Self::sessions`] stands for.
    pub fn session_of(&self, key: &str) -> Option<i64> {
        i64::from_str_radix(key.strip_prefix(&self.prefix)?.strip_prefix("s/")?, 16).ok()
    }

    pub fn hint(&self, session: i64) -> String {
        format!("{}w/{session:016x}", self.prefix)
    }

    pub fn hints(&self) -> Range {
        Range { from: format!("{}w/", self.prefix), to: format!("{}w0", self.prefix) }
    }

    /// The session that a key of [`Self::hints`] notifies.
    pub fn hinted(&self, key: &str) -> Option<i64> {
        i64::from_str_radix(key.strip_prefix(&self.prefix)?.strip_prefix("w/")?, 16).ok()
    }

    pub fn node(&self, name: &str) -> String {
        format!("{}n/{name}", self.prefix)
    }

    pub fn nodes(&self) -> Range {
        Range { from: format!("{}n/", self.prefix), to: format!("{}n0", self.prefix) }
    }

    /// The machine that a key of [`Self::nodes`] is of.
    pub fn node_of<'k>(&self, key: &'k str) -> Option<&'k str> {
        key.strip_prefix(&self.prefix)?.strip_prefix("n/")
    }
}
