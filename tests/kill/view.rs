//! All that can be seen of a table, as text that is the same for the same history: times, ids and processes are left out or renamed.

use std::collections::BTreeMap;
use std::fmt::Write;

use ternlease::{Error, Health, LeaseId, LeaseManager, Part, Take, TicketId, What};

use super::{ALL, LIMITS, lasting};

/// What there is now, and everything that has happened.
pub fn of(manager: &LeaseManager) -> String {
    let mut text = String::new();
    let mut names = Names::default();
    let (events, missed) = manager.events_since(0);
    assert_eq!(missed, 0, "the history is too short for this test");
    for event in events {
        names.tell(&mut text, event.what);
    }
    for lease in manager.leases() {
        let name = names.lease(lease.id);
        let parent = lease.parent.map(|parent| names.lease(parent));
        let renewed = lease.end > lease.granted_at.saturating_add(lease.ttl);
        let flags = (renewed, lease.revoking, lease.spare, lease.preemptible, lease.shared);
        let (holder, takes, ttl) = (lease.holder, lease.takes, lease.ttl);
        let (reason, revoker) = (lease.reason, lease.revoker);
        line(
            &mut text,
            format_args!(
                "{name} {holder} {takes:?} {ttl} {reason:?} {revoker:?} {flags:?} {parent:?}"
            ),
        );
    }
    for ticket in manager.tickets() {
        let name = names.ticket(ticket.id);
        let (holder, of, count) = (ticket.holder, ticket.candidates, ticket.count);
        line(&mut text, format_args!("{name} {holder} {count} of {of:?}, place {}", ticket.place));
    }
    for resource in manager.resources() {
        line(&mut text, format_args!("{resource:?}"));
    }
    for deadlock in manager.find_deadlocks().unwrap() {
        line(&mut text, format_args!("stuck: {:?}", deadlock.stuck));
    }
    // Undoing and burying are events, too.
    let metrics = manager.metrics();
    let counted = metrics.lines().filter(|line| !line.starts_with(['#']) && !line.ends_with(" 0"));
    for counted in counted.filter(|line| !line.contains("events_total")) {
        line(&mut text, format_args!("{counted}"));
    }
    text
}

/// Releases everything, the oldest first, so that all who wait are served; then shows the history of that, and how much fits into the
/// table: all that it was made for, or something has leaked.
pub fn of_the_rest(manager: &LeaseManager) -> String {
    ALL.iter().for_each(|name| manager.set_health(name, Health::Healthy).unwrap());
    while let Some(oldest) = manager.leases().first() {
        manager.release(oldest.id).unwrap();
    }
    assert_eq!(manager.tickets(), [], "nobody waits for what is free");
    let used =
        |name| manager.resource(name).is_some_and(|r| r.used_slots + r.used_memory + r.shared != 0);
    assert_eq!(ALL.iter().find(|name| used(name)), None, "it is not in use");
    let mut text = of(manager);

    let until_full = |part, take: &dyn Fn() -> Result<(), Error>| {
        let mut taken = 0;
        loop {
            match take() {
                Ok(()) => taken += 1,
                Err(Error::Full(full)) if full == part => break,
                Err(other) => panic!("after {taken}, instead of no room for {part:?}: {other}"),
            }
        }
        taken
    };
    let leases = until_full(Part::Leases, &|| manager.acquire("bulk", "w", lasting()).map(drop));
    let all_of_it = manager.claim("w").of(&["bulk"]).take(Take::Exclusive);
    let tickets = until_full(Part::Tickets, &|| all_of_it.submit().map(drop));
    assert_eq!((leases, tickets), (LIMITS.leases, LIMITS.tickets), "some has leaked");
    for ticket in manager.tickets() {
        manager.cancel_ticket(ticket.id).unwrap();
    }
    for lease in manager.leases() {
        manager.release(lease.id).unwrap();
    }
    let resources = until_full(Part::Resources, &|| {
        manager.declare(&format!("r{}", manager.resources().len()), 1, 0).map(drop)
    });
    line(&mut text, format_args!("room for {resources} resources"));
    text
}

fn line(text: &mut String, what: std::fmt::Arguments<'_>) {
    writeln!(text, "{what}").expect("a string takes everything");
}

/// Ids are numbered as they appear.
#[derive(Default)]
struct Names {
    leases: BTreeMap<LeaseId, usize>,
    tickets: BTreeMap<TicketId, usize>,
    last_served: Option<TicketId>,
}

impl Names {
    fn lease(&mut self, id: LeaseId) -> String {
        let next = self.leases.len();
        format!("lease {}", self.leases.entry(id).or_insert(next))
    }

    fn ticket(&mut self, id: TicketId) -> String {
        let next = self.tickets.len();
        format!("ticket {}", self.tickets.entry(id).or_insert(next))
    }

    fn tell(&mut self, text: &mut String, what: What) {
        match what {
            What::Granted { lease, ticket } => {
                // All that wait here wait for the same, so that first come is first served.
                assert!(ticket.is_none() || ticket > self.last_served, "{ticket:?} has overtaken");
                self.last_served = ticket.or(self.last_served);
                let (lease, ticket) = (self.lease(lease), ticket.map(|ticket| self.ticket(ticket)));
                line(text, format_args!("granted {lease} {ticket:?}"));
            }
            What::RenewedLate { lease, .. } => {
                line(text, format_args!("renewed {}", self.lease(lease)))
            }
            What::Revoking { lease, reason, .. } => {
                line(text, format_args!("revoking {} {reason}", self.lease(lease)))
            }
            What::Ended { lease, reason, .. } => {
                line(text, format_args!("ended {} {reason}", self.lease(lease)))
            }
            What::Queued { ticket } => line(text, format_args!("queued {}", self.ticket(ticket))),
            What::Refused { ticket, reason, .. } => {
                line(text, format_args!("refused {} {reason}", self.ticket(ticket)))
            }
            What::Health { resource, health } => {
                line(text, format_args!("{resource} is {health:?}"))
            }
            // What is told of the kill itself.
            _ => {}
        }
    }
}
