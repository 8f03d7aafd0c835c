//! Owners that are gone, what is told of them and of what they were not told, and victims of deadlocks: who they are, and what they keep. Each by an example.

mod common;

use common::{hold, lease_of, patient, table, waiting};
use ternlease::memory::{Arrays, new_table};
use ternlease::table::*;

fn events(t: &Table<Arrays>) -> Vec<What> {
    let mut events = Vec::new();
    assert_eq!(t.events_since(0, &mut events), 0);
    events.into_iter().map(|event| event.what).collect()
}

#[test]
fn history_tells_who_died_and_whose_change_was_undone() {
    let t = table();
    t.record_death(0, 77, Reaped { leases: 3, tickets: 4 });
    t.record_roll_back(0, 78);
    let told =
        [What::Died { process: 77, leases: 3, tickets: 4 }, What::RolledBack { process: 78 }];
    assert_eq!(events(&t), told);
}

/// The tickets of a table of which one waits and the others are decided: granted or refused, told of or not.
fn some_decided(t: &Table<Arrays>) -> [TicketId; 5] {
    let first = hold(t, "h", "x");
    let wait = |owner| waiting(t.claim(0, &Claim { owner, ..patient("w", &["x"]) }));
    let [collected, untold, waits] = [8, 7, 7].map(wait);
    t.release(0, first).unwrap();
    assert!(t.collect(collected));
    t.release(0, lease_of(t, collected)).unwrap();
    assert_eq!(t.ticket(untold).map(|state| state != TicketState::Waiting), Some(true));
    let brief = |owner| waiting(t.claim(0, &Claim { owner, wait: 5, ..patient("w", &["x"]) }));
    let [refused, other] = [7, 8].map(brief);
    t.advance(5).unwrap();
    [collected, untold, waits, refused, other]
}

fn untold(t: &Table<Arrays>) -> Vec<usize> {
    let mut places = Vec::new();
    t.each_untold(|place| places.push(place));
    places
}

#[test]
fn those_that_nobody_was_told_of_are_found() {
    let t = table();
    let [_, granted, _, refused, other] = some_decided(&t);
    assert_eq!(untold(&t), [granted, refused, other].map(|ticket| t.place_of(ticket)));
    assert!(t.collect(granted));
    assert_eq!(untold(&t), [refused, other].map(|ticket| t.place_of(ticket)));
}

#[test]
fn nobody_is_to_be_told_for_an_owner_that_is_gone() {
    let t = table();
    let [.., other] = some_decided(&t);
    assert_eq!(t.reap(5, 7, Reason::HolderDied), Ok(Reaped { leases: 1, tickets: 1 }));
    assert_eq!(untold(&t), [t.place_of(other)]);
    t.verify().unwrap();
}

#[test]
fn whoever_waits_for_somebody_in_a_deadlock_is_stuck_with_them() {
    let t = table();
    hold(&t, "a", "x");
    hold(&t, "b", "y");
    for (holder, name) in [("a", "y"), ("b", "x"), ("c", "y"), ("d", "x")] {
        waiting(t.claim(0, &patient(holder, &[name])));
    }
    let deadlocks = t.find_deadlocks(0).unwrap();
    assert_eq!(deadlocks.len(), 1);
    assert_eq!(deadlocks[0].stuck, ["a", "b", "c", "d"]);
}

/// Two deadlocks that arise at once, because "w", for whom all the others could wait instead, waits for the first pair. Who was
/// revoked for them, in this order. `pairs`: which one's leases are granted first.
fn victims(pairs: [usize; 2]) -> Vec<String> {
    const WORKERS: [[&str; 2]; 2] = [["a1", "b1"], ["a2", "b2"]];
    let t = new_table(Settings { deadlocks: DeadlockPolicy::Break, ..Settings::default() });
    // So that they are known in an order that has nothing to do with the ages of their leases.
    for worker in WORKERS.as_flattened() {
        hold(&t, worker, &format!("of {worker}"));
    }
    hold(&t, "w", "w");
    for worker in pairs.iter().flat_map(|&pair| WORKERS[pair]) {
        hold(&t, worker, worker);
    }
    for [a, b] in WORKERS {
        waiting(t.claim(0, &patient(a, &[b, "w"])));
        waiting(t.claim(0, &patient(b, &[a])));
    }
    assert_eq!(t.count(Reason::DeadlockVictim), 0);
    waiting(t.claim(0, &patient("w", &["a1"])));
    t.verify().unwrap();
    let ended = events(&t).into_iter().filter_map(|what| match what {
        What::Ended { lease, reason: Reason::DeadlockVictim, .. } => Some(t.lease(lease)?.holder),
        _ => None,
    });
    ended.collect()
}

#[test]
fn of_several_deadlocks_the_one_with_the_youngest_victim_is_broken_first() {
    assert_eq!(victims([0, 1]), ["b2", "b1"]);
    // "a1" goes on then, and so does "w".
    assert_eq!(victims([1, 0]), ["b1"]);
}

#[test]
fn a_victim_of_several_keeps_the_lowest_age() {
    for order in [[0, 1], [1, 0]] {
        let t = table();
        let older = hold(&t, "v", "x");
        let taken = hold(&t, "k", "z");
        let rival = waiting(t.claim(0, &patient("rival", &["z"])));
        let younger = hold(&t, "v", "y");
        for lease in order.map(|nth| [older, younger][nth]) {
            t.revoke(0, lease, Reason::DeadlockVictim, "", 0).unwrap();
        }
        let back = waiting(t.claim(0, &patient("v", &["z"])));
        let line: Vec<TicketId> = t.tickets().into_iter().map(|ticket| ticket.id).collect();
        assert_eq!(line, [back, rival]);
        t.release(0, taken).unwrap();
        assert_eq!(t.lease(lease_of(&t, back)).unwrap().holder, "v");
    }
}
