//! One resource with one slot and its line, as it should be: the steps that calls are made of, and what each does.

use std::collections::HashMap;

use super::record::{Asked, Call, Told};

/// A claim of the history. Those whose ids are known come first, in the order of their ids, which is the order in which they are to be granted.
pub type Claim = u16;

/// What happens at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Takes the resource, which is free.
    Take(Claim),
    /// Takes the resource if it is free, stands in line if it is not.
    Join(Claim),
    /// Is told that it is not free.
    Busy,
    /// Waits in vain: it was not free when it was asked for, but had by somebody else.
    Wait(Claim),
    /// Has it, or had it.
    Got(Claim),
    /// Gives it back, has it taken away, or loses it.
    End(Claim),
    /// Had it, and has it no more.
    Ended(Claim),
    /// Has it, as its holder believes.
    Held(Claim),
}

impl Step {
    /// Does it change nothing? Then it may happen as soon as it can.
    pub fn only_tells(self) -> bool {
        !matches!(self, Step::Take(_) | Step::Join(_) | Step::End(_))
    }
}

/// A step, and when it may have happened.
#[derive(Debug, Clone)]
pub struct Event {
    pub step: Step,
    pub from: u64,
    pub to: u64,
    /// What it is for those who read of it.
    pub call: Call,
}

/// All that may have happened to one resource.
#[derive(Debug, Default)]
pub struct Events {
    /// What must have happened.
    pub certain: Vec<Event>,
    /// What may have happened or not. It is not counted how often: nothing but a claim that nobody knows of could come twice.
    pub possible: Vec<Event>,
    /// So many claims have known ids.
    known: Claim,
    /// When each of the others was over at the latest.
    over_by: Vec<u64>,
}

/// What a resource is like.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct State {
    held: Option<Claim>,
    line: Vec<Claim>,
    /// So many of the claims with known ids were granted.
    granted: Claim,
}

impl State {
    fn grant(&mut self, claim: Claim, events: &Events) -> bool {
        self.held = Some(claim);
        if claim >= events.known {
            return true;
        }
        self.granted += 1;
        claim + 1 == self.granted
    }

    fn end(&mut self, events: &Events) -> bool {
        self.held = None;
        match self.line.is_empty() {
            true => true,
            false => {
                let next = self.line.remove(0);
                self.grant(next, events)
            }
        }
    }

    /// The state after a step at that time or later, or `None` if it cannot happen now.
    pub fn after(&self, step: Step, time: u64, events: &Events) -> Option<State> {
        let has = |claim| self.held == Some(claim);
        let had = |claim| claim < self.granted;
        if self.held.is_some_and(|claim| events.over_by(claim) < time && step != Step::End(claim)) {
            return None;
        }
        let mut next = self.clone();
        let possible = match step {
            Step::Take(claim) => {
                self.held.is_none() && time <= events.over_by(claim) && next.grant(claim, events)
            }
            Step::Join(claim) if self.held.is_none() => next.grant(claim, events),
            // Whoever stands before it is granted before it.
            Step::Join(claim) => {
                next.line.push(claim);
                self.line.last().is_none_or(|&last| last < claim)
            }
            Step::Busy => self.held.is_some(),
            Step::Wait(claim) => self.held.is_some_and(|held| held != claim),
            Step::Got(claim) => had(claim),
            Step::Ended(claim) => had(claim) && !has(claim),
            Step::End(claim) => has(claim) && next.end(events),
            Step::Held(claim) => has(claim),
        };
        possible.then_some(next)
    }
}

impl Events {
    /// Takes the calls for one resource apart.
    pub fn of(calls: &[&Call]) -> Events {
        let mut ids: Vec<u64> = calls.iter().filter_map(|call| id_in(call.told)).collect();
        ids.sort_unstable();
        let claims = ids.iter().enumerate().map(|(place, id)| (*id, place as Claim)).collect();
        let mut reader = Reader { claims, collected: HashMap::new(), revoked: HashMap::new() };
        for call in calls {
            match call.asked {
                Asked::Collect(ticket) => {
                    reader.collected.insert(ticket, (call.told, call.back));
                }
                Asked::Revoke(id) => {
                    let since = reader.revoked.entry(id).or_insert(call.called);
                    *since = call.called.min(*since);
                }
                _ => {}
            }
        }
        let mut events = Events { known: ids.len() as Claim, ..Events::default() };
        calls.iter().for_each(|call| reader.read(call, &mut events));
        events
    }

