//! The wake registry of a home: waiters of tickets and subscribers of events.
//!
//! Everything that waits in this process is a [`Waker`]: a task brings its own, a thread has one
//! that unparks it, and a file descriptor has one that makes it readable.
//!
//! The registry is guarded by the lock of its home. Wakers of waiters are foreign code: they are
//! cloned, called and dropped only while that lock is free. So each method that takes wakers out
//! moves them to a [`WakeList`], which is called after the lock was released. Wakers of subscribers
//! belong to this library and may be cloned under the lock.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Wake, Waker};

#[cfg(target_os = "linux")]
use super::event_fd::EventFd;
use crate::rt::{self, Thread};

/// Unparks the thread that made it.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A waker for the current thread, made once per thread.
pub(crate) fn park_waker() -> Waker {
    fn new() -> Waker {
        Waker::from(Arc::new(Unpark(rt::current())))
    }
    thread_local! {
        static OWN: Waker = new();
    }
    rt::with_local(&OWN, Waker::clone).unwrap_or_else(new)
}

/// The kind of a waker of a ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WakerKind {
    /// The waker of the thread or task that collects the lease: a newer one replaces an older one.
    Primary,
    /// A further waker.
    Observer,
}

/// The waiters of one ticket.
#[derive(Debug, Default)]
struct Slot {
    primary: Option<Waker>,
    observers: Vec<Waker>,
    #[cfg(target_os = "linux")]
    descriptor: Option<Arc<EventFd>>,
}

impl Slot {
    fn is_empty(&self) -> bool {
        #[cfg(target_os = "linux")]
        if self.descriptor.is_some() {
            return false;
        }
        self.primary.is_none() && self.observers.is_empty()
    }

    fn take(&mut self, wake: &mut WakeList) {
        self.primary.take().into_iter().for_each(|waker| wake.push(waker));
        self.observers.drain(..).for_each(|waker| wake.push(waker));
        #[cfg(target_os = "linux")]
        self.descriptor.take().into_iter().for_each(|fd| wake.push(Waker::from(fd)));
    }
}

/// Names a subscriber.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Subscription(u64);

/// The waiters and subscribers of one process.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    /// By [`Table::place_of`].
    tickets: Vec<Slot>,
    subscribers: Vec<(Subscription, Waker)>,
    /// The number of the last subscription.
    last_subscription: u64,
    /// The number of the last event that subscribers were woken for.
    last_event: u64,
}

impl Waiters {
    /// Registers a waker for the ticket in this place. Returns the waker that is not needed, to be
    /// dropped after unlock.
    pub fn add(&mut self, place: usize, kind: WakerKind, waker: Waker) -> Option<Waker> {
        let slot = self.slot(place);
        match kind {
            WakerKind::Primary => slot.primary.replace(waker),
            // One that registers the same waker again is woken once.
            WakerKind::Observer if slot.observers.iter().any(|other| other.will_wake(&waker)) => {
                Some(waker)
            }
            WakerKind::Observer => {
                slot.observers.push(waker);
                None
            }
        }
    }

    /// The descriptor of the ticket in this place, which is `new` if it had none.
    #[cfg(target_os = "linux")]
    pub fn descriptor(&mut self, place: usize, new: Arc<EventFd>) -> Arc<EventFd> {
        self.slot(place).descriptor.get_or_insert(new).clone()
    }

    fn slot(&mut self, place: usize) -> &mut Slot {
        if self.tickets.len() <= place {
            self.tickets.resize_with(place + 1, Slot::default);
        }
        &mut self.tickets[place]
    }

    /// Registers a waker for the events after number `last`.
    pub fn subscribe(&mut self, last: u64, waker: Waker) -> Subscription {
        if self.subscribers.is_empty() {
            self.last_event = last;
        }
        self.last_subscription += 1;
        let subscription = Subscription(self.last_subscription);
        self.subscribers.push((subscription, waker));
        subscription
    }

