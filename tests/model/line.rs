//! What fits, who stands where in line, and serving the line.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ternlease::table::{
    Actor, FOREVER, Health, LeaseId, Reason, Take, Taken, TicketState, Time, What,
};

use super::{Ask, Lease, Model, Resource, Ticket, conflict, ticket_id};

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

/// Where a ticket of this effective priority stands in line. Of the same age: as they came.
fn rank(ticket: &Ticket, effective: i16) -> (bool, Reverse<i16>, u64, u64) {
    (ticket.ask.spare, Reverse(effective), ticket.age, ticket.id)
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

    /// As `fits`, once what is being cleaned is clean.
    pub fn fits_soon(&self, loads: &Loads, name: &str, take: Take) -> bool {
        let itself = self.resource_itself(name);
        let well = if itself.cleaning {
            itself.said == Health::Healthy && itself.seen != Health::Failed
        } else {
            itself.health() == Health::Healthy
        };
        well && self.fits_health_aside(loads, name, take)
    }

    /// Changes a declared resource, and tells if that changed its health.
    pub fn change(
        &mut self,
        at: Time,
        name: &str,
        actor: Option<Actor>,
        change: impl FnOnce(&mut Resource),
    ) {
        let resource = self.declared.get_mut(name).expect("only declared ones have a health");
        let before = resource.health();
        change(resource);
        let health = resource.health();
        if before != health {
            self.emit(at, What::Health { resource: name.to_string(), health }, actor);
        }
    }

    /// Which of these a claim gets: all of one node if it wants them together, and the tightest island that is large enough, else all of the largest one and so on.
    /// One without island is an island of one.
    pub fn choose(&self, fitting: Vec<String>, ask: &Ask) -> Vec<String> {
        let count = ask.count as usize;
        let fitting = match ask.together {
            false => fitting,
            true => self.tightest_node(&fitting, count).expect("there are enough"),
        };
        let mut islands: Vec<Vec<&String>> = Vec::new();
        for name in &fitting {
            let island = self.resource_itself(name).traits.island;
            let same = |other: &Vec<&String>| {
                island != 0 && self.resource_itself(other[0]).traits.island == island
            };
            match islands.iter_mut().find(|other| same(other)) {
                Some(home) => home.push(name),
                None => islands.push(vec![name]),
            }
        }
        let mut chosen: Vec<&String> = Vec::new();
        while chosen.len() < count {
            let missing = count - chosen.len();
            let enough = islands.iter().filter(|island| island.len() >= missing);
            let size = match enough.map(Vec::len).min() {
                Some(tightest) => tightest,
                None => islands.iter().map(Vec::len).max().expect("there are enough"),
            };
            let at = islands.iter().position(|island| island.len() == size).expect("it is there");
            chosen.extend(islands.remove(at).into_iter().take(missing));
        }
        fitting.iter().filter(|name| chosen.contains(name)).cloned().collect()
    }

    pub fn fits(&self, loads: &Loads, name: &str, take: Take) -> bool {
        self.resource_itself(name).health() == Health::Healthy
            && self.fits_health_aside(loads, name, take)
    }

    /// Fewer than `count` candidates could serve it if they were empty and healthy.
    pub fn impossible(&self, ask: &Ask) -> bool {
        let empty = Loads::new();
        let able =
            ask.candidates.iter().filter(|name| self.fits_health_aside(&empty, name, ask.take));
        let able: Vec<String> = able.cloned().collect();
        !self.enough(&able, ask)
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

    /// The candidates that the claim gets, or nothing if there are too few.
    fn picks(&self, loads: &Loads, ask: &Ask) -> Option<Vec<String>> {
        let fitting = ask.candidates.iter().filter(|name| self.fits(loads, name, ask.take));
        let fitting: Vec<String> = fitting.cloned().collect();
        self.enough(&fitting, ask).then(|| self.choose(fitting, ask))
    }

    /// The workers that make this ticket wait: they have a lease on a candidate that does not fit.
    fn obstacles(&self, loads: &Loads, ticket: &Ticket) -> Vec<&str> {
        let ask = &ticket.ask;
        let full: Vec<&String> =
            ask.candidates.iter().filter(|name| !self.fits(loads, name, ask.take)).collect();
        let others = self.held.values().filter(|lease| lease.worker != ticket.worker);
        others
            .filter(|lease| full.iter().any(|name| lease.takes_of(name)))
            .map(|lease| lease.worker.as_str())
            .collect()
    }

    /// The effective priority of every ticket: the least solution, found by raising from below.
    pub fn effective(&self) -> BTreeMap<u64, i16> {
        let loads = loads(self.held.values());
        let mut effective: BTreeMap<u64, i16> =
            self.waiting.values().map(|t| (t.id, t.ask.priority)).collect();
        // Who gives to whom does not depend on the priorities.
        let mut gifts = Vec::new();
        for from in self.waiting.values().filter(|t| !t.ask.spare) {
            let obstacles = self.obstacles(&loads, from);
            for to in self.waiting.values().filter(|t| !t.ask.spare) {
                if obstacles.contains(&to.worker.as_str()) {
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
        self.in_order(&self.effective())
    }

    pub fn in_order(&self, effective: &BTreeMap<u64, i16>) -> Vec<&Ticket> {
        let mut line: Vec<&Ticket> = self.waiting.values().collect();
        line.sort_by_key(|ticket| rank(ticket, effective[&ticket.id]));
        line
    }

    /// Is it this ticket's turn, behind these, and is there enough for it?
    fn is_grantable<'a>(
        &self,
        ticket: &Ticket,
        mut earlier: impl Iterator<Item = &'a Ticket>,
    ) -> bool {
        let its_turn =
            ticket.may_overtake || !earlier.any(|other| conflict(&other.ask, &ticket.ask));
        let parent = ticket.ask.parent.map(|parent| &self.held[&parent]);
        its_turn
            && parent.is_none_or(|parent| parent.end() > self.now)
            && self.picks(&loads(self.held.values()), &ticket.ask).is_some()
    }

    /// Would a claim that is not in line yet be grantable there? It is judged with the priority
    /// that it would inherit, the others with those they have.
    pub fn may_go_at_once(&self, new: &Ticket) -> bool {
        let loads = loads(self.held.values());
        let effective = self.effective();
        let gives = |from: &&Ticket| {
            !new.ask.spare
                && !from.ask.spare
                && self.obstacles(&loads, from).contains(&new.worker.as_str())
        };
        let inherited = self.waiting.values().filter(gives).map(|from| effective[&from.id]);
        let own = rank(new, inherited.chain([new.ask.priority]).max().expect("its own is there"));
        let earlier = self.waiting.values().filter(|other| rank(other, effective[&other.id]) < own);
        self.is_grantable(new, earlier)
    }

    /// Turn a claim into a lease. `ticket` is what the event says it came from.
    pub fn grant(&mut self, from: Ticket, ticket: Option<u64>) -> u64 {
        let loads = loads(self.held.values());
        let picks = self.picks(&loads, &from.ask).expect("a grantable claim");
        let mut fitting =
            from.ask.candidates.iter().filter(|name| self.fits(&loads, name, from.ask.take));
        if !picks.iter().all(|pick| fitting.next() == Some(pick)) {
            self.note(if from.ask.together { "chosen by node" } else { "chosen by island" });
        }
        let lease = (self.held.len() + self.ended.len()) as u64 + 1;
        let parent = from.ask.parent.map(|parent| &self.held[&parent]);
        let own_end = after(self.now, from.ask.ttl);
        let parents_notice =
            parent.and_then(|parent| parent.notice.as_ref()).map(|n| (n.until, n.given_by));
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
        if let Some(ticket) = ticket {
            self.decided.insert(ticket, TicketState::Granted(LeaseId(lease)));
        }
        let actor = self.actor().filter(|_| ticket.is_none());
        let granted = What::Granted { lease: LeaseId(lease), ticket: ticket.map(ticket_id) };
        self.emit(self.now, granted, actor);
        if let Some((until, given_by)) = parents_notice {
            self.note("child granted under notice");
            self.notify(lease, Reason::ParentRevoked, None, until, given_by);
        }
        lease
    }

    /// Bring the priorities up to date, and grant the first grantable ticket in line, if any.
    fn grant_first(&mut self) -> bool {
        let line = self.line();
        let grantable = |(place, ticket): &(usize, &&Ticket)| {
            self.is_grantable(ticket, line[..*place].iter().copied())
        };
        let first = line.iter().enumerate().find(grantable).map(|(_, ticket)| ticket.id);
        self.line_before = line.iter().map(|ticket| ticket.id).collect();
        let Some(first) = first else { return false };
        let ticket = self.waiting.remove(&first).expect("it waits");
        self.grant(ticket, Some(first));
        true
    }

    /// What follows from a change: one thing at a time, until nothing changes any more.
    pub fn settle(&mut self) {
        loop {
            self.lose_nodes();
            let changed = self.grant_first()
                || self.take_back()
                || self.break_deadlock()
                || self.cure_soft_deadlock();
            if !changed {
                return;
            }
        }
    }
}
