//! The lock of a file: a robust lock between processes.
//!
//! Data structure: one word. 0 is free; otherwise it names the slot and the generation of the
//! owner, and a bit says that others wait. It is not a robust mutex of the C library: those name
//! their owner by a thread id, which means different things in different PID namespaces. Whether
//! the owner lives is decided by the kernel's file locks (`liveness.rs`), which mean the same
//! everywhere.
//!
//! Invariants:
//!
//! 1. *One process takes over from a dead owner.* It does so by a compare-and-swap from exactly the
//!    dead owner's word. The next process in the same slot has another generation, thus another
//!    word.
//! 2. *No waiter sleeps forever.* The owner that unlocks and sees the bit wakes one waiter, which
//!    sets the bit again as it takes the lock, for those that sleep on. If that one dies in
//!    between, the others check again after [`OWNER_POLL`].
//! 3. The lock says nothing of the table: its new owner rolls back first if the journal is not
//!    empty.
//!
//! [`LockWord`] uses files and the kernel only through [`LockPlatform`], so that loom explores all
//! of it: `interleavings.rs`.

use std::time::{Duration, Instant};

use super::Attachment;
use super::futex::{self, FutexWait};
use crate::home::clock::Clock;
use crate::rt::atomic::{AtomicU32, Ordering};

/// How often a waiter checks whether the owner lives.
const OWNER_POLL: Duration = Duration::from_millis(20);

/// How long a waiter has waited when it may mark the owner as stuck for the waiters after it.
const STUCK_AFTER: Duration = Duration::from_secs(4);

const HAS_WAITERS: u32 = 1 << 31;
const SLOT_BITS: u32 = 11;
const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;
/// Generations count modulo this.
const GENERATIONS: u32 = 1 << (31 - SLOT_BITS);

/// How often to try before a sleep: commands are short.
const SPINS: u32 = if cfg!(loom) { 1 } else { 100 };

/// See the module's text.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct LockWord(AtomicU32);

/// The operations that a waiter for the lock needs.
pub(crate) trait LockPlatform {
    /// Sleeps while the word has this value, until it is woken, its owner begins to die, or for a
    /// while. May return for no reason.
    fn park(&self, word: &AtomicU32, seen: u32);

    /// Does the process live that has the lock by this word?
    fn owner_alive(&self, word: u32) -> bool;

    /// Has this waiter waited too long for an owner that lives?
    fn timed_out(&self, waited: Duration) -> bool;
}

/// How the lock was acquired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Acquired {
    Clean,
    /// From the owner with this word, which died.
    OwnerDied {
        word: u32,
    },
}

/// The owner with this word lives, and has had the lock for too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LockTimeout {
    pub word: u32,
}

/// The word of a process that has the lock.
pub(super) fn word_of(slot: usize, generation: u32) -> u32 {
    (generation % GENERATIONS) << SLOT_BITS | (slot as u32 + 1)
}

/// The slot that a word names.
pub(super) fn slot_in(word: u32) -> Option<usize> {
    Some((word & SLOT_MASK).checked_sub(1)? as usize)
}

/// Does a word name this generation of its slot?
pub(super) fn is_of_generation(word: u32, generation: u32) -> bool {
    (word & !HAS_WAITERS) >> SLOT_BITS == generation % GENERATIONS
}

