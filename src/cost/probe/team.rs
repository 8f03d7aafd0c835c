//! Threads that measure together.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::rt::thread::spawn_scoped;

/// Does something on so many threads at once, of which the caller's is the first. `None` if there are not so many to be had, or if one has no answer.
pub(super) fn each<T: Send>(
    threads: u32,
    work: impl Fn(u32) -> Option<T> + Sync,
) -> Option<Vec<T>> {
    thread::scope(|scope| {
        let work = &work;
        let spawn = |number| spawn_scoped(scope, "ternlease-probe", move || work(number)).ok();
        let others: Vec<_> = (1..threads.max(1)).map(spawn).collect();
        let first = work(0);
        // All that could be started are waited for, whether or not there are enough.
        let others: Vec<Option<T>> = others
            .into_iter()
            .map(|thread| thread.and_then(|thread| thread.join().ok()?))
            .collect();
        std::iter::once(first).chain(others).collect()
    })
}

/// Lets the threads of a team begin each slice at the same time, and tells how long the slowest of them took: what they share is divided among
/// them only while all of them are at it.
pub(super) struct Together {
    threads: u32,
    /// Who has arrived, counted on from slice to slice.
    arrived: AtomicU32,
    /// The slice that may begin.
    slice: AtomicU32,
    /// Somebody does not come any more.
    over: AtomicU32,
    begun: Instant,
    /// Since `begun`, in nanoseconds: when the slice began, and when its last thread ended.
    from: AtomicU64,
    to: AtomicU64,
}

impl Together {
    pub fn new(threads: u32) -> Self {
        Together {
            threads,
            arrived: AtomicU32::new(0),
            slice: AtomicU32::new(0),
            over: AtomicU32::new(0),
            begun: Instant::now(),
            from: AtomicU64::new(0),
            to: AtomicU64::new(0),
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Waits for the others, by turning round: sleeping would take longer than a slice. False if somebody has given up.
    fn meet(&self, round: u32, until: Instant, last: impl FnOnce()) -> bool {
        let everybody = self.threads.wrapping_mul(round.wrapping_add(1));
        if self.arrived.fetch_add(1, Ordering::AcqRel).wrapping_add(1) == everybody {
            last();
            self.slice.store(round.wrapping_add(1), Ordering::Release);
            return true;
        }
        let mut turns = 0_u32;
        while self.slice.load(Ordering::Acquire) == round {
            turns = turns.wrapping_add(1);
            // A thread whose processor is busy with something else must get its turn, and the time must end.
            if turns.is_multiple_of(1024) {
                thread::yield_now();
                if self.over.load(Ordering::Relaxed) != 0 || Instant::now() >= until {
                    self.over.store(1, Ordering::Relaxed);
                    return false;
                }
            }
            std::hint::spin_loop();
        }
        true
    }

    /// Slices until the time is up. How long each of them took is told in the thread that came last.
    pub fn run(&self, until: Instant, mut slice: impl FnMut(), mut told: impl FnMut(Duration)) {
        let mut round = 0;
        loop {
            let begin = || self.from.store(self.now(), Ordering::Release);
            if !self.meet(round, until, begin) {
                return;
            }
            slice();
            self.to.fetch_max(self.now(), Ordering::AcqRel);
            let end = || {
                let (from, to) =
                    (self.from.load(Ordering::Acquire), self.to.swap(0, Ordering::AcqRel));
                told(Duration::from_nanos(to.saturating_sub(from)));
                if Instant::now() >= until {
                    self.over.store(1, Ordering::Relaxed);
                }
            };
            if !self.meet(round.wrapping_add(1), until, end)
                || self.over.load(Ordering::Acquire) != 0
            {
                return;
            }
            round = round.wrapping_add(2);
        }
    }
}
