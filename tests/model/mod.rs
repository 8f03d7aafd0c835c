//! A second table, written from `docs/rules.md` and nothing else: plain maps, scans, no
//! cached answers. It is slow on purpose; the point is that it can be checked by reading.
//!
//! It numbers leases and tickets 1, 2, 3, ... in the order they come into being.

mod commands;
mod deadlock;
mod ending;
mod line;
#[path = "../common/memory.rs"]
mod memory;
mod node;
mod takeback;

pub mod compare;
pub mod generate;
pub mod invariants;
pub mod numbers;
pub mod step;
pub mod tally;
pub mod twins;

use std::collections::{BTreeMap, BTreeSet};

use ternlease::table::{
    Actor, Deadlock, Event, Health, LeaseId, LeaseInfo, LeaseState, Reason, ResourceId,
    ResourceInfo, Settings, Take, Taken, TicketId, TicketInfo, TicketState, Time, Traits, What,
};

use line::Loads;
use step::Ids;

/// What a claim asks for, with its candidates by name.
#[derive(Debug, Clone)]
pub struct Ask {
    pub holder: String,
    pub candidates: Vec<String>,
    pub count: u32,
    pub together: bool,
    pub take: Take,
    pub ttl: Time,
    pub wait: Time,
    pub priority: i16,
    pub spare: bool,
    pub preemptible: bool,
    pub preempt: bool,
    pub grace: Time,
    pub parent: Option<u64>,
    pub owner: u16,
}

/// A size and a health. What is taken is never stored, always added up.
#[derive(Debug, Clone, Copy)]
pub struct Resource {
    pub slots: u32,
    pub memory: u32,
    /// What an operator said, and what was seen.
    pub said: Health,
    pub seen: Health,
    pub traits: Traits,
    /// It drains because its last lease ended.
    pub cleaning: bool,
}

impl Resource {
    /// The worst of all.
    pub fn health(&self) -> Health {
        let cleaning = if self.cleaning { Health::Draining } else { Health::Healthy };
        let all = [self.said, self.seen, cleaning];
        all.into_iter().min_by_key(|health| *health as i8).expect("there are three")
    }
}

/// Size and health of a name that nobody declared.
const UNDECLARED: Resource = Resource {
    slots: 1,
    memory: 0,
    said: Health::Healthy,
    seen: Health::Healthy,
    traits: Traits { island: 0, node: None, checked: false },
    cleaning: false,
};

/// A lease that will be revoked.
#[derive(Debug, Clone)]
pub struct Notice {
    pub until: Time,
    pub reason: Reason,
    pub by: Option<String>,
    /// The process that gave it, unless it is its owner or the table.
    pub given_by: Option<Actor>,
}

/// How a lease ended.
#[derive(Debug, Clone)]
pub struct Over {
    pub at: Time,
    pub reason: Reason,
    pub by: Option<String>,
    /// The process that ended it, unless it is its owner or the table.
    pub ended_by: Option<Actor>,
    pub acknowledged: bool,
}

#[derive(Debug, Clone)]
pub struct Lease {
    pub id: u64,
    pub ask: Ask,
    pub age: u64,
    pub worker: String,
    /// How many leases its chain has down to it, itself included.
    pub depth: u32,
    pub takes: Vec<Taken>,
    pub granted_at: Time,
    pub ttl: Time,
    /// The end without any notice.
    pub own_end: Time,
    pub notice: Option<Notice>,
    pub over: Option<Over>,
}

impl Lease {
    /// When it ends if nobody does anything.
    pub fn end(&self) -> Time {
        match &self.notice {
            Some(notice) => self.own_end.min(notice.until),
            None => self.own_end,
        }
    }

    /// The notice, if that is what ends the lease. On a tie its own end did not come first.
    pub fn ending_notice(&self) -> Option<&Notice> {
        self.notice.as_ref().filter(|notice| notice.until <= self.own_end)
    }

    pub fn takes_of(&self, resource: &str) -> bool {
        self.takes.iter().any(|taken| taken.resource == resource)
    }
}

#[derive(Debug, Clone)]
pub struct Ticket {
    pub id: u64,
    pub ask: Ask,
    pub age: u64,
    pub worker: String,
    pub arrived: Time,
    pub deadline: Time,
    pub may_overtake: bool,
}

/// A holder and the resource it cannot go on without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    pub holder: String,
    pub resource: String,
}

