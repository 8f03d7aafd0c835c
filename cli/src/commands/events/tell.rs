//! One event, in words and for programs.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::{Value, json};
use ternlease::{
    Actor, Event, FOREVER, Health, LeaseId, LeaseInfo, Reason, TicketId, TicketState, Time, What,
};

use crate::names::Named;
use crate::people::{actor_value, by_words};
use crate::text::clock::Clock;
use crate::text::colour::Mood;
use crate::text::line::clean;
use crate::text::reasons;
use crate::text::units::duration;

/// The names that those who revoked leases claimed. A lease has only the last one: it is not shown
/// with the actor of an earlier notice.
pub struct Claimed {
    leases: HashMap<LeaseId, LeaseInfo>,
    /// The number of the last notice.
    last: HashMap<LeaseId, u64>,
    /// Who ended a lease, unless it was its holder during a notice.
    enders: HashMap<LeaseId, Option<Actor>>,
}

impl Claimed {
    /// Of these events.
    pub fn of(events: &[Event], named: &Named) -> Self {
        let mut claimed =
            Claimed { leases: HashMap::new(), last: HashMap::new(), enders: HashMap::new() };
        let mut first = None;
        for event in events {
            if let What::Revoking { lease, .. } | What::Ended { lease, .. } = event.what
                && let Some(info) = lease_of(named, lease)
            {
                claimed.leases.entry(lease).or_insert(info);
                first.get_or_insert(event.number);
            }
        }
        // After the leases were read: a later notice, to which the name may not belong, is seen.
        let Some(first) = first else { return claimed };
        for event in named.manager.events_since(first - 1).0 {
            match event.what {
                What::Revoking { lease, .. } => {
                    claimed.last.insert(lease, event.number);
                }
                What::Ended { lease, acknowledged: false, .. } => {
                    claimed.enders.insert(lease, event.actor);
                }
                _ => {}
            }
        }
        claimed
    }

    /// The name that belongs to this event.
    fn by(&self, event: &Event) -> Option<&str> {
        let (lease, actor) = match event.what {
            What::Revoking { lease, .. } => {
                let is_last = self.last.get(&lease) == Some(&event.number);
                // A lease that is revoked at once during a notice has the name of who did that.
                let is_same = self.enders.get(&lease).is_none_or(|ender| *ender == event.actor);
                (is_last && is_same).then_some((lease, event.actor))?
            }
            What::Ended { lease, .. } => (lease, ender(event, self.leases.get(&lease))),
            _ => return None,
        };
        let info = self.leases.get(&lease)?;
        let is_its = info.ended_by.is_none() || info.ended_by == actor;
        info.revoker.as_deref().filter(|_| is_its)
    }
}

/// `  12  14:02:59   3m 20s  ended     trainer after 11s: the holder gave it back  (lease 7)`
pub fn line(event: &Event, named: &Named, clock: &Clock, claimed: &Claimed) -> String {
    let (verb, rest) = words(event, named, clock, claimed);
    let age = duration(clock.age(event.at));
    let time = clock.time_of_day(event.at);
    format!("{:>5}  {time}  {age:>7}  {verb:<8}  {}", event.number, clean(&rest))
}

/// How much it matters.
pub fn mood(what: &What) -> Mood {
    match what {
        What::Granted { .. } => Mood::Good,
        What::Revoking { .. } | What::RenewedLate { .. } | What::Refused { .. } => Mood::Warn,
        What::Ended { reason: Reason::Released, .. } | What::Queued { .. } => Mood::Plain,
        What::Ended { reason, .. } if reason.is_revocation() => Mood::Bad,
        What::Ended { .. } => Mood::Warn,
        What::Health { health: Health::Healthy, .. } => Mood::Good,
        What::Health { health: Health::Draining, .. } => Mood::Warn,
        What::Health { .. } | What::Died { .. } | What::RolledBack { .. } => Mood::Bad,
        _ => Mood::Plain,
    }
}

/// Numbers of leases are long: they stand at the end, where a narrow terminal cuts them first.
fn words(event: &Event, named: &Named, clock: &Clock, claimed: &Claimed) -> (&'static str, String) {
    let holder = |lease: &LeaseId| known(lease_of(named, *lease).map(|info| info.holder));
    let ticket_holder = |ticket: &TicketId| known(holder_of_ticket(named, *ticket));
    let length = |time: &Time| duration(Duration::from_micros(*time));
    match &event.what {
        What::Granted { lease, ticket } => {
            let from = ticket.map_or(String::new(), |id| format!(", was ticket {id}"));
            let info = lease_of(named, *lease);
            let devices = info.as_ref().map_or(Vec::new(), |info| devices(named, info)).join(" ");
            let to = known(info.map(|info| info.holder));
            ("granted", format!("{to}: {devices}  (lease {lease}{from})"))
        }
        What::RenewedLate { lease, until } => {
            let (holder, until) = (holder(lease), until_words(*until, clock));
            ("renewed", format!("{holder}, late, {until}  (lease {lease})"))
        }
        What::Revoking { lease, reason, until } => {
            let (holder, why) = (holder(lease), reasons::words(*reason));
            let notice = duration(Duration::from_micros(until.saturating_sub(event.at)));
            let by = by_words(event.actor, claimed.by(event), named.is_in_cluster());
            ("revoking", format!("{holder} in {notice}: {why}{by}  (lease {lease})"))
        }
        What::Ended { lease, reason, held, acknowledged } => {
            let verb = if reason.is_revocation() { "revoked" } else { "ended" };
            let (holder, why) = (holder(lease), reasons::words(*reason));
            let info = lease_of(named, *lease);
            let actor = ender(event, info.as_ref());
            let by = by_words(actor, claimed.by(event), named.is_in_cluster());
            let early = if *acknowledged { ", acknowledged" } else { "" };
            (verb, format!("{holder} after {}{early}: {why}{by}  (lease {lease})", length(held)))
        }
        What::Queued { ticket } => {
            ("queued", format!("{}  (ticket {ticket})", ticket_holder(ticket)))
        }
        What::Refused { ticket, reason, waited } => {
            let (holder, why) = (ticket_holder(ticket), reasons::words(*reason));
            ("refused", format!("{holder} after {}: {why}  (ticket {ticket})", length(waited)))
        }
        What::Health { resource, health } => {
            let by = by_words(event.actor, None, named.is_in_cluster());
            ("health", format!("{} is {}{by}", named.name(resource), health_word(*health)))
        }
        What::Died { process, leases, tickets } => {
            ("died", format!("process {process}, with {leases} leases and {tickets} claims"))
        }
        What::RolledBack { process } => {
            ("undone", format!("what process {process} was changing when it died"))
        }
        // A newer library may know more.
        other => ("other", format!("{other:?}")),
    }
}

