//! What a member knows of its own leases without a request to the store.
//!
//! The table of a cluster has no ends of leases: they would cost an entry for each renewal. The
//! owner keeps the end of each of its leases by its own clock, and appends `Expire` when it comes.
//! Other members see the lease as held until then, or until the session of the owner has ended.
//!
//! When the session may have ended, all that the process holds is over at that moment, although
//! neither the table nor an event says so yet: [`LostSession`] has what was held.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::member::{Locked, Member, State};
use crate::home::clock::Clock;
use crate::home::{Dropped, EventPosition};
use crate::rt;
use crate::table::layout::Lease;
use crate::table::slot::{end_after, is_late};
use crate::table::{
    Error, Event, FOREVER, LeaseId, LeaseInfo, LeaseState, Memory, Reason, TicketId, TicketState,
    Time, What,
};

/// The longest sleep of the thread that waits for the end of the session: timed sleeps do not count
/// the time for which the machine was suspended, and the deadline does.
const SLICE: Duration = Duration::from_secs(1);

/// The leases that a process has lost with its session, until it has joined again.
#[derive(Debug)]
pub(super) struct LostSession {
    /// Counts the losses of this process, from 1.
    pub number: u64,
    /// When the session ended, in the time of the table.
    pub at: Time,
    /// In the order of their ids, each with the time at which it was granted.
    pub leases: Vec<(LeaseId, Time)>,
}

impl LostSession {
    pub fn has(&self, lease: LeaseId) -> bool {
        self.granted_at(lease).is_some()
    }

    fn granted_at(&self, lease: LeaseId) -> Option<Time> {
        let found = self.leases.binary_search_by_key(&lease, |(id, _)| *id);
        found.ok().map(|place| self.leases[place].1)
    }

    /// The event that reports the end of a lease before the table records it. It has the number of
    /// the event before.
    fn end_of(&self, lease: LeaseId, granted_at: Time, number: u64) -> Event {
        let held = self.at.saturating_sub(granted_at);
        let reason = Reason::EngineLost;
        let what = What::Ended { lease, reason, held, acknowledged: false };
        Event { number, at: self.at, what, actor: None }
    }
}

/// What a renewal needs.
pub(super) enum Renewal {
    /// It is done.
    Done(Time),
    /// The log decides, or records that it is late.
    Append,
}

impl State {
    fn record_of(&self, lease: LeaseId) -> Option<&Lease> {
        let memory = self.replica.table.memory();
        let record = memory.leases().get((lease.0 & memory.index_mask()) as usize)?;
        (record.slot.id.get() == lease.0).then_some(record)
    }

    /// Was the lease lost with a session of this process, the last one or the one before?
    pub fn was_lost(&self, lease: LeaseId) -> bool {
        [&self.lost, &self.lost_before].into_iter().flatten().any(|lost| lost.has(lease))
    }

    /// Does this process own the lease, and does its session last in the log?
    pub fn is_own(&self, lease: LeaseId) -> bool {
        let owner = self.replica.table.owner_of_lease(lease);
        owner.is_some() && owner == self.replica.owner_of(self.session.id)
    }

    /// Does a lease or a claim belong to this process?
    pub fn has(&self, dropped: Dropped) -> bool {
        match dropped {
            Dropped::Lease(lease) => self.is_own(lease),
            Dropped::Ticket(ticket) => self.is_own_ticket(ticket),
        }
    }

    pub fn is_own_ticket(&self, ticket: TicketId) -> bool {
        let owner = self.replica.table.owner_of_claim(ticket);
        owner != 0 && Some(owner) == self.replica.owner_of(self.session.id)
    }

    /// The time by the clock of this process.
    pub fn own_time(&self, clock: &Clock) -> Time {
        clock.now().saturating_sub(self.lag)
    }

    /// A time of the table by the clock of this process.
    fn to_own(&self, time: Time) -> Time {
        if time == FOREVER { FOREVER } else { time.saturating_sub(self.lag) }
    }

    /// A time by the clock of this process in the time of the table.
    fn to_table(&self, time: Time) -> Time {
        if time == FOREVER { FOREVER } else { end_after(time, self.lag) }
    }

    /// The lease ends then, by the clock of this process, and with its parent.
    fn set_end(&mut self, lease: LeaseId, end: Time) {
        let parent = self.replica.table.parent_of_lease(lease);
        let limit = parent.and_then(|parent| self.ends.get(&parent)).copied();
        let end = end.min(limit.unwrap_or(FOREVER));
        self.ends.insert(lease, end);
        self.ends_due = self.ends_due.min(end);
    }

    /// The lease was granted to this process: its time runs from the grant.
    pub fn begin_end(&mut self, lease: LeaseId) {
        let Some(record) = self.record_of(lease) else { return };
        let end = end_after(record.granted_at.get(), record.slot.ttl.get());
        self.set_end(lease, self.to_own(end));
    }

    /// The lease has become one of this process: its time runs from the entry that was applied.
    pub fn restart_end(&mut self, lease: LeaseId) {
        let ttl = self.record_of(lease).map_or(0, |record| record.slot.ttl.get());
        self.set_end(lease, self.to_own(end_after(self.replica.table.now(), ttl)));
    }

