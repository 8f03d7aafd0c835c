//! What happens by time alone: the ends of leases and of waits.
//!
//! A heap keeps them in order: four children per node, keys in the nodes, so that a step down costs one cache line. Renewals do not
//! touch it: a node that fires looks at the lease's real end and, if that is later, goes back in with it.
//!
//! Most leases are given back long before their time, so new timers first go to the *nursery*, a small ring without order; only
//! those that are still there when their place is needed again, or when something is due, move on to the heap.
//! `next_due` is never later than the first timer; it may be earlier, when that timer was stopped.

use super::layout::{NURSERY, Timer};
use super::memory::Memory;
use super::slot::Word;
use super::types::{FOREVER, Time};
use super::{Reason, Table};

/// Tickets sort behind leases of the same time; ids sort within their kind.
const TICKET: u64 = 1 << 63;

/// Places count from 1, and the children of place `p` from `4p - 2`: so far into the array they share a cache line.
pub(super) const FIRST: u32 = NURSERY + 2;

/// Marks the place of a timer that is in the nursery.
const YOUNG: u32 = 1 << 31;

impl<M: Memory> Table<M> {
    #[inline(always)]
    pub(super) fn timer_at(&self, place: u32) -> (Time, u64) {
        let timer: &Timer = self.timer_record(place.saturating_add(FIRST));
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
        let timer = self.timer_record(place.saturating_add(FIRST));
        self.set(&timer.at, at);
        self.set(&timer.owner, owner);
        self.set(self.timer_place(owner), place);
    }

    #[inline(always)]
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
        let header = self.header();
        let place = header.nursery.get().wrapping_add(1) % NURSERY;
        self.set(&header.nursery, place);
        self.grow_up(place);
        let timer = self.timer_record(place);
        self.set(&timer.at, at);
        self.set(&timer.owner, owner);
        self.set(self.timer_place(owner), YOUNG | place);
        self.due_by(at);
    }

    /// Moves the timer in this place of the nursery, if there is one, to the heap.
    #[inline(always)]
    fn grow_up(&self, place: u32) {
        let timer = self.timer_record(place);
        let owner = timer.owner.get();
        if owner != 0 {
            self.set(&timer.owner, 0);
            let last = self.header().timers.get().wrapping_add(1);
            self.set(&self.header().timers, last);
            self.sift_up(last, (timer.at.get(), owner));
        }
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
        if place & YOUNG != 0 {
            let timer = self.timer_record(place & !YOUNG);
            if self.check_untrusted(|| timer.owner.get() == owner) {
                self.set(&timer.owner, 0);
            }
            return;
        }
        if !self.check_untrusted(|| self.timer_at(place).1 == owner) {
            return;
        }
        let last = self.header().timers.get();
        self.set(&self.header().timers, last.wrapping_sub(1));
        if place != last {
            let moved = self.timer_at(last);
            self.sift(place, moved);
        }
    }

    /// Fires at `at` from now on, be that earlier or later than before.
    pub(super) fn move_lease_timer(&self, id: u64, at: Time) {
        let place = self.timer_place(id).get();
        if place == 0 || at == FOREVER {
            self.stop_timer(id);
            self.start_timer(at, id);
            return;
        }
        if place & YOUNG != 0 {
            self.set(&self.timer_record(place & !YOUNG).at, at);
        } else {
            self.sift(place, (at, id));
        }
        self.due_by(at);
    }

    #[inline(always)]
    fn due_by(&self, at: Time) {
        let next_due = &self.header().next_due;
        if at < next_due.get() {
            self.set(next_due, at);
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

    /// The time of the first timer of all.
    pub(super) fn first_timer(&self) -> Time {
        let young = (0..NURSERY).map(|place| self.timer_record(place));
        let young = young.filter(|timer| timer.owner.get() != 0).map(|timer| timer.at.get());
        let old = if self.header().timers.get() == 0 { FOREVER } else { self.timer_at(1).0 };
        young.fold(old, Time::min)
    }

    /// Does the first timer belong to a lease or ticket that there is, and that knows it?
    fn is_first_timer_of(&self, owner: u64) -> bool {
        let id = match owner & TICKET {
            0 => self.lease_record(self.lease_index(owner)).slot.id.get(),
            _ => self.ticket_record(self.ticket_index(owner & !TICKET)).id.get() | TICKET,
        };
        id == owner && self.timer_place(owner).get() == 1
    }

    /// Lets everything happen, at `now`, that comes up to `last` in the order of timers.
    #[cold]
    pub(super) fn run_timers(&self, now: Time, last: (Time, u64)) {
        for place in 0..NURSERY {
            self.grow_up(place);
        }
        // What starts from here on is due later than `now`.
        while self.header().timers.get() != 0 && !self.corrupt.get() {
            let (at, owner) = self.timer_at(1);
            if (at, owner) > last || !self.check_untrusted(|| self.is_first_timer_of(owner)) {
                break;
            }
            if owner & TICKET != 0 {
                let ticket = self.ticket_index(owner & !TICKET);
                self.refuse(ticket, at, Reason::WaitTimedOut, 0);
                self.settle(now);
                self.memory.checkpoint();
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
            // However many are due: each end is a change of its own.
            self.memory.checkpoint();
        }
        self.set(&self.header().next_due, self.first_timer());
    }
}

#[inline(always)]
fn parent(place: u32) -> u32 {
    place.wrapping_sub(2) / 4 + 1
}

#[inline(always)]
fn first_child(place: u32) -> Option<u32> {
    place.checked_sub(1)?.checked_mul(4)?.checked_add(2)
}

#[cfg(test)]
mod tests {
    use super::super::cell::Cell;
    use super::super::{Claim, Outcome, Settings};
    use super::*;
    use crate::memory::new_table;

    /// A timer in which something was damaged belongs to nobody who knows it.
    #[test]
    fn the_first_timer_and_its_owner_know_each_other() {
        let t = new_table(Settings::default());
        t.claim(0, &Claim { ttl: 5, ..Claim::one("a", &["x"]) }).unwrap();
        t.claim(0, &Claim { ttl: 20, ..Claim::one("a", &["y"]) }).unwrap();
        let ticket = t.claim(0, &Claim { wait: 10, ..Claim::one("b", &["y"]) }).unwrap();
        let Outcome::Waiting(ticket) = ticket else { panic!() };
        // Moves them where they are in order.
        t.advance(5).unwrap();
        let (at, owner) = t.timer_at(1);
        assert_eq!((at, owner), (10, ticket.0 | TICKET));
        assert!(t.is_first_timer_of(owner));
        let record = t.ticket_record(t.ticket_index(ticket.0));
        record.timer.put(2);
        assert!(!t.is_first_timer_of(owner), "it takes another for its own");
        record.timer.put(1);
        record.id.put(ticket.0 + t.index_mask + 1);
        assert!(!t.is_first_timer_of(owner), "there is another ticket in its place");
        record.id.put(ticket.0);

        t.advance(10).unwrap();
        let (at, owner) = t.timer_at(1);
        assert_eq!((at, owner & TICKET), (20, 0));
        assert!(t.is_first_timer_of(owner));
        let record = t.lease_record(t.lease_index(owner));
        record.timer.put(2);
        assert!(!t.is_first_timer_of(owner));
        record.timer.put(1);
        record.slot.id.put(owner + t.index_mask + 1);
        assert!(!t.is_first_timer_of(owner));
    }
}