/// Who ended a lease, where that is not plain: who revoked it, or released it for its owner.
fn ender(event: &Event, info: Option<&LeaseInfo>) -> Option<Actor> {
    let What::Ended { reason, acknowledged, .. } = event.what else { return None };
    let ended_by = info.and_then(|info| info.ended_by);
    match reason.is_revocation() && !acknowledged {
        true => event.actor,
        false => ended_by,
    }
}

/// Holders are remembered as long as their leases.
fn known(holder: Option<String>) -> String {
    holder.unwrap_or_else(|| "(forgotten)".to_owned())
}

fn until_words(until: Time, clock: &Clock) -> String {
    match until {
        FOREVER.. => "without end".to_owned(),
        until => format!("until {}", clock.time_of_day(until)),
    }
}

fn health_word(health: Health) -> &'static str {
    match health {
        Health::Healthy => "healthy",
        Health::Draining => "draining",
        Health::Failed => "failed",
    }
}

fn lease_of(named: &Named, id: LeaseId) -> Option<LeaseInfo> {
    named.manager.lease(id)
}

/// Of one that waits, or of the lease that it became.
fn holder_of_ticket(named: &Named, id: TicketId) -> Option<String> {
    match named.manager.ticket(id) {
        Some(info) => Some(info.holder),
        None => match named.manager.ticket_state(id)? {
            TicketState::Granted(lease) => lease_of(named, lease).map(|info| info.holder),
            _ => None,
        },
    }
}

fn devices(named: &Named, info: &LeaseInfo) -> Vec<String> {
    info.takes.iter().map(|taken| named.name(&taken.resource).to_owned()).collect()
}

/// For programs: all keys in every event, null where they say nothing or nothing is known any more.
pub fn value(event: &Event, named: &Named, clock: &Clock, claimed: &Claimed) -> Value {
    let seconds = |time: Time| time as f64 / 1e6;
    let mut lease_id = None;
    let mut ticket_id = None;
    let (mut reason, mut until, mut lasted) = (None, None, None);
    let mut acknowledged = None;
    let (mut resource, mut health) = (None, None);
    let (mut process, mut leases, mut tickets) = (None, None, None);
    let what = match &event.what {
        What::Granted { lease, ticket } => {
            (lease_id, ticket_id) = (Some(*lease), *ticket);
            "granted"
        }
        What::RenewedLate { lease, until: end } => {
            (lease_id, until) = (Some(*lease), Some(*end));
            "renewed_late"
        }
        What::Revoking { lease, reason: why, until: end } => {
            (lease_id, reason, until) = (Some(*lease), Some(*why), Some(*end));
            "revoking"
        }
        What::Ended { lease, reason: why, held, acknowledged: early } => {
            (lease_id, reason, lasted) = (Some(*lease), Some(*why), Some(*held));
            acknowledged = Some(*early);
            "ended"
        }
        What::Queued { ticket } => {
            ticket_id = Some(*ticket);
            "queued"
        }
        What::Refused { ticket, reason: why, waited } => {
            (ticket_id, reason, lasted) = (Some(*ticket), Some(*why), Some(*waited));
            "refused"
        }
        What::Health { resource: name, health: now } => {
            (resource, health) = (Some(named.name(name)), Some(*now));
            "health"
        }
        What::Died { process: number, leases: held, tickets: waited } => {
            (process, leases, tickets) = (Some(*number), Some(*held), Some(*waited));
            "died"
        }
        What::RolledBack { process: number } => {
            process = Some(*number);
            "rolled_back"
        }
        _ => "other",
    };
    let info = lease_id.and_then(|id| lease_of(named, id));
    let holder = info.as_ref().map(|info| info.holder.clone());
    let holder = holder.or_else(|| ticket_id.and_then(|id| holder_of_ticket(named, id)));
    json!({
        "number": event.number,
        "at": clock.iso(event.at),
        "age_seconds": clock.age(event.at).as_secs_f64(),
        "what": what,
        "lease": lease_id.map(|id| id.to_string()),
        "ticket": ticket_id.map(|id| id.to_string()),
        "holder": holder,
        "devices": info.as_ref().map(|info| devices(named, info)),
        "reason": reason.map(Reason::name),
        "reason_code": reason.map(Reason::code),
        "reason_words": reason.map(reasons::words),
        "actor": actor_value(event.actor, named.is_in_cluster()),
        "revoker": claimed.by(event),
        "acknowledged": acknowledged,
        "until": until.filter(|until| *until < FOREVER).map(|until| clock.iso(until)),
        "seconds": lasted.map(seconds),
        "resource": resource,
        "health": health.map(|health| health as i8),
        "process": process,
        "leases": leases,
        "tickets": tickets,
    })
}
