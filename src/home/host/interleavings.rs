//! Loom models of the words of a file that processes change without its lock. A lock and a
//! condition variable stand for the kernel: what it compares before a sleep, it compares with the
//! lock with which it wakes. No sleep ends by itself, unless the model says so: loom reports a
//! sleep without an end as a deadlock.

use std::collections::BTreeSet;
use std::ptr::NonNull;
use std::time::Duration;

use loom::cell::UnsafeCell;
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

use super::event_count::EventCount;
use super::journal::Journal;
use super::layout::{Preamble, Slot};
use super::lock::{
    Acquired, LockPlatform, LockTimeout, LockWord, is_of_generation, slot_in, word_of,
};
use crate::home::read_committed::ReadCommitted;
use crate::memory::UndoLog;
use crate::rt::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use crate::table::cell::{Cell, Cell64, Touched};
use crate::zeroed::ZeroedArray;

/// Explores the model, and checks that it reached exactly these observations: a model that misses
/// the interesting ones proves nothing.
fn explore<T: Ord + Clone + std::fmt::Debug + Send + 'static>(
    preemptions: Option<usize>,
    expected: &[T],
    model: impl Fn() -> T + Sync + Send + 'static,
) {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let log = seen.clone();
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.check(move || {
        let observed = model();
        log.lock().unwrap().insert(observed);
    });
    let expected: BTreeSet<T> = expected.iter().cloned().collect();
    assert_eq!(*seen.lock().unwrap(), expected);
}

const SLOTS: usize = 3;

/// What the kernel knows: which slots are taken, and by which generation.
#[derive(Default)]
struct Kernel {
    alive: Mutex<[u32; SLOTS]>,
    woken: Condvar,
}

impl Kernel {
    fn wait(&self, asleep: impl Fn(&[u32; SLOTS]) -> bool) {
        let alive = self.alive.lock().unwrap();
        if asleep(&alive) {
            drop(self.woken.wait(alive).unwrap());
        }
    }

    fn wake_one(&self) {
        let _alive = self.alive.lock().unwrap();
        self.woken.notify_one();
    }

    /// A process attaches. Returns its word.
    fn attach(&self, slot: usize, generation: u32) -> u32 {
        self.alive.lock().unwrap()[slot] = generation;
        word_of(slot, generation)
    }

    /// The process in this slot is gone, which wakes all that sleep.
    fn kill(&self, slot: usize) {
        self.alive.lock().unwrap()[slot] = 0;
        self.woken.notify_all();
    }
}

/// A lock and what it guards.
struct File {
    word: LockWord,
    guarded: UnsafeCell<u32>,
    kernel: Kernel,
    /// The number of sleeps that end at once.
    spurious_wakes: std::sync::atomic::AtomicU32,
}

// SAFETY: what is guarded is used with the lock only, which loom checks.
unsafe impl Sync for File {}

impl LockPlatform for File {
    fn park(&self, word: &AtomicU32, seen: u32) {
        if self
            .spurious_wakes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |it| it.checked_sub(1))
            .is_ok()
        {
            return;
        }
        let slot = slot_in(seen).expect("it has an owner");
        let lives = |alive: &[u32; SLOTS]| alive[slot] != 0 && is_of_generation(seen, alive[slot]);
        self.kernel.wait(|alive| word.load(Ordering::Relaxed) == seen && lives(alive));
    }

    fn owner_alive(&self, word: u32) -> bool {
        let slot = slot_in(word).expect("it has an owner");
        let alive = self.kernel.alive.lock().unwrap()[slot];
        alive != 0 && is_of_generation(word, alive)
    }

    fn timed_out(&self, _waited: Duration) -> bool {
        false
    }
}

impl File {
    fn new(spurious_wakes: u32) -> Arc<File> {
        let (word, kernel) = (LockWord::default(), Kernel::default());
        Arc::new(File {
            word,
            guarded: UnsafeCell::new(0),
            kernel,
            spurious_wakes: spurious_wakes.into(),
        })
    }

    /// Takes the lock as a process does, and adds one to what it guards.
    fn lock(&self, own: u32) -> Result<Acquired, LockTimeout> {
        let acquired = match self.word.try_lock(own) {
            true => Ok(Acquired::Clean),
            false => self.word.lock(own, self),
        };
        // SAFETY: this has the lock, which loom checks.
        self.guarded.with_mut(|guarded| unsafe { *guarded += 1 });
        acquired
    }

