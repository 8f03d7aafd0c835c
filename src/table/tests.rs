//! What users of a table do not see: what homes read of its tickets, and the guards that look at memory before something is given out by it.

use super::cell::{Cell, Cell32};
use super::layout::{Resource, flag};
use super::resource::Demand;
use super::*;
use crate::memory::{Arrays, new_table};

fn waiting(t: &Table<Arrays>, claim: Claim<'_>) -> TicketId {
    match t.claim(t.now(), &claim) {
        Ok(Outcome::Waiting(id)) => id,
        other => panic!("{other:?}"),
    }
}

/// Calls `look` with each bit of the cell wrong.
fn each_wrong_bit(cell: &Cell32, look: impl Fn(u32)) {
    let right = cell.get();
    for bit in 0..32 {
        cell.put(right ^ 1 << bit);
        look(bit);
    }
    cell.put(right);
}

#[test]
fn homes_see_whose_a_ticket_is_until_when_it_waits_and_whether_it_is_decided() {
    let t = new_table(Settings::default());
    t.claim(0, &Claim::one("a", &["x"])).unwrap();
    let [short, long] = [(7, 10), (8, 20)]
        .map(|(owner, wait)| waiting(&t, Claim { owner, wait, ..Claim::one("b", &["x"]) }));
    assert_eq!([short, long].map(|id| t.owner_of_place(t.place_of(id))), [7, 8]);
    assert_eq!([short, long, TicketId(77)].map(|id| t.owner_of_claim(id)), [7, 8, 0]);
    assert_eq!(wait_end(t.memory(), short), Some(10));
    assert_eq!(wait_end(t.memory(), long), Some(20));
    assert_eq!(wait_end(t.memory(), TicketId(short.0 + t.index_mask + 1)), None);
    assert!(!t.is_decided(t.place_of(short)));
    t.advance(10).unwrap();
    assert!(t.is_decided(t.place_of(short)));
    assert!(!t.is_decided(t.place_of(long)));
}

#[test]
fn a_ticket_that_asks_for_something_else_than_its_claim_is_seen() {
    let t = new_table(Settings::default());
    let x = t.declare(0, "x", u32::MAX, u32::MAX).unwrap();
    t.set_health(0, x, Health::Draining).unwrap();
    let all = Take::Amount { slots: u32::MAX, memory: u32::MAX };
    for (take, together) in
        [(all, false), (Take::ONE_SLOT, true), (Take::Exclusive, true), (Take::Shared, false)]
    {
        let claim = Claim { take, together, wait: FOREVER, ..Claim::one("b", &["x"]) };
        let ticket = t.ticket_index(waiting(&t, claim).0);
        let record = t.ticket_record(ticket);
        assert!(t.is_as_asked(ticket));
        for cell in [&record.count, &record.slots, &record.memory, &record.line] {
            each_wrong_bit(cell, |bit| assert!(!t.is_as_asked(ticket), "bit {bit} of {take:?}"));
        }
        each_wrong_bit(&record.flags, |bit| {
            let how = flag::EXCLUSIVE | flag::SHARED | flag::TOGETHER;
            // The others say nothing of that, and some change while it waits.
            assert_eq!(t.is_as_asked(ticket), how & 1 << bit == 0, "flag {bit} of {take:?}");
        });
        assert!(t.is_as_asked(ticket));
    }
    let wiped = t.last_ticket_record() + 1;
    assert!(!t.is_as_asked(wiped));
}

/// The record of a resource of this name, and whether it seems sound to who asks for one slot, and for a share.
fn seen<'a>(t: &'a Table<Arrays>, name: &str) -> (&'a Resource, impl Fn() -> (bool, bool)) {
    let index = t.resource_id(name).unwrap().0;
    let record = t.resource_record(index);
    let sound = move |take| t.is_sound(index, record, &Demand::new(take));
    (record, move || (sound(Take::ONE_SLOT), sound(Take::Shared)))
}

const SOUND: (bool, bool) = (true, true);
const NOT: (bool, bool) = (false, false);

#[test]
fn a_resource_of_another_size_is_seen() {
    let t = new_table(Settings::default());
    t.declare(0, "x", 3, 50).unwrap();
    let (record, sound) = seen(&t, "x");
    for _ in 0..2 {
        assert_eq!(sound(), SOUND);
        for cell in [&record.slots, &record.memory, &record.size_mark] {
            each_wrong_bit(cell, |bit| assert_eq!(sound(), NOT, "bit {bit}"));
        }
        // Once more with somebody on it.
        t.claim(0, &Claim::one("a", &["x"])).unwrap();
    }
    let wiped = t.last_resource_record() + 1;
    let demand = Demand::new(Take::ONE_SLOT);
    assert!(!t.is_sound(wiped, t.resource_record(wiped), &demand));
}

#[test]
fn a_resource_of_which_something_else_is_taken_than_its_leases_take_is_seen() {
    let t = new_table(Settings::default());
    t.declare(0, "x", 30, 50).unwrap();
    let (record, sound) = seen(&t, "x");
    let amounts = [&record.used_slots, &record.used_memory, &record.shared];
    for cell in amounts {
        each_wrong_bit(cell, |bit| assert_eq!(sound(), NOT, "bit {bit}, of nothing"));
    }
    let take = Take::Amount { slots: 1, memory: 2 };
    let claim = Claim { take, ..Claim::one("a", &["x"]) };
    for _ in 0..2 {
        t.claim(0, &claim).unwrap();
        assert_eq!(sound(), SOUND);
        for cell in amounts {
            each_wrong_bit(cell, |bit| assert!(!sound().0, "bit {bit}"));
        }
    }
    let hold = t.hold_record(record.holds.get());
    each_wrong_bit(&hold.resource, |bit| assert_eq!(sound(), NOT, "bit {bit}"));
    assert_eq!(sound(), SOUND);
}

