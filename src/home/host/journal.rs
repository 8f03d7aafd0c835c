//! The undo journal: what a command is about to change is noted in the file first, so that whoever takes the lock next can undo it if the
//! author died, at whatever instruction.
//!
//! **Why that is enough.** A note is written, then the length that makes it count, then the cell itself; each store releases, and a
//! processor that dies has done its stores in order. So whenever a cell has changed, its note counts. A command is done when the length
//! goes back to 0, which is one store. Undoing goes backwards through the notes, and may itself die and begin again: putting an old value back
//! twice changes nothing.
//!
//! Words that others change without the lock (`table/slot.rs`) are put back only if they still are what the command made of them: what a
//! renewal has done since stays.

use std::ptr::NonNull;

use super::layout::{Preamble, status};
use crate::home::settled::Undoable;
use crate::memory::UndoLog;
use crate::rt::atomic::{AtomicU64, Ordering};
use crate::table::cell::{Cell, Cell32, Cell64, Touched};
use crate::zeroed::ZeroedArray;

/// One note.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Note {
    /// Where, from the beginning of the table on, and in the lowest two bits what kind.
    place: AtomicU64,
    /// What was there.
    old: AtomicU64,
}

mod kind {
    pub const HALF: u64 = 0;
    pub const WORD: u64 = 1;
    /// A word that others change too. The note before has what the command made of it.
    pub const SWAP: u64 = 2;
    pub const OPERAND: u64 = 3;
}

/// The journal of one file. Only the owner of the file's lock may use it.
#[derive(Debug, Clone)]
pub(crate) struct Journal {
    preamble: &'static Preamble,
    notes: ZeroedArray<Note>,
    /// The table's memory.
    base: NonNull<u8>,
    bytes: usize,
}

// SAFETY: what it points to is shared memory that is only used as atomics and stays for ever.
unsafe impl Send for Journal {}
// SAFETY: as above.
unsafe impl Sync for Journal {}

/// The journal, or what it says, makes no sense.
#[derive(Debug)]
pub(crate) struct Nonsense;

impl Journal {
    /// # Safety
    /// The `bytes` from `base` on must be the table's memory, aligned to 8, and stay for ever.
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

    /// In both halves of the word: a length that was damaged would have what is done undone.
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
        // Both halves at once: each note waits for the length that the one before it has left.
        self.preamble.journal_len.store(len.wrapping_add(1 | 1 << 32), Ordering::Release);
    }

    /// There is no room for a note, or the length was damaged.
    #[cold]
    fn is_full(&self) {
        let word = self.preamble.journal_len.load(Ordering::Relaxed);
        if word >> 32 == word & u32::MAX as u64 {
            too_large();
        }
        self.preamble.status.fetch_or(status::CORRUPT, Ordering::AcqRel);
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.preamble.journal_len.load(Ordering::Acquire) == 0
    }

    /// Undoes what was noted.
    pub fn roll_back(&self) -> Result<(), Nonsense> {
        let word = self.preamble.journal_len.load(Ordering::Acquire);
        let len = word as u32;
        if word >> 32 != len as u64 {
            return Err(Nonsense);
        }
        let notes = self.notes.get(..len as usize).ok_or(Nonsense)?;
        for (index, note) in notes.iter().enumerate().rev() {
            let place = note.place.load(Ordering::Relaxed);
            let old = note.old.load(Ordering::Relaxed);
            let offset = (place >> 2) as usize;
            match place & 3 {
                kind::HALF => self.half(offset)?.put(old as u32),
                kind::WORD => self.word(offset)?.put(old),
                kind::SWAP => {
                    let operand = index.checked_sub(1).and_then(|index| notes.get(index));
                    let new = operand.ok_or(Nonsense)?.old.load(Ordering::Relaxed);
                    // If it is something else, somebody has renewed the lease since, or it was never changed.
                    let _ = self.word(offset)?.swap_if(new, old);
                }
                _ => {}
            }
        }
        // Before the length: whoever reads without the lock looks at both (`settled.rs`).
        self.preamble.roll_backs.fetch_add(1, Ordering::AcqRel);
        self.commit();
        Ok(())
    }

    fn half(&self, offset: usize) -> Result<&Cell32, Nonsense> {
        if offset.is_multiple_of(4) && offset < self.bytes && self.bytes - offset >= 4 {
            // SAFETY: inside the table's memory, which is only used as atomics, and aligned as checked above.
            return Ok(unsafe { self.base.add(offset).cast().as_ref() });
        }
        Err(Nonsense)
    }

    fn word(&self, offset: usize) -> Result<&Cell64, Nonsense> {
        if offset.is_multiple_of(8) && offset < self.bytes && self.bytes - offset >= 8 {
            // SAFETY: as for `half`.
            return Ok(unsafe { self.base.add(offset).cast().as_ref() });
        }
        Err(Nonsense)
    }
}

impl Undoable for Journal {
    #[inline(always)]
    fn is_under_way(&self) -> bool {
        !self.is_empty()
    }

    #[inline(always)]
    fn undone(&self) -> u64 {
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

    /// What was noted is done.
    #[inline(always)]
    fn commit(&self) {
        self.preamble.journal_len.store(0, Ordering::Release);
    }
}

/// The command is undone as it unwinds.
#[cold]
fn too_large() -> ! {
    panic!(
        "a change of the table is larger than the journal of its file; make the file with larger limits"
    )
}