    fn unlock(&self) {
        self.word.unlock(|_| self.kernel.wake_one());
    }

    /// How often it was locked.
    fn count(&self) -> u32 {
        // SAFETY: as for `lock`.
        self.guarded.with(|guarded| unsafe { *guarded })
    }
}

/// One owner at a time, and no waiter is left asleep.
#[test]
fn lock_excludes_others_and_wakes_waiters() {
    explore(Some(3), &[3], || {
        let file = File::new(0);
        let words = [0, 1, 2].map(|slot| file.kernel.attach(slot, 1));
        let others = [words[1], words[2]].map(|own| {
            let file = file.clone();
            thread::spawn(move || {
                file.lock(own).unwrap();
                file.unlock();
            })
        });
        file.lock(words[0]).unwrap();
        file.unlock();
        others.into_iter().for_each(|other| other.join().unwrap());
        file.count()
    });
}

/// A waiter that checks the owner before it was woken finds it alive, and does not take over.
#[test]
fn lock_of_living_owner_is_not_taken_over() {
    explore(Some(3), &[2], || {
        let file = File::new(1);
        let words = [0, 1].map(|slot| file.kernel.attach(slot, 1));
        file.lock(words[0]).unwrap();
        let other = {
            let file = file.clone();
            thread::spawn(move || {
                assert_eq!(file.lock(words[1]), Ok(Acquired::Clean));
                file.unlock();
            })
        };
        file.unlock();
        other.join().unwrap();
        file.count()
    });
}

/// A process dies with the lock: one waiter takes over from it and sees what it had done; the
/// others get the lock from that one.
#[test]
fn lock_of_dead_owner_is_taken_over_once() {
    let died = |acquired| matches!(acquired, Ok(Acquired::OwnerDied { .. }));
    explore(Some(3), &[[false, true], [true, false]], move || {
        let file = File::new(0);
        let words = [0, 1, 2].map(|slot| file.kernel.attach(slot, 1));
        assert_eq!(file.lock(words[0]), Ok(Acquired::Clean));
        let others = [words[1], words[2]].map(|own| {
            let file = file.clone();
            thread::spawn(move || {
                let acquired = file.lock(own);
                assert!(file.count() >= 2);
                file.unlock();
                acquired
            })
        });
        file.kernel.kill(0);
        let acquired = others.map(|other| died(other.join().unwrap()));
        assert_eq!(file.count(), 3);
        acquired
    });
}

/// The slot of the dead owner is taken by another process, which takes the lock: a waiter that had
/// found the owner dead does not take over from that one.
#[test]
fn owner_of_reused_slot_is_not_taken_for_dead() {
    explore(Some(3), &[0, 1], || {
        let file = File::new(0);
        let words = [0, 1].map(|slot| file.kernel.attach(slot, 1));
        assert_eq!(file.lock(words[0]), Ok(Acquired::Clean));
        file.kernel.kill(0);
        let waits = |own: u32| {
            let file = file.clone();
            thread::spawn(move || {
                let acquired = file.lock(own);
                file.unlock();
                matches!(acquired, Ok(Acquired::OwnerDied { .. }))
            })
        };
        let old = waits(words[1]);
        let new = waits(file.kernel.attach(0, 2));
        let (old, new) = (old.join().unwrap(), new.join().unwrap());
        assert!(old != new, "taken over by both or by none");
        assert_eq!(file.count(), 3);
        u32::from(old)
    });
}

/// A ticker reads and parks; a process changes what it reads and notifies.
#[test]
fn notification_is_never_missed() {
    explore(None, &[0, 1], || {
        let shared = Arc::new((EventCount::default(), AtomicU32::new(0), Kernel::default()));
        let other = shared.clone();
        let notifier = thread::spawn(move || {
            let (events, change, kernel) = &*other;
            change.store(1, Ordering::Relaxed);
            events.notify(|_| kernel.wake_one());
        });
        let (events, change, kernel) = &*shared;
        let mut parks = 0;
        loop {
            let seq = events.seq();
            if change.load(Ordering::Relaxed) == 1 {
                break;
            }
            parks = 1;
            events.park(|word| kernel.wait(|_| word.load(Ordering::Relaxed) == seq));
        }
        notifier.join().unwrap();
        parks
    });
}

