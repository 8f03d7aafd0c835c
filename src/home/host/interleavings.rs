//! The words of a file that processes change without its lock, through the interleavings that loom finds. The kernel is played by a lock and a condition
//! variable: what it compares before a sleep, it compares with the same lock with which it wakes. No sleep ends by itself, unless the model says so: one that
//! nobody ends is reported as a deadlock.

use std::collections::BTreeSet;
use std::ptr::NonNull;
use std::time::Duration;

use loom::cell::UnsafeCell;
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

use super::bell::Bell;
use super::journal::Journal;
use super::layout::Preamble;
use super::lock_word::{LockWord, Surroundings, Waited, is_of_generation, slot_in, word_of};
use crate::home::settled::Undoable;
use crate::memory::UndoLog;
use crate::rt::atomic::{AtomicU32, Ordering};
use crate::table::cell::{Cell, Cell64, Touched};
use crate::zeroed::ZeroedArray;

/// Explores the model, and checks that it came to exactly these observations: a model that never saw the interesting ones would prove nothing.
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

/// What the kernel knows: which slots are taken, and by which of the processes that came one after the other.
#[derive(Default)]
struct Kernel {
    alive: Mutex<[u32; SLOTS]>,
    news: Condvar,
}

impl Kernel {
    fn wait(&self, asleep: impl Fn(&[u32; SLOTS]) -> bool) {
        let alive = self.alive.lock().unwrap();
        if asleep(&alive) {
            drop(self.news.wait(alive).unwrap());
        }
    }

    fn wake_one(&self) {
        let _alive = self.alive.lock().unwrap();
        self.news.notify_one();
    }

    /// A process comes, and its word.
    fn attach(&self, slot: usize, generation: u32) -> u32 {
        self.alive.lock().unwrap()[slot] = generation;
        word_of(slot, generation)
    }

    /// The process in this slot is gone, and whoever sleeps hears of it.
    fn kill(&self, slot: usize) {
        self.alive.lock().unwrap()[slot] = 0;
        self.news.notify_all();
    }
}

/// A lock, what it guards, and who waits for it.
struct File {
    word: LockWord,
    guarded: UnsafeCell<u32>,
    kernel: Kernel,
    /// So many sleeps end at once, for no reason.
    naps: std::sync::atomic::AtomicU32,
}

// SAFETY: what is guarded is used with the lock only, which loom checks.
unsafe impl Sync for File {}

impl Surroundings for File {
    fn sleep(&self, word: &AtomicU32, value: u32) {
        if self
            .naps
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |it| it.checked_sub(1))
            .is_ok()
        {
            return;
        }
        let slot = slot_in(value).expect("somebody has it");
        let lives = |alive: &[u32; SLOTS]| alive[slot] != 0 && is_of_generation(value, alive[slot]);
        self.kernel.wait(|alive| word.load(Ordering::Relaxed) == value && lives(alive));
    }

    fn lives(&self, word: u32) -> bool {
        let slot = slot_in(word).expect("somebody has it");
        let alive = self.kernel.alive.lock().unwrap()[slot];
        alive != 0 && is_of_generation(word, alive)
    }

    fn is_too_long(&self, _waited: Duration) -> bool {
        false
    }
}

impl File {
    fn new(naps: u32) -> Arc<File> {
        let (word, kernel) = (LockWord::default(), Kernel::default());
        Arc::new(File { word, guarded: UnsafeCell::new(0), kernel, naps: naps.into() })
    }

    /// Takes the lock as a process does, and adds one to what it guards.
    fn lock(&self, own: u32) -> Waited {
        let waited =
            if self.word.try_take(own) { Waited::Freed } else { self.word.wait(own, self) };
        // SAFETY: this has the lock, which loom checks.
        self.guarded.with_mut(|guarded| unsafe { *guarded += 1 });
        waited
    }

    fn unlock(&self) {
        self.word.free(|_| self.kernel.wake_one());
    }

    /// How often it was locked.
    fn count(&self) -> u32 {
        // SAFETY: as for `lock`.
        self.guarded.with(|guarded| unsafe { *guarded })
    }
}

/// One after the other, and nobody is left asleep.
#[test]
fn the_lock_excludes_and_wakes() {
    explore(Some(3), &[3], || {
        let file = File::new(0);
        let words = [0, 1, 2].map(|slot| file.kernel.attach(slot, 1));
        let others = [words[1], words[2]].map(|own| {
            let file = file.clone();
            thread::spawn(move || {
                file.lock(own);
                file.unlock();
            })
        });
        file.lock(words[0]);
        file.unlock();
        others.into_iter().for_each(|other| other.join().unwrap());
        file.count()
    });
}

