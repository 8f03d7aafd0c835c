//! Waking whoever waits for a ticket. Everything that can wait, waits as a [`Waker`]: a task brings its own,
//! a thread gets one that unparks it, and a file descriptor gets one that makes it readable.

use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::Thread;

/// Unparks the thread that made it.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// A waker for the current thread, made once per thread.
pub(crate) fn this_thread() -> Waker {
    thread_local! {
        static OWN: Waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    }
    OWN.with(Waker::clone)
}

/// The wakers of tickets, by [`Table::place_of`](crate::table::Table::place_of). Nearly every ticket has one.
#[derive(Debug, Default)]
pub(crate) struct Wakers(Vec<Slot>);

#[derive(Debug, Default)]
enum Slot {
    #[default]
    Empty,
    One(Waker),
    Many(Vec<Waker>),
}

impl Wakers {
    /// Wakes `waker` too when the ticket in this place is decided.
    pub fn add(&mut self, place: usize, waker: Waker) {
        if self.0.len() <= place {
            self.0.resize_with(place + 1, Slot::default);
        }
        let slot = &mut self.0[place];
        *slot = match std::mem::take(slot) {
            Slot::Empty => Slot::One(waker),
            Slot::One(other) if other.will_wake(&waker) => Slot::One(other),
            Slot::One(other) => Slot::Many(vec![other, waker]),
            Slot::Many(mut others) => {
                if !others.iter().any(|other| other.will_wake(&waker)) {
                    others.push(waker);
                }
                Slot::Many(others)
            }
        };
    }

    /// Takes the wakers of the ticket in this place.
    pub fn take(&mut self, place: usize, woken: &mut Woken) {
        let Some(slot) = self.0.get_mut(place) else { return };
        match std::mem::take(slot) {
            Slot::Empty => {}
            Slot::One(waker) => woken.push(waker),
            Slot::Many(wakers) => wakers.into_iter().for_each(|waker| woken.push(waker)),
        }
    }
}

/// Wakers to be called once the lock is free. The first needs no allocation.
#[derive(Debug, Default)]
pub(crate) struct Woken {
    first: Option<Waker>,
    others: Vec<Waker>,
}

impl Woken {
    fn push(&mut self, waker: Waker) {
        match self.first {
            None => self.first = Some(waker),
            Some(_) => self.others.push(waker),
        }
    }

    pub fn wake(self) {
        if let Some(waker) = self.first {
            waker.wake();
        }
        self.others.into_iter().for_each(Waker::wake);
    }
}
