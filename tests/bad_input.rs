//! Bad input: each a distinct error, nothing changed, nothing lost.

use std::time::Duration;

use ternlease::memory::{Arrays, new_table};
use ternlease::table::*;
use ternlease::{LeaseManager, Limits, Options, Span};

fn small(limits: Limits) -> Table<Arrays> {
    new_table(Settings { limits, ..Settings::default() })
}

/// Everything that can be seen of a table.
fn picture(table: &Table<Arrays>) -> String {
    let mut events = Vec::new();
    table.events_since(0, &mut events);
    let counts: Vec<u64> = Reason::ALL.iter().map(|&reason| table.count(reason)).collect();
    let (leases, tickets) = (table.leases(), table.tickets());
    format!("{leases:?} {tickets:?} {events:?} {counts:?} {:?}", table.resource("gpu0"))
}

/// Runs a command that must fail with `error` and leave no trace.
fn refused<T: std::fmt::Debug + PartialEq>(
    table: &Table<Arrays>,
    error: Error,
    command: impl FnOnce() -> Result<T, Error>,
) {
    let before = picture(table);
    assert_eq!(command(), Err(error));
    assert_eq!(picture(table), before, "{error:?} left a trace");
    table.verify().unwrap();
    assert!(!error.to_string().is_empty());
}

#[test]
fn claims() {
    let t = small(Limits::default());
    let long = "x".repeat(MAX_NAME + 1);
    let fits = "x".repeat(MAX_NAME);
    let one = Claim::one("w", &["gpu0"]);
    let absurd = FOREVER + 1;
    t.claim(0, &one).unwrap();
    for (error, claim) in [
        (Error::EmptyName, Claim { holder: "", ..one }),
        (Error::EmptyName, Claim { candidates: Candidates::Named(&[""]), ..one }),
        (Error::NameTooLong, Claim { holder: &long, ..one }),
        (Error::NameTooLong, Claim { candidates: Candidates::Named(&["g", &long]), ..one }),
        (Error::CountIsZero, Claim { count: 0, ..one }),
        (Error::CountExceedsCandidates, Claim { count: 2, ..one }),
        (Error::CountExceedsCandidates, Claim { candidates: Candidates::Named(&[]), ..one }),
        (Error::ZeroAmount, Claim { take: Take::Amount { slots: 0, memory: 0 }, ..one }),
        (Error::ZeroTtl, Claim { ttl: 0, ..one }),
        (Error::TimeTooLarge, Claim { ttl: absurd, ..one }),
        (Error::TimeTooLarge, Claim { ttl: u64::MAX, ..one }),
        (Error::TimeTooLarge, Claim { wait: absurd, ..one }),
        (Error::TimeTooLarge, Claim { grace: absurd, ..one }),
        (
            Error::DuplicateCandidate,
            Claim { candidates: Candidates::Named(&["a", "b", "a"]), ..one },
        ),
        (Error::UnknownLease, Claim { parent: Some(LeaseId(77)), ..one }),
        (Error::Impossible, Claim { take: Take::Amount { slots: 2, memory: 0 }, ..one }),
        (Error::Impossible, Claim { take: Take::Amount { slots: 1, memory: 1 }, ..one }),
        (Error::Busy, one),
    ] {
        // The rules give claims with a bad parent one name for both.
        let error = if error == Error::UnknownLease { Error::ParentNotHeld } else { error };
        refused(&t, error, || t.claim(0, &claim));
    }
    // A name of exactly the longest length is fine, and is read back whole.
    t.claim(0, &Claim::one(&fits, &[&fits])).unwrap();
    assert_eq!(t.leases()[1].holder, fits);
    assert_eq!(t.resource("a"), None, "a refused claim leaves no resource behind");
}

