//! The last events of a pool, one short line each.

use std::time::Duration;

use ternlease::{Event, GpuPool, LeaseId, TicketId, What};

use super::notes::health;
use super::words::device_name;
use crate::text::colour::Mood;
use crate::text::line::clean;
use crate::text::units::duration;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happening {
    /// How long ago.
    pub age: Duration,
    /// What, in words.
    pub words: String,
    /// How it is meant.
    pub mood: Mood,
}

/// The number of the newest event: another one means that something happened.
pub fn newest(events: &[Event]) -> u64 {
    events.last().map_or(0, |event| event.number)
}

/// The last so many events, the newest first.
pub fn last(pool: &GpuPool, events: &[Event], most: usize) -> Vec<Happening> {
    let now = pool.manager().tick_count();
    let told = events.iter().rev().take(most).map(|event| {
        let (words, mood) = words(pool, &event.what);
        let age = Duration::from_micros(now.saturating_sub(event.at));
        Happening { age, words: clean(&words), mood }
    });
    told.collect()
}

fn words(pool: &GpuPool, what: &What) -> (String, Mood) {
    let length = |time: &u64| duration(Duration::from_micros(*time));
    match what {
        What::Granted { lease, ticket } => {
            let after = ticket.map_or("", |_| " after waiting");
            (format!("{} has {}{after}", holder(pool, *lease), devices(pool, *lease)), Mood::Good)
        }
        What::RenewedLate { lease, .. } => {
            (format!("{} renewed only just in time", holder(pool, *lease)), Mood::Warn)
        }
        What::Revoking { lease, reason, .. } => (
            format!("{} is told that it will lose its lease: {reason}", holder(pool, *lease)),
            Mood::Warn,
        ),
        What::Ended { lease, reason, held, .. } => {
            let mood = if reason.is_revocation() { Mood::Bad } else { Mood::Plain };
            (format!("{} ended after {}: {reason}", holder(pool, *lease), length(held)), mood)
        }
        What::Queued { ticket } => (format!("{} waits", claimer(pool, *ticket)), Mood::Plain),
        What::Refused { ticket, reason, waited } => (
            format!("{} left the line after {}: {reason}", claimer(pool, *ticket), length(waited)),
            Mood::Warn,
        ),
        What::Health { resource, health: now } => {
            let (word, mood) = health(*now);
            (format!("{} is {word}", name_of(pool, resource)), mood)
        }
        What::Died { process, leases, tickets } => {
            (format!("process {process} died with {leases} leases and {tickets} claims"), Mood::Bad)
        }
        What::RolledBack { process } => {
            (format!("what process {process} was changing when it died was undone"), Mood::Bad)
        }
        // A newer library may know more.
        other => (format!("{other:?}"), Mood::Dim),
    }
}

fn holder(pool: &GpuPool, lease: LeaseId) -> String {
    let known = pool.manager().lease(lease);
    known.map_or_else(|| format!("lease {lease}"), |info| info.holder)
}

fn claimer(pool: &GpuPool, ticket: TicketId) -> String {
    let known = pool.manager().ticket(ticket);
    known.map_or_else(|| format!("ticket {ticket}"), |info| info.holder)
}

fn devices(pool: &GpuPool, lease: LeaseId) -> String {
    let known = pool.manager().lease(lease);
    let takes = known.map(|info| info.takes).unwrap_or_default();
    let names: Vec<String> = takes.iter().map(|taken| name_of(pool, &taken.resource)).collect();
    if names.is_empty() { "a lease".to_owned() } else { super::words::names(&names) }
}

fn name_of(pool: &GpuPool, key: &str) -> String {
    let place = (0..pool.capacity()).find(|&place| pool.key(place) == Some(key));
    let device = place.and_then(|place| pool.devices().get(place));
    device.map_or_else(|| key.to_owned(), device_name)
}
