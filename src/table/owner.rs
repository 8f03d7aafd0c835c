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

#[cfg(feature = "cluster")]
impl super::layout::Lease {
    /// Whose it is.
    pub(crate) fn owner(&self) -> u16 {
        owner_in(self.flags.get())
    }
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

    fn owner_of_ticket(&self, ticket: u32) -> u16 {
        owner_in(self.ticket_record(ticket).flags.get())
    }

    /// A held lease is for another owner from now on. Only its own principal, or principal 0,
    /// may transfer it: otherwise another user could end the lease by taking it over and exiting.
    pub fn give_to(&self, now: Time, id: LeaseId, owner: u16) -> Result<(), Error> {
        self.enter(now)?;
        let index = self.held_lease(id)?;
        self.may_transfer(index)?;
        let record = self.lease_record(index);
        let flags = record.flags.get() & !(u32::MAX << flag::OWNER);
        self.set(&record.flags, flags | (owner as u32) << flag::OWNER);
        self.leave(())
    }

    /// For which owner the ticket in this place ([`Self::place_of`]) is.
    pub fn owner_of_place(&self, place: usize) -> u16 {
        self.owner_of_ticket(place as u32)
    }

    /// For which owner a claim is; 0 if nothing is remembered of it.
    #[cfg(feature = "cluster")]
    pub(crate) fn owner_of_claim(&self, id: super::TicketId) -> u16 {
        self.known_ticket(id).map_or(0, |ticket| self.owner_of_ticket(ticket))
    }

