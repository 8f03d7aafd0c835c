//! What a process knows of its own leases in a table that many machines share, without asking anybody.

use std::time::Duration;

use super::Core;
use super::clustered::take_back;
use crate::home::arrays::Undo;
use crate::home::clock::Clock;
use crate::home::cluster::{Conditions, Part};
use crate::table::layout::{Lease, Ticket};
use crate::table::{
    self, Error, LeaseId, LeaseState, Memory, Reason, Table, TicketId, TicketState, Time,
};

/// What became of a ticket, or that nothing will.
pub(super) fn in_vain<M: Memory>(
    part: &Part,
    table: &Table<M>,
    id: TicketId,
) -> Option<TicketState> {
    match table.ticket(id) {
        // Granted, too: that may not have come to count, and is over before it began if it has.
        Some(TicketState::Waiting | TicketState::Granted(_))
            if part.is_or_was(table.owner_of_place(table.place_of(id))) && !part.is_sure() =>
        {
            Some(TicketState::Refused(Reason::EngineLost))
        }
        found => found,
    }
}

/// What becomes of leases when the others may take this process for dead.
const CUT_OFF: Error = Error::NotHeld(LeaseState::Expired, Reason::EngineLost);

impl<U: Undo> Core<U> {
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
        let known = || (table::is_kept(&self.memory, id), read());
        let (own, mut state) = part.settled(known).unwrap_or_else(|| {
            let _settled = self.lock_about(part, self.record_of(id));
            known()
        });
        if !own && ask {
            // If the engine cannot be reached, what was known last.
            let _ = self.refresh(part);
            let _settled = self.on_the_ground(part);
            state = read();
        }
        match state {
            Some(LeaseState::Held) if own && !part.is_sure() || part.was_cut_off(id) => {
                Some(LeaseState::Expired)
            }
            state => state,
        }
    }

    /// What became of a ticket. Nothing does any more if the others may take this process for dead.
    pub(super) fn clustered_ticket(&self, part: &Part, id: TicketId) -> Option<TicketState> {
        if part.is_forked() {
            return None;
        }
        in_vain(part, &self.lock_about(part, self.ticket_record(id)).table, id)
    }

    pub(super) fn ticket_record(&self, id: TicketId) -> Option<&Ticket> {
        self.memory.tickets().get((id.0 & self.memory.index_mask()) as usize)
    }

    /// Asks the engine, if any of these leases is not this process's own.
    pub(super) fn ask_about_clustered(&self, part: &Part, ids: &[LeaseId]) {
        if !part.is_forked() && ids.iter().any(|id| !table::is_kept(&self.memory, *id)) {
            let _ = self.refresh(part);
        }
    }

    /// For how long the engine has not answered.
    pub fn silent_for(&self) -> Option<Duration> {
        let since = self.part()?.hearing.silent_since()?;
        Some(Duration::from_micros(Clock::Real.now().saturating_sub(since)))
    }

    fn record_of(&self, id: LeaseId) -> Option<&Lease> {
        self.memory.leases().get((id.0 & self.memory.index_mask()) as usize)
    }

    /// Renews a lease. One of this process's own costs no question to the engine: its time is counted here.
    pub(super) fn renew_clustered(&self, part: &Part, id: LeaseId) -> Result<Time, Error> {
        if let Some(answer) = self.renew_own(part, id) {
            return answer;
        }
        // Who had it has it no longer.
        let owner = || self.record_of(id).map(|record| record.owner());
        let needs =
            || Conditions { concerned: owner().into_iter().collect(), ..Conditions::default() };
        self.run_clustered(part, needs, |table, now| table.renew(now, id, None))
    }

    /// `None` if that needs the engine.
    fn renew_own(&self, part: &Part, id: LeaseId) -> Option<Result<Time, Error>> {
        if part.is_forked() || part.is_closed() {
            return None;
        }
        let state = self.state.lock();
        let under_way = state.group.as_ref()?.is_about(self.record_of(id)?);
        if under_way || !table::is_kept(&self.memory, id) || state.table.is_corrupt() {
            return None;
        }
        let now = self.clock.now().max(state.table.now());
        if table::lease_state(&self.memory, id, || now) != Some(LeaseState::Held) {
            return None;
        }
        if !part.is_sure() {
            return Some(Err(CUT_OFF));
        }
        part.take_off();
        let answer = state.table.renew(now, id, None);
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
