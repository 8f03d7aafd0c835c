//! Who can never go on, whom that takes along, and what is done about it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use ternlease::table::{Deadlock, DeadlockPolicy, LeaseId, Reason, Take, Wait};

use super::line::{Loads, loads};
use super::{Lease, Model, Ticket, Want, conflict, ticket_id};

/// What is left when everybody who can finish has finished.
struct Reduced<'a> {
    stuck: BTreeSet<String>,
    /// The leases that were not given back.
    leases: Vec<&'a Lease>,
    dead_tickets: Vec<&'a Ticket>,
    dead_wants: Vec<Want>,
}

/// What a stuck worker waits for.
struct Edge {
    ticket: Option<u64>,
    lease: u64,
    next: String,
}

impl Model {
    /// Declared wants, oldest first; then those that holders and waiting workers have by their names.
    fn all_wants(&self) -> Vec<Want> {
        let mut wants = self.wants.clone();
        if self.settings.implied_wants {
            let leases = self.held.values().map(|lease| &lease.ask.holder);
            let tickets = self.waiting.values().map(|ticket| &ticket.worker);
            let holders: BTreeSet<String> = leases
                .chain(tickets)
                .chain(self.wants.iter().map(|want| &want.holder))
                .cloned()
                .collect();
            for holder in holders {
                let want = Want { resource: holder.clone(), holder };
                if self.exists(&want.resource) && !wants.contains(&want) {
                    wants.push(want);
                }
            }
        }
        wants
    }

    /// What others than the holder itself take.
    fn loads_of_others(leases: &[&Lease], holder: &str) -> Loads {
        loads(leases.iter().copied().filter(|lease| lease.worker != holder))
    }

    fn fulfilled(&self, want: &Want) -> bool {
        let held: Vec<&Lease> = self.held.values().collect();
        self.fits(&Self::loads_of_others(&held, &want.holder), &want.resource, Take::ONE_SLOT)
    }

    fn blocked(&self, wants: &[Want]) -> BTreeSet<String> {
        let tickets = self.waiting.values().map(|ticket| ticket.worker.clone());
        let unfulfilled =
            wants.iter().filter(|want| !self.fulfilled(want)).map(|want| want.holder.clone());
        tickets.chain(unfulfilled).collect()
    }

