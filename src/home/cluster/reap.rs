//! What a table of many machines gets back: from processes that are gone, from one that was cut off, and what was dropped while the engine was away.

use std::collections::BTreeSet;

use super::Replica;
use super::home::ClusterHome;
use crate::home::Dropped;
use crate::home::cluster::{Conditions, Failure, Group, Part, Revision};
use crate::home::waiters::WakeList;
use crate::memory::Arrays;
use crate::table::command::{ReapOwner, Release, Withdraw};
use crate::table::{Error, Issuer, Memory, Reaped, Reason, Table, Time};

/// So many leases and claims end together at most.
const PORTION: u32 = 1000;

impl ClusterHome {
    /// The times of the leases under its number are counted here from now on. With the lock.
    pub(super) fn keep_own_times(&self, part: &Part) {
        if let Some(kept) = self.memory.kept() {
            kept.be_of(part.owner());
        }
    }

    /// Somebody else may have its number by now: what is found under it from now on is no longer this process's. With the lock, before news are read.
    pub(super) fn give_up_number(&self, part: &Part, table: &Table<Arrays<Replica>>) {
        if let Some(kept) = self.memory.kept().filter(|kept| !kept.is_nobodys()) {
            self.note_lost_leases(part, table, |_| None);
            part.remember_cut_off(table.kept_ids(), table.tickets_of(part.owner()));
            kept.be_nobodys();
        }
    }

    /// The others may have taken this process for dead: what it had is over, under whatever number, and it has a session again.
    pub(super) fn begin_again(&self, part: &Part) -> Result<(), Error> {
        if let Some(error) = part.refusal() {
            return Err(error);
        }
        self.give_up_number(part, &self.on_the_ground(part).table);
        if let Some(seat) = part.find_another_seat().map_err(|_| Error::Unavailable)? {
            let _settled = self.on_the_ground(part);
            part.take_seat(seat);
        }
        part.listen().map_err(|_| Error::Unavailable)?;
        // What was on its way to it as it listened before is not heard any more.
        part.hearing.has_missed();
        self.end_doubts(part).map_err(|_| Error::Unavailable)?;
        let (own, cut_off) = (part.owner(), part.cut_off());
        self.reap_all(part, Conditions::default, own, Reason::EngineLost)?;
        let former = part.former();
        for &seat in former.iter().filter(|seat| seat.0 != own) {
            // Gone, or its session lives on in the engine. Else somebody has the number by now, who gives back what it finds under it before anything else.
            for condition in [part.absence_of(seat.0), part.remains_of(seat)] {
                if self.reap_clustered(part, condition, seat.0, Reason::EngineLost).is_ok() {
                    break;
                }
            }
        }
        let left = self.read(|table| table.leases());
        let was_own = |owner| former.iter().any(|seat| seat.0 == owner);
        if left.iter().any(|lease| cut_off.contains(&lease.id) && was_own(lease.owner)) {
            return Err(Error::Unavailable);
        }
        // Last, when all of it is over: others may have been faster.
        self.run_clustered(part, Conditions::default, |table, now| {
            table.was_cut_off(now, &cut_off)
        })?;
        part.forget_former(&former);
        let mut wake = WakeList::default();
        let state = self.on_the_ground(part);
        if !part.find_again() {
            return Err(Error::Unavailable);
        }
        self.keep_own_times(part);
        // They may look again at what could not be told while the session was lost.
        state.waiters.take_all_subscribers(&mut wake);
        drop(state);
        wake.wake();
        Ok(())
    }

    /// Nobody waits any more for what was under way when this process was cut off. It has come to count, or never will.
    fn end_doubts(&self, part: &Part) -> Result<(), Failure> {
        let mut state = self.on_the_ground(part);
        let head = state.group.as_mut().and_then(|group| group.store()).map(|it| it.end_doubts());
        drop(state);
        if let Some(txn) = head {
            part.kv().txn(&txn)?;
        }
        self.refresh(part)
    }

    /// Gives back what a process had that is gone. An error if its key is not as it must be, or the engine cannot be reached.
    pub(crate) fn reap_clustered(
        &self,
        part: &Part,
        condition: (String, Revision),
        owner: u16,
        reason: Reason,
    ) -> Result<(), Error> {
        let needs = || Conditions { unchanged: vec![condition.clone()], ..Conditions::default() };
        let reaped = self.reap_all(part, needs, owner, reason)?;
        if reaped == Reaped::default() {
            return Ok(());
        }
        self.run_clustered(part, Conditions::default, |table, now| {
            table.advance(now)?;
            table.record_death(now, owner.into(), reaped);
            Ok(())
        })
    }

