//! What tests of the table have in common.

use ternlease::home::process::Arrays;
use ternlease::table::*;

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
