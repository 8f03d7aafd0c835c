//! What happens by time alone: a heap of the ends of leases and of waits.
//!
//! Four children per node, keys in the nodes, so that a step down costs one cache line. Renewals do not
//! touch it: a node that fires looks at the lease's real end and, if that is later, goes back in with it.

use super::layout::Timer;
use super::memory::Memory;
use super::slot::Word;
use super::types::{FOREVER, Time};
use super::{Reason, Table};

/// Tickets sort behind leases of the same time; ids sort within their kind.
const TICKET: u64 = 1 << 63;

/// Places count from 1, and the children of place `p` from `4p - 2`: so far into the array they share a cache line.
const PADDING: u32 = 2;

impl<M: Memory> Table<M> {
    #[inline(always)]
    pub(super) fn timer_at(&self, place: u32) -> (Time, u64) {
        let timer: &Timer = self.timer_record(place + PADDING);
        (timer.at.get(), timer.owner.get())
    }

    /// The cell in which a timer's owner keeps the timer's place.
    #[inline(always)]
    fn timer_place(&self, owner: u64) -> &super::cell::Cell32 {
        if owner & TICKET != 0 {
            &self.ticket_record(self.ticket_index(owner & !TICKET)).timer
        } else {
            &self.lease_record(self.lease_index(owner)).timer
        }
    }

    #[inline(always)]
    fn put_timer(&self, place: u32, (at, owner): (Time, u64)) {
        let timer = self.timer_record(place + PADDING);
        self.set(&timer.at, at);
        self.set(&timer.owner, owner);
        self.set(self.timer_place(owner), place);
    }

    pub(super) fn start_lease_timer(&self, id: u64, at: Time) {
        self.start_timer(at, id);
    }

    pub(super) fn start_ticket_timer(&self, id: u64, at: Time) {
        self.start_timer(at, id | TICKET);
    }

    #[inline(always)]
    fn start_timer(&self, at: Time, owner: u64) {
        if at == FOREVER {
            self.set(self.timer_place(owner), 0);
            return;
        }
        let place = self.header().timers.get() + 1;
        self.set(&self.header().timers, place);
        self.sift_up(place, (at, owner));
        self.note_next_due();
    }

    #[inline(always)]
    pub(super) fn stop_lease_timer(&self, id: u64) {
        self.stop_timer(id);
    }

    pub(super) fn stop_ticket_timer(&self, id: u64) {
        self.stop_timer(id | TICKET);
    }

    #[inline(always)]
    fn stop_timer(&self, owner: u64) {
        let cell = self.timer_place(owner);
        let place = cell.get();
        if place == 0 {
            return;
        }
        self.set(cell, 0);
        let last = self.header().timers.get();
        self.set(&self.header().timers, last.wrapping_sub(1));
        if place != last {
            let moved = self.timer_at(last);
            self.sift(place, moved);
        }
        if place == 1 {
            self.note_next_due();
        }
    }

    /// Fires at `at` from now on, be that earlier or later than before.
    pub(super) fn move_lease_timer(&self, id: u64, at: Time) {
        let place = self.timer_place(id).get();
        if place == 0 || at == FOREVER {
            self.stop_timer(id);
            self.start_timer(at, id);
        } else {
            self.sift(place, (at, id));
            self.note_next_due();
        }
    }

    #[inline(always)]
    fn sift(&self, place: u32, timer: (Time, u64)) {
        if place > 1 && timer < self.timer_at(parent(place)) {
            self.sift_up(place, timer);
        } else {
            self.sift_down(place, timer);
        }
    }

    #[inline(always)]
    fn sift_up(&self, mut place: u32, timer: (Time, u64)) {
        while place > 1 {
            let above = self.timer_at(parent(place));
            if above <= timer {
                break;
            }
            self.put_timer(place, above);
            place = parent(place);
        }
        self.put_timer(place, timer);
    }

    fn sift_down(&self, mut place: u32, timer: (Time, u64)) {
        let last = self.header().timers.get();
        while let Some((child, below)) = self.least_child(place, last) {
            if timer <= below {
                break;
            }
            self.put_timer(place, below);
            place = child;
        }
        self.put_timer(place, timer);
    }

    #[inline(always)]
    fn least_child(&self, place: u32, last: u32) -> Option<(u32, (Time, u64))> {
        let first = first_child(place)?;
        let end = first.saturating_add(4).min(last.saturating_add(1));
        (first..end).map(|child| (child, self.timer_at(child))).min_by_key(|&(_, timer)| timer)
    }

    #[inline(always)]
    fn note_next_due(&self) {
        let header = self.header();
        let due = if header.timers.get() == 0 { FOREVER } else { self.timer_at(1).0 };
        if due != header.next_due.get() {
            self.set(&header.next_due, due);
        }
    }

    /// Lets everything happen that is due at `now`, in order.
    #[cold]
    pub(super) fn run_timers(&self, now: Time) {
        while self.header().timers.get() != 0 && !self.corrupt.get() {
            let (at, owner) = self.timer_at(1);
            if at > now {
                break;
            }
            if owner & TICKET != 0 {
                let ticket = self.ticket_index(owner & !TICKET);
                self.refuse(ticket, at, Reason::WaitTimedOut);
                self.settle(now);
                continue;
            }
            let lease = self.lease_index(owner);
            let word = Word(self.lease_record(lease).slot.word.get());
            if word.held() && word.time() > at {
                self.move_lease_timer(owner, word.time());
                continue;
            }
            self.end_by_time(lease, now);
            self.settle(now);
        }
    }
}

#[inline(always)]
fn parent(place: u32) -> u32 {
    (place - 2) / 4 + 1
}

#[inline(always)]
fn first_child(place: u32) -> Option<u32> {
    (place - 1).checked_mul(4)?.checked_add(2)
}