/// Who looks again before anybody has woken it finds the owner alive, and takes nothing from it.
#[test]
fn a_living_owner_keeps_the_lock() {
    explore(Some(3), &[2], || {
        let file = File::new(1);
        let words = [0, 1].map(|slot| file.kernel.attach(slot, 1));
        file.lock(words[0]);
        let other = {
            let file = file.clone();
            thread::spawn(move || {
                assert_eq!(file.lock(words[1]), Waited::Freed);
                file.unlock();
            })
        };
        file.unlock();
        other.join().unwrap();
        file.count()
    });
}

/// A process dies with the lock: one of those who wait inherits it, once, and sees what the dead one had done; the others get it from that one.
#[test]
fn a_dead_owners_lock_is_inherited_once() {
    let (freed, inherited) = ("freed", "inherited");
    let told = move |waited| match waited {
        Waited::Freed => freed,
        Waited::Inherited(_) => inherited,
        Waited::InVain(_) => "in vain",
    };
    explore(Some(3), &[[freed, inherited], [inherited, freed]], move || {
        let file = File::new(0);
        let words = [0, 1, 2].map(|slot| file.kernel.attach(slot, 1));
        assert_eq!(file.lock(words[0]), Waited::Freed);
        let others = [words[1], words[2]].map(|own| {
            let file = file.clone();
            thread::spawn(move || {
                let waited = file.lock(own);
                assert!(file.count() >= 2);
                file.unlock();
                waited
            })
        });
        file.kernel.kill(0);
        let waited = others.map(|other| told(other.join().unwrap()));
        assert_eq!(file.count(), 3);
        waited
    });
}

/// The slot of the dead owner is taken by another process, which takes the lock: nobody who had found the owner dead takes it from that one.
#[test]
fn a_slot_that_is_used_again_is_not_taken_for_dead() {
    explore(Some(3), &[0, 1], || {
        let file = File::new(0);
        let words = [0, 1].map(|slot| file.kernel.attach(slot, 1));
        assert_eq!(file.lock(words[0]), Waited::Freed);
        file.kernel.kill(0);
        let waits = |own: u32| {
            let file = file.clone();
            thread::spawn(move || {
                let waited = file.lock(own);
                file.unlock();
                matches!(waited, Waited::Inherited(_))
            })
        };
        let old = waits(words[1]);
        let new = waits(file.kernel.attach(0, 2));
        let (old, new) = (old.join().unwrap(), new.join().unwrap());
        assert!(old != new, "inherited by both or by none");
        assert_eq!(file.count(), 3);
        u32::from(old)
    });
}

/// A keeper that looks and sleeps, and somebody who has something for it and rings: it gets up for that.
#[test]
fn a_ring_is_never_missed() {
    explore(None, &[0, 1], || {
        let shared = Arc::new((Bell::default(), AtomicU32::new(0), Kernel::default()));
        let other = shared.clone();
        let ringer = thread::spawn(move || {
            let (bell, news, kernel) = &*other;
            news.store(1, Ordering::Relaxed);
            bell.ring(|_| kernel.wake_one());
        });
        let (bell, news, kernel) = &*shared;
        let mut sleeps = 0;
        loop {
            let seen = bell.shows();
            if news.load(Ordering::Relaxed) == 1 {
                break;
            }
            sleeps = 1;
            bell.sleep(|word| kernel.wait(|_| word.load(Ordering::Relaxed) == seen));
        }
        ringer.join().unwrap();
        sleeps
    });
}

/// A reader without the lock is told of no change that is undone, by a journal that undoes it while it looks.
#[test]
fn what_a_journal_undoes_is_told_to_nobody() {
    explore(None, &[None, Some(0)], || journal(|journal| journal.roll_back().unwrap()));
}

#[test]
fn what_a_journal_commits_is_told_once_it_counts() {
    explore(None, &[None, Some(0), Some(1)], || journal(|journal| journal.commit()));
}

/// What a reader is told of a cell in which 1 is written, before this is done with it.
fn journal(end: impl Fn(&Journal)) -> Option<u64> {
    let preamble: &'static Preamble = Box::leak(Box::default());
    let table: &'static [Cell64; 1] = Box::leak(Box::default());
    let notes = ZeroedArray::try_new(4).unwrap();
    // SAFETY: the cells stay for ever, and are all of the table.
    let journal =
        unsafe { Journal::new(preamble, notes, NonNull::from(table).cast(), size_of_val(table)) };
    let own = journal.clone();
    let reader = thread::spawn(move || own.settled(|| table[0].get()).ok());
    journal.record(Touched::Word(&table[0]));
    table[0].put(1);
    end(&journal);
    reader.join().unwrap()
}