impl LockWord {
    pub fn get(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    #[inline(always)]
    pub fn try_lock(&self, own: u32) -> bool {
        self.0.compare_exchange(0, own, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Waits until the lock is free or its owner is dead, and takes it.
    pub fn lock(&self, own: u32, platform: &impl LockPlatform) -> Result<Acquired, LockTimeout> {
        for _ in 0..SPINS {
            std::hint::spin_loop();
            if self.0.load(Ordering::Relaxed) == 0 && self.try_lock(own) {
                return Ok(Acquired::Clean);
            }
        }
        let own = own | HAS_WAITERS;
        let (mut owner, mut since) = (0, Instant::now());
        loop {
            let seen = self.get();
            if seen == 0 {
                if self.swap(0, own) {
                    return Ok(Acquired::Clean);
                }
                continue;
            }
            if owner != seen | HAS_WAITERS {
                // Another owner than before: the lock is in use, not stuck.
                (owner, since) = (seen | HAS_WAITERS, Instant::now());
            }
            if seen & HAS_WAITERS == 0 && !self.swap(seen, owner) {
                continue;
            }
            platform.park(&self.0, owner);
            if self.get() != owner {
                continue;
            }
            if !platform.owner_alive(owner) {
                if self.swap(owner, own) {
                    return Ok(Acquired::OwnerDied { word: owner });
                }
            } else if platform.timed_out(since.elapsed()) {
                return Err(LockTimeout { word: owner });
            }
        }
    }

    fn swap(&self, old: u32, new: u32) -> bool {
        self.0.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Unlocks, and has one waiter woken if there are any.
    #[inline(always)]
    pub fn unlock(&self, wake_one: impl FnOnce(&AtomicU32)) {
        if self.0.swap(0, Ordering::AcqRel) & HAS_WAITERS != 0 {
            wake_one(&self.0);
        }
    }
}

/// A waiter of this process.
struct Waiter<'a> {
    host: &'a Attachment,
    /// How long it waits for an owner that does not run.
    limit: Duration,
    /// Since when the owner had the lock that was found stuck before; 0: none was.
    known_stuck: u64,
}

impl Attachment {
    /// Takes the lock. Waits at most so long for an owner that does not run.
    #[inline(always)]
    pub fn lock(&self, limit: Duration) -> Result<Acquired, LockTimeout> {
        match self.file.preamble.word.try_lock(self.word) {
            true => Ok(Acquired::Clean),
            false => self.wait_for_lock(limit),
        }
    }

    #[cold]
    fn wait_for_lock(&self, limit: Duration) -> Result<Acquired, LockTimeout> {
        // Threads come here one by one: those after the first need not wait as long again.
        let known_stuck = self.stuck.swap(0, Ordering::AcqRel);
        self.file.preamble.word.lock(self.word, &Waiter { host: self, limit, known_stuck })
    }

    #[inline(always)]
    pub fn unlock(&self) {
        self.file.preamble.word.unlock(futex::wake_one);
    }

    /// The process that a word names, by its own number; 0 if it is not known.
    pub fn process_of(&self, word: u32) -> u32 {
        let slot = slot_in(word).and_then(|slot| self.file.slots.get(slot));
        slot.map_or(0, |slot| slot.process.load(Ordering::Relaxed))
    }
}

impl LockPlatform for Waiter<'_> {
    fn park(&self, word: &AtomicU32, seen: u32) {
        let (time, begun) = (OWNER_POLL.min(self.limit), Clock::Real.now());
        let lock = FutexWait::on(word, seen);
        let slot = slot_in(seen).and_then(|slot| self.host.file.slots.get(slot));
        match slot.and_then(|slot| slot.life.wait_entry()) {
            Some(life) => futex::wait_any(&[lock, life], time),
            // It is dying already.
            None => futex::wait_any(&[lock], time.min(Duration::from_millis(1))),
        }
        self.host.check_file_after_park(begun);
    }

    fn owner_alive(&self, word: u32) -> bool {
        let Some(slot) = slot_in(word) else { return false };
        let Some(record) = self.host.file.slots.get(slot) else { return false };
        is_of_generation(word, record.generation.load(Ordering::Acquire))
            && self.host.is_taken(slot)
    }

    fn timed_out(&self, waited: Duration) -> bool {
        if self.host.is_lost() {
            // The table grants nothing any more, and waiters must return an error now.
            return true;
        }
        let since = self.host.file.preamble.since.load(Ordering::Relaxed);
        let known_stuck = self.known_stuck != 0 && since == self.known_stuck;
        if waited < self.limit && !known_stuck {
            return false;
        }
        // A waiter with a short limit must not mark the owner as stuck for others.
        if waited >= STUCK_AFTER || known_stuck {
            self.host.stuck.store(since, Ordering::Release);
        }
        true
    }
}