#[test]
fn ids_that_nobody_gave_out() {
    let t = small(Limits::default());
    t.claim(0, &Claim::one("w", &["gpu0"])).unwrap();
    for id in [0, 1, 2, 1 << 40, u64::MAX] {
        refused(&t, Error::UnknownLease, || t.renew(0, LeaseId(id), None));
        refused(&t, Error::UnknownLease, || t.release(0, LeaseId(id)));
        refused(&t, Error::UnknownLease, || t.revoke(0, LeaseId(id), Reason::Operator, "", 0));
        refused(&t, Error::UnknownTicket, || t.cancel(0, TicketId(id)));
        assert_eq!(t.state(LeaseId(id), 0), None);
        assert_eq!(t.ticket(TicketId(id)), None);
        assert_eq!(t.place(TicketId(id)), None);
        assert_eq!(t.lease(LeaseId(id)), None);
    }
}

#[test]
fn resources() {
    let t = small(Limits::default());
    refused(&t, Error::EmptyName, || t.declare(0, "", 1, 0));
    refused(&t, Error::ZeroAmount, || t.declare(0, "gpu0", 0, 0));
    let gpu = t.declare(0, "gpu0", 4, 100).unwrap();
    t.claim(0, &Claim::one("w", &["gpu0"])).unwrap();
    refused(&t, Error::InUse, || t.declare(0, "gpu0", 8, 100));
    assert_eq!(t.declare(0, "gpu0", 4, 100), Ok(gpu), "the same size again is fine");
    let other = small(Limits::default());
    refused(&other, Error::UnknownResource, || other.set_health(0, gpu, Health::Failed));
    let claim = Claim { candidates: Candidates::Declared(&[gpu]), ..Claim::one("w", &[]) };
    refused(&other, Error::UnknownResource, || other.claim(0, &claim));
    refused(&t, Error::UnknownWant, || t.unwant(0, "w", "gpu0"));
    refused(&t, Error::UnknownWant, || t.unwant(0, "nobody", "nothing"));
}

#[test]
fn revocations_and_renewals() {
    let t = small(Limits::default());
    let Ok(Outcome::Granted(id)) = t.claim(0, &Claim::one("w", &["gpu0"])) else { panic!() };
    let long = "x".repeat(MAX_NAME + 1);
    let timed_out = Reason::TimedOut;
    refused(&t, Error::NotARevocation(timed_out), || t.revoke(0, id, timed_out, "", 0));
    refused(&t, Error::NotARevocation(Reason::Operator), || t.end(0, id, Reason::Operator));
    refused(&t, Error::NameTooLong, || t.revoke(0, id, Reason::Operator, &long, 0));
    refused(&t, Error::TimeTooLarge, || t.revoke(0, id, Reason::Operator, "", FOREVER + 1));
    refused(&t, Error::ZeroTtl, || t.renew(0, id, Some(0)));
    refused(&t, Error::TimeTooLarge, || t.renew(0, id, Some(FOREVER + 1)));
}

#[test]
fn time() {
    let t = small(Limits::default());
    let Ok(Outcome::Granted(id)) = t.claim(50, &Claim::one("w", &["gpu0"])) else { panic!() };
    refused(&t, Error::TimeBackwards, || t.advance(49));
    refused(&t, Error::TimeBackwards, || t.renew(49, id, None));
    refused(&t, Error::TimeBackwards, || t.release(0, id));
    refused(&t, Error::TimeTooLarge, || t.advance(FOREVER));
    refused(&t, Error::TimeTooLarge, || t.release(u64::MAX, id));
    assert_eq!(t.state(id, 50), Some(LeaseState::Held));
    t.advance(FOREVER - 1).unwrap();
    assert_eq!(t.state(id, FOREVER - 1), Some(LeaseState::Held));
}

#[test]
fn too_deep() {
    let t = small(Limits::default());
    let mut parent = None;
    for depth in 0..MAX_DEPTH {
        let name = format!("r{depth}");
        let names = [name.as_str()];
        let claim = Claim { parent, ..Claim::one("w", &names) };
        let Ok(Outcome::Granted(id)) = t.claim(0, &claim) else { panic!("depth {depth}") };
        parent = Some(id);
    }
    refused(&t, Error::TooDeep, || t.claim(0, &Claim { parent, ..Claim::one("w", &["more"]) }));
}

