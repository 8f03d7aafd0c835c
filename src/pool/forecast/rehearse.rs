//! Plays a scene forward, on a table of its own.

use std::collections::HashMap;

use super::scene::Scene;
use crate::memory::try_new_table;
use crate::table::{
    Candidates, Claim, Error, FOREVER, Health, Limits, Memory, Outcome, ResourceId, Settings,
    Table, Take, TicketId, TicketState, Time, Traits,
};

/// For whom the play is given.
pub(super) enum Question<'a> {
    /// A claim that nobody has made, for devices in these places.
    Claim { places: Vec<usize>, claim: Claim<'a> },
    /// A claim that waits.
    Ticket(TicketId),
}

/// For how long a device is checked when its last holder has gone, if all is well.
const CHECK: Time = 1_000_000;

/// When the claim is served, counted from now; [`FOREVER`] if nothing that can be foreseen leads to it. An error if the pool would refuse the claim at once;
/// `None` if the play cannot be given.
pub(super) fn rehearse(scene: &Scene, question: &Question<'_>) -> Result<Option<Time>, Error> {
    match play(scene, question) {
        Some(Ok(time)) => Ok(Some(time)),
        Some(Err(error @ (Error::Impossible | Error::ZeroAmount))) => Err(error),
        _ => Ok(None),
    }
}

fn play(scene: &Scene, question: &Question<'_>) -> Option<Result<Time, Error>> {
    let actors = scene.leases.len() + scene.tickets.len() + scene.devices.len() + 1;
    let count = |n: usize| u32::try_from(n).ok();
    // Each may once be remembered beside those that are there.
    let limits = Limits {
        leases: count(actors)?,
        tickets: count(actors)?,
        // Each may have a node of its own.
        resources: count(2 * scene.devices.len())?.max(1),
        history: count(actors)?.max(16),
    };
    let table = try_new_table(Settings { limits, ..Settings::default() })?;
    let mut ids = Vec::with_capacity(scene.devices.len());
    let mut name = Names::default();
    let mut nodes = Nodes::default();
    for device in &scene.devices {
        let id = table.declare(0, &device.name, device.slots, device.memory).ok()?;
        let node = match device.traits.node {
            None => None,
            Some(node) => Some(nodes.of(&table, node)?),
        };
        let traits = Traits { checked: false, node, ..device.traits };
        // Without its links a device is still a device.
        let _ = table.set_traits(0, id, traits);
        ids.push(id);
    }
    let place = |key: &str| scene.devices.iter().position(|device| device.name == key);
    let ask = |claim: &Claim<'_>| table.claim(0, claim);

    for lease in &scene.leases {
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
            ttl: scene.rest(lease),
            priority: lease.priority,
            spare: lease.spare,
            preemptible: lease.preemptible,
            ..claim_of(name.next(), &taken)
        };
        // What is over or cannot be repeated holds up nobody.
        let _ = ask(&claim);
    }
    for (device, &id) in scene.devices.iter().zip(&ids) {
        if device.cleaning {
            let _ = ask(&Claim { ttl: CHECK, ..claim_of(name.next(), &[id]) });
        } else if device.health != Health::Healthy {
            table.set_health(0, id, device.health).ok()?;
        }
    }
    let mut asked = None;
    for ticket in &scene.tickets {
        let wanted: Vec<ResourceId> =
            ticket.candidates.iter().filter_map(|key| Some(ids[place(key)?])).collect();
        let claim = Claim {
            count: ticket.count.min(wanted.len() as u32),
            together: ticket.together,
            take: ticket.take,
            ttl: scene.length(ticket),
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
        // It waits no more.
        None | Some(Ok(Outcome::Granted(_))) => return Some(Ok(0)),
        Some(Ok(Outcome::Waiting(ticket))) => ticket,
        Some(Err(error)) => return Some(Err(error)),
    };
    // Everybody ends once, and is served once.
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

/// The nodes of the devices, by their ids on the table that is played.
#[derive(Default)]
struct Nodes(HashMap<ResourceId, ResourceId>);

impl Nodes {
    fn of<M: Memory>(&mut self, table: &Table<M>, node: ResourceId) -> Option<ResourceId> {
        if let Some(known) = self.0.get(&node) {
            return Some(*known);
        }
        // No device is called that: a name of a device is not empty before the slash.
        let new = table.declare(0, &format!("/{}", self.0.len()), 1, 0).ok()?;
        self.0.insert(node, new);
        Some(new)
    }
}

/// All of these, alone, for ever.
fn claim_of<'a>(holder: &'a str, resources: &'a [ResourceId]) -> Claim<'a> {
    Claim {
        candidates: Candidates::Declared(resources),
        count: resources.len() as u32,
        take: Take::Exclusive,
        ..Claim::one(holder, &[])
    }
}

/// A name for each actor: two of one name would be one line of work.
#[derive(Default)]
struct Names(u32, String);

impl Names {
    fn next(&mut self) -> &str {
        self.0 += 1;
        self.1 = self.0.to_string();
        &self.1
    }
}
