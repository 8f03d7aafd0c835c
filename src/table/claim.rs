//! Asking for a lease.

use super::layout::flag;
use super::lease::Grant;
use super::memory::Memory;
use super::names::check_name;
use super::resource::{Demand, possible};
use super::types::{
    Candidates, Claim, Error, FOREVER, LeaseId, Outcome, Take, TicketId, TicketState, Time,
};
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
    if claim.ttl > FOREVER || claim.wait > FOREVER || claim.grace >= FOREVER {
        return Err(Error::TimeTooLarge);
    }
    Ok(())
}

impl<M: Memory> Table<M> {
    /// Asks for a lease for [`Claim::owner`]: granted at once, put in line, or refused.
    pub fn claim(&self, now: Time, claim: &Claim<'_>) -> Result<Outcome, Error> {
        let issuer = self.issuer.replace(self.issuer.get().with_owner(claim.owner));
        let answer = self.place_claim(now, claim);
        self.issuer.set(issuer);
        answer
    }

    /// Asks for a lease for the issuer.
    #[inline(always)]
    pub(super) fn place_claim(&self, now: Time, claim: &Claim<'_>) -> Result<Outcome, Error> {
        check(claim)?;
        self.enter(now)?;
        let answer = match claim.candidates {
            // A single one needs no list.
            Candidates::Named([name]) => {
                let found = [self.intern_resource(name)?];
                let answer = self.claim_by_holder(now, claim, &found);
                if answer.is_err() {
                    self.drop_unused(&claim.candidates, &found);
                }
                answer
            }
            _ => self.claim_listed(now, claim),
        };
        let answer = answer?;
        self.settle(now);
        self.leave(match answer {
            Outcome::Waiting(id) => self.waiting_or_served(id),
            granted => granted,
        })
    }

    fn claim_listed(&self, now: Time, claim: &Claim<'_>) -> Result<Outcome, Error> {
        let mut candidates = self.scratch.candidates.take();
        let answer = self.claim_resolved(now, claim, &mut candidates);
        self.scratch.candidates.replace(candidates);
        answer
    }

    /// A ticket may have been served while the table settled.
    fn waiting_or_served(&self, id: TicketId) -> Outcome {
        match self.ticket(id) {
            Some(TicketState::Granted(lease)) => {
                self.collect(id);
                Outcome::Granted(lease)
            }
            _ => Outcome::Waiting(id),
        }
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
        // Those that came into being for this claim and that it does not need are forgotten.
        if answer.is_err() || candidates.len() > 1 {
            self.drop_unused(&claim.candidates, candidates);
        }
        answer
    }

    fn claim_by_holder(
        &self,
        now: Time,
        claim: &Claim<'_>,
        candidates: &[u32],
    ) -> Result<Outcome, Error> {
        let parent = self.parent_for_claim(claim.parent)?;
        let holder = self.intern_holder(claim.holder)?;
        let answer = match claim.together {
            false => self.claim_checked(now, claim, candidates, candidates, holder, parent),
            true => self.scratch.able.with(|able| {
                self.of_able_nodes(candidates, &Demand::new(claim.take), claim.count, able);
                self.claim_checked(now, claim, able, candidates, holder, parent)
            }),
        };
        if answer.is_err() {
            self.drop_holder_if_unused(holder);
        }
        answer
    }

    /// `all`: also those that a claim for several of one node names in vain.
    #[inline(always)]
    fn claim_checked(
        &self,
        now: Time,
        claim: &Claim<'_>,
        candidates: &[u32],
        all: &[u32],
        holder: u32,
        parent: u32,
    ) -> Result<Outcome, Error> {
        let worker = if parent != 0 { self.worker_of(parent) } else { holder };
        let spare = if claim.spare { flag::SPARE } else { 0 };
        let preemptible = if claim.preemptible { flag::PREEMPTIBLE } else { 0 };
        let grant = Grant {
            holder,
            worker,
            demand: Demand::new(claim.take),
            ttl: claim.ttl,
            priority: claim.priority,
            flags: spare | preemptible | (self.issuer.get().owner() as u32) << flag::OWNER,
            grace: claim.grace,
            parent,
            ticket: 0,
            age: 0,
        };
        if (self.header().waiting.get() == 0 || self.may_go_first(claim, &grant, candidates))
            && let Some(id) = self.grant_now(now, claim, &grant, candidates, all)?
        {
            return Ok(Outcome::Granted(LeaseId(id)));
        }
        self.wait_in_line(now, claim, &grant, candidates)
    }

