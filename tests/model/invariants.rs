//! What must hold of the real table whatever the model thinks.

use std::collections::{BTreeMap, BTreeSet};

use ternlease::table::{
    Cancelled, Error, Event, Health, LeaseId, LeaseState, Outcome, Reason, ResourceInfo, Take,
    TicketId, TicketState, Time, What,
};

use super::step::{Answer, Command, Real, Step};
use super::{Ask, conflict};

/// One command and what came of it.
pub struct Seen<'a> {
    pub step: &'a Step,
    /// The time up to which the table was brought.
    pub now: Time,
    pub answer: &'a Result<Answer, Error>,
    pub events: &'a [Event],
    /// Tickets that were ever given the right to overtake.
    pub overtakers: BTreeSet<TicketId>,
}

pub struct Invariants {
    /// One priority and nothing spare, so that the line is in the order of arrival.
    flat: bool,
    queued: BTreeMap<TicketId, Ask>,
    /// How each queued ticket was decided, by the events.
    decided: BTreeMap<TicketId, TicketState>,
    granted: BTreeSet<LeaseId>,
    ended: BTreeSet<LeaseId>,
    /// What a lease was when it was first seen not held.
    over: BTreeMap<LeaseId, LeaseState>,
    /// When a held lease ends if nothing is done, and what it is then.
    foreseen: BTreeMap<LeaseId, (Time, LeaseState)>,
}

impl Invariants {
    pub fn new(flat: bool) -> Invariants {
        Invariants {
            flat,
            queued: BTreeMap::new(),
            decided: BTreeMap::new(),
            granted: BTreeSet::new(),
            ended: BTreeSet::new(),
            over: BTreeMap::new(),
            foreseen: BTreeMap::new(),
        }
    }

    pub fn check(
        &mut self,
        seen: &Seen<'_>,
        real: &Real,
        holders: &[String],
        names: &[String],
    ) -> Result<(), String> {
        let waited_before: Vec<TicketId> = self
            .queued
            .keys()
            .filter(|ticket| !self.decided.contains_key(ticket))
            .copied()
            .collect();
        self.record(seen, real)?;
        if let Ok(Answer::Cancelled(Cancelled::WasGranted(lease))) = seen.answer {
            // Nobody was told of the lease: the ticket counts as cancelled.
            let granted = TicketState::Granted(*lease);
            let withdrawn = self.decided.values_mut().find(|state| **state == granted);
            *withdrawn.ok_or("no ticket was granted that lease")? =
                TicketState::Refused(Reason::Cancelled);
        }
        self.trits_never_come_back(real, seen.now, seen.events.is_empty())?;
        // Every change is an event.
        if seen.events.is_empty() {
            return Ok(());
        }
        self.one_fate_each(real)?;
        nothing_lost_nothing_too_much(real, holders, names)?;
        self.nobody_waits_for_what_is_free(real)?;
        self.order_respected(seen, &waited_before, real)
    }