/// Only some of many leases are asked, the youngest.
#[test]
fn of_many_leases_those_that_are_asked_take_no_more_than_all_do() {
    let t = new_table(Settings::default());
    for (name, old) in [("x", (1, 1)), ("y", (0, 1)), ("z", (1, 0))] {
        t.declare(0, name, 30, 30).unwrap();
        let (record, sound) = seen(&t, name);
        for nth in 0..12 {
            let (slots, memory) = if nth < 4 { old } else { (1, 1) };
            let take = Take::Amount { slots, memory };
            t.claim(0, &Claim { take, ..Claim::one("a", &[name]) }).unwrap();
            assert_eq!(sound(), SOUND, "{name} {nth}");
        }
        for cell in [&record.used_slots, &record.used_memory] {
            let right = cell.get();
            for wrong in [0, 7] {
                cell.put(wrong);
                assert!(!sound().0, "{name} {wrong}");
            }
            cell.put(0);
            assert_eq!(sound(), NOT, "{name}");
            cell.put(right);
        }
    }
}

#[test]
fn shared_leases_are_among_themselves() {
    let t = new_table(Settings::default());
    t.declare(0, "x", 3, 3).unwrap();
    let (record, sound) = seen(&t, "x");
    for _ in 0..12 {
        t.claim(0, &Claim { take: Take::Shared, ..Claim::one("a", &["x"]) }).unwrap();
        assert_eq!(sound(), SOUND);
    }
    record.shared.put(0);
    assert_eq!(sound(), NOT);
}

#[test]
fn who_revoked_is_forgotten_with_what_was_revoked() {
    let names_left = |by| {
        let limits = Limits { history: 1, ..Limits::default() };
        let t = new_table(Settings { limits, ..Settings::default() });
        let ended = [(Reason::Operator, by), (Reason::Shutdown, "")].map(|(reason, by)| {
            let Ok(Outcome::Granted(lease)) = t.claim(0, &Claim::one("a", &["x"])) else {
                panic!("it is free")
            };
            t.revoke(0, lease, reason, by, 0).unwrap();
            lease
        });
        assert_eq!(ended.map(|lease| t.lease(lease).is_some()), [false, true]);
        t.header().names.live.get()
    };
    assert_eq!(names_left("somebody"), names_left(""));
}

#[test]
fn neighbours_that_ask_for_different_things_and_shared_candidates_are_counted() {
    let t = new_table(Settings::default());
    for name in ["x", "y"] {
        let id = t.declare(0, name, 9, 9).unwrap();
        t.set_health(0, id, Health::Draining).unwrap();
    }
    let crossings = || t.header().crossings.get();
    let one = Take::Amount { slots: 1, memory: 1 };
    let usual = Claim { take: one, wait: FOREVER, ..Claim::one("a", &["x", "y"]) };
    let first = waiting(&t, usual);
    // Nothing of this is an ask.
    waiting(&t, Claim { holder: "b", owner: 7, ttl: 5, wait: 5, spare: true, ..usual });
    waiting(&t, Claim { preempt: true, preemptible: true, grace: 5, ..usual });
    assert_eq!(crossings(), 0);
    for other in [
        Claim { take: Take::Amount { slots: 2, memory: 1 }, ..usual },
        Claim { take: Take::Amount { slots: 1, memory: 2 }, ..usual },
        Claim { count: 2, ..usual },
        Claim { take: Take::Exclusive, ..usual },
        Claim { take: Take::Shared, ..usual },
    ] {
        // At the end of those that are not spare, before them, and once more.
        let last = waiting(&t, other);
        assert_eq!(crossings(), 2, "{other:?}");
        let before = waiting(&t, Claim { priority: 1, ..other });
        assert_eq!(crossings(), 3, "{other:?}");
        let same = waiting(&t, other);
        assert_eq!(crossings(), 3, "{other:?}");
        for (ticket, left) in [(last, 3), (before, 2), (same, 0)] {
            t.cancel(0, ticket).unwrap();
            assert_eq!(crossings(), left, "{other:?}");
        }
    }
    let kinds = [(Take::Exclusive, false), (Take::Shared, false), (one, true)];
    let kinds = kinds.map(|(take, together)| Claim { take, together, count: 1, ..usual });
    let tickets = kinds.map(|claim| t.ticket_index(waiting(&t, claim).0));
    for (nth, ticket) in tickets.into_iter().enumerate() {
        for (other, of) in tickets.into_iter().enumerate() {
            assert_eq!(t.asks_differ(ticket, of), nth != other, "{nth} {other}");
        }
        assert!(t.asks_differ(ticket, t.ticket_index(first.0)), "{nth}");
    }
    let t = new_table(Settings::default());
    let crossings = || t.header().crossings.get();
    for name in ["x", "y", "z"] {
        t.claim(0, &Claim::one("a", &[name])).unwrap();
    }
    let mut tickets = Vec::new();
    for (names, expected) in
        [(&["x", "y"][..], 0), (&["z"], 0), (&["y", "x"], 2), (&["z", "y"], 4), (&["x", "y"], 4)]
    {
        tickets.push(waiting(&t, Claim { wait: FOREVER, ..Claim::one("b", names) }));
        assert_eq!(crossings(), expected, "{names:?}");
    }
    for (ticket, expected) in tickets.into_iter().zip([4, 3, 1, 0, 0]) {
        t.cancel(0, ticket).unwrap();
        assert_eq!(crossings(), expected);
    }
}
