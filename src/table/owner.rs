//! Owners: the processes for which leases and tickets are. A home that several processes share gives each a number, and tells the table
//! when one is gone.

use super::Table;
use super::event::kind;
use super::layout::{Lease, flag};
use super::memory::Memory;
use super::slot::Word;
use super::types::{Error, LeaseId, Time};
use super::{Reason, ReasonClass};

/// What an owner left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reaped {
    /// Leases that it held.
    pub leases: u32,
    /// Claims of its that waited.
    pub tickets: u32,
}

/// The owner that these flags of a lease or a ticket name.
pub(super) fn owner_in(flags: u32) -> u16 {
    (flags >> flag::OWNER) as u16
}

impl<M: Memory> Table<M> {
    /// An owner is gone: its claims leave the line, its leases end for `reason`, and whoever waited for them is served.
    pub fn reap(&self, now: Time, owner: u16, reason: Reason) -> Result<Reaped, Error> {
        self.reap_some(now, owner, reason, usize::MAX)
    }

    /// As [`Self::reap`], of so many leases and claims at most: where a command that changes much is too much.
    pub(crate) fn reap_some(
        &self,
        now: Time,
        owner: u16,
        reason: Reason,
        most: usize,
    ) -> Result<Reaped, Error> {
        if reason.class() != ReasonClass::Ended {
            return Err(Error::NotARevocation(reason));
        }
        self.enter(now)?;
        let mut reaped = Reaped::default();
        // A process that leaves is the actor; for a dead process there is none.
        let leaves = reason == Reason::Released && owner == self.issuer.get().owner();
        let actor = if leaves { self.actor() } else { 0 };
        let mut list = self.scratch.reaped.take();
        // Claims first, in order: none of them is to be served with what the leases free.
        list.clear();
        let claims = self.queue().filter(|&ticket| self.owner_of_ticket(ticket) == owner);
        list.extend(claims.take(most));
        let most = most - list.len();
        let refusal = if reason == Reason::EngineLost { reason } else { Reason::Cancelled };
        for &ticket in &list {
            self.refuse(ticket, now, refusal, actor);
            reaped.tickets += 1;
        }
        for ticket in 1..=self.last_ticket_record() {
            let record = self.ticket_record(ticket);
            if record.id.get() != 0 && self.owner_of_ticket(ticket) == owner {
                self.nobody_asks(ticket);
            }
        }
        // Then the leases, the oldest first.
        let held = |index: u32| {
            let slot = &self.lease_record(index).slot;
            slot.id.get() != 0 && Word(slot.word.get()).held()
        };
        let owns = |index: u32| owner_in(self.lease_record(index).flags.get()) == owner;
        list.clear();
        list.extend((1..=self.last_lease_record()).filter(|&lease| held(lease) && owns(lease)));
        list.sort_unstable_by_key(|&lease| self.lease_record(lease).slot.id.get());
        list.truncate(most);
        // Some end with their parents.
        for &lease in list.iter().filter(|&&lease| held(lease)) {
            // One whose own end has come ends by that: readers have seen it do so.
            if Word(self.lease_record(lease).slot.word.get()).is_past(now) {
                self.end_by_time(lease, now);
            } else if leaves {
                self.give_up(lease, now);
            } else {
                self.end_lease(lease, now, reason, 0);
            }
            reaped.leases += 1;
        }
        self.scratch.reaped.replace(list);
        self.settle(now);
        self.leave(reaped)
    }

    /// The table is lost: waiting claims are refused and leases end, all for `reason`. Nothing that ends is granted again.
    pub(crate) fn end_all(&self, now: Time, reason: Reason) -> Result<(), Error> {
        let mut list = self.scratch.reaped.take();
        list.clear();
        list.extend(self.queue());
        // At the time of the last command: what is due before `now` must find no waiter.
        let refused_at = self.now();
        for &ticket in &list {
            self.refuse(ticket, refused_at, reason, 0);
        }
        let entered = self.enter(now);
        list.clear();
        if entered.is_ok() {
            let held = |index: &u32| {
                let slot = &self.lease_record(*index).slot;
                slot.id.get() != 0 && Word(slot.word.get()).held()
            };
            list.extend((1..=self.last_lease_record()).filter(held));
            // Some end with their parents.
            for lease in list.iter().filter(|lease| held(lease)) {
                self.end_lease(*lease, now, reason, 0);
            }
            self.settle(now);
        }
        self.scratch.reaped.replace(list);
        entered?;
        self.leave(())
    }

    pub(super) fn owner_of_ticket(&self, ticket: u32) -> u16 {
        owner_in(self.ticket_record(ticket).flags.get())
    }

    /// A held lease is for another owner from now on. Only its own principal, or principal 0,
    /// may transfer it: otherwise another user could end the lease by taking it over and exiting.
    pub fn give_to(&self, now: Time, id: LeaseId, owner: u16) -> Result<(), Error> {
        self.enter(now)?;
        let index = self.held_lease(id)?;
        self.may_transfer(index)?;
        self.set_owner(self.lease_record(index), owner);
        self.leave(())
    }

    pub(super) fn set_owner(&self, record: &Lease, owner: u16) {
        let flags = record.flags.get() & !(u32::MAX << flag::OWNER);
        self.set(&record.flags, flags | (owner as u32) << flag::OWNER);
    }

    /// For which owner the ticket in this place ([`Self::place_of`]) is.
    pub fn owner_of_place(&self, place: usize) -> u16 {
        self.owner_of_ticket(place as u32)
    }

    /// For which owner a claim is; 0 if nothing is remembered of it.
    #[cfg_attr(not(feature = "cluster"), allow(dead_code))]
    pub(crate) fn owner_of_claim(&self, id: super::TicketId) -> u16 {
        self.known_ticket(id).map_or(0, |ticket| self.owner_of_ticket(ticket))
    }

    /// The owner of a lease that is held or remembered.
    #[cfg_attr(not(feature = "cluster"), allow(dead_code))]
    pub(crate) fn owner_of_lease(&self, id: LeaseId) -> Option<u16> {
        let index = self.known_lease(id).ok()?;
        Some(owner_in(self.lease_record(index).flags.get()))
    }

    /// Tells the places of all tickets that are decided, and of which nobody is known to have been told.
    pub fn each_untold(&self, mut each: impl FnMut(usize)) {
        for ticket in 1..=self.last_ticket_record() {
            let record = self.ticket_record(ticket);
            if record.id.get() != 0 && record.result.get() != 0 && record.collected.get() == 0 {
                each(ticket as usize);
            }
        }
    }

    /// Notes in the history that a process was found dead.
    pub fn record_death(&self, now: Time, process: u32, reaped: Reaped) {
        let counts = (reaped.leases as u64) << 32 | reaped.tickets as u64;
        self.record_event(kind::DIED, now, process as u64, counts, None, 0);
    }

    /// Notes in the history that what a process had begun was undone.
    pub fn record_roll_back(&self, now: Time, process: u32) {
        self.record_event(kind::ROLLED_BACK, now, process as u64, 0, None, 0);
    }

    pub(super) fn last_ticket_record(&self) -> u32 {
        self.last_used(&self.header().tickets, self.memory.tickets().len())
    }

    pub(super) fn last_lease_record(&self) -> u32 {
        self.last_used(&self.header().leases, self.memory.leases().len())
    }
}
