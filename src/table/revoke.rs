//! Taking a lease away, at once or with notice.

use super::event::kind;
use super::layout::flag;
use super::memory::Memory;
use super::slot::{Word, end_after};
use super::types::{Error, FOREVER, LeaseId, MAX_NAME, Revoked, Time};
use super::{Reason, Table};

/// Who takes a lease away.
#[derive(Debug, Clone, Copy)]
pub(super) struct Revoker<'a> {
    /// As the caller claims; may be empty.
    pub name: &'a str,
    /// The packed actor; 0: the table itself.
    pub actor: u64,
}

impl Revoker<'_> {
    /// The table itself.
    pub const TABLE: Revoker<'static> = Revoker { name: "", actor: 0 };
}

impl<M: Memory> Table<M> {
    /// Takes a lease away. `by` may be empty. See "Revocation" in [the rules](crate::guide::rules#leases).
    #[inline(always)]
    pub fn revoke(
        &self,
        now: Time,
        id: LeaseId,
        reason: Reason,
        by: &str,
        notice: Time,
    ) -> Result<Revoked, Error> {
        self.check_revocation(reason, by)?;
        if notice >= FOREVER {
            return Err(Error::TimeTooLarge);
        }
        self.enter(now)?;
        let index = self.held_lease(id)?;
        self.room_for_revoker(by)?;
        let actor = self.actor();
        // Nothing but the end itself: no notice, no name or actor to record, no age to keep.
        let plain = self.lease_record(index).flags.get() & flag::EXTRA == 0 && self.is_own(index);
        let answer = if plain && notice == 0 && by.is_empty() && reason != Reason::DeadlockVictim {
            self.end_lease(index, now, reason, actor).then_some(Revoked::AtOnce)
        } else {
            self.take_away(index, now, reason, Revoker { name: by, actor }, notice)
        };
        self.settle(now);
        match self.leave(answer)? {
            Some(answer) => Ok(answer),
            None => self.held_lease(id).and(Err(Error::Corrupt)),
        }
    }

    #[inline(always)]
    pub(super) fn check_revocation(&self, reason: Reason, by: &str) -> Result<(), Error> {
        if !reason.is_revocation() {
            return Err(Error::NotARevocation(reason));
        }
        if by.len() > MAX_NAME { Err(Error::NameTooLong) } else { Ok(()) }
    }

    #[inline(always)]
    pub(super) fn room_for_revoker(&self, by: &str) -> Result<(), Error> {
        if by.is_empty() || self.find_name(by) != 0 { Ok(()) } else { self.room_for_name(by) }
    }

    /// Revokes a held lease, or gives notice; `None` if it was to be revoked at once and was over before. Does not serve the line.
    pub(super) fn take_away(
        &self,
        index: u32,
        now: Time,
        reason: Reason,
        by: Revoker<'_>,
        notice: Time,
    ) -> Option<Revoked> {
        // A notice always ends: a lease that is about to go for ever would hide a deadlock.
        let until = end_after(now, notice).min(FOREVER - 1);
        if until <= now {
            if reason == Reason::DeadlockVictim {
                self.keep_age(index);
            }
            let ended = self.end_lease(index, now, reason, by.actor);
            if ended {
                self.set_revoker(index, by.name);
            }
            return ended.then_some(Revoked::AtOnce);
        }
        let (running, revoking) = self.notice(index);
        if revoking && running <= until {
            return Some(Revoked::AlreadyNotified(running));
        }
        if reason == Reason::DeadlockVictim {
            self.keep_age(index);
        }
        let mut first = true;
        self.each_in_chain(index, &mut |lease| {
            let reason = if first { reason } else { Reason::ParentRevoked };
            first = false;
            self.give_notice(lease, now, reason, until, by.actor);
        });
        self.set_revoker(index, by.name);
        Some(Revoked::Notified(until))
    }

