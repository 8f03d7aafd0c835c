//! Tables that are small: how much of everything fits to the last record, that records are used again, and that names stay apart.

mod common;
#[path = "common/memory.rs"]
mod memory;

use common::{granted, waiting};
use memory::shared_tables;
use ternlease::memory::{Arrays, new_table};
use ternlease::table::*;

fn small(limits: Limits) -> Table<Arrays> {
    new_table(Settings { limits, ..Settings::default() })
}

/// So many names, each of so many bytes.
fn names(count: usize, kind: &str, len: usize) -> Vec<String> {
    (0..count).map(|nth| format!("{kind}{nth:0>width$}", width = len - kind.len())).collect()
}

fn as_words(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

/// Processes share a table's file if they find its parts in the same places. So these numbers change only together with the version of the file.
#[test]
fn what_a_table_consists_of_follows_from_its_limits_for_ever() {
    let limits = Limits { leases: 7, tickets: 100, resources: 31, history: 11 };
    let sizes = Sizes {
        leases: 20,
        holds: 111,
        tickets: 113,
        lines: 101,
        members: 449,
        resources: 32,
        holders: 161,
        names: 211,
        buckets: 64,
        wants: 132,
        timers: 199,
        events: 16,
        owners: 1025,
    };
    assert_eq!(limits.sizes(), sizes);
    assert_eq!((sizes.id_bits(), sizes.index_mask()), (7, 127));
    let none = Limits { leases: 0, tickets: 0, resources: 0, history: 0 };
    let one = Limits { leases: 1, tickets: 1, resources: 1, history: 1 };
    assert_eq!(none.sizes(), one.sizes());
    assert_eq!(Limits { leases: u32::MAX, ..none }.clamped().leases, 1 << 24);
}

/// Twenty resources, of which two leases may hold 39 together: there are 4 * (2 + 1 + 2) + 20 records, and the first is never used.
const FEW_HOLDS: Limits = Limits { leases: 2, tickets: 1, resources: 20, history: 1 };

#[test]
fn what_leases_hold_fits_to_the_last_one_and_not_beyond() {
    let t = small(FEW_HOLDS);
    let names = names(20, "r", 4);
    let all = as_words(&names);
    let share = |holder, count: usize| Claim {
        count: count as u32,
        take: Take::Shared,
        ..Claim::one(holder, &all[..count])
    };
    granted(t.claim(0, &share("a", 20)));
    assert_eq!(t.claim(0, &share("b", 20)), Err(Error::Full(Part::Holds)));
    t.verify().unwrap();
    granted(t.claim(0, &share("b", 19)));
    t.verify().unwrap();
}

#[test]
fn an_ended_lease_is_forgotten_to_make_room_for_what_another_holds() {
    let t = small(FEW_HOLDS);
    let names = names(20, "r", 4);
    let all = as_words(&names);
    let share = |count: usize| Claim {
        count: count as u32,
        take: Take::Shared,
        ..Claim::one("a", &all[..count])
    };
    let ended = granted(t.claim(0, &share(19)));
    let held = granted(t.claim(0, &share(20)));
    t.release(0, ended).unwrap();
    assert_eq!(t.claim(0, &share(20)), Err(Error::Full(Part::Holds)));
    assert_eq!(t.state(ended, 0), Some(LeaseState::Expired), "that would not have helped");
    let other = granted(t.claim(0, &share(19)));
    assert_eq!(t.state(ended, 0), None);
    assert_eq!([held, other].map(|id| t.lease(id).unwrap().takes.len()), [20, 19]);
    t.verify().unwrap();
}

#[test]
fn only_as_many_ended_leases_are_forgotten_as_need_be() {
    // 4 * (1 + 3 + 2) + 40 records.
    let t = small(Limits { leases: 1, tickets: 1, resources: 40, history: 3 });
    let names = names(40, "r", 4);
    let all = as_words(&names);
    let take = |count: usize| {
        let claim = Claim { count: count as u32, ..Claim::one("a", &all[..count]) };
        let id = granted(t.claim(0, &claim));
        t.verify().unwrap();
        id
    };
    let ended = [1, 30, 30].map(|count| {
        let id = take(count);
        t.release(0, id).unwrap();
        id
    });
    let known = || ended.map(|id| t.state(id, 0).is_some());
    let id = take(2);
    assert_eq!(known(), [true, true, true]);
    t.release(0, id).unwrap();
    assert_eq!(known(), [false, true, true], "one too many is remembered");
    take(31);
    assert_eq!(known(), [false, false, true]);
}

#[test]
fn each_waiting_claim_may_have_a_line_of_its_own() {
    let limits = Limits { leases: 1, tickets: 5, resources: 6, history: 1 };
    let t = small(limits);
    let names = names(6, "r", 4);
    let all = as_words(&names);
    granted(t.claim(0, &Claim { count: 6, ..Claim::one("a", &all) }));
    for _ in 0..3 {
        let tickets = [0, 1, 2, 3, 4].map(|nth| {
            waiting(t.claim(0, &Claim { wait: FOREVER, ..Claim::one("b", &all[nth..nth + 1]) }))
        });
        t.verify().unwrap();
        for ticket in tickets {
            assert_eq!(t.cancel(0, ticket), Ok(Cancelled::Left));
        }
        t.verify().unwrap();
    }
}

#[test]
fn candidates_of_waiting_claims_fit_to_the_last_one_and_not_beyond() {
    // 2 * 30 + 8 * 4 candidates: 23 times 4.
    let t = small(Limits { leases: 1, tickets: 30, resources: 4, history: 1 });
    granted(t.claim(0, &Claim { count: 4, ..Claim::one("a", &permuted(0)) }));
    // Another order is another line.
    let wait = |nth: usize| t.claim(0, &Claim { wait: FOREVER, ..Claim::one("b", &permuted(nth)) });
    for _ in 0..3 {
        let mut tickets: Vec<TicketId> = (0..23).map(|nth| waiting(wait(nth))).collect();
        assert_eq!(wait(23), Err(Error::Full(Part::Candidates)));
        tickets.push(waiting(wait(5)));
        t.verify().unwrap();
        for ticket in tickets {
            assert_eq!(t.cancel(0, ticket), Ok(Cancelled::Left));
        }
        t.verify().unwrap();
    }
}

/// One of the 24 orders of four names.
fn permuted(nth: usize) -> [&'static str; 4] {
    let mut left = vec!["w", "x", "y", "z"];
    [nth / 6, nth / 2 % 3, nth % 2, 0].map(|at| left.remove(at))
}

#[test]
fn wants_fit_to_the_last_one_and_not_beyond() {
    let limits = Limits { leases: 1, tickets: 3, resources: 4, history: 1 };
    let t = small(limits);
    for _ in 0..3 {
        let pairs =
            [("a", "w"), ("a", "x"), ("a", "y"), ("a", "z"), ("b", "w"), ("b", "x"), ("b", "y")];
        for (holder, resource) in pairs {
            t.want(0, holder, resource).unwrap();
        }
        assert_eq!(t.want(0, "b", "z"), Err(Error::Full(Part::Wants)));
        t.verify().unwrap();
        for (holder, resource) in pairs {
            t.unwant(0, holder, resource).unwrap();
        }
        t.verify().unwrap();
        assert_eq!(t.resource("w"), None);
    }
}

#[test]
fn long_names_fit_to_the_last_piece_and_not_beyond() {
    // 3 + 2 * 1 + 8 + 1 holders, 8 resources, 2 + 1 revokers: pieces of 32 bytes.
    let t = small(Limits { leases: 2, tickets: 1, resources: 8, history: 1 });
    for round in 0..3 {
        // 3 * 8 pieces, and one more.
        let long = names(3, &round.to_string(), 255);
        for name in &long {
            t.want(0, "a", name).unwrap();
        }
        t.verify().unwrap();
        assert_eq!(t.want(0, "b", "another"), Err(Error::Full(Part::Names)));
        assert_eq!(t.claim(0, &Claim::one("b", &["another"])), Err(Error::Full(Part::Names)));
        assert_eq!(t.declare(0, "another", 1, 0), Err(Error::Full(Part::Names)));
        t.verify().unwrap();
        assert_eq!(t.resource("another"), None);
        for name in &long {
            t.unwant(0, "a", name).unwrap();
        }
        t.verify().unwrap();
    }
}

/// These have the same hash, and so stand in the same chain; some begin with the same bytes, too.
#[test]
fn names_that_look_alike_stay_apart() {
    let alike = [
        ["gpu100449", "gpu116695"],
        ["gpu62549", "gpu119846"],
        ["training-job-1040080", "training-job-1080060"],
        [
            "a name that is longer than thirty-two bytes 1018490",
            "a name that is longer than thirty-two bytes 1062301",
        ],
    ];
    for [one, other] in alike {
        stay_apart(&new_table(Settings::default()), one, other);
        let [shared, _] = shared_tables(Settings::default());
        stay_apart(&shared, one, other);
    }
}

fn stay_apart<M: Memory>(t: &Table<M>, one: &str, other: &str) {
    let first = t.declare(0, one, 1, 0).unwrap();
    assert_eq!((t.resource_id(one), t.resource_id(other)), (Some(first), None));
    let second = t.declare(0, other, 2, 0).unwrap();
    assert_eq!((t.resource_id(one), t.resource_id(other)), (Some(first), Some(second)));
    t.verify().unwrap();
    assert_eq!([one, other].map(|name| t.resource(name).unwrap().name), [one, other]);
    let mine = granted(t.claim(0, &Claim::one(one, &[one])));
    let theirs = granted(t.claim(0, &Claim::one(other, &[other])));
    assert_eq!((t.held_by(one), t.held_by(other)), (vec![mine], vec![theirs]));
}
