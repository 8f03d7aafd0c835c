//! What tests of the table have in common.
#![allow(dead_code)] // Not every test needs all of it.

use ternlease::memory::{Arrays, new_table};
use ternlease::table::*;

pub fn table() -> Table<Arrays> {
    new_table(Settings::default())
}

/// One slot of the first of these that fits, for ever, however long it takes.
pub fn patient<'a>(holder: &'a str, candidates: &'a [&'a str]) -> Claim<'a> {
    Claim { wait: FOREVER, ..Claim::one(holder, candidates) }
}

pub fn hold(t: &Table<Arrays>, holder: &str, resource: &str) -> LeaseId {
    granted(t.claim(t.now(), &Claim::one(holder, &[resource])))
}

pub fn wait(t: &Table<Arrays>, holder: &str, candidates: &[&str]) -> TicketId {
    waiting(t.claim(t.now(), &patient(holder, candidates)))
}

pub fn granted(outcome: Result<Outcome, Error>) -> LeaseId {
    match outcome {
        Ok(Outcome::Granted(id)) => id,
        other => panic!("not granted: {other:?}"),
    }
}

pub fn waiting(outcome: Result<Outcome, Error>) -> TicketId {
    match outcome {
        Ok(Outcome::Waiting(id)) => id,
        other => panic!("not waiting: {other:?}"),
    }
}

pub fn lease_of(t: &Table<Arrays>, ticket: TicketId) -> LeaseId {
    match t.ticket(ticket) {
        Some(TicketState::Granted(id)) => id,
        other => panic!("not granted: {other:?}"),
    }
}