    /// Removes a subscriber. Returns its waker, to be dropped after unlock.
    pub fn unsubscribe(&mut self, subscription: Subscription) -> Option<Waker> {
        let at = self.subscribers.iter().position(|(other, _)| *other == subscription)?;
        Some(self.subscribers.swap_remove(at).1)
    }

    #[inline(always)]
    pub fn has_subscribers(&self) -> bool {
        !self.subscribers.is_empty()
    }

    /// Is a waker or a descriptor registered for a ticket?
    #[cfg(target_os = "linux")]
    pub fn has_waiters(&self) -> bool {
        self.tickets.iter().any(|slot| !slot.is_empty())
    }

    /// Is anything registered?
    #[cfg(target_os = "linux")]
    pub fn is_registered(&self) -> bool {
        self.has_subscribers() || self.has_waiters()
    }

    /// Takes the waiters of the ticket in this place.
    pub fn take(&mut self, place: usize, wake: &mut WakeList) {
        if let Some(slot) = self.tickets.get_mut(place) {
            slot.take(wake);
        }
    }

    /// Takes the waiters of the tickets in those places of which this is true.
    #[cfg(target_os = "linux")]
    pub fn take_if(&mut self, resolved: impl Fn(usize) -> bool, wake: &mut WakeList) {
        for (place, slot) in self.tickets.iter_mut().enumerate() {
            if !slot.is_empty() && resolved(place) {
                slot.take(wake);
            }
        }
    }

    /// Takes the subscribers, if there are events after those that they were woken for.
    pub fn take_subscribers(&mut self, last_event: u64, wake: &mut WakeList) {
        if self.has_subscribers() && self.last_event != last_event {
            self.last_event = last_event;
            self.take_all_subscribers(wake);
        }
    }

    /// Takes all subscribers. They stay registered.
    pub fn take_all_subscribers(&self, wake: &mut WakeList) {
        self.subscribers.iter().for_each(|(_, waker)| wake.push(waker.clone()));
    }

    /// Takes the waiters of all tickets.
    pub fn take_all_waiters(&mut self, wake: &mut WakeList) {
        self.tickets.iter_mut().for_each(|slot| slot.take(wake));
    }

    /// Takes the wakers of all tickets, which register again if they still wait. Descriptors stay.
    #[cfg(feature = "cluster")]
    pub fn take_wakers(&mut self, wake: &mut WakeList) {
        for slot in &mut self.tickets {
            slot.primary.take().into_iter().for_each(|waker| wake.push(waker));
            slot.observers.drain(..).for_each(|waker| wake.push(waker));
        }
    }

    /// Takes all waiters and subscribers.
    pub fn take_all(&mut self, wake: &mut WakeList) {
        self.take_all_waiters(wake);
        self.take_all_subscribers(wake);
    }
}

/// Wakers to be called after unlock. The first needs no allocation.
#[derive(Debug, Default)]
pub(crate) struct WakeList {
    first: Option<Waker>,
    others: Vec<Waker>,
}

impl WakeList {
    pub fn push(&mut self, waker: Waker) {
        match self.first {
            None => self.first = Some(waker),
            Some(_) => self.others.push(waker),
        }
    }

    #[cfg(feature = "cluster")]
    pub fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    #[cfg(feature = "cluster")]
    pub fn append(&mut self, other: WakeList) {
        other.first.into_iter().chain(other.others).for_each(|waker| self.push(waker));
    }

    /// Calls the wakers that unpark a thread: they run no foreign code.
    #[cfg(feature = "cluster")]
    pub fn wake_threads(&mut self) {
        let unpark = park_waker();
        let all = std::mem::take(self);
        for waker in all.first.into_iter().chain(all.others) {
            match std::ptr::eq(waker.vtable(), unpark.vtable()) {
                true => waker.wake(),
                false => self.push(waker),
            }
        }
    }

    /// Calls all wakers. One that panics affects neither the others nor the caller.
    pub fn wake(self) {
        for waker in self.first.into_iter().chain(self.others) {
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
    }
}