    /// Ends what an owner has, in as many portions as it takes: an engine does not take everything at once.
    pub(super) fn reap_all(
        &self,
        part: &Part,
        needs: impl Fn() -> Conditions,
        owner: u16,
        reason: Reason,
    ) -> Result<Reaped, Error> {
        let mut all = Reaped::default();
        loop {
            let some = self.run_clustered(part, &needs, |table, now| {
                table.apply(part.issuer(), &ReapOwner { owner, reason, limit: PORTION }, now)
            })?;
            all.leases += some.leases;
            all.tickets += some.tickets;
            // Fewer may have been the last ones, or have taken their children with them.
            if some == Reaped::default() {
                return Ok(all);
            }
        }
    }

    /// The engine cannot be reached now.
    #[cold]
    pub(super) fn let_go_later(&self, dropped: Dropped) {
        let mut state = self.state.lock();
        let owner = owner_of(&state.table, dropped);
        if owner == 0 {
            return;
        }
        if let Some(group) = &mut state.group {
            group.dropped.entry(dropped).or_insert(owner);
        }
    }

    /// What was dropped while the engine could not be reached. Some of it may be over by now, or somebody else has taken it over.
    pub(super) fn let_go_of_dropped(&self, part: &Part) {
        let take = |group: &mut Group| {
            std::iter::from_fn(|| group.dropped.pop_first()).take(PORTION as usize).collect()
        };
        let dropped: Vec<(Dropped, u16)> =
            self.state.lock().group.as_mut().map_or_else(Vec::new, take);
        if dropped.is_empty() {
            return;
        }
        let given = self.run_clustered(part, Conditions::default, |table, now| {
            let still = |(it, owner): &&(Dropped, u16)| owner_of(table, *it) == *owner;
            for (it, _) in dropped.iter().filter(still) {
                // It may be over by now.
                let _ = give_back(*it, table, part.issuer(), now);
            }
            Ok(())
        });
        if given == Err(Error::Unavailable)
            && let Some(group) = &mut self.state.lock().group
        {
            group.dropped.extend(dropped);
        }
    }

    /// Gives back what a process had that is gone; later, if the engine cannot be reached now.
    pub(crate) fn reap_gone(&self, part: &Part, owner: u16) {
        let given = self.reap_clustered(part, part.absence_of(owner), owner, Reason::HolderDied);
        // Whoever has its number by now has given it back before.
        let reused = || part.present().is_ok_and(|present| present.contains(&owner));
        if given.is_err() && !reused() {
            part.hearing.is_still_gone(owner);
        }
    }

    /// Gives back what processes have that are gone, whether or not that was heard of.
    pub(super) fn reap_the_absent(&self, part: &Part) -> Result<(), Error> {
        let owners: BTreeSet<u16> = self.read(|table| {
            let leases = table.leases().into_iter().map(|lease| lease.owner);
            leases.chain(table.tickets().into_iter().map(|ticket| ticket.owner)).collect()
        });
        let present = part.present().map_err(|_| Error::Unavailable)?;
        for owner in owners.into_iter().filter(|owner| *owner != 0 && !present.contains(owner)) {
            self.reap_gone(part, owner);
        }
        Ok(())
    }
}

/// Ends a dropped lease or withdraws a dropped claim.
pub(super) fn give_back<M: Memory>(
    dropped: Dropped,
    table: &Table<M>,
    issuer: Issuer,
    now: Time,
) -> Result<(), Error> {
    match dropped {
        Dropped::Lease(lease) => table.apply(issuer, &Release { lease }, now),
        Dropped::Ticket(ticket) => table.apply(issuer, &Withdraw { ticket }, now).map(drop),
    }
}

/// Who has it; 0 if nobody does any more.
fn owner_of<M: Memory>(table: &Table<M>, dropped: Dropped) -> u16 {
    match dropped {
        Dropped::Lease(id) => table.lease(id).map_or(0, |lease| lease.owner),
        Dropped::Ticket(id) => table.owner_of_claim(id),
    }
}
