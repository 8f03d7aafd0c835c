//! What a file of the host home consists of: a preamble, slots for processes, the journal, and the table.

use super::bell::Bell;
use super::journal::{Journal, Note};
use super::life::Life;
use super::lock_word::LockWord;
use crate::memory::Arrays;
use crate::rt::atomic::{AtomicU32, AtomicU64};
use crate::table::Limits;
use crate::zeroed::Zeroed;

/// The first word of every file: `ternlea` and a version of the whole.
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"ternlea1");

/// Grows whenever anything in the file is laid out differently.
pub(super) const VERSION: u32 = 4;

/// Processes that can use a file at the same time.
pub(super) const SLOTS: usize = 1024;

/// The beginning of a file.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Preamble {
    pub magic: AtomicU64,
    pub version: AtomicU32,
    pub spare: AtomicU32,
    /// Since which start of the machine: times in the table count from it.
    pub boot: [AtomicU64; 2],
    pub leases: AtomicU32,
    pub tickets: AtomicU32,
    pub resources: AtomicU32,
    pub history: AtomicU32,
    /// Not 0 once the file is complete.
    pub ready: AtomicU32,
    /// Bits of [`status`]; 0 while the table can be used.
    pub status: AtomicU32,
    pub size: AtomicU64,
    pub lock: Lock,
}

/// What changes with every command, on a line of its own.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Lock {
    /// Who has the lock.
    pub word: LockWord,
    /// How many processes want to know of every event.
    pub listening: AtomicU32,
    /// When the lock was taken.
    pub since: AtomicU64,
    /// Twice: see `journal.rs`.
    pub journal_len: AtomicU64,
    pub roll_backs: AtomicU64,
    /// Processes that were found dead.
    pub deaths: AtomicU64,
    /// No slot from this one on was ever used.
    pub slots: AtomicU32,
}

impl std::ops::Deref for Preamble {
    type Target = Lock;
    #[inline(always)]
    fn deref(&self) -> &Lock {
        &self.lock
    }
}

/// A process that uses the file.
#[derive(Debug, Default)]
#[repr(C, align(128))]
pub(crate) struct Slot {
    /// Counts the processes that had this slot.
    pub generation: AtomicU32,
    /// One of [`slot_state`].
    pub state: AtomicU32,
    /// The process, as it sees itself; only to be shown.
    pub process: AtomicU32,
    pub bell: Bell,
    /// Not 0 if somebody in it waits for tickets otherwise than by sleeping.
    pub watches: AtomicU32,
    /// Not 0 if somebody in it wants to know of every event.
    pub listens: AtomicU32,
    /// Until when its keeper sleeps.
    pub until: AtomicU64,
    pub since: AtomicU64,
    /// In which PID namespace it has its number; 0 if that is not known.
    pub space: AtomicU64,
    pub life: Life,
}

pub(super) mod status {
    /// The table is damaged.
    pub const CORRUPT: u32 = 1;
    /// The file was deleted, renamed, replaced or truncated while in use: newcomers do not share this table.
    pub const LOST: u32 = 2;
}

pub(super) mod slot_state {
    pub const FREE: u32 = 0;
    /// A process with a keeper.
    pub const PROCESS: u32 = 1;
    /// Kept by whatever processes have inherited the descriptor.
    pub const TREE: u32 = 2;
}

// SAFETY: atomic integers.
unsafe impl Zeroed for Slot {}
// SAFETY: atomic integers.
unsafe impl Zeroed for Preamble {}
// SAFETY: atomic integers.
unsafe impl Zeroed for Note {}

/// Changes that one command can make: many times what a claim or an end takes, for each lease and ticket; 64 MB at most.
fn notes(limits: &Limits) -> usize {
    (128 * (limits.leases as usize + limits.tickets as usize) + 4096).min(1 << 22)
}

/// How large a file is, and its parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts {
    pub notes: usize,
    /// Where the table begins, and how long it is.
    pub table: usize,
    pub table_bytes: usize,
    pub total: usize,
}

impl Parts {
    pub fn of(limits: &Limits) -> Parts {
        let notes = notes(limits);
        let table = size_of::<Preamble>() + SLOTS * size_of::<Slot>() + notes * size_of::<Note>();
        let table = table.next_multiple_of(PAGE);
        let table_bytes = Arrays::<Journal>::bytes(&limits.sizes());
        Parts { notes, table, table_bytes, total: (table + table_bytes).next_multiple_of(PAGE) }
    }
}

const PAGE: usize = 4096;
