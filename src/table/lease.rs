//! The life of a lease: granted, renewed, ended, remembered, forgotten.

use super::event::kind;
use super::layout::{Lease, flag, setting};
use super::list::Links;
use super::memory::Memory;
use super::resource::Demand;
use super::slot::{Slot, Word, end_after, is_late};
use super::types::{Error, FOREVER, LeaseId, LeaseState, Part, Time};
use super::{Reason, Table};

fn check_ttl(ttl: Option<Time>) -> Result<(), Error> {
    match ttl {
        Some(0) => Err(Error::ZeroTtl),
        Some(ttl) if ttl > FOREVER => Err(Error::TimeTooLarge),
        _ => Ok(()),
    }
}

/// Everything that decides what a new lease is like, but for the resources.
pub(super) struct Grant {
    pub holder: u32,
    pub worker: u32,
    pub demand: Demand,
    pub ttl: Time,
    pub priority: i16,
    /// `SPARE` and `PREEMPTIBLE`, and the owner.
    pub flags: u32,
    pub grace: Time,
    /// Record of the parent, or 0.
    pub parent: u32,
    /// Id and age of the ticket it comes from, or 0.
    pub ticket: u64,
    pub age: u64,
}

/// Of a table that processes share: how much later than the time of a command somebody else may have looked at the clock before it. A minute.
const CLOCKS_APART: Time = 60_000_000;

pub(super) fn holder_links<M: Memory>(table: &Table<M>, index: u32) -> Links<'_> {
    let record = table.lease_record(index);
    Links { next: &record.next, prev: &record.prev }
}

impl<M: Memory> Table<M> {
    #[inline(always)]
    pub(super) fn lease_index(&self, id: u64) -> u32 {
        (id & self.index_mask) as u32
    }

    /// The record of a lease that is held or remembered.
    #[inline(always)]
    pub(super) fn known_lease(&self, id: LeaseId) -> Result<u32, Error> {
        let index = self.lease_index(id.0);
        match self.memory.leases().get(index as usize) {
            Some(record) if id.0 != 0 && record.slot.id.get() == id.0 => Ok(index),
            _ => Err(Error::UnknownLease),
        }
    }

    /// The record of a lease that is held.
    #[inline(always)]
    pub(super) fn held_lease(&self, id: LeaseId) -> Result<u32, Error> {
        let index = self.known_lease(id)?;
        let record = self.lease_record(index);
        let mut word = Word(record.slot.word.get());
        if word.held() && word.over() {
            // Somebody's clock has shown its end already: so late it is, unless that is later than any clock can be.
            if !self.check_untrusted(|| word.time() <= self.now().saturating_add(CLOCKS_APART)) {
                return Err(Error::Corrupt);
            }
            self.enter(word.time())?;
            word = Word(record.slot.word.get());
        }
        if word.held() {
            return Ok(index);
        }
        let state = if word.revoked() { LeaseState::Revoked } else { LeaseState::Expired };
        Err(Error::NotHeld(state, reason_of(record).unwrap_or(Reason::Released)))
    }

