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

    /// True only if a claim without a wait would certainly be answered [`Error::Busy`] at `now`.
    /// Changes nothing.
    #[cfg_attr(not(feature = "cluster"), allow(dead_code))]
    pub(crate) fn is_busy(&self, claim: &Claim<'_>, now: Time) -> bool {
        let header = self.header();
        let is_plain = claim.parent.is_none() && !claim.together && !claim.preempt;
        let is_in_time = header.now.get() <= now && now < header.next_due.get().min(FOREVER);
        if !is_plain || !is_in_time || self.corrupt.get() || check(claim).is_err() {
            return false;
        }
        self.has_room_for_holder(claim.holder)
            && self.scratch.candidates.with(|found| {
                if !self.find_candidates(&claim.candidates, found) {
                    return false;
                }
                let demand = Demand::new(claim.take);
                let count = |is_one: &dyn Fn(u32) -> bool| {
                    found.iter().filter(|&&index| is_one(index)).count() as u32
                };
                count(&|index| possible(self.resource_record(index), &demand)) >= claim.count
                    && count(&|index| self.fits(index, &demand)) < claim.count
            })
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

#[cfg(test)]
mod tests {
    use super::super::{Health, Issuer, Limits, Settings, command::Place};
    use super::*;
    use crate::memory::new_table;

    /// Random claims: those that are called busy are refused as busy.
    #[test]
    fn claim_that_is_called_busy_is_busy() {
        let limits = Limits { leases: 8, tickets: 4, resources: 6, history: 2 };
        let t = new_table(Settings { limits, ..Settings::default() });
        let small = t.declare(0, "small", 1, 0).unwrap();
        let large = t.declare(0, "large", 3, 8).unwrap();
        let mut state = 1u64;
        let mut random = |end: u64| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (state >> 33) % end
        };
        let (mut now, mut found) = (0, 0);
        let names = ["small", "large", "a", "b", "c", "d"];
        for _ in 0..20_000 {
            now += random(2);
            let [first, second, third] = [0; 3].map(|_| names[random(6) as usize]);
            let listed = [first, second, third];
            let listed = &listed[..1 + random(3) as usize];
            let ids = [small, large];
            let claim = Claim {
                candidates: match random(4) {
                    0 => Candidates::Declared(&ids[..1 + random(2) as usize]),
                    _ => Candidates::Named(listed),
                },
                count: 1 + random(2) as u32,
                take: match random(3) {
                    0 => Take::Exclusive,
                    1 => Take::Shared,
                    _ => Take::Amount { slots: random(3) as u32, memory: random(5) as u32 },
                },
                ttl: random(12),
                wait: if random(8) == 0 { 3 } else { 0 },
                priority: random(3) as i16,
                preempt: random(8) == 0,
                preemptible: random(2) == 0,
                ..Claim::one(names[random(6) as usize], &[])
            };
            let called_busy = t.is_busy(&claim, now);
            if claim.wait == 0 {
                let answer = t.apply(Issuer::default(), &Place::<()>::new(&claim), now);
                let is_busy = answer == Err(Error::Busy);
                assert!(is_busy || !called_busy, "{claim:?}: {answer:?}");
                found += u32::from(called_busy);
            } else {
                let _ = t.claim(now, &claim);
            }
            t.take_decided(|_| ());
            if random(40) == 0 {
                let health = if random(2) == 0 { Health::Draining } else { Health::Healthy };
                t.set_health(now, large, health).unwrap();
            }
        }
        assert!(found > 1000, "{found} were busy");
    }
}
