//! The state of a pool at one moment, and how long its leases are likely to be held.

use std::collections::HashMap;

use crate::home::Home;
use crate::pool::GpuPool;
use crate::table::{
    Event, FOREVER, LeaseId, LeaseInfo, Memory, Query, ResourceInfo, Table, TicketInfo, Time, What,
};

/// Everything that decides which claim is granted which device next.
#[derive(Debug)]
pub(super) struct PoolState {
    pub now: Time,
    /// In the order of the pool's devices.
    pub devices: Vec<ResourceInfo>,
    /// Leases on them, oldest first, each once.
    pub leases: Vec<LeaseInfo>,
    /// Claims that wait for them, in order.
    pub tickets: Vec<TicketInfo>,
    /// How long ended leases on them were held.
    held: Held,
}

/// The state of the devices of these names, at the time of the last command.
struct OnDevices<'a> {
    keys: &'a [String],
}

impl Query for OnDevices<'_> {
    type Answer = PoolState;

    fn answer<M: Memory>(&self, table: &Table<M>) -> PoolState {
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
        PoolState {
            now: table.now(),
            devices: self.keys.iter().filter_map(|key| table.resource(key)).collect(),
            held: Held::new(ended.map(|(lease, held)| (lease.holder, held))),
            leases,
            tickets,
        }
    }

    fn set_ends(answer: &mut PoolState, end: &dyn Fn(LeaseId) -> Option<Time>) {
        answer.leases.iter_mut().for_each(|lease| lease.set_end(end));
    }
}

impl PoolState {
    pub fn of(pool: &GpuPool) -> Self {
        let home = pool.inner.manager.home();
        let mut state = home.query(&OnDevices { keys: &pool.inner.keys });
        state.now = home.clock().now();
        state
    }

    /// How much longer a lease is likely to be held; [`FOREVER`] if that is not known.
    pub fn rest(&self, lease: &LeaseInfo) -> Time {
        let left = match lease.end {
            FOREVER => FOREVER,
            end => end.saturating_sub(self.now).max(1),
        };
        // The lease was renewed and will be renewed again: its end does not count.
        let renewed = lease.end > lease.granted_at.saturating_add(lease.ttl);
        if lease.revoking {
            return left;
        }
        let elapsed = self.now.saturating_sub(lease.granted_at);
        match self.held.usual(&lease.holder) {
            None if renewed => FOREVER,
            None => left,
            Some(usual) => {
                // A lease that was held longer than usual is likely to be held longer still.
                let rest = if elapsed < usual { usual - elapsed } else { usual / 2 };
                if renewed { rest.max(1) } else { rest.clamp(1, left) }
            }
        }
    }

    /// How long a waiting claim is likely to hold its lease; [`FOREVER`] if that is not known.
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

    /// The median of this holder, or of all if it has no history.
    fn usual(&self, holder: &str) -> Option<Time> {
        let times = self.by.get(holder).unwrap_or(&self.all);
        times.get(times.len() / 2).copied()
    }
}