    fn record(&mut self, seen: &Seen<'_>, real: &Real) -> Result<(), String> {
        for event in seen.events {
            match &event.what {
                What::Queued { ticket } => {
                    let Command::Claim { ask, .. } = &seen.step.command else {
                        return Err(format!("{ticket} was queued without a claim"));
                    };
                    if self.queued.insert(*ticket, as_it_counts(real, ask)).is_some() {
                        return Err(format!("{ticket} was queued twice"));
                    }
                }
                What::Granted { lease, ticket } => {
                    if !self.granted.insert(*lease) {
                        return Err(format!("lease {lease} was granted twice"));
                    }
                    if let Some(ticket) = ticket {
                        self.decide(*ticket, TicketState::Granted(*lease))?;
                    }
                }
                What::Refused { ticket, reason, .. } => {
                    self.decide(*ticket, TicketState::Refused(*reason))?
                }
                What::Ended { lease, .. } if !self.ended.insert(*lease) => {
                    return Err(format!("lease {lease} ended twice"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn decide(&mut self, ticket: TicketId, state: TicketState) -> Result<(), String> {
        if !self.queued.contains_key(&ticket) || self.decided.insert(ticket, state).is_some() {
            return Err(format!("ticket {ticket} was decided without waiting: {state:?}"));
        }
        Ok(())
    }

    /// Every lease is held or has ended once; every ticket waits or was decided once.
    fn one_fate_each(&self, real: &Real) -> Result<(), String> {
        let held = (self.granted.len() - self.ended.len()) as u32;
        if !self.ended.is_subset(&self.granted) || real.table.held() != held {
            return Err(format!("{held} leases should be held by the events"));
        }
        for ticket in self.queued.keys() {
            let expected = self.decided.get(ticket).copied().unwrap_or(TicketState::Waiting);
            if real.table.ticket(*ticket) != Some(expected) {
                return Err(format!("ticket {ticket} should be {expected:?} by the events"));
            }
        }
        Ok(())
    }

    /// Once not held, never anything else; and what readers were told for a time to come is kept.
    fn trits_never_come_back(&mut self, real: &Real, now: Time, quiet: bool) -> Result<(), String> {
        for id in &self.granted {
            if let Some(over) = self.over.get(id) {
                if quiet {
                    continue;
                }
                let state = real.table.state(*id, now);
                if state != Some(*over) {
                    return Err(format!("lease {id} was {over:?} and is {state:?}"));
                }
                continue;
            }
            let Some(info) = real.table.lease(*id) else {
                return Err(format!("lease {id} is forgotten"));
            };
            if (info.state == LeaseState::Held) == self.ended.contains(id) {
                return Err(format!("lease {id} is {:?} against its events", info.state));
            }
            let state = real.table.state(*id, now).expect("it is remembered");
            if let Some((at, foreseen)) = self.foreseen.get(id)
                && now >= *at
                && state != *foreseen
            {
                return Err(format!(
                    "readers saw lease {id} {foreseen:?} from {at} on, now it is {state:?}"
                ));
            }
            if state == LeaseState::Held {
                let at_end = real.table.state(*id, info.end).expect("it is remembered");
                self.foreseen.insert(*id, (info.end, at_end));
            } else {
                self.over.insert(*id, state);
            }
        }
        Ok(())
    }

    /// The first of all tickets it meets must not find enough that fits.
    fn nobody_waits_for_what_is_free(&self, real: &Real) -> Result<(), String> {
        for (ticket, ask) in
            self.queued.iter().filter(|(ticket, _)| !self.decided.contains_key(ticket))
        {
            if real.table.place(*ticket) != Some(1) {
                continue;
            }
            let fitting: Vec<ResourceInfo> = ask
                .candidates
                .iter()
                .map(|name| real.table.resource(name).expect("a waiting ticket refers to it"))
                .filter(|info| fits(info, ask.take))
                .collect();
            if most_of_one(&fitting, ask) >= ask.count as usize {
                return Err(format!("ticket {ticket} is first in line, waits for what is free"));
            }
        }
        Ok(())
    }

    /// Nothing is granted past a conflicting ticket that waited before this command and still waits.
    fn order_respected(
        &self,
        seen: &Seen<'_>,
        waited_before: &[TicketId],
        real: &Real,
    ) -> Result<(), String> {
        let passed = |ask: &Ask, earlier: &dyn Fn(TicketId, &Ask) -> bool| {
            waited_before.iter().copied().find(|other| {
                let theirs = &self.queued[other];
                real.table.ticket(*other) == Some(TicketState::Waiting)
                    && conflict(theirs, ask)
                    && earlier(*other, theirs)
            })
        };
        for event in seen.events {
            if let What::Granted { ticket: Some(ticket), .. } = event.what
                && !seen.overtakers.contains(&ticket)
            {
                let ask = &self.queued[&ticket];
                let earlier = |other: TicketId, theirs: &Ask| {
                    (ask.spare && !theirs.spare) || (self.flat && other < ticket)
                };
                if let Some(other) = passed(ask, &earlier) {
                    return Err(format!("ticket {ticket} was granted before {other}"));
                }
            }
        }
        if let (Command::Claim { ask, .. }, Ok(Answer::Outcome(Outcome::Granted(lease)))) = (&seen.step.command, seen.answer)
            && seen.events.iter().any(|event| matches!(event.what, What::Granted { lease: l, ticket: None } if l == *lease))
            && let Some(other) = passed(&as_it_counts(real, ask), &|_, theirs| (ask.spare && !theirs.spare) || self.flat)
        {
            return Err(format!("lease {lease} was granted past ticket {other}"));
        }
        Ok(())
    }
}

/// How many of these the claim could have: of one node, if it wants them together.
fn most_of_one(of: &[ResourceInfo], ask: &Ask) -> usize {
    let on = |node| of.iter().filter(|info| !ask.together || info.traits.node == node).count();
    of.iter().map(|info| on(info.traits.node)).max().unwrap_or(0)
}

/// The claim with only those candidates that can ever serve it: without those of nodes that are too small.
fn as_it_counts(real: &Real, ask: &Ask) -> Ask {
    let mut counting = ask.clone();
    // One that is not known any more was never declared.
    let about = |name: &String| {
        let info = real.table.resource(name);
        info.map_or((1, 0, None), |info| (info.slots, info.memory, info.traits.node))
    };
    let able = |name: &String| match (ask.take, about(name)) {
        (Take::Amount { slots, memory }, (all, most, _)) => slots <= all && memory <= most,
        _ => true,
    };
    let serves = |name: &String| {
        let same_node = |other: &&String| about(other).2 == about(name).2;
        let able = ask.candidates.iter().filter(same_node).filter(|name| able(name));
        able.count() >= ask.count as usize
    };
    counting.candidates.retain(|name| !ask.together || serves(name));
    counting
}

fn fits(info: &ResourceInfo, take: Take) -> bool {
    let idle = info.used_slots == 0 && info.used_memory == 0;
    info.health == Health::Healthy
        && match take {
            Take::Exclusive => idle && info.shared == 0,
            Take::Shared => idle,
            Take::Amount { slots, memory } => {
                info.shared == 0
                    && info.used_slots + slots <= info.slots
                    && info.used_memory + memory <= info.memory
            }
        }
}

/// What is taken of each resource is what its held leases take, and not more than there is.
fn nothing_lost_nothing_too_much(
    real: &Real,
    holders: &[String],
    names: &[String],
) -> Result<(), String> {
    let mut taken: BTreeMap<String, (u32, u32, u32)> = BTreeMap::new();
    let held: Vec<LeaseId> = holders.iter().flat_map(|holder| real.table.held_by(holder)).collect();
    if held.len() as u32 != real.table.held() {
        return Err(format!(
            "the holders hold {} leases, the table {}",
            held.len(),
            real.table.held()
        ));
    }
    for id in held {
        let info = real.table.lease(id).ok_or_else(|| format!("held lease {id} is unknown"))?;
        for take in &info.takes {
            let sum = taken.entry(take.resource.clone()).or_default();
            sum.0 += take.slots;
            sum.1 += take.memory;
            sum.2 += u32::from(info.shared);
        }
    }
    for name in names {
        let sum = taken.remove(name).unwrap_or_default();
        let Some(info) = real.table.resource(name) else {
            if sum == (0, 0, 0) {
                continue;
            }
            return Err(format!("{name} is held and unknown"));
        };
        if sum != (info.used_slots, info.used_memory, info.shared) {
            return Err(format!("{name}: its leases take {sum:?}, the table says {info:?}"));
        }
        let too_much = info.used_slots > info.slots || info.used_memory > info.memory;
        let mixed = info.shared > 0 && (info.used_slots > 0 || info.used_memory > 0);
        if too_much || mixed {
            return Err(format!("{name} is over-committed: {info:?}"));
        }
    }
    if taken.is_empty() { Ok(()) } else { Err(format!("unexpected resources are held: {taken:?}")) }
}