/// Every part of a table that can be full says which it is, and works again when there is room.
#[test]
fn full_tables() {
    let limits = Limits { leases: 3, tickets: 2, resources: 4, history: 2 };
    let t = small(limits);
    let mut held = Vec::new();
    for name in ["a", "b", "c"] {
        let Ok(Outcome::Granted(id)) = t.claim(0, &Claim::one(name, &[name])) else { panic!() };
        held.push(id);
    }
    refused(&t, Error::Full(Part::Leases), || t.claim(0, &Claim::one("d", &["d"])));
    t.declare(0, "d", 1, 0).unwrap();
    refused(&t, Error::Full(Part::Resources), || t.declare(0, "e", 1, 0));
    let wait = |holder| Claim { wait: FOREVER, ..Claim::one(holder, &["a"]) };
    let first = t.claim(0, &wait("x")).unwrap();
    t.claim(0, &wait("y")).unwrap();
    refused(&t, Error::Full(Part::Tickets), || t.claim(0, &wait("z")));
    t.release(1, held[0]).unwrap();
    let Outcome::Waiting(first) = first else { panic!() };
    assert!(matches!(t.ticket(first), Some(TicketState::Granted(_))));
    t.claim(1, &wait("z")).unwrap();
    t.verify().unwrap();
}

/// A ticket that a full table cannot serve is served when a lease ends anywhere.
#[test]
fn a_full_table_serves_later() {
    let t = small(Limits { leases: 2, tickets: 2, resources: 4, history: 2 });
    let sick = t.declare(0, "sick", 1, 0).unwrap();
    t.set_health(0, sick, Health::Draining).unwrap();
    let ticket = t.claim(0, &Claim { wait: FOREVER, ..Claim::one("a", &["sick"]) }).unwrap();
    let Outcome::Waiting(ticket) = ticket else { panic!() };
    let Ok(Outcome::Granted(b)) = t.claim(0, &Claim::one("b", &["b"])) else { panic!() };
    t.claim(0, &Claim::one("c", &["c"])).unwrap();
    t.set_health(1, sick, Health::Healthy).unwrap();
    assert_eq!(t.ticket(ticket), Some(TicketState::Waiting), "there is no room for its lease");
    t.verify().unwrap();
    t.release(2, b).unwrap();
    assert!(matches!(t.ticket(ticket), Some(TicketState::Granted(_))));
    t.verify().unwrap();
}

/// What is forgotten becomes unknown, oldest first, and never a wrong trit.
#[test]
fn forgetting() {
    let t = small(Limits { leases: 2, tickets: 2, resources: 4, history: 3 });
    let mut ids = Vec::new();
    for i in 0..50 {
        let Ok(Outcome::Granted(id)) = t.claim(i, &Claim::one("w", &["gpu0"])) else { panic!() };
        assert!(ids.last().is_none_or(|&last| id > last), "ids grow");
        t.release(i, id).unwrap();
        ids.push(id);
        let known = ids.iter().filter(|&&id| t.state(id, i).is_some()).count();
        assert!(known <= 4 && known >= ids.len().min(3));
        for id in ids.iter().rev().take(3) {
            assert_eq!(t.state(*id, i), Some(LeaseState::Expired));
        }
        t.verify().unwrap();
    }
}

#[test]
fn managers() {
    let real = LeaseManager::open("process:").unwrap();
    assert_eq!(real.acquire("g", "w", 5), Err(Error::WrongClock));
    assert_eq!(real.acquire("g", "w", Duration::ZERO), Err(Error::ZeroTtl));
    assert_eq!(real.acquire("g", "w", Duration::MAX), Err(Error::TimeTooLarge));
    let ticks = LeaseManager::with(Options::ticks());
    assert_eq!(ticks.acquire("g", "w", Duration::from_secs(1)), Err(Error::WrongClock));
    assert_eq!(ticks.claim("w").try_now(), Err(Error::CountExceedsCandidates));
    assert_eq!(ticks.claim("w").of(&["g"]).count(0).wait(), Err(Error::CountIsZero));
    assert_eq!(ticks.set_health("g", Health::Failed), Err(Error::UnknownResource));
    assert_eq!(real.acquire("g", "w", Span::Zero), Err(Error::ZeroTtl));
    assert_eq!(ticks.active_count() + real.active_count(), 0);
}
