//! The least that order costs: slots that are given to processes in the order in which they ask, by a line and bare futexes in
//! shared memory. No names, no time, no history, and a process that dies at the wrong moment stops all others.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::host_place::{Line, Place};

/// At most this many processes, numbered from 1.
pub const PLACES: usize = 64;

pub struct Order {
    /// One for each process, to sleep on; and as many entries of the line, which goes round in them.
    own: [&'static Line; PLACES],
    common: &'static Line,
}

impl Order {
    pub fn new(place: &Place) -> Order {
        Order { own: std::array::from_fn(|i| place.line(i + 1)), common: place.line(PLACES + 1) }
    }

    /// How many have taken their place in line so far, and how many have left it.
    fn came(&self) -> &AtomicU64 {
        &self.common.amount
    }

    fn left(&self) -> &AtomicU64 {
        &self.common.pause
    }

    fn free(&self) -> &AtomicU64 {
        &self.common.told
    }

    fn entry(&self, number: u64) -> &AtomicU64 {
        &self.own[number as usize % PLACES].start
    }

    pub fn waiting(&self) -> usize {
        let left = self.left().load(Ordering::Acquire);
        (self.came().load(Ordering::Acquire) - left) as usize
    }

    /// What `change` does is done alone.
    fn alone<T>(&self, change: impl FnOnce() -> T) -> T {
        while !self.common.task.swap_if(0, 1) {
            // Whoever is at it may need this processor.
            std::thread::yield_now();
        }
        let answer = change();
        self.common.task.set(0);
        answer
    }

    pub fn take(&self, process: usize) {
        let word = &self.own[process - 1].waits;
        word.set(0);
        let granted = self.alone(|| {
            let free = self.free().load(Ordering::Relaxed);
            if free > 0 {
                self.free().store(free - 1, Ordering::Relaxed);
            } else {
                let number = self.came().load(Ordering::Relaxed);
                self.entry(number).store(process as u64, Ordering::Relaxed);
                self.came().store(number + 1, Ordering::Release);
            }
            free > 0
        });
        while !granted && word.get() == 0 {
            word.sleep(0, None);
        }
    }

    /// Gives a slot to whoever is first in line.
    pub fn give(&self) {
        let first = self.alone(|| {
            let number = self.left().load(Ordering::Relaxed);
            if number == self.came().load(Ordering::Relaxed) {
                self.free().fetch_add(1, Ordering::Relaxed);
                return None;
            }
            self.left().store(number + 1, Ordering::Release);
            Some(self.entry(number).load(Ordering::Relaxed) as usize)
        });
        if let Some(process) = first {
            let word = &self.own[process - 1].waits;
            word.set(1);
            word.wake(1);
        }
    }

    /// Takes all slots away, of which none is in use.
    pub fn close(&self) {
        self.alone(|| self.free().store(0, Ordering::Relaxed));
    }
}