    /// The claims of an owner that wait, or were granted, as far as they are known.
    #[cfg(feature = "cluster")]
    pub(crate) fn tickets_of(&self, owner: u16) -> Vec<super::TicketId> {
        let all = (1..=self.last_ticket_record())
            .filter(|&ticket| self.owner_of_ticket(ticket) == owner)
            .map(|ticket| super::TicketId(self.ticket_record(ticket).id.get()));
        let refused = |id| matches!(self.ticket(id), None | Some(super::TicketState::Refused(_)));
        all.filter(|&id| !refused(id)).collect()
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

    /// Whose leases and claims the events after number `event` are about. False if that cannot be told of all of them any more.
    #[cfg(feature = "cluster")]
    pub(crate) fn owners_since(&self, event: u64, mut each: impl FnMut(u16)) -> bool {
        use super::What;
        let mut events = Vec::new();
        let mut all = self.events_since(event, &mut events) == 0;
        for event in events {
            let owner = match event.what {
                What::Granted { lease, .. }
                | What::Revoking { lease, .. }
                | What::Ended { lease, .. } => {
                    let known = self.known_lease(lease);
                    known.map(|index| owner_in(self.lease_record(index).flags.get()))
                }
                What::Refused { ticket, .. } => {
                    self.known_ticket(ticket).map(|index| self.owner_of_ticket(index))
                }
                _ => continue,
            };
            match owner {
                Ok(owner) => each(owner),
                Err(_) => all = false,
            }
        }
        all
    }

    /// An owner that was taken for dead was only cut off: its leases, of these ids, ended for that reason.
    #[cfg(feature = "cluster")]
    pub(crate) fn was_cut_off(&self, now: Time, ids: &[LeaseId]) -> Result<(), Error> {
        self.enter(now)?;
        for record in ids.iter().filter_map(|id| self.known_lease(*id).ok()) {
            let record = self.lease_record(record);
            if super::lease::reason_of(record) == Some(Reason::HolderDied) {
                self.set_reason(record, Reason::EngineLost);
                let (died, lost) =
                    (self.counter(Reason::HolderDied), self.counter(Reason::EngineLost));
                self.set(died, died.get().wrapping_sub(1));
                self.increment(lost);
            }
        }
        self.leave(())
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

#[cfg(test)]
#[cfg(feature = "cluster")]
mod tests {
    use super::super::{Claim, Limits, Outcome, Settings, TicketState};
    use super::*;
    use crate::memory::{Arrays, new_table};

    fn take(table: &Table<Arrays>, owner: u16, name: &str) -> LeaseId {
        match table.claim(0, &Claim { owner, ..Claim::one("a", &[name]) }) {
            Ok(Outcome::Granted(lease)) => lease,
            told => panic!("{told:?}"),
        }
    }

    /// Whom the events after this one are about, and whether those are all.
    fn owners(table: &Table<Arrays>, event: u64) -> (Vec<u16>, bool) {
        let mut found = Vec::new();
        let all = table.owners_since(event, |owner| found.push(owner));
        (found, all)
    }

    #[test]
    fn events_concern_the_owners_of_their_leases_and_claims() {
        let limits = Limits { history: 4, ..Limits::default() };
        let table = new_table(Settings { limits, ..Settings::default() });
        let [first, second] = [7, 8].map(|owner| take(&table, owner, &owner.to_string()));
        let wait = Claim { owner: 9, wait: 5, ..Claim::one("b", &["7"]) };
        table.claim(0, &wait).unwrap();
        assert_eq!(owners(&table, 0), (vec![7, 8], true));
        table.advance(5).unwrap();
        assert_eq!(owners(&table, 2), (vec![9], true));
        table.revoke(5, second, Reason::Operator, "", 10).unwrap();
        assert_eq!(owners(&table, 4), (vec![8], true));
        table.release(6, first).unwrap();
        assert_eq!(owners(&table, 4), (vec![8, 7], true));
        assert_eq!(owners(&table, 0), (vec![9, 8, 7], false), "the first two are overwritten");
        let index = table.known_lease(second).unwrap();
        assert_eq!(table.lease_record(index).owner(), 8);
    }

    #[test]
    fn whom_an_event_concerns_is_forgotten_with_its_lease() {
        // Four events are remembered then, and three leases that ended.
        let limits = Limits { history: 3, ..Limits::default() };
        let table = new_table(Settings { limits, ..Settings::default() });
        let parent = take(&table, 1, "x");
        for (owner, name) in [(2, ["a"]), (3, ["b"]), (4, ["c"])] {
            let child = Claim { owner, parent: Some(parent), ..Claim::one("a", &name) };
            table.claim(0, &child).unwrap();
        }
        table.release(0, parent).unwrap();
        assert_eq!(owners(&table, 5), (vec![3, 2, 1], true));
        assert_eq!(owners(&table, 4), (vec![3, 2, 1], false));
    }

    #[test]
    fn claims_are_found_by_their_owner() {
        let table = new_table(Settings::default());
        let held = take(&table, 1, "x");
        let wait =
            |owner| match table.claim(0, &Claim { owner, wait: 5, ..Claim::one("b", &["x"]) }) {
                Ok(Outcome::Waiting(ticket)) => ticket,
                told => panic!("{told:?}"),
            };
        let [first, refused, other, last] = [7, 7, 8, 7].map(wait);
        table.cancel(0, refused).unwrap();
        table.release(0, held).unwrap();
        assert!(matches!(table.ticket(first), Some(TicketState::Granted(_))));
        assert_eq!(table.tickets_of(7), [first, last]);
        assert_eq!(table.tickets_of(8), [other]);
        assert_eq!(table.tickets_of(0), []);
    }

    #[test]
    fn leases_of_one_that_was_cut_off_did_not_end_by_its_death() {
        let table = new_table(Settings::default());
        let [died, other, released] = ["x", "y", "z"].map(|name| take(&table, 7, name));
        table.release(0, released).unwrap();
        table.reap(0, 7, Reason::HolderDied).unwrap();
        table.was_cut_off(0, &[died, released, LeaseId(1)]).unwrap();
        let reasons = [died, other, released].map(|lease| table.lease(lease).unwrap().reason);
        let expected = [Reason::EngineLost, Reason::HolderDied, Reason::Released];
        assert_eq!(reasons, expected.map(Some));
        assert_eq!(expected.map(|reason| table.count(reason)), [1; 3]);
    }
}
