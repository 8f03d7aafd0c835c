//! What a pool looks like at one moment, and how long its holders are likely to go on.

use std::collections::HashMap;

use crate::home::Home;
use crate::pool::GpuPool;
use crate::table::{
    Event, FOREVER, LeaseInfo, Memory, Query, ResourceInfo, Table, TicketInfo, Time, What,
};

/// All that decides who gets which device next.
#[derive(Debug)]
pub(super) struct Scene {
    pub now: Time,
    /// In the order of the pool's devices.
    pub devices: Vec<ResourceInfo>,
    /// Leases on them, oldest first, each once.
    pub leases: Vec<LeaseInfo>,
    /// Claims that wait for them, in order.
    pub tickets: Vec<TicketInfo>,
    /// How long leases on them were held that are over.
    held: Held,
}

/// What there is on the devices of these names, at the time of the last command.
struct OnDevices<'a> {
    keys: &'a [String],
}

impl Query for OnDevices<'_> {
    type Answer = Scene;

    fn answer<M: Memory>(&self, table: &Table<M>) -> Scene {
        let mut leases: Vec<LeaseInfo> = self
            .keys
            .iter()
            .flat_map(|key| table.leases_on(key))
            .filter_map(|id| table.lease(id))
            .collect();
        leases.sort_by_key(|lease| lease.id);
        leases.dedup_by_key(|lease| lease.id);
        let mut tickets = table.tickets();
        tickets.retain(|ticket| ticket.candidates.iter().any(|name| self.keys.contains(name)));
        let mut events: Vec<Event> = Vec::new();
        table.events_since(0, &mut events);
        let ended = events.iter().filter_map(|event| match event.what {
            What::Ended { lease, held, .. } => Some((table.lease(lease)?, held)),
            _ => None,
        });
        let on_devices =
            |lease: &LeaseInfo| lease.takes.iter().any(|taken| self.keys.contains(&taken.resource));
        let ended = ended.filter(|(lease, _)| on_devices(lease));
        Scene {
            now: table.now(),
            devices: self.keys.iter().filter_map(|key| table.resource(key)).collect(),
            held: Held::new(ended.map(|(lease, held)| (lease.holder, held))),
            leases,
            tickets,
        }
    }
}

impl Scene {
    pub fn of(pool: &GpuPool) -> Self {
        let home = pool.inner.manager.home();
        let mut scene = home.query(&OnDevices { keys: &pool.inner.keys });
        scene.now = home.clock().now();
        scene
    }

    /// How much longer a lease is likely to be held. [`FOREVER`]: nobody can tell.
    pub fn rest(&self, lease: &LeaseInfo) -> Time {
        let left = match lease.end {
            FOREVER => FOREVER,
            end => end.saturating_sub(self.now).max(1),
        };
        // Somebody renews it, and will renew it again: then its end is not the end.
        let renewed = lease.end > lease.granted_at.saturating_add(lease.ttl);
        if lease.revoking {
            return left;
        }
        let elapsed = self.now.saturating_sub(lease.granted_at);
        match self.held.usual(&lease.holder) {
            None if renewed => FOREVER,
            None => left,
            Some(usual) => {
                // One that takes longer than usual takes longer still.
                let rest = if elapsed < usual { usual - elapsed } else { usual / 2 };
                if renewed { rest.max(1) } else { rest.clamp(1, left) }
            }
        }
    }

    /// How long a claim that waits is likely to hold what it gets. [`FOREVER`]: nobody can tell.
    pub fn length(&self, ticket: &TicketInfo) -> Time {
        self.held.usual(&ticket.holder).map_or(ticket.ttl, |usual| usual.min(ticket.ttl)).max(1)
    }
}

/// How long leases were held: by each holder, and by all.
#[derive(Debug, Default)]
struct Held {
    by: HashMap<String, Vec<Time>>,
    all: Vec<Time>,
}

impl Held {
    fn new(ended: impl Iterator<Item = (String, Time)>) -> Self {
        let mut held = Held::default();
        for (holder, time) in ended {
            held.by.entry(holder).or_default().push(time);
            held.all.push(time);
        }
        held.by.values_mut().for_each(|times| times.sort_unstable());
        held.all.sort_unstable();
        held
    }

    /// The middle one of a holder's own, else of everybody's.
    fn usual(&self, holder: &str) -> Option<Time> {
        let times = self.by.get(holder).unwrap_or(&self.all);
        times.get(times.len() / 2).copied()
    }
}
