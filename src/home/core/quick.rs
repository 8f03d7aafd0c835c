//! What is read, renewed and counted without the lock, where that is enough.

use std::sync::atomic::Ordering;

use super::Core;
use crate::home::arrays::Undo;
use crate::home::clock::Clock;
use crate::table::command::{Collected, GrantDetail, Renew};
use crate::table::query::HeldCount;
use crate::table::{self, Error, FOREVER, LeaseId, LeaseState, TicketId, TicketState, Time};

impl<U: Undo> Core<U> {
    /// The state of a lease, without the lock.
    #[inline(always)]
    pub fn state(&self, id: LeaseId) -> Option<LeaseState> {
        self.state_by(id, || self.clock.now(), true)
    }

    /// The state of a lease at a time that was asked for before, by what is known here.
    #[inline(always)]
    pub fn state_at(&self, id: LeaseId, now: Time) -> Option<LeaseState> {
        self.state_by(id, || now, false)
    }

    /// Before [`Self::state_at`] is asked for these leases: what others may have done to them is known then.
    #[inline(always)]
    pub fn ask_about(&self, _ids: &[LeaseId]) {
        #[cfg(feature = "cluster")]
        if let Some(part) = self.part() {
            self.ask_about_clustered(part, _ids);
        }
    }

    #[inline(always)]
    fn state_by(&self, id: LeaseId, clock: impl Fn() -> Time, _ask: bool) -> Option<LeaseState> {
        let read = || table::lease_state(&self.memory, id, &clock);
        #[cfg(feature = "cluster")]
        if let Some(part) = self.part() {
            return self.clustered_state(part, id, read, _ask);
        }
        #[cfg(target_os = "linux")]
        if let Some(host) = self.host() {
            return self.shared_state(host, id, read);
        }
        read()
    }

    /// What became of a ticket, without the lock.
    pub fn ticket(&self, id: TicketId) -> Option<TicketState> {
        #[cfg(feature = "cluster")]
        if let Some(part) = self.part() {
            return self.clustered_ticket(part, id);
        }
        #[cfg(target_os = "linux")]
        if let Some(host) = self.host() {
            return self.shared_ticket(host, id);
        }
        table::ticket_state(&self.memory, id)
    }

    /// Takes the answer of a resolved ticket.
    pub fn collect<D: GrantDetail>(&self, id: TicketId) -> Collected<D> {
        #[cfg(feature = "cluster")]
        if let Some(part) = self.part() {
            return self.collect_clustered(part, id);
        }
        Collected::of(&self.lock().table, id)
    }

    /// Renews a lease, without the lock where no rule but the simplest applies.
    #[inline(always)]
    pub fn renew(&self, id: LeaseId) -> Result<Time, Error> {
        self.renew_at(id, self.clock.now())
    }

    /// As [`Self::renew`], at a time that was asked for before.
    #[inline(always)]
    pub fn renew_at(&self, id: LeaseId, now: Time) -> Result<Time, Error> {
        #[cfg(target_os = "linux")]
        if let Some(host) = self.host() {
            return self.renew_shared(host, id, now);
        }
        #[cfg(feature = "cluster")]
        if let Some(part) = self.part() {
            return self.renew_clustered(part, id, None);
        }
        match table::renew_quickly(&self.memory, id, now) {
            Some(end) => Ok(end),
            None => self.execute(&Renew { lease: id, ttl: None }),
        }
    }

    /// Renews a lease for another time than before.
    pub fn renew_for(&self, id: LeaseId, ttl: Time) -> Result<Time, Error> {
        #[cfg(feature = "cluster")]
        if let Some(part) = self.part() {
            return self.renew_clustered(part, id, Some(ttl));
        }
        self.execute(&Renew { lease: id, ttl: Some(ttl) })
    }

    /// How many leases are held, without the lock unless one has run out since the table was last used.
    #[inline(always)]
    pub fn held(&self) -> u32 {
        #[cfg(target_os = "linux")]
        if U::SHARED {
            return self.query(&HeldCount {});
        }
        let (held, next_due) = table::held_and_due(&self.memory);
        if next_due == FOREVER || self.clock.now() < next_due {
            return held;
        }
        self.query(&HeldCount {})
    }

    /// Counts one tick, or, with a real clock, only brings the table up to date.
    #[inline(always)]
    pub fn tick(&self) {
        #[cfg(feature = "cluster")]
        if self.part().is_some() {
            return self.look(|_| ());
        }
        let now = match &self.clock {
            Clock::Ticks(count) => count.fetch_add(1, Ordering::AcqRel) + 1,
            _ => self.clock.now(),
        };
        if now >= table::held_and_due(&self.memory).1 {
            self.look(|_| ());
        }
    }
}