    /// Let everybody finish who can; `in_order`: a ticket also needs those before it to be satisfiable.
    fn reduce(&self, in_order: bool) -> Reduced<'_> {
        let wants = self.all_wants();
        let line = self.line();
        let mut stuck = self.blocked(&wants);
        loop {
            let leases: Vec<&Lease> = self
                .held
                .values()
                .filter(|lease| !self.is_leaving(lease) && stuck.contains(&lease.worker))
                .collect();
            let loads = loads(leases.iter().copied());
            let mut dead_tickets: Vec<&Ticket> = Vec::new();
            for ticket in &line {
                let behind = dead_tickets.iter().any(|earlier| conflict(&earlier.ask, &ticket.ask));
                if !self.would_fit(&loads, ticket) || (in_order && behind && !ticket.may_overtake) {
                    dead_tickets.push(ticket);
                }
            }
            let dead_wants: Vec<Want> = wants
                .iter()
                .filter(|want| {
                    let others = Self::loads_of_others(&leases, &want.holder);
                    !self.fits_health_aside(&others, &want.resource, Take::ONE_SLOT)
                })
                .cloned()
                .collect();
            let still_stuck: BTreeSet<String> = dead_tickets
                .iter()
                .map(|ticket| ticket.worker.clone())
                .chain(dead_wants.iter().map(|want| want.holder.clone()))
                .collect();
            if still_stuck == stuck {
                return Reduced { stuck, leases, dead_tickets, dead_wants };
            }
            stuck = still_stuck;
        }
    }

    fn would_fit(&self, loads: &Loads, ticket: &Ticket) -> bool {
        let ask = &ticket.ask;
        let fitting =
            ask.candidates.iter().filter(|name| self.fits_health_aside(loads, name, ask.take));
        let fitting: Vec<String> = fitting.cloned().collect();
        self.enough(&fitting, ask)
    }

    /// The hard deadlocks, sorted by victim.
    pub fn deadlocks(&self) -> Vec<Deadlock> {
        let reduced = self.reduce(false);
        let edges: BTreeMap<String, Edge> = reduced
            .stuck
            .iter()
            .filter_map(|worker| Some((worker.clone(), self.edge(&reduced, worker)?)))
            .collect();
        // The cycle each stuck worker runs into, known by its lowest lease.
        let mut found: BTreeMap<u64, (Vec<String>, Vec<Wait>)> = BTreeMap::new();
        for worker in &reduced.stuck {
            if let Some(cycle) = cycle_from(&edges, worker) {
                let lowest = cycle[0].lease.0;
                found.entry(lowest).or_insert((Vec::new(), cycle)).0.push(worker.clone());
            }
        }
        let mut deadlocks: Vec<Deadlock> = found
            .into_values()
            .map(|(stuck, cycle)| {
                let victim = self.victim(&cycle);
                Deadlock { stuck, cycle, victim }
            })
            .collect();
        deadlocks.sort_by_key(|deadlock| deadlock.victim);
        deadlocks
    }

    fn edge(&self, reduced: &Reduced<'_>, worker: &str) -> Option<Edge> {
        let all = loads(reduced.leases.iter().copied());
        let lead = |ticket: Option<u64>, lease: &Lease| Edge {
            ticket,
            lease: lease.id,
            next: lease.worker.clone(),
        };
        if let Some(ticket) = reduced.dead_tickets.iter().find(|ticket| ticket.worker == worker) {
            // A candidate that is too small leads nowhere: nobody holds what is missing.
            return ticket
                .ask
                .candidates
                .iter()
                .filter(|name| !self.fits_health_aside(&all, name, ticket.ask.take))
                .find_map(|name| reduced.leases.iter().find(|lease| lease.takes_of(name)))
                .map(|lease| lead(Some(ticket.id), lease));
        }
        let want = reduced.dead_wants.iter().find(|want| want.holder == worker)?;
        let on_it = |lease: &&&Lease| lease.worker != worker && lease.takes_of(&want.resource);
        reduced.leases.iter().find(on_it).map(|lease| lead(None, lease))
    }

    /// Lowest priority, then preemptible, then holding least, then youngest.
    fn victim(&self, cycle: &[Wait]) -> LeaseId {
        let of = |wait: &Wait| {
            let lease = &self.held[&wait.lease.0];
            (
                lease.ask.priority,
                !lease.ask.preemptible,
                lease.takes.len(),
                Reverse((lease.age, lease.id)),
            )
        };
        cycle.iter().min_by_key(|wait| of(wait)).expect("a cycle is not empty").lease
    }

    /// The first ticket that only the order keeps from being satisfied, if any is kept so.
    fn first_to_overtake(&self) -> Option<u64> {
        let ordered = self.reduce(true);
        if ordered.dead_tickets.is_empty() {
            return None;
        }
        let hard: Vec<u64> =
            self.reduce(false).dead_tickets.iter().map(|ticket| ticket.id).collect();
        if ordered.dead_tickets.iter().all(|ticket| hard.contains(&ticket.id)) {
            return None;
        }
        let loads = loads(ordered.leases.iter().copied());
        ordered
            .dead_tickets
            .iter()
            .find(|ticket| self.would_fit(&loads, ticket))
            .map(|ticket| ticket.id)
    }

    /// With the policy `Break`: break the deadlock whose victim is the youngest, if there is one.
    pub fn break_deadlock(&mut self) -> bool {
        if self.settings.deadlocks != DeadlockPolicy::Break {
            return false;
        }
        let deadlocks = self.deadlocks();
        let victims = deadlocks.iter().map(|deadlock| &self.held[&deadlock.victim.0]);
        let Some(victim) = victims.max_by_key(|lease| (lease.age, lease.id)) else { return false };
        let (id, grace) = (victim.id, victim.ask.grace);
        self.note("hard deadlock broken");
        self.take_away(id, Reason::DeadlockVictim, None, grace, None);
        true
    }

    /// Let one ticket overtake that only the order keeps back, if there is one.
    pub fn cure_soft_deadlock(&mut self) -> bool {
        if self.waiting.len() < 2 {
            return false;
        }
        let Some(ticket) = self.first_to_overtake() else { return false };
        self.note("soft deadlock cured");
        self.waiting.get_mut(&ticket).expect("it waits").may_overtake = true;
        self.overtakers.push(ticket);
        true
    }
}

/// Follow the edges from `start` into a cycle; its lowest lease comes first.
fn cycle_from(edges: &BTreeMap<String, Edge>, start: &str) -> Option<Vec<Wait>> {
    let mut path: Vec<&str> = Vec::new();
    let mut at = start;
    while !path.contains(&at) {
        path.push(at);
        at = &edges.get(at)?.next;
    }
    let entry = path.iter().position(|worker| *worker == at).expect("it is on the path");
    let mut cycle: Vec<Wait> = path[entry..]
        .iter()
        .map(|worker| {
            let edge = &edges[*worker];
            Wait {
                worker: worker.to_string(),
                ticket: edge.ticket.map(ticket_id),
                lease: LeaseId(edge.lease),
            }
        })
        .collect();
    let lowest =
        (0..cycle.len()).min_by_key(|place| cycle[*place].lease).expect("a cycle is not empty");
    cycle.rotate_left(lowest);
    Some(cycle)
}