    pub(super) fn leases_of(&self, holder: u32) -> impl Iterator<Item = u32> + '_ {
        let first = self.holder_record(holder).leases.get();
        self.walk(first, |t, i| t.lease_record(i).next.get())
    }

    /// Room for one more lease on `count` resources, perhaps after forgetting some that ended?
    #[inline(always)]
    pub(super) fn room_for_lease(&self, count: u32) -> Result<(), Error> {
        let header = self.header();
        if header.held.get() >= self.lease_limit {
            return Err(Error::Full(Part::Leases));
        }
        if self.has_room(&header.holds, self.memory.holds().len(), count) {
            return Ok(());
        }
        self.forget_for_holds(count)
    }

    /// Forgets the oldest ended leases until there is room for `count` holds; none, if that would not do.
    #[cold]
    fn forget_for_holds(&self, count: u32) -> Result<(), Error> {
        let header = self.header();
        let len = self.memory.holds().len();
        let ended = self.walk(header.ended_leases.head.get(), |t, i| t.lease_record(i).next.get());
        let counts = ended.map(|lease| self.lease_record(lease).hold_count.get());
        let remembered = counts.fold(0, u32::wrapping_add);
        let left = header.holds.live.get().wrapping_sub(remembered);
        if left as usize + count as usize >= len {
            return Err(Error::Full(Part::Holds));
        }
        while !self.has_room(&header.holds, len, count)
            && self.check(header.ended_leases.head.get() != 0)
            && !self.corrupt.get()
        {
            self.forget_oldest_lease();
        }
        Ok(())
    }

    /// Makes the lease. There is room, and the picks fit.
    #[inline(always)]
    pub(super) fn grant(&self, now: Time, grant: &Grant, picks: &[u32]) -> u64 {
        let header = self.header();
        let index = self.take_lease_record();
        let record = self.lease_record(index);
        let mut end = end_after(now, grant.ttl);
        let mut flags = grant.flags | grant.demand.flags();
        if grant.parent != 0 {
            end = end.min(self.end_of(grant.parent));
        }
        let locked = grant.parent != 0;
        if self.setting(setting::REPLICATED) {
            end = FOREVER;
        }
        self.set(&record.slot.word, record.slot.next_word(end, locked));
        self.set(&record.slot.ttl, grant.ttl);
        self.set(&record.granted_at, now);
        self.set(&record.holder, grant.holder);
        self.set(&record.priority_reason, grant.priority as u16 as u32);
        self.set(&record.holds, 0);
        self.set(&record.hold_count, picks.len() as u32);
        for &resource in picks.iter().rev() {
            self.take_hold(index, record, resource, &grant.demand);
        }
        let holder = self.holder_record(grant.holder);
        self.add(&holder.refs, 1);
        self.push_front(
            &holder.leases,
            index,
            Links { next: &record.next, prev: &record.prev },
            holder_links,
        );
        if grant.parent != 0 || grant.grace != 0 || grant.age != 0 {
            flags |= flag::EXTRA;
            self.clear_extra(index);
            let extra = self.extra_record(index);
            self.set(&extra.grace, grant.grace);
            self.set(&extra.age, grant.age);
            if grant.parent != 0 {
                flags |= flag::CHILD;
                self.set(&extra.worker, grant.worker);
                self.hang_below(grant.parent, index);
            }
        }
        self.set(&record.flags, flags);
        if flags & (flag::SPARE | flag::PREEMPTIBLE) != 0 {
            self.add(&header.takeable, 1);
        }
        self.count_worker(grant.worker, 1, 0);
        self.add(&header.held, 1);
        self.increment(&header.granted);
        let id = self.next_number() << self.id_bits | index as u64;
        // Last: whoever reads this id without the lock finds everything in place.
        self.set(&record.slot.id, id);
        self.start_lease_timer(id, end);
        let actor = if grant.ticket == 0 { self.actor() } else { 0 };
        self.record_event(kind::GRANTED, now, id, grant.ticket, None, actor);
        if grant.parent != 0 {
            self.inherit_notice(grant.parent, index, now);
        }
        id
    }

    #[inline(always)]
    fn take_lease_record(&self) -> u32 {
        let len = self.memory.leases().len();
        self.take(&self.header().leases, len, |t, i| &t.lease_record(i).next)
    }

    /// Forgets the lease that ended first. Its holder and its resources may be forgotten with it, so this must not
    /// happen between finding a record by name and referring to it.
    #[inline(always)]
    fn forget_oldest_lease(&self) {
        let ended = &self.header().ended_leases;
        let oldest = ended.head.get();
        let record = self.lease_record(oldest);
        self.set(&record.slot.id, 0);
        self.set(&ended.head, record.next.get());
        if record.next.get() == 0 {
            self.set(&ended.tail, 0);
        }
        self.sub(&ended.len, 1);
        self.forget_holds(record);
        self.release_holder(record.holder.get());
        self.forget_revoker(oldest);
        self.give(&self.header().leases, oldest, |t, i| &t.lease_record(i).next);
    }

    /// Replaces the word of a held lease. Renewals without the lock may interfere; then `next` is asked again.
    pub(super) fn change_word(
        &self,
        slot: &Slot,
        mut next: impl FnMut(Word) -> Option<u64>,
    ) -> Option<Word> {
        loop {
            let word = Word(slot.word.get());
            let new = next(word)?;
            if self.memory.swap(&slot.word, word.0, new) {
                return Some(word);
            }
        }
    }

    /// Moves the end of a lease to `now + ttl`; the new end.
    pub fn renew(&self, now: Time, id: LeaseId, ttl: Option<Time>) -> Result<Time, Error> {
        check_ttl(ttl)?;
        self.enter(now)?;
        let index = self.held_lease(id)?;
        if self.setting(setting::REPLICATED) {
            return self.renew_replicated(now, index, ttl);
        }
        let record = self.lease_record(index);
        let old_ttl = record.slot.ttl.get();
        if let Some(ttl) = ttl {
            self.set(&record.slot.ttl, ttl);
        }
        let wanted = end_after(now, ttl.unwrap_or(old_ttl));
        let limit = self.parent_end(index);
        let (notice_end, revoking) = self.notice(index);
        let mut end = 0;
        let old = self.change_word(&record.slot, |word| {
            if word.over() {
                return None;
            }
            let own = if word.ends_revoked() { FOREVER } else { word.time() };
            let new = wanted.min(limit).max(own);
            end = new.min(notice_end);
            Some(word.with_end(end, notice_end <= new && revoking, false).0)
        });
        let Some(old_end) = old.map(Word::time) else {
            // Seen past its end since this command began.
            return self.held_lease(id).and(Err(Error::Corrupt));
        };
        if is_late(now, old_end, old_ttl) {
            self.record_event(kind::RENEWED_LATE, now, id.0, end, None, self.actor());
        }
        self.leave(end)
    }

    /// As [`Self::renew`], in a replicated table: the owner keeps the end. Another owner that
    /// renews the lease becomes its owner.
    #[cold]
    fn renew_replicated(&self, now: Time, index: u32, ttl: Option<Time>) -> Result<Time, Error> {
        let record = self.lease_record(index);
        let is_own = self.is_own(index);
        if !is_own {
            self.may_transfer(index)?;
            let owner = self.issuer.get().owner();
            self.set_principal(owner);
            self.set_owner(record, owner);
        }
        let old_ttl = record.slot.ttl.get();
        if let Some(ttl) = ttl.filter(|ttl| *ttl != old_ttl) {
            self.set(&record.slot.ttl, ttl);
        }
        let end = end_after(now, ttl.unwrap_or(old_ttl)).min(self.notice(index).0);
        self.leave(end)
    }

    /// In a replicated table, the owner of a lease has renewed it late: it had this end.
    #[cold]
    pub(super) fn renew_late(
        &self,
        now: Time,
        id: LeaseId,
        ttl: Option<Time>,
        end: Time,
    ) -> Result<Time, Error> {
        check_ttl(ttl)?;
        if end > FOREVER {
            return Err(Error::TimeTooLarge);
        }
        if !self.setting(setting::REPLICATED) {
            return Err(Error::WrongClock);
        }
        self.enter(now)?;
        let index = self.held_lease(id)?;
        if !self.is_own(index) {
            return Err(Error::OtherPrincipal);
        }
        let until = self.renew_replicated(now, index, ttl)?.max(end).min(self.notice(index).0);
        self.record_event(kind::RENEWED_LATE, now, id.0, until, None, self.actor());
        self.leave(until)
    }

    /// In a replicated table, the owner of a lease reports that its time was over at `at`.
    #[cold]
    pub(super) fn expire(&self, now: Time, id: LeaseId, at: Time) -> Result<(), Error> {
        if !self.setting(setting::REPLICATED) {
            return Err(Error::WrongClock);
        }
        self.enter(now)?;
        let index = self.held_lease(id)?;
        if !self.is_own(index) {
            return Err(Error::OtherPrincipal);
        }
        let at = at.max(self.lease_record(index).granted_at.get()).min(now);
        let ended = self.end_lease(index, at, Reason::TimedOut, 0);
        self.settle(now);
        match self.leave(ended)? {
            true => Ok(()),
            false => self.held_lease(id).and(Err(Error::Corrupt)),
        }
    }

    /// When a held lease ends, as far as the table knows.
    #[inline(always)]
    pub(super) fn end_of(&self, index: u32) -> Time {
        Word(self.lease_record(index).slot.word.get()).time()
    }

    /// This process gives a lease back. By another principal it is a revocation. During a notice
    /// it ends the lease early, for the reason of the notice.
    pub fn release(&self, now: Time, id: LeaseId) -> Result<(), Error> {
        self.end(now, id, Reason::Released)
    }

    /// Ends a lease for a reason that is not a revocation: how homes tell that a holder died.
    #[inline(always)]
    pub fn end(&self, now: Time, id: LeaseId, reason: Reason) -> Result<(), Error> {
        if reason.class() != super::ReasonClass::Ended {
            return Err(Error::NotARevocation(reason));
        }
        self.enter(now)?;
        let index = self.held_lease(id)?;
        let ended = match reason {
            Reason::Released => self.give_up(index, now),
            // This process did not end the lease, so no actor is recorded.
            _ => self.end_lease(index, now, reason, 0),
        };
        self.settle(now);
        match self.leave(ended)? {
            true => Ok(()),
            false => self.held_lease(id).and(Err(Error::Corrupt)),
        }
    }

    /// This process releases a held lease. False as [`Self::end_lease`].
    #[inline(always)]
    pub(super) fn give_up(&self, index: u32, now: Time) -> bool {
        let flags = self.lease_record(index).flags.get();
        match self.is_own(index) && flags & flag::REVOKING == 0 {
            true => self.end_lease(index, now, Reason::Released, self.actor()),
            false => self.give_up_recorded(index, now),
        }
    }

    /// As [`Self::give_up`], where more than the end is recorded.
    #[cold]
    fn give_up_recorded(&self, index: u32, now: Time) -> bool {
        let actor = self.actor();
        let record = self.lease_record(index);
        if self.is_foreign(index) {
            let ended = self.end_lease(index, now, Reason::Operator, actor);
            if ended {
                self.forget_revoker(index);
            }
            return ended;
        }
        if record.flags.get() & flag::REVOKING == 0 {
            return self.end_lease(index, now, Reason::Released, actor);
        }
        self.set(&record.flags, record.flags.get() | flag::ACKNOWLEDGED);
        let reason = reason_of(record).unwrap_or(Reason::Operator);
        self.end_lease(index, now, reason, actor)
    }

    /// Ends a lease whose time has come: expired, or revoked if a notice ran out.
    pub(super) fn end_by_time(&self, index: u32, now: Time) {
        let record = self.lease_record(index);
        let changed = self.change_word(&record.slot, |word| {
            let over = word.held() && word.is_past(now);
            over.then(|| Slot::ended_word(word, word.time(), word.ends_revoked()))
        });
        match changed {
            Some(word) => {
                let reason = match reason_of(record) {
                    Some(reason) if word.ends_revoked() => reason,
                    _ => Reason::TimedOut,
                };
                let actor = match reason.is_revocation() {
                    true => self.ender(index),
                    false => {
                        self.set_ender(index, 0);
                        0
                    }
                };
                // A holder whose release came too late acknowledged nothing.
                self.forget_acknowledgement(record);
                self.finish_end(index, word.time(), reason, actor);
            }
            // Renewed in the last moment.
            None => {
                let word = Word(record.slot.word.get());
                self.check(word.held());
                self.move_lease_timer(record.slot.id.get(), word.time());
            }
        }
    }

    /// Ends a held lease now. False if it ends as it would have by itself, as somebody has seen it past its end since the command began.
    #[inline(always)]
    pub(super) fn end_lease(&self, index: u32, at: Time, reason: Reason, actor: u64) -> bool {
        let slot = &self.lease_record(index).slot;
        let changed = self.change_word(slot, |word| {
            let own = word.held() && !word.over();
            own.then(|| Slot::ended_word(word, at, reason.is_revocation()))
        });
        match changed {
            Some(_) => {
                self.record_ender(index, reason, actor);
                self.finish_end(index, at, reason, actor);
            }
            None => self.end_by_time(index, at),
        }
        changed.is_some()
    }

    /// The word says that the lease is over: what follows from that.
    #[inline(always)]
    fn finish_end(&self, index: u32, at: Time, reason: Reason, actor: u64) {
        let header = self.header();
        let record = self.lease_record(index);
        let id = record.slot.id.get();
        let flags = record.flags.get();
        let worker = self.worker_of(index);
        if flags & flag::EXTRA != 0 {
            let acknowledged = flags & flag::ACKNOWLEDGED != 0;
            let actor = if acknowledged { self.ender(index) } else { actor };
            self.end_children(index, at, reason, actor);
        }
        self.stop_lease_timer(id);
        self.unlink(
            &self.holder_record(record.holder.get()).leases,
            None,
            holder_links(self, index),
            holder_links,
        );
        for hold in self.holds_of(index) {
            let own = self.hold_record(hold);
            // What is another's is not given back.
            if self.check_untrusted(|| own.lease.get() == index) {
                self.give_back(own, flags & flag::SHARED != 0, at);
            }
        }
        if flags & (flag::SPARE | flag::PREEMPTIBLE) != 0 && flags & flag::REVOKING == 0 {
            self.sub(&header.takeable, 1);
        }
        self.set_reason(record, reason);
        if !reason.is_revocation() {
            self.forget_revoker(index);
        }
        self.count_worker(worker, -1, 0);
        self.sub(&header.held, 1);
        self.increment(self.counter(reason));
        if reason.is_revocation() {
            self.increment(&header.revocations);
            self.count_foreign(index);
        }
        let held_for = at.wrapping_sub(record.granted_at.get());
        let kind = match flags & flag::ACKNOWLEDGED {
            0 => kind::ENDED,
            _ => kind::ENDED | kind::ACKNOWLEDGED,
        };
        self.record_event(kind, at, id, held_for, Some(reason), actor);
        self.remember_lease(index);
        if header.waiting_children.get() != 0 {
            self.refuse_children_of(id, at);
        }
    }

    fn forget_acknowledgement(&self, record: &Lease) {
        let flags = record.flags.get();
        if flags & flag::ACKNOWLEDGED != 0 {
            self.set(&record.flags, flags & !flag::ACKNOWLEDGED);
        }
    }

    /// Puts an ended lease behind those that ended before it, and forgets the oldest if there are too many.
    #[inline(always)]
    fn remember_lease(&self, index: u32) {
        let ended = &self.header().ended_leases;
        self.set(&self.lease_record(index).next, 0);
        match ended.tail.get() {
            0 => self.set(&ended.head, index),
            tail => self.set(&self.lease_record(tail).next, index),
        }
        self.set(&ended.tail, index);
        self.add(&ended.len, 1);
        if ended.len.get() > self.history {
            self.forget_oldest_lease();
        }
    }

    #[inline(always)]
    pub(super) fn set_reason(&self, record: &Lease, reason: Reason) {
        let priority = record.priority_reason.get() & 0xffff;
        self.set(&record.priority_reason, priority | (reason.code() as u32) << 16);
    }
}

#[inline(always)]
pub(super) fn priority_of(record: &Lease) -> i16 {
    record.priority_reason.get() as u16 as i16
}

#[inline(always)]
pub(super) fn reason_of(record: &Lease) -> Option<Reason> {
    Reason::from_code((record.priority_reason.get() >> 16) as u16)
}