/// A ticker that parks until the next deadline, and a command that sets an earlier one: the ticker
/// does not sleep beyond it.
#[test]
fn earlier_deadline_is_never_missed() {
    const LATE: u64 = 9;
    const EARLY: u64 = 5;
    explore(None, &[0, 1], || {
        let shared = Arc::new((Slot::default(), AtomicU64::new(LATE), Kernel::default()));
        let other = shared.clone();
        let command = thread::spawn(move || {
            let (slot, next_deadline, kernel) = &*other;
            next_deadline.store(EARLY, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            if slot.is_woken_for(EARLY) {
                slot.events.notify(|_| kernel.wake_one());
            }
        });
        let (slot, next_deadline, kernel) = &*shared;
        let mut parks = 0;
        loop {
            let seq = slot.events.seq();
            slot.set_wake_before(0);
            if slot.watch_deadline(true, || next_deadline.load(Ordering::Relaxed)) == EARLY {
                break;
            }
            parks = 1;
            slot.events.park(|word| kernel.wait(|_| word.load(Ordering::Relaxed) == seq));
        }
        command.join().unwrap();
        parks
    });
}

/// A thread puts its ticket on the list and parks; the ticker, which says that it watches nothing
/// before it reads the list, does not park while the ticket is on it.
#[test]
fn parked_thread_always_has_a_ticker_that_watches() {
    explore(Some(3), &[()], || {
        let shared = Arc::new((Slot::default(), Mutex::new(false), Kernel::default()));
        let other = shared.clone();
        let waiter = thread::spawn(move || {
            let (slot, parked, kernel) = &*other;
            *parked.lock().unwrap() = true;
            if slot.watches_nothing() {
                slot.events.notify(|_| kernel.wake_one());
            }
        });
        let (slot, parked, kernel) = &*shared;
        loop {
            let seq = slot.events.seq();
            slot.set_wake_before(0);
            if *parked.lock().unwrap() {
                break;
            }
            slot.events.park(|word| kernel.wait(|_| word.load(Ordering::Relaxed) == seq));
        }
        waiter.join().unwrap();
    });
}

/// A thread parks on a ticket and an alarm, and is woken by either.
#[test]
fn waiter_is_woken_by_resolution_and_by_alarm() {
    explore(Some(3), &["resolved", "closed"], || {
        // The result of the ticket, the flag of the lifecycle, the alarm.
        let words = [(); 3].map(|()| AtomicU32::new(0));
        let shared = Arc::new((words, Kernel::default()));
        let [first, second] = [shared.clone(), shared.clone()];
        let resolver = thread::spawn(move || {
            let ([result, ..], kernel) = &*first;
            result.store(1, Ordering::Release);
            kernel.wake_one();
        });
        let closer = thread::spawn(move || {
            let ([_, closed, alarm], kernel) = &*second;
            closed.store(1, Ordering::Release);
            alarm.fetch_add(1, Ordering::Release);
            kernel.wake_one();
        });
        let ([result, closed, alarm], kernel) = &*shared;
        let found = loop {
            let seen = alarm.load(Ordering::Acquire);
            if result.load(Ordering::Acquire) != 0 {
                break "resolved";
            }
            if closed.load(Ordering::Acquire) != 0 {
                break "closed";
            }
            kernel.wait(|_| {
                result.load(Ordering::Relaxed) == 0 && alarm.load(Ordering::Relaxed) == seen
            });
        };
        resolver.join().unwrap();
        closer.join().unwrap();
        found
    });
}

/// A reader without the lock never returns a change that the journal rolls back meanwhile.
#[test]
fn change_that_a_journal_rolls_back_is_never_read() {
    explore(None, &[None, Some(0)], || journal(|journal| journal.roll_back().unwrap()));
}

#[test]
fn change_that_a_journal_commits_is_read_from_then_on() {
    explore(None, &[None, Some(0), Some(1)], || journal(|journal| journal.commit()));
}

/// The value that a reader finds in a cell in which 1 is written, before this end of the command.
fn journal(end: impl Fn(&Journal)) -> Option<u64> {
    let preamble: &'static Preamble = Box::leak(Box::default());
    let table: &'static [Cell64; 1] = Box::leak(Box::default());
    let notes = ZeroedArray::try_new(4).unwrap();
    // SAFETY: the cells stay forever, and are all of the table.
    let journal =
        unsafe { Journal::new(preamble, notes, NonNull::from(table).cast(), size_of_val(table)) };
    let own = journal.clone();
    let reader = thread::spawn(move || own.read_committed(|| table[0].get()).ok());
    journal.record(Touched::Word(&table[0]));
    table[0].put(1);
    end(&journal);
    reader.join().unwrap()
}
