//! The layout of a file: a preamble, slots for processes, the journal, and the table.
//!
//! Processes that map the file may run different builds of the library, so this is a stored
//! format: [`VERSION`] grows with every change of it. All words are atomic integers, of which zero
//! is a value. Nothing is a pointer: processes map the file at different addresses.

use super::event_count::EventCount;
use super::journal::{Journal, Note};
use super::liveness::LivenessWord;
use super::lock::LockWord;
use crate::memory::Arrays;
use crate::rt::atomic::{AtomicU32, AtomicU64, Ordering};
use crate::table::Limits;
use crate::zeroed::Zeroed;

/// The first word of every file: `ternlea` and a version of the whole.
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"ternlea1");

/// Grows with every change of the layout, and of what is stored in it: the hash of names, for one.
pub(super) const VERSION: u32 = 6;

/// Processes that can use a file at the same time.
pub(super) const SLOTS: usize = 1024;

/// The beginning of a file.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Preamble {
    pub magic: AtomicU64,
    pub version: AtomicU32,
    pub spare: AtomicU32,
    /// The start of the machine, from which times in the table count.
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

impl Preamble {
    pub fn boot(&self) -> [u64; 2] {
        [0, 1].map(|part: usize| self.boot[part].load(Ordering::Relaxed))
    }

    pub fn limits(&self) -> Limits {
        let [leases, tickets, resources, history] =
            [&self.leases, &self.tickets, &self.resources, &self.history]
                .map(|limit| limit.load(Ordering::Relaxed));
        Limits { leases, tickets, resources, history }
    }
}

/// The words that change with every command, on a cache line of their own.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Lock {
    pub word: LockWord,
    /// How many processes want to be notified of events.
    pub event_readers: AtomicU32,
    /// When the lock was taken.
    pub since: AtomicU64,
    /// In both halves: see `journal.rs`.
    pub journal_len: AtomicU64,
    pub roll_backs: AtomicU64,
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
    /// The number of processes that had this slot.
    pub generation: AtomicU32,
    /// One of [`slot_state`].
    pub state: AtomicU32,
    /// The process, as it sees itself; only to be shown.
    pub process: AtomicU32,
    pub events: EventCount,
    /// Not 0 if the process has wakers or descriptors for tickets.
    pub wants_tickets: AtomicU32,
    /// Not 0 if the process has subscribers of events.
    pub wants_events: AtomicU32,
    /// See `event_count.rs`.
    pub wake_before: AtomicU64,
    pub since: AtomicU64,
    /// The PID namespace of the process; 0 if it is not known.
    pub space: AtomicU64,
    pub life: LivenessWord,
}

pub(super) mod status {
    /// The table is damaged.
    pub const CORRUPT: u32 = 1;
    /// The file was deleted, renamed, replaced or truncated while in use: new processes do not
    /// share this table.
    pub const LOST: u32 = 2;
}

pub(super) mod slot_state {
    pub const FREE: u32 = 0;
    /// A process with a ticker.
    pub const PROCESS: u32 = 1;
    /// All processes that have inherited a descriptor.
    pub const INHERITED: u32 = 2;
}

// SAFETY: atomic integers.
unsafe impl Zeroed for Slot {}
// SAFETY: atomic integers.
unsafe impl Zeroed for Preamble {}
// SAFETY: atomic integers.
unsafe impl Zeroed for Note {}

/// The largest number of changes of one command: many times what a claim or an end needs, for each
/// lease and ticket; 64 MB at most.
fn notes(limits: &Limits) -> usize {
    (128 * (limits.leases as usize + limits.tickets as usize) + 4096).min(1 << 22)
}

/// The sizes of a file and of its parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts {
    pub notes: usize,
    /// The offset of the table.
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
