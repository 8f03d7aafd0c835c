//! Leases whose time their owners keep.
//!
//! To tell many machines of every renewal would cost a round trip and a write each. So in a table that they share a lease has no end that all know: the
//! process that owns it counts its time, in memory of its own, and ends it when that is over. To all others it is held until then, or until its owner
//! is gone. Whoever renews a lease of another owner owns it from then on.
//!
//! These times are by the owner's own clock. When the table's time is moved on because another machine's clock is ahead, `lag` grows by as much, and no lease ends
//! early for that.

#[cfg(any(feature = "cluster", fuzzing))]
use super::cell::Cell;
use super::cell::Cell64;
use super::event::kind;
use super::layout::{Lease, flag};
use super::memory::Memory;
use super::owner::owner_in;
use super::slot::{Word, end_after, is_late};
#[cfg(feature = "cluster")]
use super::types::LeaseId;
use super::types::{Error, FOREVER, LeaseState, Time};
use super::{Reason, Table};

/// What one owner keeps. Zeroed, it is nobody's.
#[derive(Debug, Default)]
#[repr(C)]
pub struct KeptHeader {
    /// Whose times these are.
    pub(crate) owner: Cell64,
    /// None of them is over before this; 0 as long as there is none.
    pub(crate) due: Cell64,
    /// How much the table's time is ahead of what these are counted in.
    pub(crate) lag: Cell64,
}

/// The end of the lease of this id.
#[derive(Debug, Default)]
#[repr(C)]
pub struct KeptEnd {
    pub(crate) id: Cell64,
    pub(crate) end: Cell64,
}

/// The memory of one owner, where owners keep the time of their leases. No other owner sees it.
#[derive(Debug, Clone, Copy)]
pub struct Kept<'a> {
    pub(crate) header: &'a KeptHeader,
    /// One for each record of a lease.
    pub(crate) ends: &'a [KeptEnd],
}

impl Kept<'_> {
    pub(super) fn is_of(&self, record: &Lease) -> bool {
        u64::from(owner_in(record.flags.get())) == self.header.owner.get()
    }

    /// In the table's time.
    fn in_table_time(&self, time: Time) -> Time {
        if time == FOREVER { FOREVER } else { end_after(time, self.header.lag.get()) }
    }

    /// By the owner's own clock.
    fn in_own_time(&self, time: Time) -> Time {
        if time == FOREVER { FOREVER } else { time.saturating_sub(self.header.lag.get()) }
    }

    /// Nothing that is kept is over before this time.
    pub(crate) fn due(&self) -> Time {
        match self.header.due.get() {
            0 => FOREVER,
            due => self.in_table_time(due),
        }
    }

    /// The end of a lease that its owner, whose memory this is, holds.
    fn end(&self, index: u32, record: &Lease) -> Time {
        match self.ends.get(index as usize) {
            Some(kept) if kept.id.get() == record.slot.id.get() => {
                self.in_table_time(kept.end.get())
            }
            // Granted by somebody else, and not renewed yet.
            _ => end_after(record.granted_at.get(), record.slot.ttl.get()),
        }
    }

    /// What `clock` makes of a lease. A clock that does not go back needs no marks so that an end is final.
    pub(super) fn state(
        &self,
        id: u64,
        index: u32,
        record: &Lease,
        clock: impl FnOnce() -> Time,
    ) -> Option<LeaseState> {
        let word = record.slot.read(id)?;
        if !word.held() {
            return word.state(0);
        }
        let end = if self.is_of(record) { self.end(index, record) } else { FOREVER };
        if end == FOREVER && word.time() == FOREVER {
            return Some(LeaseState::Held);
        }
        let now = clock();
        match end <= now && end < word.time() {
            true => Some(LeaseState::Expired),
            false => word.state(now),
        }
    }
}

impl<M: Memory> Table<M> {
    /// Is this the copy of the owner that keeps the time of this lease?
    pub(super) fn keeps(&self, index: u32) -> bool {
        self.memory.kept().is_some_and(|kept| kept.is_of(self.lease_record(index)))
    }

    /// Is this the copy of another owner than the one that waits, or waited, with this ticket?
    pub(super) fn is_of_another(&self, ticket: u32) -> bool {
        let owner = owner_in(self.ticket_record(ticket).flags.get());
        self.memory.kept().is_some_and(|kept| kept.header.owner.get() != u64::from(owner))
    }

    /// When a held lease ends, as far as is known here.
    #[inline(always)]
    pub(super) fn end_of(&self, index: u32) -> Time {
        let record = self.lease_record(index);
        let end = Word(record.slot.word.get()).time();
        match self.memory.kept() {
            Some(kept) if kept.is_of(record) => end.min(kept.end(index, record)),
            _ => end,
        }
    }

    /// Notes the end of a lease, if its time is kept here.
    pub(super) fn keep(&self, index: u32, end: Time) {
        let Some(kept) = self.memory.kept() else { return };
        let (true, Some(own)) = (self.keeps(index), kept.ends.get(index as usize)) else { return };
        let end = kept.in_own_time(end);
        // In this order: whoever reads without the lock takes no earlier lease's end for this one's.
        self.set(&own.end, end);
        self.set(&own.id, self.lease_record(index).slot.id.get());
        if kept.header.due.get() == 0 || end < kept.header.due.get() {
            self.set(&kept.header.due, end.max(1));
        }
    }