pub struct Model {
    settings: Settings,
    /// The process that gives the commands: its owner number and its actor.
    pub user: (u16, Option<Actor>),
    /// The principals of owner numbers; 0 for those that are missing.
    pub principals: BTreeMap<u16, u32>,
    foreign_revocations: u64,
    now: Time,
    declared: BTreeMap<String, Resource>,
    /// What the real table calls them: nodes go by that, and some things happen in that order.
    pub ids: Ids,
    /// Nodes whose last lease has ended, and what follows has not happened yet.
    lost: BTreeSet<ResourceId>,
    pub held: BTreeMap<u64, Lease>,
    pub ended: BTreeMap<u64, Lease>,
    pub waiting: BTreeMap<u64, Ticket>,
    decided: BTreeMap<u64, TicketState>,
    /// Granted tickets whose lease somebody was told of.
    pub collected: BTreeSet<u64>,
    /// For whom the tickets were that stood in line.
    pub ticket_owners: BTreeMap<u64, u16>,
    /// The waiting tickets as they stood in line when priorities were last brought up to date.
    line_before: Vec<u64>,
    /// Oldest first.
    pub wants: Vec<Want>,
    /// The ages that victims of deadlocks have to their credit.
    credits: BTreeMap<String, u64>,
    /// Leases that have given their age.
    gave_age: BTreeSet<u64>,
    arrivals: u64,
    pub events: Vec<Event>,
    revocations: u64,
    counts: BTreeMap<Reason, u64>,
    /// Tickets that were ever given the right to overtake.
    pub overtakers: Vec<u64>,
    /// How often something happened that no event tells.
    pub happened: BTreeMap<&'static str, u64>,
}

impl Model {
    pub fn new(settings: Settings) -> Model {
        Model {
            settings,
            user: (0, None),
            principals: BTreeMap::new(),
            foreign_revocations: 0,
            now: 0,
            declared: BTreeMap::new(),
            ids: Ids::new(),
            lost: BTreeSet::new(),
            held: BTreeMap::new(),
            ended: BTreeMap::new(),
            waiting: BTreeMap::new(),
            decided: BTreeMap::new(),
            collected: BTreeSet::new(),
            ticket_owners: BTreeMap::new(),
            line_before: Vec::new(),
            wants: Vec::new(),
            credits: BTreeMap::new(),
            gave_age: BTreeSet::new(),
            arrivals: 0,
            events: Vec::new(),
            revocations: 0,
            counts: BTreeMap::new(),
            overtakers: Vec::new(),
            happened: BTreeMap::new(),
        }
    }

    /// What the table does by itself has no actor.
    fn emit(&mut self, at: Time, what: What, actor: Option<Actor>) {
        let number = self.events.len() as u64 + 1;
        self.events.push(Event { number, at, what, actor });
    }

    fn actor(&self) -> Option<Actor> {
        self.user.1
    }

    fn principal_of(&self, owner: u16) -> u32 {
        self.principals.get(&owner).copied().unwrap_or(0)
    }

    /// Is the lease that of another principal than the one that gives the commands?
    fn is_foreign(&self, lease: u64) -> bool {
        let owner = self.held[&lease].ask.owner;
        let own = self.actor().map_or(0, |actor| actor.principal);
        owner != self.user.0 && self.principal_of(owner) != own
    }

    /// What a lease records of a process that ends it.
    fn unless_owner(&self, lease: u64, actor: Option<Actor>) -> Option<Actor> {
        let by_owner = actor == self.actor() && self.held[&lease].ask.owner == self.user.0;
        actor.filter(|_| !by_owner)
    }

    pub fn foreign_revocations(&self) -> u64 {
        self.foreign_revocations
    }

    fn note(&mut self, what: &'static str) {
        *self.happened.entry(what).or_default() += 1;
    }

    pub fn now(&self) -> Time {
        self.now
    }

    pub fn leases(&self) -> impl Iterator<Item = &Lease> {
        self.held.values().chain(self.ended.values())
    }

    /// Being revoked, or past its end and not ended yet: as good as gone.
    fn is_leaving(&self, lease: &Lease) -> bool {
        lease.notice.is_some() || lease.end() <= self.now
    }

    fn any_lease(&self, id: u64) -> Option<&Lease> {
        self.held.get(&id).or_else(|| self.ended.get(&id))
    }

    pub fn state(&self, id: u64, now: Time) -> Option<LeaseState> {
        if let Some(lease) = self.ended.get(&id) {
            return Some(recorded_state(lease));
        }
        let lease = self.held.get(&id)?;
        Some(if now < lease.end() {
            LeaseState::Held
        } else if lease.ending_notice().is_some() {
            LeaseState::Revoked
        } else {
            LeaseState::Expired
        })
    }

