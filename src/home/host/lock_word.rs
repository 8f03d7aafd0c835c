//! The word that says who has the lock of a file: 0 nobody; otherwise the slot and the generation of a process, and a bit that says that others wait.
//!
//! **Why a dead owner's lock is taken over once.** The lock is taken over by a compare-and-swap from exactly the dead owner's word. Whoever gets
//! the slot next has another generation, so that its word is another one.
//!
//! **Why nobody sleeps for ever.** Whoever frees the lock and sees the bit wakes one, who sets it again as it takes the lock, for those who sleep on. If
//! one of them dies in between, sleepers look again after a while.
//!
//! Nothing here knows of files or of the kernel, so that loom can try all of it: `interleavings.rs`.

use std::time::{Duration, Instant};

use crate::rt::atomic::{AtomicU32, Ordering};

const WAITED_FOR: u32 = 1 << 31;
const SLOT_BITS: u32 = 11;
const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;
/// Generations count modulo this.
const GENERATIONS: u32 = 1 << (31 - SLOT_BITS);

/// How often to try before sleeping: commands are short.
const TRIES: u32 = if cfg!(loom) { 1 } else { 100 };

/// See the module's text.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct LockWord(AtomicU32);

/// What those who wait for the lock need of everything else.
pub(crate) trait Surroundings {
    /// Sleeps while the word has this value, until it is woken, or its owner begins to die, or for a while. May return for no reason.
    fn sleep(&self, word: &AtomicU32, value: u32);

    /// Does the process live that has the lock by this word?
    fn lives(&self, word: u32) -> bool;

    /// Is this too long to wait for an owner that lives?
    fn is_too_long(&self, waited: Duration) -> bool;
}

/// How it was come by, or who has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waited {
    Freed,
    /// From whoever had this word, and died.
    Inherited(u32),
    /// By whoever has this word, for too long.
    InVain(u32),
}

/// The word that says that this process has the lock.
pub(super) fn word_of(slot: usize, generation: u32) -> u32 {
    (generation % GENERATIONS) << SLOT_BITS | (slot as u32 + 1)
}

/// The slot that a word names.
pub(super) fn slot_in(word: u32) -> Option<usize> {
    Some((word & SLOT_MASK).checked_sub(1)? as usize)
}

/// Does a word name this generation of its slot?
pub(super) fn is_of_generation(word: u32, generation: u32) -> bool {
    (word & !WAITED_FOR) >> SLOT_BITS == generation % GENERATIONS
}

impl LockWord {
    /// What it says now.
    pub fn get(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    /// Takes the lock if nobody has it.
    #[inline(always)]
    pub fn try_take(&self, own: u32) -> bool {
        self.0.compare_exchange(0, own, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes the lock as soon as it is free, or its owner dead.
    pub fn wait(&self, own: u32, around: &impl Surroundings) -> Waited {
        for _ in 0..TRIES {
            std::hint::spin_loop();
            if self.0.load(Ordering::Relaxed) == 0 && self.try_take(own) {
                return Waited::Freed;
            }
        }
        let own = own | WAITED_FOR;
        let mut waits = (0, Instant::now());
        loop {
            let seen = self.get();
            if seen == 0 {
                if self.swap(0, own) {
                    return Waited::Freed;
                }
                continue;
            }
            if waits.0 != seen | WAITED_FOR {
                // Another owner than before: the lock goes round.
                waits = (seen | WAITED_FOR, Instant::now());
            }
            if seen & WAITED_FOR == 0 && !self.swap(seen, waits.0) {
                continue;
            }
            around.sleep(&self.0, waits.0);
            let seen = self.get();
            if seen != waits.0 {
                continue;
            }
            if !around.lives(seen) {
                if self.swap(seen, own) {
                    return Waited::Inherited(seen);
                }
            } else if around.is_too_long(waits.1.elapsed()) {
                return Waited::InVain(seen);
            }
        }
    }

    fn swap(&self, old: u32, new: u32) -> bool {
        self.0.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Frees the lock, and has one woken if somebody waits for it.
    #[inline(always)]
    pub fn free(&self, wake_one: impl FnOnce(&AtomicU32)) {
        if self.0.swap(0, Ordering::AcqRel) & WAITED_FOR != 0 {
            wake_one(&self.0);
        }
    }
}
