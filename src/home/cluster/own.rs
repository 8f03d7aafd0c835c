//! What a process knows of its own leases in a table that many machines share, without asking anybody.

use super::execute::take_back;
use super::home::{ClusterHome, State};
use crate::home::cluster::{Conditions, Part};
use crate::table::command::Renew;
use crate::table::layout::{Lease, Ticket};
use crate::table::{self, Error, LeaseId, LeaseState, Memory, Reason, TicketId, TicketState, Time};

/// Does, or did, this process wait with this ticket?
pub(super) fn is_own_ticket(part: &Part, state: &State, id: TicketId) -> bool {
    let table = &state.table;
    let given_up = table.memory().kept().is_some_and(|kept| kept.is_nobodys());
    !given_up && table.owner_of_claim(id) == part.owner() || part.waited_when_cut_off(id)
}

/// What became of a ticket, or that nothing will. What is under way does not count yet.
pub(super) fn in_vain(
    part: &Part,
    state: &State,
    id: TicketId,
    record: Option<&Ticket>,
) -> Option<TicketState> {
    match state.table.ticket(id) {
        // Granted, too: that may not have come to count, and is over before it began if it has.
        Some(found)
            if (!matches!(found, TicketState::Refused(_))
                || state.is_under_way(record)
                // By others since, who took this process for dead.
                || part.waited_when_cut_off(id))
                && is_own_ticket(part, state, id)
                && !part.is_sure() =>
        {
            Some(TicketState::Refused(Reason::EngineLost))
        }
        found => found,
    }
}

/// What becomes of leases when the others may take this process for dead.
const CUT_OFF: Error = Error::NotHeld(LeaseState::Expired, Reason::EngineLost);

impl ClusterHome {
    /// The state of a lease. What this process holds it knows by itself, until the others may take it for dead: then all that is over. Of what others hold the engine knows.
    pub(super) fn clustered_state(
        &self,
        part: &Part,
        id: LeaseId,
        read: impl Fn() -> Option<LeaseState>,
        ask: bool,
    ) -> Option<LeaseState> {
        if part.is_forked() {
            return None;
        }
        let known = || (self.is_own(part, id), read());
        // Who is cut off does not wait for what is under way with its own.
        let mut under_way = false;
        let (own, mut state) = part.settled(known).unwrap_or_else(|| {
            let record = self.record_of(id);
            let locked = self.lock_about(part, record, |_| self.is_own(part, id));
            under_way = locked.is_under_way(record);
            known()
        });
        if !own && ask {
            // If the engine cannot be reached, what was known last.
            let _ = self.refresh(part);
            let _settled = self.on_the_ground(part);
            state = read();
        }
        match state {
            Some(_) if under_way => Some(LeaseState::Expired),
            Some(LeaseState::Held) if own && !part.is_sure() => Some(LeaseState::Expired),
            state => state,
        }
    }

    /// Does this process hold it, or did it until it was cut off?
    fn is_own(&self, part: &Part, id: LeaseId) -> bool {
        table::is_kept(&self.memory, id) || part.was_cut_off(id)
    }

    /// What became of a ticket. Nothing does any more if the others may take this process for dead.
    pub(super) fn clustered_ticket(&self, part: &Part, id: TicketId) -> Option<TicketState> {
        if part.is_forked() {
            return None;
        }
        let record = self.ticket_record(id);
        let state = self.lock_about(part, record, |state| is_own_ticket(part, state, id));
        in_vain(part, &state, id, record)
    }

    pub(super) fn ticket_record(&self, id: TicketId) -> Option<&Ticket> {
        self.memory.tickets().get((id.0 & self.memory.index_mask()) as usize)
    }

    /// Asks the engine, if any of these leases is not this process's own.
    pub(super) fn ask_about_clustered(&self, part: &Part, ids: &[LeaseId]) {
        if !part.is_forked() && ids.iter().any(|id| !self.is_own(part, *id)) {
            let _ = self.refresh(part);
        }
    }

    pub(super) fn record_of(&self, id: LeaseId) -> Option<&Lease> {
        self.memory.leases().get((id.0 & self.memory.index_mask()) as usize)
    }

    /// Renews a lease, for another time if one is given. One of this process's own costs no question to the engine: its time is counted here. To change that time costs one.
    pub(super) fn renew_clustered(
        &self,
        part: &Part,
        id: LeaseId,
        ttl: Option<Time>,
    ) -> Result<Time, Error> {
        if let Some(answer) = self.renew_own(part, id, ttl) {
            return answer;
        }
        // Who had it has it no longer.
        let owner = || self.record_of(id).map(|record| record.owner());
        let needs =
            || Conditions { concerned: owner().into_iter().collect(), ..Conditions::default() };
        let renewed = self.run_clustered(part, needs, |table, now| {
            match table.state(id, now) == Some(LeaseState::Held) && part.is_cut_off() {
                true if self.is_own(part, id) => Err(CUT_OFF),
                // Nothing is taken over by who may be dead: it would be over.
                true => Err(Error::Unavailable),
                false => table.apply(part.issuer(), &Renew { lease: id, ttl }, now),
            }
        });
        // The session may have ended while the outcome was unknown. Then the lease has ended too.
        match renewed {
            Err(Error::Unavailable) if part.is_cut_off() && self.is_own(part, id) => Err(CUT_OFF),
            renewed => renewed,
        }
    }

    /// `None` if that needs the engine.
    fn renew_own(
        &self,
        part: &Part,
        id: LeaseId,
        ttl: Option<Time>,
    ) -> Option<Result<Time, Error>> {
        if part.is_forked() || part.is_closed() {
            return None;
        }
        let state = self.state.lock();
        let under_way = state.group.as_ref()?.is_about(self.record_of(id)?);
        if under_way || !self.is_own(part, id) || state.table.is_corrupt() {
            return None;
        }
        let now = self.clock.now().max(state.table.now());
        if table::lease_state(&self.memory, id, || now) != Some(LeaseState::Held) {
            return None;
        }
        if !part.is_sure() {
            return Some(Err(CUT_OFF));
        }
        if ttl.is_some() {
            return None;
        }
        part.take_off();
        let answer = state.table.apply(part.issuer(), &Renew { lease: id, ttl: None }, now);
        let written = part.replica().take_written();
        state.table.take_decided(|_| ());
        let quiet = answer.is_ok() && part.replica().is_only(&written, &self.memory.header().now);
        if quiet {
            part.replica().undo_shared(&written);
        }
        take_back(part, &state, if quiet { &[] } else { &written });
        quiet.then_some(answer)
    }
}
