//! What fits, who stands where in line, and serving the line.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ternlease::table::{FOREVER, Health, LeaseId, Take, Taken, TicketState, Time, What};

use super::{Ask, Lease, Model, Ticket, conflict, ticket_id};

/// What is taken of one resource.
#[derive(Debug, Clone, Copy, Default)]
pub struct Load {
    pub slots: u32,
    pub memory: u32,
    pub shared: u32,
}

pub type Loads = BTreeMap<String, Load>;

pub fn add_load(loads: &mut Loads, taken: &Taken, take: Take) {
    let load = loads.entry(taken.resource.clone()).or_default();
    load.slots += taken.slots;
    load.memory += taken.memory;
    load.shared += u32::from(take == Take::Shared);
}

/// What these leases take, added up.
pub fn loads<'a>(leases: impl IntoIterator<Item = &'a Lease>) -> Loads {
    let mut loads = Loads::new();
    for lease in leases {
        for taken in &lease.takes {
            add_load(&mut loads, taken, lease.ask.take);
        }
    }
    loads
}

/// A length of time from `start`; sums that reach `FOREVER` mean "without end".
pub fn after(start: Time, length: Time) -> Time {
    (start + length).min(FOREVER)
}

impl Model {
    /// Would `take` of the resource fit beside `loads`, were it healthy?
    pub fn fits_health_aside(&self, loads: &Loads, name: &str, take: Take) -> bool {
        let size = self.resource_itself(name);
        let load = loads.get(name).copied().unwrap_or_default();
        match take {
            Take::Exclusive => load.slots == 0 && load.memory == 0 && load.shared == 0,
            Take::Shared => load.slots == 0 && load.memory == 0,
            Take::Amount { slots, memory } => {
                load.shared == 0
                    && load.slots + slots <= size.slots
                    && load.memory + memory <= size.memory
            }
        }
    }

    pub fn fits(&self, loads: &Loads, name: &str, take: Take) -> bool {
        self.resource_itself(name).health == Health::Healthy
            && self.fits_health_aside(loads, name, take)
    }

    /// Fewer than `count` candidates could serve it if they were empty and healthy.
    pub fn impossible(&self, ask: &Ask) -> bool {
        let empty = Loads::new();
        let able =
            ask.candidates.iter().filter(|name| self.fits_health_aside(&empty, name, ask.take));
        (able.count() as u32) < ask.count
    }

    /// What taking a resource means in amounts.
    pub fn taken(&self, name: &str, take: Take) -> Taken {
        let size = self.resource_itself(name);
        let (slots, memory) = match take {
            Take::Exclusive => (size.slots, size.memory),
            Take::Shared => (0, 0),
            Take::Amount { slots, memory } => (slots, memory),
        };
        Taken { resource: name.to_string(), slots, memory }
    }

    /// The first `count` candidates that fit, or nothing if there are too few.
    fn picks(&self, loads: &Loads, ask: &Ask) -> Option<Vec<String>> {
        let fitting = ask.candidates.iter().filter(|name| self.fits(loads, name, ask.take));
        let picks: Vec<String> = fitting.take(ask.count as usize).cloned().collect();
        (picks.len() as u32 == ask.count).then_some(picks)
    }

    /// Does `worker` make this ticket wait: has it a lease on a candidate that does not fit?
    fn makes_wait(&self, loads: &Loads, worker: &str, ticket: &Ticket) -> bool {
        ticket.worker != worker
            && ticket.ask.candidates.iter().any(|name| {
                !self.fits(loads, name, ticket.ask.take)
                    && self
                        .held
                        .values()
                        .any(|lease| lease.worker == worker && lease.takes_of(name))
            })
    }

    /// The effective priority of every ticket: the least solution, found by raising from below.
    pub fn effective(&self) -> BTreeMap<u64, i16> {
        let loads = loads(self.held.values());
        let mut effective: BTreeMap<u64, i16> =
            self.waiting.values().map(|t| (t.id, t.ask.priority)).collect();
        // Who gives to whom does not depend on the priorities.
        let mut gifts = Vec::new();
        for to in self.waiting.values().filter(|t| !t.ask.spare) {
            for from in self.waiting.values().filter(|t| !t.ask.spare) {
                if self.makes_wait(&loads, &to.worker, from) {
                    gifts.push((from.id, to.id));
                }
            }
        }
        loop {
            let mut changed = false;
            for (from, to) in &gifts {
                if effective[from] > effective[to] {
                    effective.insert(*to, effective[from]);
                    changed = true;
                }
            }
            if !changed {
                return effective;
            }
        }
    }

    /// The waiting tickets, first in line first.
    pub fn line(&self) -> Vec<&Ticket> {
        let effective = self.effective();
        let mut line: Vec<&Ticket> = self.waiting.values().collect();
        line.sort_by_key(|ticket| (ticket.ask.spare, Reverse(effective[&ticket.id]), ticket.age));
        line
    }

    /// The grantable tickets, first in line first.
    pub fn grantable(&self) -> Vec<u64> {
        let loads = loads(self.held.values());
        let line = self.line();
        let mut grantable = Vec::new();
        for (place, ticket) in line.iter().enumerate() {
            let its_turn = ticket.may_overtake
                || !line[..place].iter().any(|other| conflict(&other.ask, &ticket.ask));
            if its_turn && self.picks(&loads, &ticket.ask).is_some() {
                grantable.push(ticket.id);
            }
        }
        grantable
    }

    /// Turn a waiting claim into a lease. `ticket` is what the event says it came from.
    pub fn grant(&mut self, id: u64, ticket: Option<u64>) -> u64 {
        let loads = loads(self.held.values());
        let from = self.waiting.remove(&id).expect("a waiting claim");
        let picks = self.picks(&loads, &from.ask).expect("a grantable claim");
        let lease = (self.held.len() + self.ended.len()) as u64 + 1;
        let parent = from.ask.parent.map(|parent| &self.held[&parent]);
        let own_end = after(self.now, from.ask.ttl);
        let granted = Lease {
            id: lease,
            age: from.age,
            worker: from.worker,
            depth: 1 + parent.map_or(0, |parent| parent.depth),
            takes: picks.iter().map(|name| self.taken(name, from.ask.take)).collect(),
            granted_at: self.now,
            ttl: from.ask.ttl,
            own_end: parent.map_or(own_end, |parent| own_end.min(parent.end())),
            notice: None,
            over: None,
            ask: from.ask,
        };
        self.held.insert(lease, granted);
        if from.may_overtake {
            self.note("granted by overtaking");
        }
        if ticket.is_some() {
            self.decided.insert(id, TicketState::Granted(LeaseId(lease)));
        }
        self.look_for_deadlocks = true;
        self.emit(self.now, What::Granted { lease: LeaseId(lease), ticket: ticket.map(ticket_id) });
        lease
    }

    fn serve(&mut self) {
        while let Some(first) = self.grantable().first().copied() {
            self.grant(first, Some(first));
        }
    }

    /// Serve the line and take leases back for it, until nothing changes.
    pub fn settle(&mut self) {
        self.serve();
        while self.take_back() {
            self.serve();
        }
    }
}
