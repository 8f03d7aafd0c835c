//! Waking whoever waits for a ticket. Everything that can wait, waits as a [`Waker`]: a task brings its own,
//! a thread gets one that unparks it, and a file descriptor gets one that makes it readable.
//!
//! Wakers are code of others: they are cloned, called and dropped only while the home's lock is free.

use std::panic::{AssertUnwindSafe, catch_unwind};
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

/// Whose waker it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Of the one who waits for the lease: a newer waker replaces an older one.
    Owner,
    /// Of somebody who wants to know too.
    Watcher,
}

/// The wakers of tickets, by [`Table::place_of`](crate::table::Table::place_of).
#[derive(Debug, Default)]
pub(crate) struct Wakers(Vec<Slot>);

#[derive(Debug, Default)]
struct Slot {
    owner: Option<Waker>,
    watchers: Vec<Waker>,
}

impl Wakers {
    /// Calls `waker` when the ticket in this place is decided; the waker that it replaces, to be dropped without the lock.
    pub fn add(&mut self, place: usize, role: Role, waker: Waker) -> Option<Waker> {
        if self.0.len() <= place {
            self.0.resize_with(place + 1, Slot::default);
        }
        let slot = &mut self.0[place];
        match role {
            Role::Owner => slot.owner.replace(waker),
            Role::Watcher => {
                slot.watchers.push(waker);
                None
            }
        }
    }

    /// Takes the wakers of the ticket in this place.
    pub fn take(&mut self, place: usize, woken: &mut Woken) {
        if let Some(slot) = self.0.get_mut(place) {
            slot.owner.take().into_iter().for_each(|waker| woken.push(waker));
            slot.watchers.drain(..).for_each(|waker| woken.push(waker));
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

    /// Calls them all. One that panics takes down neither the others nor whoever happened to serve them.
    pub fn wake(self) {
        for waker in self.first.into_iter().chain(self.others) {
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
    }
}
