//! The lock of a file.
//!
//! It is not one of the C library's robust mutexes, for those name their owner by a thread id, which means different things in different PID namespaces.
//! Here the owner is a slot, and whether the process in a slot lives is told by the kernel's file locks (`liveness.rs`), in which all agree.
//! How the lock changes hands says `lock_word.rs`.

use std::time::Duration;

use super::Host;
use super::futex::{self, Sleep};
use super::lock_word::{Surroundings, Waited, is_of_generation, slot_in};
use crate::home::clock::Clock;
use crate::rt::atomic::{AtomicU32, Ordering};

/// How often those who wait for the lock look whether its owner lives.
const LOOK: Duration = Duration::from_millis(20);

/// Who has waited so long may say that the owner does not go on.
const LONG: Duration = Duration::from_secs(4);

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

/// One who waits for the lock.
struct Waiter<'a> {
    host: &'a Host,
    /// For so long at most if the owner does not go on.
    limit: Duration,
    /// Since when the owner had the lock that was found not to go on before; 0: none was.
    known: u64,
}

impl Host {
    /// Takes the lock, for which it waits so long at most if its owner does not go on.
    #[inline(always)]
    pub fn lock(&self, limit: Duration) -> Result<Locked, StuckOwner> {
        match self.file.preamble.word.try_take(self.word) {
            true => Ok(Locked::Freed),
            false => self.wait_for_lock(limit),
        }
    }

    #[cold]
    fn wait_for_lock(&self, limit: Duration) -> Result<Locked, StuckOwner> {
        // One thread after the other comes here: those after the first need not wait as long again.
        let known = self.stuck.swap(0, Ordering::AcqRel);
        match self.file.preamble.word.wait(self.word, &Waiter { host: self, limit, known }) {
            Waited::Freed => Ok(Locked::Freed),
            Waited::Inherited(word) => Ok(Locked::Inherited { process: self.process_of(word) }),
            Waited::InVain(word) => Err(StuckOwner { process: self.process_of(word) }),
        }
    }

    pub(super) fn process_of(&self, word: u32) -> u32 {
        let slot = slot_in(word).and_then(|slot| self.file.slots.get(slot));
        slot.map_or(0, |slot| slot.process.load(Ordering::Relaxed))
    }

    /// Frees the lock.
    #[inline(always)]
    pub fn unlock(&self) {
        self.file.preamble.word.free(futex::wake_one);
    }
}

impl Surroundings for Waiter<'_> {
    fn sleep(&self, word: &AtomicU32, value: u32) {
        let (time, begun) = (LOOK.min(self.limit), Clock::Real.now());
        let lock = Sleep::on(word, value);
        let slot = slot_in(value).and_then(|slot| self.host.file.slots.get(slot));
        match slot.and_then(|slot| slot.life.watched()) {
            Some(life) => futex::wait_any(&[lock, life], time),
            // It is dying already.
            None => futex::wait(lock, time.min(Duration::from_millis(1))),
        }
        self.host.check_file_after_sleep(begun);
    }

    fn lives(&self, word: u32) -> bool {
        let Some(slot) = slot_in(word) else { return false };
        let Some(record) = self.host.file.slots.get(slot) else { return false };
        is_of_generation(word, record.generation.load(Ordering::Acquire))
            && self.host.is_taken(slot)
    }

    fn is_too_long(&self, waited: Duration) -> bool {
        if self.host.is_lost() {
            // Nothing is granted any more, and those that wait must learn it now.
            return true;
        }
        let since = self.host.file.preamble.since.load(Ordering::Relaxed);
        let known_stuck = self.known != 0 && since == self.known;
        if waited < self.limit && !known_stuck {
            return false;
        }
        // What one found who hardly waited says nothing to those who can.
        if waited >= LONG || known_stuck {
            self.host.stuck.store(since, Ordering::Release);
        }
        true
    }
}