    /// Revokes the leases on a resource, the youngest first.
    pub(super) fn revoke_all_on(
        &self,
        now: Time,
        index: u32,
        reason: Reason,
        name: &str,
        actor: u64,
    ) {
        // Each one that ends may end others with it, so look anew.
        while let Some(hold) = self.holds_on(index).next() {
            let lease = self.hold_record(hold).lease.get();
            // One whose own end has come ends by that: readers have seen it do so.
            match Word(self.lease_record(lease).slot.word.get()).is_past(now) {
                true => self.end_by_time(lease, now),
                false => drop(self.take_away(lease, now, reason, Revoker { name, actor }, 0)),
            }
            if self.resource_record(index).holds.get() == hold {
                self.mark_corrupt();
                break;
            }
        }
    }

    /// A child of a lease that is being revoked is being revoked too.
    pub(super) fn inherit_notice(&self, parent: u32, child: u32, now: Time) {
        let (until, revoking) = self.notice(parent);
        if revoking {
            self.give_notice(child, now, Reason::ParentRevoked, until, self.ender(parent));
        }
    }

    /// Sets the end of a notice, unless one that ends no later is running.
    fn give_notice(&self, index: u32, now: Time, reason: Reason, until: Time, actor: u64) {
        let (running, revoking) = self.notice(index);
        if revoking && running <= until {
            return;
        }
        self.ensure_extra(index);
        self.forget_revoker(index);
        self.set_ender(index, actor);
        let record = self.lease_record(index);
        if !revoking && record.flags.get() & (flag::SPARE | flag::PREEMPTIBLE) != 0 {
            self.sub(&self.header().takeable, 1);
        }
        self.set(&record.flags, record.flags.get() | flag::REVOKING);
        self.set(&self.extra_record(index).notice_end, until);
        self.set_reason(record, reason);
        let mut end = 0;
        self.change_word(&record.slot, |word| {
            if word.over() {
                // Whoever was told of its end was told the truth.
                end = word.time();
                return None;
            }
            let own = if word.ends_revoked() { FOREVER } else { word.time() };
            end = own.min(until);
            Some(word.with_end(end, until <= own, true).0)
        });
        let id = record.slot.id.get();
        self.move_lease_timer(id, end);
        self.record_event(kind::REVOKING, now, id, until, Some(reason), actor);
    }

    /// The end of the running notice, and whether there is one.
    #[inline(always)]
    pub(super) fn notice(&self, index: u32) -> (Time, bool) {
        if self.lease_record(index).flags.get() & flag::REVOKING != 0 {
            (self.extra_record(index).notice_end.get(), true)
        } else {
            (FOREVER, false)
        }
    }

    /// The end of the notice of a lease; [`FOREVER`] if it has none.
    #[cfg(feature = "cluster")]
    pub(crate) fn notice_of(&self, id: LeaseId) -> Time {
        self.known_lease(id).map_or(FOREVER, |index| self.notice(index).0)
    }

    /// Is it being revoked, or past its end and only not ended yet? What it holds is as good as given back.
    pub(super) fn is_leaving(&self, index: u32) -> bool {
        let record = self.lease_record(index);
        record.flags.get() & flag::REVOKING != 0 || Word(record.slot.word.get()).is_past(self.now())
    }

    /// Notes who revokes. There is room for the name; an empty one means nobody in particular.
    fn set_revoker(&self, index: u32, by: &str) {
        self.forget_revoker(index);
        if by.is_empty() {
            return;
        }
        self.ensure_extra(index);
        let name = match self.find_name(by) {
            0 => self.store_name(by),
            found => found,
        };
        self.add(&self.name_record(name).revokers, 1);
        self.set(&self.extra_record(index).revoker, name);
    }

    /// Drops the reference to whoever revoked it.
    #[inline]
    pub(super) fn forget_revoker(&self, index: u32) {
        if self.lease_record(index).flags.get() & flag::EXTRA == 0 {
            return;
        }
        let extra = self.extra_record(index);
        let name = extra.revoker.get();
        if name != 0 {
            self.set(&extra.revoker, 0);
            self.sub(&self.name_record(name).revokers, 1);
            self.drop_name_if_unused(name);
        }
    }
}
