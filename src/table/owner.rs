//! Owners: the processes for which leases and tickets are. A home that several processes share gives each a number, and tells the table
//! when one is gone.

use super::Table;
use super::event::kind;
use super::layout::flag;
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
        if reason.class() != ReasonClass::Ended {
            return Err(Error::NotARevocation(reason));
        }
        self.enter(now)?;
        let mut reaped = Reaped::default();
        // Claims first: none of them is to be served with what the leases free.
        for ticket in 1..=self.last_ticket_record() {
            let record = self.ticket_record(ticket);
            if record.id.get() == 0 || owner_in(record.flags.get()) != owner {
                continue;
            }
            if record.result.get() == 0 {
                self.refuse(ticket, now, Reason::Cancelled);
                reaped.tickets += 1;
            }
            self.nobody_asks(ticket);
        }
        for lease in 1..=self.last_lease_record() {
            let record = self.lease_record(lease);
            let held = record.slot.id.get() != 0 && Word(record.slot.word.get()).held();
            // Its children end with it, and may be its own too.
            if held && owner_in(record.flags.get()) == owner {
                self.end_lease(lease, now, reason);
                reaped.leases += 1;
            }
        }
        self.settle(now);
        self.leave(reaped)
    }

    /// A held lease is for another owner from now on.
    pub fn give_to(&self, now: Time, id: LeaseId, owner: u16) -> Result<(), Error> {
        self.enter(now)?;
        let record = self.lease_record(self.held_lease(id)?);
        let flags = record.flags.get() & !(u32::MAX << flag::OWNER);
        self.set(&record.flags, flags | (owner as u32) << flag::OWNER);
        self.leave(())
    }

    /// For which owner the ticket in this place ([`Self::place_of`]) is.
    pub fn owner_of_place(&self, place: usize) -> u16 {
        owner_in(self.ticket_record(place as u32).flags.get())
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
        self.record_event(kind::DIED, now, process as u64, counts, None);
    }

    /// Notes in the history that what a process had begun was undone.
    pub fn record_roll_back(&self, now: Time, process: u32) {
        self.record_event(kind::ROLLED_BACK, now, process as u64, 0, None);
    }

    fn last_ticket_record(&self) -> u32 {
        self.header().tickets.fresh.get().min(self.memory.tickets().len() as u32 - 1)
    }

    fn last_lease_record(&self) -> u32 {
        self.header().leases.fresh.get().min(self.memory.leases().len() as u32 - 1)
    }
}
