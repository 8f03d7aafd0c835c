//! The undo journal of a file: the next owner of the lock can roll back what a dead one had begun.
//!
//! Data structure: an array of notes, each an address in the table and its old value, and their
//! number. The number is in both halves of one word: a damaged number would roll back what is
//! committed.
//!
//! Locking rule: only the owner of the lock of the file uses it. Readers without the lock read only
//! whether it is empty and how often it was rolled back (`read_committed.rs`).
//!
//! Invariants:
//!
//! 1. *A cell that has changed has a note.* A command writes the note, then the number, then the
//!    cell. Each store releases, and a processor whose process is killed completes its stores in
//!    order.
//! 2. *A command commits in one step:* the store of the number 0.
//! 3. *A roll-back can be repeated.* It goes backwards through the notes and restores old values,
//!    so a process that dies while it rolls back leaves the same to the next.
//! 4. *A word that others change without the lock* (`table/slot.rs`) is restored only if it still
//!    has the value that the command gave it: a later renewal stands.

use std::ptr::NonNull;

use super::layout::{Preamble, status};
use crate::home::read_committed::ReadCommitted;
use crate::memory::UndoLog;
use crate::rt::atomic::{AtomicU64, Ordering};
use crate::table::cell::{Cell, Cell32, Cell64, Touched};
use crate::zeroed::ZeroedArray;

/// One note.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Note {
    /// The offset in the table, and in the lowest two bits the kind.
    place: AtomicU64,
    /// The old value.
    old: AtomicU64,
}

mod kind {
    pub const HALF: u64 = 0;
    pub const WORD: u64 = 1;
    /// A word that others change without the lock. The note before has its new value.
    pub const SWAP: u64 = 2;
    pub const OPERAND: u64 = 3;
}

/// See the module's text.
#[derive(Debug, Clone)]
pub(crate) struct Journal {
    preamble: &'static Preamble,
    notes: ZeroedArray<Note>,
    /// The table's memory.
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: what it points to is shared memory that is only used as atomics and stays forever.
unsafe impl Send for Journal {}
// SAFETY: as above.
unsafe impl Sync for Journal {}

/// A note names no cell of the table, or the number of notes is damaged.
#[derive(Debug)]
pub(crate) struct Corrupt;

impl Journal {
    /// # Safety
    /// The `bytes` from `base` on must be the table's memory, aligned to 8, and stay forever.
    pub unsafe fn new(
        preamble: &'static Preamble,
        notes: ZeroedArray<Note>,
        base: NonNull<u8>,
        bytes: usize,
    ) -> Self {
        Journal { preamble, notes, base, bytes }
    }

    #[inline(always)]
    fn len(&self) -> u32 {
        self.preamble.journal_len.load(Ordering::Relaxed) as u32
    }

    #[inline(always)]
    fn set_len(&self, len: u32) {
        self.preamble.journal_len.store(len as u64 | (len as u64) << 32, Ordering::Release);
    }

    #[inline(always)]
    fn place(&self, address: usize, kind: u64) -> u64 {
        ((address - self.base.as_ptr() as usize) as u64) << 2 | kind
    }

    #[inline(always)]
    fn push(&self, place: u64, old: u64) {
        let len = self.preamble.journal_len.load(Ordering::Relaxed);
        let Some(note) = self.notes.get(len as u32 as usize) else { return self.is_full() };
        note.place.store(place, Ordering::Relaxed);
        note.old.store(old, Ordering::Relaxed);
        // Both halves at once.
        self.preamble.journal_len.store(len.wrapping_add(1 | 1 << 32), Ordering::Release);
    }

    /// There is no room for a note, or the length was damaged.
    #[cold]
    fn is_full(&self) {
        let word = self.preamble.journal_len.load(Ordering::Relaxed);
        if word >> 32 == word & u32::MAX as u64 {
            // The command is rolled back as it unwinds.
            panic!(
                "a change of the table is larger than the journal of its file; make the file with \
                 larger limits"
            )
        }
        self.preamble.status.fetch_or(status::CORRUPT, Ordering::AcqRel);
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.preamble.journal_len.load(Ordering::Acquire) == 0
    }

    /// Restores the old values.
    pub fn roll_back(&self) -> Result<(), Corrupt> {
        let word = self.preamble.journal_len.load(Ordering::Acquire);
        let len = word as u32;
        if word >> 32 != len as u64 {
            return Err(Corrupt);
        }
        let notes = self.notes.get(..len as usize).ok_or(Corrupt)?;
        for (index, note) in notes.iter().enumerate().rev() {
            let place = note.place.load(Ordering::Relaxed);
            let old = note.old.load(Ordering::Relaxed);
            let offset = (place >> 2) as usize;
            match place & 3 {
                kind::HALF => self.half(offset)?.put(old as u32),
                kind::WORD => self.word(offset)?.put(old),
                kind::SWAP => {
                    let operand = index.checked_sub(1).and_then(|index| notes.get(index));
                    let new = operand.ok_or(Corrupt)?.old.load(Ordering::Relaxed);
                    // Otherwise the lease was renewed since, or the word was never changed.
                    let _ = self.word(offset)?.swap_if(new, old);
                }
                _ => {}
            }
        }
        // Before the number: readers without the lock read it first (`read_committed.rs`).
        self.preamble.roll_backs.fetch_add(1, Ordering::AcqRel);
        self.commit();
        Ok(())
    }

    fn half(&self, offset: usize) -> Result<&Cell32, Corrupt> {
        if offset.is_multiple_of(4) && offset < self.bytes && self.bytes - offset >= 4 {
            // SAFETY: inside the table's memory, which is only used as atomics, and aligned.
            return Ok(unsafe { self.base.add(offset).cast().as_ref() });
        }
        Err(Corrupt)
    }

    fn word(&self, offset: usize) -> Result<&Cell64, Corrupt> {
        if offset.is_multiple_of(8) && offset < self.bytes && self.bytes - offset >= 8 {
            // SAFETY: as for `half`.
            return Ok(unsafe { self.base.add(offset).cast().as_ref() });
        }
        Err(Corrupt)
    }
}

impl ReadCommitted for Journal {
    #[inline(always)]
    fn has_uncommitted(&self) -> bool {
        !self.is_empty()
    }

    #[inline(always)]
    fn roll_backs(&self) -> u64 {
        self.preamble.roll_backs.load(Ordering::Acquire)
    }
}

impl UndoLog for Journal {
    const UNTRUSTED: bool = true;

    #[inline(always)]
    fn record(&self, cell: Touched<'_>) {
        match cell {
            Touched::Half(cell) => {
                self.push(self.place(cell as *const _ as usize, kind::HALF), cell.get() as u64)
            }
            Touched::Word(cell) => {
                self.push(self.place(cell as *const _ as usize, kind::WORD), cell.get())
            }
        }
    }

    fn record_swap(&self, cell: &Cell64, old: u64, new: u64) {
        self.push(kind::OPERAND, new);
        self.push(self.place(cell as *const _ as usize, kind::SWAP), old);
    }

    fn discard_last(&self) {
        self.set_len(self.len().saturating_sub(2));
    }

    #[inline(always)]
    fn commit(&self) {
        self.preamble.journal_len.store(0, Ordering::Release);
    }
}