    /// As [`Self::renew`], where owners keep the time.
    pub(super) fn renew_kept(
        &self,
        now: Time,
        index: u32,
        ttl: Option<Time>,
    ) -> Result<Time, Error> {
        let record = self.lease_record(index);
        // It changes its owner.
        if !self.keeps(index) {
            self.may_transfer(index)?;
        }
        let old_ttl = record.slot.ttl.get();
        if let Some(ttl) = ttl.filter(|ttl| *ttl != old_ttl) {
            self.set(&record.slot.ttl, ttl);
        }
        let old_end = match self.keeps(index) {
            true => self.memory.kept().map(|kept| kept.end(index, record)),
            false => {
                self.become_owner(record);
                None
            }
        };
        let wanted = end_after(now, ttl.unwrap_or(old_ttl)).min(self.parent_end(index));
        let end = wanted.max(old_end.unwrap_or(0));
        self.keep(index, end);
        let notice_end = self.notice(index).0;
        let told = end.min(notice_end);
        if old_end.is_some_and(|old_end| is_late(now, old_end.min(notice_end), old_ttl)) {
            let id = record.slot.id.get();
            self.record_event(kind::RENEWED_LATE, now, id, told, None, self.actor());
        }
        self.leave(told)
    }

    fn become_owner(&self, record: &Lease) {
        if let Some(kept) = self.memory.kept() {
            let flags = record.flags.get() & !(u32::MAX << flag::OWNER);
            let owner = kept.header.owner.get();
            self.set_principal(owner as u16);
            self.set(&record.flags, flags | (owner as u32) << flag::OWNER);
        }
    }

    /// Ends what is over by now of what is kept here, the first first, and lets happen what was due before.
    #[cold]
    pub(super) fn run_kept(&self, now: Time) {
        let mut over = self.scratch.reaped.take();
        over.clear();
        over.extend(self.kept_leases().filter(|&index| self.kept_end(index) <= now));
        let when = |&index: &u32| (self.kept_end(index), self.lease_record(index).slot.id.get());
        over.sort_unstable_by_key(when);
        for &index in &over {
            // In their order with everything else that was due.
            if self.header().next_due.get() <= self.kept_end(index) {
                self.run_timers(now, when(&index));
            }
            // Some end with their parents.
            if Word(self.lease_record(index).slot.word.get()).held() {
                self.end_lease(index, self.kept_end(index), Reason::TimedOut, 0);
                self.settle(now);
            }
        }
        self.scratch.reaped.replace(over);
        self.find_kept_due();
    }

    fn find_kept_due(&self) {
        let Some(kept) = self.memory.kept() else { return };
        let first = self.kept_leases().map(|index| self.kept_end(index)).min().unwrap_or(FOREVER);
        self.set(&kept.header.due, kept.in_own_time(first).max(1));
    }

    /// The leases that are held and whose time is kept here.
    fn kept_leases(&self) -> impl Iterator<Item = u32> + '_ {
        (1..=self.last_lease_record()).filter(|&index| {
            let slot = &self.lease_record(index).slot;
            slot.id.get() != 0 && Word(slot.word.get()).held() && self.keeps(index)
        })
    }

    fn kept_end(&self, index: u32) -> Time {
        self.memory.kept().map_or(FOREVER, |kept| kept.end(index, self.lease_record(index)))
    }

    /// The leases whose time is or was kept here, as far as they are known.
    #[cfg(feature = "cluster")]
    pub(crate) fn kept_ids(&self) -> Vec<LeaseId> {
        let Some(kept) = self.memory.kept() else { return Vec::new() };
        let ids = kept.ends.iter().map(|own| LeaseId(own.id.get()));
        ids.filter(|id| self.known_lease(*id).is_ok()).collect()
    }

    /// Others have changed the table: there may be leases in it whose time is to be kept here from now on.
    #[cfg(any(feature = "cluster", fuzzing))]
    pub(crate) fn find_kept(&self) {
        let Some(kept) = self.memory.kept() else { return };
        for (own, record) in kept.ends.iter().zip(self.memory.leases()) {
            // Somebody else has taken it over.
            if own.id.get() == record.slot.id.get() && !kept.is_of(record) {
                own.id.put(0);
            }
        }
        for index in self.kept_leases() {
            let id = self.lease_record(index).slot.id.get();
            if kept.ends.get(index as usize).is_some_and(|own| own.id.get() != id) {
                self.keep(index, self.kept_end(index).min(self.parent_end(index)));
            }
        }
        self.find_kept_due();
    }
}

/// What the home of a copy tells it. None of these is a command: nothing of it is ever undone.
#[cfg(any(feature = "cluster", fuzzing))]
impl Kept<'_> {
    /// These times are this owner's from now on.
    pub(crate) fn be_of(&self, owner: u16) {
        self.header.owner.put(owner.into());
    }

    /// Are they nobody's?
    #[cfg(feature = "cluster")]
    pub(crate) fn is_nobodys(&self) -> bool {
        self.header.owner.get() == 0
    }

    /// They are nobody's from now on.
    #[cfg(feature = "cluster")]
    pub(crate) fn be_nobodys(&self) {
        self.header.owner.put(0);
    }

    /// The table's time was moved on by so much, and the owner's own clock was not.
    pub(crate) fn lag_behind(&self, by: Time) {
        self.header.lag.put(self.header.lag.get().saturating_add(by));
    }
}
