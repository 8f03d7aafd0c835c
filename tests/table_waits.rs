//! Waiting: inherited priorities, tickets and what is remembered of them, the ends of waits and leases in their order.

mod common;

use common::{granted, hold, lease_of, patient, table, wait, waiting};
use ternlease::memory::{Arrays, new_table};
use ternlease::table::*;

fn small(tickets: u32, history: u32) -> Table<Arrays> {
    let limits = Limits { leases: 64, tickets, resources: 16, history };
    new_table(Settings { limits, ..Settings::default() })
}

fn events_since(t: &Table<Arrays>, cursor: u64) -> Vec<(Time, What)> {
    let mut events = Vec::new();
    assert_eq!(t.events_since(cursor, &mut events), 0);
    events.into_iter().map(|event| (event.at, event.what)).collect()
}

// Priorities

fn priority_of(t: &Table<Arrays>, ticket: TicketId) -> i16 {
    t.waiting_ticket(ticket).unwrap().priority
}

#[test]
fn an_inherited_priority_goes_with_what_it_was_inherited_for() {
    let t = table();
    let a = hold(&t, "low", "a");
    hold(&t, "other", "b");
    let low = wait(&t, "low", &["b"]);
    let high = waiting(t.claim(0, &Claim { priority: 9, ..patient("high", &["a"]) }));
    assert_eq!(priority_of(&t, low), 9);
    // "low" waits and holds nothing any more.
    t.release(0, a).unwrap();
    lease_of(&t, high);
    assert_eq!(priority_of(&t, low), 0);
}

#[test]
fn a_priority_that_is_inherited_from_the_first_goes_again_too() {
    let t = table();
    let a = hold(&t, "low", "a");
    hold(&t, "other", "b");
    waiting(t.claim(0, &Claim { priority: 9, ..patient("high", &["a"]) }));
    let withdrawn = wait(&t, "low", &["b"]);
    assert_eq!(priority_of(&t, withdrawn), 9);
    t.cancel(0, withdrawn).unwrap();
    let low = wait(&t, "low", &["b"]);
    assert_eq!(priority_of(&t, low), 9);
    t.release(0, a).unwrap();
    assert_eq!(priority_of(&t, low), 0);
}

// What is remembered of tickets

/// A ticket that was granted the moment it was made, more or less, and that nobody was told of.
fn decided(t: &Table<Arrays>, holder: &str) -> TicketId {
    let first = hold(t, holder, "r");
    let ticket = wait(t, holder, &["r"]);
    t.release(0, first).unwrap();
    t.release(0, lease_of(t, ticket)).unwrap();
    t.verify().unwrap();
    ticket
}

#[test]
fn a_decided_ticket_is_remembered_until_as_many_newer_ones_are_decided() {
    let t = small(4, 2);
    let known = |ticket| t.ticket(ticket).is_some();
    let [a, b] = ["a", "b"].map(|holder| {
        let ticket = decided(&t, holder);
        t.collect(ticket);
        ticket
    });
    assert!(known(a) && known(b));
    let c = decided(&t, "c");
    assert!(!known(a) && known(b) && known(c));
    let d = decided(&t, "d");
    assert!(!known(b) && known(c) && known(d));
    // Nobody has collected c: whatever comes, it is remembered, and so is what came after it as long as there is room.
    t.collect(d);
    let e = decided(&t, "e");
    assert!(known(c) && known(d) && known(e));
}

#[test]
fn tickets_that_nobody_was_told_of_keep_their_places() {
    let t = small(2, 1);
    let tickets = ["a", "b", "c", "d"].map(|holder| decided(&t, holder));
    hold(&t, "e", "r");
    assert_eq!(t.claim(0, &patient("f", &["r"])), Err(Error::Full(Part::Tickets)));
    for ticket in tickets {
        assert!(matches!(t.ticket(ticket), Some(TicketState::Granted(_))));
    }
    t.collect(tickets[2]);
    wait(&t, "f", &["r"]);
    assert_eq!(tickets.map(|ticket| t.ticket(ticket).is_some()), [true, true, false, true]);
    assert_eq!(t.claim(0, &patient("g", &["r"])), Err(Error::Full(Part::Tickets)));
    t.verify().unwrap();
}

