//! The simulation of a pool, on a table of its own.

use std::collections::HashMap;

use super::pool_state::PoolState;
use crate::memory::try_new_table;
use crate::table::{
    Candidates, Claim, Error, FOREVER, Health, Limits, Memory, Outcome, ResourceId, Settings,
    Table, Take, TicketId, TicketState, Time, Traits,
};

/// The claim whose wait is estimated.
pub(super) enum Question<'a> {
    /// A claim that was not submitted, for devices of these indices.
    Claim { places: Vec<usize>, claim: Claim<'a> },
    /// A claim in the queue.
    Ticket(TicketId),
}

/// How long a check of a clean device takes after its last lease, in microseconds.
const CHECK: Time = 1_000_000;

/// How long the claim waits; [`FOREVER`] if no known end leads to its grant. An error if the pool
/// would refuse the claim at once; `None` if the pool cannot be simulated.
pub(super) fn simulate(state: &PoolState, question: &Question<'_>) -> Result<Option<Time>, Error> {
    match run(state, question) {
        Some(Ok(time)) => Ok(Some(time)),
        Some(Err(error @ (Error::Impossible | Error::ZeroAmount))) => Err(error),
        _ => Ok(None),
    }
}

fn run(state: &PoolState, question: &Question<'_>) -> Option<Result<Time, Error>> {
    let actors = state.leases.len() + state.tickets.len() + state.devices.len() + 1;
    let count = |n: usize| u32::try_from(n).ok();
    // Each may be remembered once beside the present ones.
    let limits = Limits {
        leases: count(actors)?,
        tickets: count(actors)?,
        // Each may have a node of its own.
        resources: count(2 * state.devices.len())?.max(1),
        history: count(actors)?.max(16),
    };
    let table = try_new_table(Settings { limits, ..Settings::default() })?;
    let mut ids = Vec::with_capacity(state.devices.len());
    let mut name = Names::default();
    let mut nodes = Nodes::default();
    for device in &state.devices {
        let id = table.declare(0, &device.name, device.slots, device.memory).ok()?;
        let node = match device.traits.node {
            None => None,
            Some(node) => Some(nodes.of(&table, node)?),
        };
        let traits = Traits { checked: false, node, ..device.traits };
        // A failure only loses the links of the device.
        let _ = table.set_traits(0, id, traits);
        ids.push(id);
    }
    let place = |key: &str| state.devices.iter().position(|device| device.name == key);
    let ask = |claim: &Claim<'_>| table.claim(0, claim);

    for lease in &state.leases {
        let taken: Vec<ResourceId> =
            lease.takes.iter().filter_map(|taken| Some(ids[place(&taken.resource)?])).collect();
        let Some(first) = lease.takes.iter().find(|taken| place(&taken.resource).is_some()) else {
            continue;
        };
        let take = match lease.shared {
            true => Take::Shared,
            false => Take::Amount { slots: first.slots, memory: first.memory },
        };
        let claim = Claim {
            take,
            ttl: state.rest(lease),
            priority: lease.priority,
            spare: lease.spare,
            preemptible: lease.preemptible,
            ..claim_of(name.next(), &taken)
        };
        // A lease that is over or cannot be repeated blocks no claim.
        let _ = ask(&claim);
    }
    for (device, &id) in state.devices.iter().zip(&ids) {
        if device.cleaning {
            let _ = ask(&Claim { ttl: CHECK, ..claim_of(name.next(), &[id]) });
        } else if device.health != Health::Healthy {
            table.set_health(0, id, device.health).ok()?;
        }
    }
    let mut asked = None;
    for ticket in &state.tickets {
        let wanted: Vec<ResourceId> =
            ticket.candidates.iter().filter_map(|key| Some(ids[place(key)?])).collect();
        let claim = Claim {
            count: ticket.count.min(wanted.len() as u32),
            together: ticket.together,
            take: ticket.take,
            ttl: state.length(ticket),
            wait: FOREVER,
            priority: ticket.priority,
            spare: ticket.spare,
            preempt: ticket.preempt,
            ..claim_of(name.next(), &wanted)
        };
        let outcome = ask(&claim);
        if matches!(question, Question::Ticket(id) if *id == ticket.id) {
            asked = Some(outcome);
        }
    }
    let asked = match question {
        Question::Ticket(_) => asked,
        Question::Claim { places, claim } => {
            let wanted: Vec<ResourceId> = places.iter().map(|&place| ids[place]).collect();
            let holder = name.next();
            let candidates = Candidates::Declared(&wanted);
            let claim = Claim { holder, candidates, ttl: 1, wait: FOREVER, parent: None, ..*claim };
            Some(ask(&claim))
        }
    };
    let ticket = match asked {
        // The claim no longer waits.
        None | Some(Ok(Outcome::Granted(_))) => return Some(Ok(0)),
        Some(Ok(Outcome::Waiting(ticket))) => ticket,
        Some(Err(error)) => return Some(Err(error)),
    };
    // Each lease ends once, and each claim is granted once.
    for _ in 0..4 * actors + 16 {
        match table.ticket(ticket) {
            Some(TicketState::Waiting) => {}
            Some(TicketState::Granted(_)) => return Some(Ok(table.now().max(1))),
            Some(TicketState::Refused(_)) | None => return None,
        }
        match table.next_due() {
            FOREVER => return Some(Ok(FOREVER)),
            due => table.advance(due.max(table.now() + 1)).ok()?,
        }
    }
    Some(Ok(FOREVER))
}

/// The nodes of the devices, by their ids in the simulated table.
#[derive(Default)]
struct Nodes(HashMap<ResourceId, ResourceId>);

impl Nodes {
    fn of<M: Memory>(&mut self, table: &Table<M>, node: ResourceId) -> Option<ResourceId> {
        if let Some(known) = self.0.get(&node) {
            return Some(*known);
        }
        // No device has this name: the name of a device is not empty before the slash.
        let new = table.declare(0, &format!("/{}", self.0.len()), 1, 0).ok()?;
        self.0.insert(node, new);
        Some(new)
    }
}

/// A claim for all of these resources, exclusive and without end.
fn claim_of<'a>(holder: &'a str, resources: &'a [ResourceId]) -> Claim<'a> {
    Claim {
        candidates: Candidates::Declared(resources),
        count: resources.len() as u32,
        take: Take::Exclusive,
        ..Claim::one(holder, &[])
    }
}

/// A holder for each lease and claim: those of one holder would count as one line of work.
#[derive(Default)]
struct Names(u32, String);

impl Names {
    fn next(&mut self) -> &str {
        self.0 += 1;
        self.1 = self.0.to_string();
        &self.1
    }
}