    pub fn lease(&self, id: u64) -> Option<LeaseInfo> {
        let lease = self.any_lease(id)?;
        let (end, reason, revoker) = match (&lease.over, &lease.notice) {
            (Some(over), _) => (over.at, Some(over.reason), over.by.clone()),
            (None, Some(notice)) => (lease.end(), Some(notice.reason), notice.by.clone()),
            (None, None) => (lease.end(), None, None),
        };
        let ended_by = match (&lease.over, &lease.notice) {
            (Some(over), _) => over.ended_by,
            (None, Some(notice)) => notice.given_by,
            (None, None) => None,
        };
        Some(LeaseInfo {
            ended_by,
            acknowledged: lease.over.as_ref().is_some_and(|over| over.acknowledged),
            id: LeaseId(id),
            state: recorded_state(lease),
            holder: lease.ask.holder.clone(),
            takes: lease.takes.clone(),
            priority: lease.ask.priority,
            ttl: lease.ttl,
            granted_at: lease.granted_at,
            end,
            reason,
            revoker,
            revoking: lease.over.is_none() && lease.notice.is_some(),
            spare: lease.ask.spare,
            preemptible: lease.ask.preemptible,
            shared: lease.ask.take == Take::Shared,
            parent: lease.ask.parent.map(LeaseId),
            owner: lease.ask.owner,
        })
    }

    pub fn ticket(&self, id: u64) -> Option<TicketState> {
        if self.waiting.contains_key(&id) {
            return Some(TicketState::Waiting);
        }
        self.decided.get(&id).copied()
    }

    /// The whole line, first in line first.
    pub fn tickets(&self) -> Vec<TicketInfo> {
        let effective = self.effective();
        let line = self.in_order(&effective);
        let info = |(n, ticket): (usize, &&Ticket)| {
            let before = line[..n].iter().filter(|other| conflict(&other.ask, &ticket.ask));
            TicketInfo {
                id: TicketId(ticket.id),
                holder: ticket.ask.holder.clone(),
                candidates: ticket.ask.candidates.clone(),
                count: ticket.ask.count,
                together: ticket.ask.together,
                take: ticket.ask.take,
                ttl: ticket.ask.ttl,
                priority: effective[&ticket.id],
                spare: ticket.ask.spare,
                preempt: ticket.ask.preempt,
                queued_at: ticket.arrived,
                place: 1 + before.count() as u32,
                owner: ticket.ask.owner,
            }
        };
        line.iter().enumerate().map(info).collect()
    }

    pub fn held_by(&self, holder: &str) -> Vec<u64> {
        self.held
            .values()
            .filter(|lease| lease.ask.holder == holder)
            .map(|lease| lease.id)
            .collect()
    }

    pub fn revocations(&self) -> u64 {
        self.revocations
    }

    pub fn count(&self, reason: Reason) -> u64 {
        self.counts.get(&reason).copied().unwrap_or(0)
    }

    /// A name exists if it was declared, or while something refers to it.
    fn exists(&self, name: &str) -> bool {
        self.declared.contains_key(name)
            || self.leases().any(|lease| lease.takes_of(name))
            || self.is_waited_for(name)
            || self.wants.iter().any(|want| want.resource == name)
    }

    fn is_waited_for(&self, name: &str) -> bool {
        self.waiting.values().any(|ticket| ticket.ask.candidates.iter().any(|c| c == name))
    }

    fn resource_itself(&self, name: &str) -> Resource {
        self.declared.get(name).copied().unwrap_or(UNDECLARED)
    }

    /// `loads`: what the held leases take.
    pub fn resource(&self, loads: &Loads, name: &str) -> Option<ResourceInfo> {
        if !self.exists(name) {
            return None;
        }
        let itself = self.resource_itself(name);
        let load = loads.get(name).copied().unwrap_or_default();
        Some(ResourceInfo {
            name: name.to_string(),
            slots: itself.slots,
            memory: itself.memory,
            used_slots: load.slots,
            used_memory: load.memory,
            shared: load.shared,
            health: itself.health(),
            evidence: itself.seen,
            declared: self.declared.contains_key(name),
            traits: itself.traits,
            cleaning: itself.cleaning,
        })
    }

    pub fn loads(&self) -> Loads {
        line::loads(self.held.values())
    }

    /// The deadlocks as they are, without bringing anything up to date.
    pub fn deadlocks_now(&self) -> Vec<Deadlock> {
        self.deadlocks()
    }
}

fn recorded_state(lease: &Lease) -> LeaseState {
    match &lease.over {
        None => LeaseState::Held,
        Some(over) if over.reason.is_revocation() => LeaseState::Revoked,
        Some(_) => LeaseState::Expired,
    }
}

/// Two claims conflict if they may meet on a resource, unless they can share it.
pub fn conflict(a: &Ask, b: &Ask) -> bool {
    let both_shared = a.take == Take::Shared && b.take == Take::Shared;
    !both_shared && a.candidates.iter().any(|name| b.candidates.contains(name))
}

fn ticket_id(id: u64) -> TicketId {
    TicketId(id)
}