#[test]
fn what_a_dead_owner_was_not_told_can_be_forgotten() {
    let t = table();
    let untold = || {
        let mut places = Vec::new();
        t.each_untold(|place| places.push(place));
        places
    };
    let first = hold(&t, "a", "r");
    let of = |owner| waiting(t.claim(0, &Claim { owner, ..patient("b", &["r"]) }));
    let (dead, alive) = (of(7), of(8));
    assert_eq!(untold(), []);
    t.release(0, first).unwrap();
    t.release(0, lease_of(&t, dead)).unwrap();
    assert_eq!(untold(), [dead, alive].map(|ticket| t.place_of(ticket)));
    t.reap(0, 7, Reason::HolderDied).unwrap();
    assert_eq!(untold(), [t.place_of(alive)]);
    let lease = lease_of(&t, alive);
    assert_eq!(t.cancel(0, alive), Ok(Cancelled::WasGranted(lease)));
    t.reap(0, 8, Reason::HolderDied).unwrap();
    assert_eq!(t.ticket(alive), Some(TicketState::Refused(Reason::Cancelled)), "still withdrawn");
}

#[test]
fn a_home_is_told_which_tickets_were_decided() {
    let t = table();
    let told = || {
        let mut places = Vec::new();
        t.take_decided(|place| places.push(place));
        places
    };
    let first = hold(&t, "a", "r");
    let tickets = ["b", "c"].map(|holder| wait(&t, holder, &["r"]));
    assert!(!t.any_decided());
    assert_ne!(t.place_of(tickets[0]), t.place_of(tickets[1]));
    t.cancel(0, tickets[1]).unwrap();
    t.release(0, first).unwrap();
    assert!(t.any_decided());
    assert_eq!(told(), [tickets[1], tickets[0]].map(|ticket| t.place_of(ticket)));
    assert!(!t.any_decided());
    assert_eq!(told(), []);
}

#[test]
fn a_lease_is_told_of_or_withdrawn_and_never_both() {
    let t = table();
    let held = hold(&t, "a", "r");
    let told = wait(&t, "b", &["r"]);
    assert!(t.collect(told), "there is nothing to tell yet");
    let withdrawn = wait(&t, "c", &["r"]);
    t.release(0, held).unwrap();
    let lease = lease_of(&t, told);
    assert!(t.collect(told));
    assert_eq!(t.cancel(0, told), Ok(Cancelled::WasCollected(lease)));
    t.release(0, lease).unwrap();

    assert!(t.collect(TicketId(12345)), "nobody knows of a withdrawal");
    let lease = lease_of(&t, withdrawn);
    assert_eq!(t.cancel(0, withdrawn), Ok(Cancelled::WasGranted(lease)));
    assert!(!t.collect(withdrawn));
    assert!(!t.collect(withdrawn), "however often it is asked");
    let refused = Reason::Cancelled;
    assert_eq!(t.ticket(withdrawn), Some(TicketState::Refused(refused)));
    assert_eq!(t.cancel(0, withdrawn), Ok(Cancelled::WasRefused(refused)));
}

#[test]
fn who_looks_for_a_decision_too_early_has_not_been_told() {
    let t = table();
    let held = hold(&t, "a", "r");
    let ticket = wait(&t, "b", &["r"]);
    assert!(t.collect(ticket));
    t.release(0, held).unwrap();
    assert_eq!(t.cancel(0, ticket), Ok(Cancelled::WasGranted(t.held_by("b")[0])));
}

#[test]
fn all_that_were_to_hang_on_a_lease_are_refused_with_its_end() {
    let t = table();
    let parent = hold(&t, "p", "root");
    hold(&t, "free", "r");
    let below = Claim { parent: Some(parent), ..patient("p", &["r"]) };
    let tickets = [0, 1, 2, 3].map(|nth| match nth {
        2 => wait(&t, "q", &["r"]),
        _ => waiting(t.claim(0, &below)),
    });
    let before = t.last_event();
    t.release(5, parent).unwrap();
    let refused = |ticket| (5, What::Refused { ticket, reason: Reason::ParentEnded, waited: 5 });
    assert_eq!(events_since(&t, before)[1..], [tickets[0], tickets[1], tickets[3]].map(refused));
    assert_eq!(t.ticket(tickets[2]), Some(TicketState::Waiting));
    t.verify().unwrap();
}

// Time

