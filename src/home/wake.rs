//! Waking whoever waits for a ticket. Everything that can wait, waits as a [`Waker`]: a task brings its own,
//! a thread gets one that unparks it, and a file descriptor gets one that makes it readable.
//!
//! Wakers are code of others: they are cloned, called and dropped only while the home's lock is free.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Wake, Waker};

#[cfg(target_os = "linux")]
use super::signal_fd::SignalFd;
use super::world::{self, Thread};

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
    fn new() -> Waker {
        Waker::from(Arc::new(Unpark(world::current())))
    }
    thread_local! {
        static OWN: Waker = new();
    }
    #[cfg(all(test, feature = "cluster", unix))]
    if world::is_simulated() {
        return new();
    }
    // A thread that is ending may have lost it already.
    OWN.try_with(Waker::clone).unwrap_or_else(|_| new())
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
    #[cfg(target_os = "linux")]
    descriptor: Option<Arc<SignalFd>>,
}

#[cfg(target_os = "linux")]
impl Slot {
    fn is_empty(&self) -> bool {
        self.owner.is_none() && self.watchers.is_empty() && self.descriptor.is_none()
    }
}

impl Wakers {
    /// Calls `waker` when the ticket in this place is decided; the waker that is not needed, to be dropped without the lock.
    pub fn add(&mut self, place: usize, role: Role, waker: Waker) -> Option<Waker> {
        let slot = self.slot(place);
        match role {
            Role::Owner => slot.owner.replace(waker),
            // One who asks again and again is still to be told once.
            Role::Watcher if slot.watchers.iter().any(|other| other.will_wake(&waker)) => {
                Some(waker)
            }
            Role::Watcher => {
                slot.watchers.push(waker);
                None
            }
        }
    }

    /// The descriptor for the ticket in this place: the one that there is, or this.
    #[cfg(target_os = "linux")]
    pub fn descriptor(&mut self, place: usize, new: Arc<SignalFd>) -> Arc<SignalFd> {
        self.slot(place).descriptor.get_or_insert(new).clone()
    }

    fn slot(&mut self, place: usize) -> &mut Slot {
        if self.0.len() <= place {
            self.0.resize_with(place + 1, Slot::default);
        }
        &mut self.0[place]
    }

    /// Is there nobody to be woken?
    #[cfg(target_os = "linux")]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Slot::is_empty)
    }

    /// Takes the wakers of the tickets in those places of which this is true.
    #[cfg(target_os = "linux")]
    pub fn take_if(&mut self, decided: impl Fn(usize) -> bool, woken: &mut Woken) {
        for place in 0..self.0.len() {
            if !self.0[place].is_empty() && decided(place) {
                self.take(place, woken);
            }
        }
    }

    /// Takes the wakers of all tickets.
    pub fn take_all(&mut self, woken: &mut Woken) {
        (0..self.0.len()).for_each(|place| self.take(place, woken));
    }

    /// Takes the wakers of the ticket in this place.
    pub fn take(&mut self, place: usize, woken: &mut Woken) {
        if let Some(slot) = self.0.get_mut(place) {
            slot.owner.take().into_iter().for_each(|waker| woken.push(waker));
            slot.watchers.drain(..).for_each(|waker| woken.push(waker));
            #[cfg(target_os = "linux")]
            slot.descriptor.take().into_iter().for_each(|fd| woken.push(Waker::from(fd)));
        }
    }
}

/// Names one who listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Listener(u64);

/// The wakers of those who want to know of every event. They are this library's own, so that they may be cloned under the lock.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    all: Vec<(Listener, Waker)>,
    added: u64,
    /// The number of the last event that they were told of.
    told: u64,
}

impl Listeners {
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Calls `waker` for events after number `last`.
    pub fn add(&mut self, last: u64, waker: Waker) -> Listener {
        if self.all.is_empty() {
            self.told = last;
        }
        self.added += 1;
        let listener = Listener(self.added);
        self.all.push((listener, waker));
        listener
    }

    pub fn remove(&mut self, listener: Listener) -> Option<Waker> {
        let at = self.all.iter().position(|(other, _)| *other == listener)?;
        Some(self.all.swap_remove(at).1)
    }

    /// Those who have to be told that there are events up to number `last`.
    pub fn take(&mut self, last: u64, woken: &mut Woken) {
        if !self.all.is_empty() && self.told != last {
            self.told = last;
            self.take_all(woken);
        }
    }

    pub fn take_all(&self, woken: &mut Woken) {
        self.all.iter().for_each(|(_, waker)| woken.push(waker.clone()));
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