    /// Finds the leases of this process after the replica was replaced.
    pub fn find_ends(&mut self) {
        let own = self.replica.owner_of(self.session.id);
        let held: Vec<LeaseInfo> = self.replica.table.leases();
        let held: Vec<LeaseId> =
            held.iter().filter(|lease| Some(lease.owner) == own).map(|lease| lease.id).collect();
        self.ends.retain(|lease, _| held.binary_search(lease).is_ok());
        for lease in held {
            if !self.ends.contains_key(&lease) {
                self.begin_end(lease);
            }
        }
    }

    /// The leases of this process whose time is over, the first first, with their ends in the time
    /// of the table.
    pub fn take_expired(&mut self, clock: &Clock) -> Vec<(LeaseId, Time)> {
        let now = self.own_time(clock);
        if now < self.ends_due {
            return Vec::new();
        }
        let over =
            |(lease, end): &(&LeaseId, &Time)| **end <= now && !self.renewing.contains(lease);
        let over = self.ends.iter().filter(over);
        let mut over: Vec<(LeaseId, Time)> = over.map(|(lease, end)| (*lease, *end)).collect();
        over.sort_unstable_by_key(|(lease, end)| (*end, *lease));
        let left = self.ends.values().filter(|end| **end > now);
        self.ends_due = left.copied().min().unwrap_or(Time::MAX);
        over.into_iter().map(|(lease, end)| (lease, self.to_table(end))).collect()
    }

    /// The end of a lease of this process in the time of the table.
    pub fn end_of(&self, lease: LeaseId) -> Option<Time> {
        self.ends.get(&lease).map(|end| self.to_table(*end))
    }

    /// Is a renewal of this lease of this process late?
    fn is_late(&self, lease: LeaseId, clock: &Clock) -> bool {
        let ttl = self.record_of(lease).map(|record| record.slot.ttl.get());
        let notice = self.to_own(self.replica.table.notice_of(lease));
        let own = self.ends.get(&lease).zip(ttl);
        own.is_some_and(|(end, ttl)| is_late(self.own_time(clock), notice.min(*end), ttl))
    }

    /// The state of a lease at a time of the table, by what is known here.
    pub fn state_at(&self, lease: LeaseId, now: Time, lasts: bool) -> Option<LeaseState> {
        let found = self.replica.table.state(lease, now)?;
        let over = || !lasts || self.end_of(lease).is_some_and(|end| end <= now && end != FOREVER);
        let lost = || self.lost.as_ref().is_some_and(|lost| lost.has(lease));
        match found {
            LeaseState::Held if self.is_own(lease) && over() || lost() => Some(LeaseState::Expired),
            found => Some(found),
        }
    }

    /// What became of a ticket, by what is known here. Nothing is granted any more to a process
    /// whose session may have ended.
    pub fn ticket_at(&self, ticket: TicketId, lasts: bool) -> Option<TicketState> {
        let lost = Some(TicketState::Refused(Reason::EngineLost));
        match self.replica.table.ticket(ticket)? {
            // Other members may have withdrawn it since.
            _ if self.lost_tickets.contains(&ticket) => lost,
            TicketState::Waiting | TicketState::Granted(_)
                if !lasts && self.is_own_ticket(ticket) =>
            {
                lost
            }
            found => Some(found),
        }
    }
}

impl Member {
    /// Renews a lease of this process without an entry, if that is possible.
    pub fn renew_here(&self, lease: LeaseId) -> Result<Renewal, Error> {
        let mut state = self.lock();
        let held = state.replica.table.state(lease, self.clock.now()) == Some(LeaseState::Held);
        if !held || !state.is_own(lease) {
            return Ok(Renewal::Append);
        }
        if !self.session_lasts() {
            return Err(LOST);
        }
        let (Some(end), Some(record)) = (state.ends.get(&lease).copied(), state.record_of(lease))
        else {
            return Ok(Renewal::Append);
        };
        let (now, ttl) = (state.own_time(&self.clock), record.slot.ttl.get());
        if end <= now {
            return Err(Error::NotHeld(LeaseState::Expired, Reason::TimedOut));
        }
        if state.is_late(lease, &self.clock) {
            return Ok(Renewal::Append);
        }
        let notice = state.replica.table.notice_of(lease);
        state.set_end(lease, end_after(now, ttl).max(end));
        Ok(Renewal::Done(state.end_of(lease).unwrap_or(notice).min(notice)))
    }

    /// Begins a renewal by an entry, during which the lease does not expire. Returns whether this
    /// process owns the lease, and its end in the time of the table if the renewal is late.
    pub fn begin_renewal(&self, lease: LeaseId) -> Result<(bool, Option<Time>), Error> {
        let mut state = self.lock_noted();
        if state.was_lost(lease) {
            return Err(LOST);
        }
        let own = state.is_own(lease);
        let now = state.own_time(&self.clock);
        if own && state.ends.get(&lease).is_some_and(|end| *end <= now) {
            return Err(Error::NotHeld(LeaseState::Expired, Reason::TimedOut));
        }
        state.renewing.push(lease);
        let late = own && state.is_late(lease, &self.clock);
        Ok((own, late.then(|| state.end_of(lease)).flatten()))
    }