#[test]
fn a_renewed_lease_ends_at_its_new_end_and_in_its_turn() {
    let t = table();
    let [renewed, other] = [("x", 10), ("y", 15)].map(|(name, ttl)| {
        let names = [name];
        granted(t.claim(0, &Claim { ttl, ..Claim::one("a", &names) }))
    });
    assert_eq!(renew_quickly(t.memory(), renewed, 2), Some(12));
    assert_eq!(t.renew(8, renewed, None), Ok(18));
    let before = t.last_event();
    t.advance(30).unwrap();
    let ended = |lease, held| {
        let reason = Reason::TimedOut;
        (held, What::Ended { lease, reason, held, acknowledged: false })
    };
    assert_eq!(events_since(&t, before), [ended(other, 15), ended(renewed, 18)]);
}

#[test]
fn the_smallest_table_has_room_for_the_end_of_all_that_it_has_room_for() {
    let t = new_table(Settings {
        limits: Limits { leases: 4, tickets: 4, resources: 4, history: 1 },
        ..Settings::default()
    });
    for round in 0..20 {
        let now = round * 100;
        for (resource, ttl) in [("a", 40), ("b", 30), ("c", 20), ("d", 10)] {
            let names = [resource];
            granted(t.claim(now, &Claim { ttl, ..Claim::one("w", &names) }));
        }
        let tickets = [8, 9, 7, 6].map(|wait| {
            waiting(t.claim(now, &Claim { count: 4, wait, ..patient("x", &["a", "b", "c", "d"]) }))
        });
        for (later, held) in [(5, 4), (10, 3), (20, 2), (30, 1), (40, 0)] {
            t.advance(now + later).unwrap();
            t.verify().unwrap();
            assert_eq!(t.held(), held);
        }
        for ticket in tickets {
            assert_eq!(t.ticket(ticket), Some(TicketState::Refused(Reason::WaitTimedOut)));
            t.collect(ticket);
        }
    }
}

/// More of them than are kept apart while they are young.
#[test]
fn many_ends_come_in_order_however_they_were_moved() {
    const MANY: u64 = 300;
    let t = new_table(Settings {
        limits: Limits { leases: 400, tickets: 400, resources: 400, history: 2048 },
        ..Settings::default()
    });
    hold(&t, "nobody", "taken");
    granted(t.claim(0, &Claim { ttl: 1, ..Claim::one("first", &["first"]) }));
    // No two the same, in no order.
    let scattered = |nth: u64| 1000 + nth * 7919 % 1009;
    let mut ends = Vec::new();
    for nth in 0..MANY {
        let (name, ttl) = (format!("r{nth}"), scattered(nth));
        if nth % 3 == 0 {
            let claim = Claim { wait: ttl, ..Claim::one("w", &["taken"]) };
            ends.push((ttl, 1, waiting(t.claim(0, &claim)).0));
        } else {
            let names = [&*name];
            ends.push((ttl, 0, granted(t.claim(0, &Claim { ttl, ..Claim::one("w", &names) })).0));
        }
    }
    // All are old from here on.
    t.advance(1).unwrap();
    t.verify().unwrap();
    let mut left = Vec::new();
    for (nth, (end, kind, id)) in ends.into_iter().enumerate() {
        match (nth % 7, kind) {
            (0, 0) => t.release(1, LeaseId(id)).unwrap(),
            (0, _) => assert_eq!(t.cancel(1, TicketId(id)), Ok(Cancelled::Left)),
            (1 | 2, 0) => {
                let notice = 10 + nth as u64 * 3 % 1000;
                let told = t.revoke(1, LeaseId(id), Reason::Operator, "", notice);
                assert_eq!(told, Ok(Revoked::Notified(1 + notice)));
                left.push((end.min(1 + notice), 0, id));
            }
            _ => left.push((end, kind, id)),
        }
        t.verify().unwrap();
    }
    left.sort_unstable();
    let before = t.last_event();
    for now in [500, 1000, 1500, 3000] {
        t.advance(now).unwrap();
        t.verify().unwrap();
    }
    let seen: Vec<_> = events_since(&t, before)
        .into_iter()
        .map(|(at, what)| match what {
            What::Ended { lease, .. } => (at, 0, lease.0),
            What::Refused { ticket, reason: Reason::WaitTimedOut, .. } => (at, 1, ticket.0),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(seen, left);
}
