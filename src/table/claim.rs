//! Asking for a lease.

use super::layout::flag;
use super::lease::Grant;
use super::memory::Memory;
use super::names::check_name;
use super::resource::{Demand, possible};
use super::types::{Claim, Error, FOREVER, LeaseId, Outcome, Take, TicketId, TicketState, Time};
use super::{Table, ticket::NewTicket};

/// Everything that can be said about a claim without looking at the table.
#[inline(always)]
fn check(claim: &Claim<'_>) -> Result<(), Error> {
    check_name(claim.holder)?;
    claim.candidates.check_names()?;
    if claim.count == 0 {
        return Err(Error::CountIsZero);
    }
    if claim.count as usize > claim.candidates.len() {
        return Err(Error::CountExceedsCandidates);
    }
    if claim.take == (Take::Amount { slots: 0, memory: 0 }) {
        return Err(Error::ZeroAmount);
    }
    if claim.ttl == 0 {
        return Err(Error::ZeroTtl);
    }
    if claim.ttl > FOREVER || claim.wait > FOREVER || claim.grace > FOREVER {
        return Err(Error::TimeTooLarge);
    }
    Ok(())
}

impl<M: Memory> Table<M> {
    /// Asks for a lease: granted at once, put in line, or refused.
    #[inline(always)]
    pub fn claim(&self, now: Time, claim: &Claim<'_>) -> Result<Outcome, Error> {
        check(claim)?;
        self.enter(now)?;
        let mut candidates = self.scratch.candidates.take();
        let answer = self.claim_resolved(now, claim, &mut candidates);
        self.scratch.candidates.replace(candidates);
        self.leave(answer?)
    }

    #[inline(always)]
    fn claim_resolved(
        &self,
        now: Time,
        claim: &Claim<'_>,
        candidates: &mut Vec<u32>,
    ) -> Result<Outcome, Error> {
        let answer = match self.resolve(&claim.candidates, candidates) {
            Ok(()) => self.claim_by_holder(now, claim, candidates),
            Err(error) => Err(error),
        };
        if answer.is_err() {
            self.drop_unused(candidates);
        }
        answer
    }

    #[inline(always)]
    fn claim_by_holder(
        &self,
        now: Time,
        claim: &Claim<'_>,
        candidates: &[u32],
    ) -> Result<Outcome, Error> {
        let parent = self.parent_for_claim(claim.parent)?;
        let demand = Demand::new(claim.take);
        let able = |&&i: &&u32| possible(self.resource_record(i), &demand);
        if (candidates.iter().filter(able).count() as u32) < claim.count {
            return Err(Error::Impossible);
        }
        let holder = self.intern_holder(claim.holder)?;
        let answer = self.claim_checked(now, claim, candidates, holder, parent, demand);
        if answer.is_err() {
            self.drop_holder_if_unused(holder);
        }
        answer
    }

    #[inline(always)]
    fn claim_checked(
        &self,
        now: Time,
        claim: &Claim<'_>,
        candidates: &[u32],
        holder: u32,
        parent: u32,
        demand: Demand,
    ) -> Result<Outcome, Error> {
        let worker = if parent != 0 { self.worker_of(parent) } else { holder };
        let mut flags = 0;
        if claim.spare {
            flags |= flag::SPARE;
        }
        if claim.preemptible {
            flags |= flag::PREEMPTIBLE;
        }
        let mut new = NewTicket {
            grant: Grant {
                holder,
                worker,
                demand,
                ttl: claim.ttl,
                priority: claim.priority,
                flags,
                grace: claim.grace,
                parent,
                ticket: 0,
                age: 0,
            },
            count: claim.count,
            preempt: claim.preempt,
            effective: claim.priority,
            age: self.header().sequence.get() + 1,
            wait: claim.wait,
        };
        let blocked = self.header().waiting.get() != 0 && {
            let credit = self.holder_record(holder).credit.get();
            if credit != 0 {
                new.age = credit;
            }
            new.effective = self.effective_for_new(worker, &new);
            self.blocked_by_earlier(&new, candidates)
        };
        if !blocked {
            let mut picks = self.scratch.picks.take();
            picks.clear();
            picks.extend(
                candidates.iter().filter(|&&i| self.fits(i, &demand)).take(claim.count as usize),
            );
            let granted = (picks.len() as u32 == claim.count).then(|| {
                self.room_for_lease(claim.count)?;
                Ok(self.grant(now, &new.grant, &picks))
            });
            self.scratch.picks.replace(picks);
            if let Some(granted) = granted {
                let id = granted?;
                self.settle(now);
                return Ok(Outcome::Granted(LeaseId(id)));
            }
        }
        if claim.wait == 0 {
            return Err(Error::Busy);
        }
        let ticket = self.enqueue(now, &new, candidates)?;
        let id = TicketId(self.ticket_record(ticket).id.get());
        self.settle(now);
        match self.ticket(id) {
            Some(TicketState::Granted(lease)) => Ok(Outcome::Granted(lease)),
            _ => Ok(Outcome::Waiting(id)),
        }
    }
}
