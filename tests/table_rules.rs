//! The rules of `docs/rules.md`, each by an example.

use ternlease::home::process::{Heap, new_table};
use ternlease::table::*;

fn table() -> Table<Heap> {
    new_table(Settings::default())
}

fn granted(outcome: Result<Outcome, Error>) -> LeaseId {
    match outcome {
        Ok(Outcome::Granted(id)) => id,
        other => panic!("not granted: {other:?}"),
    }
}

fn waiting(outcome: Result<Outcome, Error>) -> TicketId {
    match outcome {
        Ok(Outcome::Waiting(id)) => id,
        other => panic!("not waiting: {other:?}"),
    }
}

#[test]
fn a_lease_is_held_until_its_end() {
    let t = table();
    let id = granted(t.claim(0, &Claim { ttl: 10, ..Claim::one("w", &["gpu0"]) }));
    assert_eq!(t.state(id, 9), Some(LeaseState::Held));
    assert_eq!(t.state(id, 10), Some(LeaseState::Expired));
    t.advance(10).unwrap();
    assert_eq!(t.lease(id).unwrap().reason, Some(Reason::TimedOut));
    assert_eq!(t.held(), 0);
    t.verify().unwrap();
}

#[test]
fn a_second_claim_waits_and_gets_what_a_release_frees() {
    let t = table();
    let first = granted(t.claim(0, &Claim::one("a", &["gpu0"])));
    assert_eq!(t.claim(0, &Claim::one("b", &["gpu0"])), Err(Error::Busy));
    let ticket = waiting(t.claim(0, &Claim { wait: FOREVER, ..Claim::one("b", &["gpu0"]) }));
    assert_eq!(t.place(ticket), Some(1));
    t.release(1, first).unwrap();
    let Some(TicketState::Granted(second)) = t.ticket(ticket) else { panic!() };
    assert!(second > first);
    assert_eq!(t.held_by("b"), [second]);
    t.verify().unwrap();
}
