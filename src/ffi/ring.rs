//! What was given up last is kept for a while, without a lock.
//!
//! **Why nothing is given back twice.** Each place is changed by a swap only: what one thread takes out of it, no other can. The swap also makes sure that
//! whoever takes something out sees all that was done with it before it was put in.

use std::ptr;

#[cfg(loom)]
use loom::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
#[cfg(not(loom))]
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// Keeps the last `N`.
pub(crate) struct Ring<T, const N: usize> {
    places: [AtomicPtr<T>; N],
    count: AtomicUsize,
}

impl<T: Send, const N: usize> Ring<T, N> {
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        let places = [const { AtomicPtr::new(ptr::null_mut()) }; N];
        Ring { places, count: AtomicUsize::new(0) }
    }

    #[cfg(loom)]
    pub fn new() -> Self {
        let places = std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut()));
        Ring { places, count: AtomicUsize::new(0) }
    }

    /// Keeps this, and gives back what was in its place.
    pub fn keep(&self, new: Box<T>) -> Option<Box<T>> {
        let place = self.count.fetch_add(1, Ordering::Relaxed) % N;
        let oldest = self.places[place].swap(Box::into_raw(new), Ordering::AcqRel);
        // SAFETY: it came from a box, and was just taken out.
        (!oldest.is_null()).then(|| unsafe { Box::from_raw(oldest) })
    }
}

#[cfg(all(test, loom))]
mod interleavings {
    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    /// What was used before it was put in is used again by whoever takes it out: loom reports if those could meet.
    #[test]
    fn what_is_taken_out_is_nobody_elses() {
        loom::model(|| {
            let ring = Arc::new(Ring::<UnsafeCell<u32>, 1>::new());
            let give_up = |ring: &Ring<UnsafeCell<u32>, 1>, number| {
                let thing = Box::new(UnsafeCell::new(0));
                // SAFETY: nobody else has it.
                thing.with_mut(|thing| unsafe { *thing = number });
                // SAFETY: it was taken out of the ring, so that nobody else has it.
                ring.keep(thing).map(|old| old.with_mut(|old| unsafe { *old }))
            };
            let others = [1, 2].map(|number| {
                let ring = ring.clone();
                thread::spawn(move || give_up(&ring, number))
            });
            let mut back: Vec<u32> = give_up(&ring, 3).into_iter().collect();
            back.extend(others.into_iter().filter_map(|other| other.join().unwrap()));
            back.extend(give_up(&ring, 4));
            back.sort_unstable();
            assert_eq!(back, [1, 2, 3], "each once, but the last");
        });
    }
}