    /// May it last for ever, as far as anybody knows?
    pub fn lasts(&self, claim: Claim) -> bool {
        self.over_by(claim) == u64::MAX
    }

    fn over_by(&self, claim: Claim) -> u64 {
        match claim.checked_sub(self.known) {
            Some(place) => self.over_by[usize::from(place)],
            None => u64::MAX,
        }
    }

    fn surely(&mut self, step: Step, call: &Call) {
        let (from, to) = (call.called, call.back);
        self.certain.push(Event { step, from, to, call: call.clone() });
    }

    fn perhaps(&mut self, step: Step, from: u64, call: &Call) {
        self.possible.push(Event { step, from, to: u64::MAX, call: call.clone() });
    }

    /// A claim that may have been granted without anybody's being told.
    fn ghost(&mut self, call: &Call, over_by: u64) -> Claim {
        let claim = self.known + self.over_by.len() as Claim;
        self.over_by.push(over_by);
        self.perhaps(Step::Take(claim), call.called, call);
        self.perhaps(Step::End(claim), call.called, call);
        claim
    }
}

fn id_in(told: Told) -> Option<u64> {
    match told {
        Told::Lease(id) => Some(id),
        _ => None,
    }
}

struct Reader {
    claims: HashMap<u64, Claim>,
    /// What became of tickets, and when that was told.
    collected: HashMap<u64, (Told, u64)>,
    /// Since when somebody may have revoked a lease.
    revoked: HashMap<u64, u64>,
}

impl Reader {
    fn read(&self, call: &Call, events: &mut Events) {
        match (call.asked, call.told) {
            (Asked::Try, Told::Busy) => events.surely(Step::Busy, call),
            (Asked::Try, Told::Lease(id)) => events.surely(Step::Take(self.claims[&id]), call),
            (Asked::Wait, Told::Lease(id)) => {
                events.surely(Step::Join(self.claims[&id]), call);
                events.surely(Step::Got(self.claims[&id]), call);
            }
            (Asked::Wait, Told::Refused) => self.in_vain(call, call.back, events),
            (Asked::Try | Asked::Wait, _) => drop(events.ghost(call, u64::MAX)),
            (Asked::Join(ticket), told) => match self.collected.get(&ticket) {
                Some((Told::Lease(id), _)) => events.surely(Step::Join(self.claims[id]), call),
                Some((Told::Refused, back)) if told == Told::Joined => {
                    self.in_vain(call, *back, events);
                }
                _ => drop(events.ghost(call, u64::MAX)),
            },
            (Asked::Collect(_), Told::Lease(id)) => {
                events.surely(Step::Got(self.claims[&id]), call);
            }
            (Asked::Collect(_), _) => {}
            (Asked::Release(id) | Asked::Revoke(id) | Asked::Renew(id) | Asked::Look(id), _) => {
                // Whoever revokes may have met a lease of which its holder was never told.
                if let Some(&claim) = self.claims.get(&id) {
                    self.read_use(id, claim, call, events);
                }
            }
        }
    }

    /// It was not free when it was asked for. It may have been granted at the moment at which the wait was over: then it was given back at once.
    fn in_vain(&self, call: &Call, over_by: u64, events: &mut Events) {
        let claim = events.ghost(call, over_by);
        events.surely(Step::Wait(claim), call);
    }

    fn read_use(&self, id: u64, claim: Claim, call: &Call, events: &mut Events) {
        match (call.asked, call.told) {
            (Asked::Release(_) | Asked::Revoke(_), Told::Done) => {
                events.surely(Step::End(claim), call);
            }
            (Asked::Release(_) | Asked::Revoke(_), Told::Unknown) => {
                events.perhaps(Step::End(claim), call.called, call);
            }
            // Of a revocation its holder may hear later than others.
            (Asked::Renew(_), Told::Done) | (Asked::Look(_), Told::Held)
                if self.revoked.get(&id).is_none_or(|since| *since > call.back) =>
            {
                events.surely(Step::Held(claim), call);
            }
            (Asked::Release(_) | Asked::Revoke(_) | Asked::Renew(_), Told::NotHeld) => {
                events.surely(Step::Ended(claim), call);
            }
            // It may have been taken from a holder that was cut off, then or before.
            (_, Told::Lost) => events.perhaps(Step::End(claim), 0, call),
            _ => {}
        }
    }
}