    pub fn end_renewal(&self, lease: LeaseId) {
        let mut state = self.lock();
        if let Some(place) = state.renewing.iter().position(|other| *other == lease) {
            state.renewing.swap_remove(place);
        }
        // Its time may be over by now.
        state.ends_due = 0;
    }

    /// After a renewal by an entry, which has returned this end. Returns the end of the lease.
    pub fn renewed(&self, lease: LeaseId, reply: Time) -> Time {
        let mut state = self.lock();
        let Some(end) = state.ends.get(&lease).copied() else { return reply };
        let notice = state.replica.table.notice_of(lease);
        let ttl = state.record_of(lease).map_or(0, |record| record.slot.ttl.get());
        // The notice has hidden the end.
        let new = match reply == notice {
            true => end_after(state.own_time(&self.clock), ttl),
            false => state.to_own(reply),
        };
        state.set_end(lease, new.max(end));
        state.end_of(lease).unwrap_or(reply).min(notice)
    }

    /// A lease that was lost with the session, whatever the table has of it.
    pub fn lost_lease(&self, lease: LeaseId) -> Option<LeaseInfo> {
        let state = self.lock_noted();
        let lost = [&state.lost, &state.lost_before];
        let lost = lost.into_iter().flatten().find(|lost| lost.has(lease))?;
        let found = state.replica.table.lease(lease)?;
        // Other members record that the session has ended; this process was only cut off.
        let ended = found.reason.filter(|reason| *reason != Reason::HolderDied);
        if ended.is_some() && !found.revoking {
            None
        } else {
            Some(found.with_engine_lost(lost.at))
        }
    }

    /// The lock. If the session is lost, its leases are noted before.
    pub fn lock_noted(&self) -> Locked<'_> {
        let mut state = self.lock();
        self.note_loss(&mut state);
        state
    }

    /// If the session is lost, and that was not noted, notes its leases and wakes all waiters.
    pub fn note_loss(&self, state: &mut State) {
        if self.is_closed() || state.session.id == 0 || state.lost.is_some() || self.session_lasts()
        {
            return;
        }
        let over_for = Time::try_from(self.over_for().as_micros()).unwrap_or(Time::MAX);
        let at = self.clock.now().saturating_sub(over_for);
        let held = state
            .ends
            .keys()
            .filter(|lease| state.state_at(**lease, at, true) == Some(LeaseState::Held));
        let granted_at =
            |lease: &LeaseId| state.record_of(*lease).map_or(at, |record| record.granted_at.get());
        let leases = held.map(|lease| (*lease, granted_at(lease))).collect();
        let number = self.turns.fetch_add(1, Ordering::AcqRel) / 2 + 1;
        state.lost = Some(Arc::new(LostSession { number, at, leases }));
        state.lost_tickets = std::mem::take(&mut state.tickets);
        state.ends.clear();
        state.wake_all();
    }

    /// Sleeps until the deadline of the session, or reports its loss once. False when the member
    /// has left.
    pub fn watch_session(&self) -> bool {
        if self.is_closed() {
            return false;
        }
        if self.session_lasts() {
            rt::park_timeout(self.session_left().min(SLICE));
            return true;
        }
        drop(self.lock_noted());
        if !self.session_lasts() {
            rt::park_timeout(SLICE);
        }
        true
    }

    /// The events after a position, which advances. Returns how many were missed.
    pub fn events_after(&self, position: &mut EventPosition, events: &mut Vec<Event>) -> u64 {
        let state = self.lock_noted();
        let lost = state.lost.clone();
        let mut number = position.cursor;
        let missed = state.replica.table.events_since(position.cursor, events);
        position.cursor = events.last().map_or(position.cursor, |event| event.number);
        drop(state);
        let mut recorded = BTreeSet::new();
        events.retain_mut(|event| {
            if let What::Ended { lease, reason, .. } = event.what {
                // Reported before the table recorded it.
                if position.reported.remove(&lease) {
                    return false;
                }
                recorded.insert(lease);
                // Other members record that the session has ended; this process was only cut off.
                if reason == Reason::HolderDied
                    && let Some(lost) = &lost
                    && let Some(granted_at) = lost.granted_at(lease)
                {
                    *event = lost.end_of(lease, granted_at, number);
                    return true;
                }
            }
            number = event.number;
            true
        });
        if let Some(lost) = lost.filter(|lost| lost.number > position.losses) {
            position.losses = lost.number;
            let new = lost.leases.iter().filter(|(lease, _)| !recorded.contains(lease));
            for &(lease, granted_at) in new {
                position.reported.insert(lease);
                position.local.push_back(lost.end_of(lease, granted_at, number));
            }
        }
        missed
    }
}

/// What a command on a lease gets that was lost with the session.
pub(super) const LOST: Error = Error::NotHeld(LeaseState::Expired, Reason::EngineLost);
