//! The lock of a file.
//!
//! One word says who has it: 0 nobody; otherwise the slot and the generation of a process, and a bit that says that others wait. It is not one of the
//! C library's robust mutexes, for those name their owner by a thread id, which means different things in different PID namespaces.
//! Here the owner is a slot, and whether the process in a slot lives is told by the kernel's file locks (`liveness.rs`), in which all agree.
//!
//! **Why a dead owner's lock is taken over once.** The lock is taken over by a compare-and-swap from exactly the dead owner's word. Whoever gets
//! the slot next has another generation, so that its word is another one.
//!
//! **Why nobody sleeps for ever.** Whoever frees the lock and sees the bit wakes one; if it dies in between, sleepers look again after [`LOOK`].

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::Host;
use super::futex::{self, Sleep};

const WAITED_FOR: u32 = 1 << 31;
const SLOT_BITS: u32 = 11;
const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;
/// Generations count modulo this.
const GENERATIONS: u32 = 1 << (31 - SLOT_BITS);

/// How often those who wait for the lock look whether its owner lives.
const LOOK: Duration = Duration::from_millis(20);

/// Who has waited so long may say that the owner does not go on.
const LONG: Duration = Duration::from_secs(4);

/// How often to try before sleeping: commands are short.
const TRIES: u32 = 100;

/// How the lock was come by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Locked {
    Freed,
    /// From this process, which died with it.
    Inherited {
        process: u32,
    },
}

/// The process in this slot does not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StuckOwner {
    pub process: u32,
}

/// The word that says that this process has the lock.
pub(super) fn word_of(slot: usize, generation: u32) -> u32 {
    (generation % GENERATIONS) << SLOT_BITS | (slot as u32 + 1)
}

/// The slot that a word names, and its generation.
pub(super) fn owner(word: u32) -> Option<(usize, u32)> {
    let slot = (word & SLOT_MASK).checked_sub(1)?;
    Some((slot as usize, (word & !WAITED_FOR) >> SLOT_BITS))
}

impl Host {
    /// Takes the lock, for which it waits so long at most if its owner does not go on.
    #[inline(always)]
    pub fn lock(&self, limit: Duration) -> Result<Locked, StuckOwner> {
        let word = &self.file.preamble.word;
        match word.compare_exchange(0, self.word, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Ok(Locked::Freed),
            Err(_) => self.wait_for_lock(word, limit),
        }
    }

    #[cold]
    fn wait_for_lock(&self, word: &AtomicU32, limit: Duration) -> Result<Locked, StuckOwner> {
        for _ in 0..TRIES {
            std::hint::spin_loop();
            if word.load(Ordering::Relaxed) == 0
                && word.compare_exchange(0, self.word, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                return Ok(Locked::Freed);
            }
        }
        let mine = self.word | WAITED_FOR;
        // One thread after the other comes here: those after the first need not wait as long again.
        let known = self.stuck.swap(0, Ordering::AcqRel);
        let since = || self.file.preamble.since.load(Ordering::Relaxed);
        let known_stuck = || known != 0 && since() == known;
        let mut waits = (0, Instant::now());
        loop {
            let seen = word.load(Ordering::Acquire);
            let swap = |new| word.compare_exchange(seen, new, Ordering::AcqRel, Ordering::Relaxed);
            if seen == 0 {
                if swap(mine).is_ok() {
                    return Ok(Locked::Freed);
                }
                continue;
            }
            if waits.0 != seen | WAITED_FOR {
                // Another owner than before: the lock goes round.
                waits = (seen | WAITED_FOR, Instant::now());
            }
            if seen & WAITED_FOR == 0 && swap(seen | WAITED_FOR).is_err() {
                continue;
            }
            self.sleep_on_lock(word, seen | WAITED_FOR, LOOK.min(limit));
            let seen = word.load(Ordering::Acquire);
            if seen != waits.0 {
                continue;
            }
            let process = self.process_of(seen);
            if !self.lives(seen) {
                let taken = word.compare_exchange(seen, mine, Ordering::AcqRel, Ordering::Relaxed);
                if taken.is_ok() {
                    return Ok(Locked::Inherited { process });
                }
            } else if waits.1.elapsed() >= limit || known_stuck() {
                // What one found who hardly waited says nothing to those who can.
                if waits.1.elapsed() >= LONG || known_stuck() {
                    self.stuck.store(since(), Ordering::Release);
                }
                return Err(StuckOwner { process });
            }
        }
    }

    /// Until the lock is freed, or news come that its owner is dying.
    fn sleep_on_lock(&self, word: &AtomicU32, value: u32, time: Duration) {
        let lock = Sleep::on(word, value);
        match owner(value)
            .and_then(|(slot, _)| self.file.slots.get(slot))
            .and_then(|s| s.life.watched())
        {
            Some(life) => drop(futex::wait_any(&[lock, life], time)),
            // It is dying already.
            None => futex::wait(lock, time.min(Duration::from_millis(1))),
        }
    }

    /// Does the process live that the word of the lock names?
    fn lives(&self, word: u32) -> bool {
        let Some((slot, generation)) = owner(word) else { return false };
        let Some(record) = self.file.slots.get(slot) else { return false };
        record.generation.load(Ordering::Acquire) % GENERATIONS == generation && self.is_taken(slot)
    }

    pub(super) fn process_of(&self, word: u32) -> u32 {
        let slot = owner(word).and_then(|(slot, _)| self.file.slots.get(slot));
        slot.map_or(0, |slot| slot.process.load(Ordering::Relaxed))
    }

    /// Frees the lock.
    #[inline(always)]
    pub fn unlock(&self) {
        let word = &self.file.preamble.word;
        if word.swap(0, Ordering::AcqRel) & WAITED_FOR != 0 {
            futex::wake_one(word);
        }
    }
}