    /// Grants the claim if enough of its candidates fit.
    #[inline(always)]
    fn grant_now(
        &self,
        now: Time,
        claim: &Claim<'_>,
        grant: &Grant,
        candidates: &[u32],
        all: &[u32],
    ) -> Result<Option<u64>, Error> {
        let count = claim.count;
        if count == 1 && !claim.together && self.header().islanders.get() == 0 {
            let Some(pick) = candidates.iter().find(|&&i| self.fits(i, &grant.demand)) else {
                return Ok(None);
            };
            self.room_for_claim(1, grant.holder, all)?;
            return Ok(Some(self.grant(now, grant, std::slice::from_ref(pick))));
        }
        self.scratch.picks.with(|picks| {
            picks.clear();
            picks.extend(candidates.iter().filter(|&&i| self.fits(i, &grant.demand)));
            if !self.choose(picks, count as usize, claim.together) {
                return Ok(None);
            }
            self.room_for_claim(count, grant.holder, all)?;
            Ok(Some(self.grant(now, grant, picks)))
        })
    }

    /// As `room_for_lease`, for a claim whose holder and candidates nothing may refer to yet:
    /// they must not be forgotten with a lease that is forgotten to make room.
    #[inline(always)]
    fn room_for_claim(&self, count: u32, holder: u32, candidates: &[u32]) -> Result<(), Error> {
        if self.has_room(&self.header().holds, self.memory.holds().len(), count) {
            return self.room_for_lease(count);
        }
        let refs = || {
            let resources = candidates.iter().map(|&i| &self.resource_record(i).refs);
            resources.chain([&self.holder_record(holder).refs])
        };
        refs().for_each(|refs| self.add(refs, 1));
        let answer = self.room_for_lease(count);
        refs().for_each(|refs| self.sub(refs, 1));
        answer
    }

    /// Does nobody wait who comes before this claim?
    fn may_go_first(&self, claim: &Claim<'_>, grant: &Grant, candidates: &[u32]) -> bool {
        !self.blocked_by_earlier(&self.as_ticket(claim, grant), candidates)
    }

    /// The claim as it would stand in line.
    fn as_ticket<'a>(&self, claim: &Claim<'_>, grant: &'a Grant) -> NewTicket<'a> {
        let credit = self.holder_record(grant.holder).credit.get();
        NewTicket {
            grant,
            count: claim.count,
            together: claim.together,
            preempt: claim.preempt,
            effective: self.effective_for_new(grant),
            age: if credit != 0 { credit } else { self.header().sequence.get().wrapping_add(1) },
            wait: claim.wait,
        }
    }

    /// A claim that cannot be granted now: impossible, refused, or put in line.
    fn wait_in_line(
        &self,
        now: Time,
        claim: &Claim<'_>,
        grant: &Grant,
        candidates: &[u32],
    ) -> Result<Outcome, Error> {
        let able = |&&i: &&u32| possible(self.resource_record(i), &grant.demand);
        if (candidates.iter().filter(able).count() as u32) < claim.count {
            return Err(Error::Impossible);
        }
        if claim.wait == 0 {
            return Err(Error::Busy);
        }
        let ticket = self.enqueue(now, &self.as_ticket(claim, grant), candidates)?;
        Ok(Outcome::Waiting(TicketId(self.ticket_record(ticket).id.get())))
    }
}
