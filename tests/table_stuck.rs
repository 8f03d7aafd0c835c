//! Who of all those that wait can go on, and who is stuck, by claims or by wants. Each by an example.

mod common;

use common::{granted, hold, patient, table, wait, waiting};
use ternlease::memory::{Arrays, new_table};
use ternlease::table::*;

fn with_implied_wants() -> Table<Arrays> {
    new_table(Settings { implied_wants: true, ..Settings::default() })
}

fn stuck(t: &Table<Arrays>) -> Vec<Vec<String>> {
    t.verify().unwrap();
    t.find_deadlocks(t.now()).unwrap().into_iter().map(|deadlock| deadlock.stuck).collect()
}

/// "b" and "c" wait for each other, but "b" would take "a" as well, which "helper" has. Whether they are stuck depends on whether "helper" can go on.
fn depends_on_helper(t: &Table<Arrays>) {
    hold(t, "helper", "a");
    hold(t, "b", "b's");
    hold(t, "c", "c's");
    wait(t, "b", &["c's", "a"]);
    wait(t, "c", &["b's"]);
}

#[test]
fn who_waits_for_somebody_who_goes_on_goes_on_and_gives_back() {
    let t = table();
    depends_on_helper(&t);
    hold(&t, "free", "x");
    wait(&t, "helper", &["x"]);
    assert!(stuck(&t).is_empty());
    // All of the helper's claims must be served, not one of them.
    wait(&t, "helper", &["b's"]);
    assert_eq!(stuck(&t), [["b", "c", "helper"]]);
}

#[test]
fn what_hangs_on_a_lease_comes_back_with_it() {
    let t = table();
    let root = hold(&t, "helper", "root");
    granted(t.claim(0, &Claim { parent: Some(root), ..Claim::one("child", &["a"]) }));
    hold(&t, "b", "b's");
    hold(&t, "c", "c's");
    wait(&t, "b", &["c's", "a"]);
    wait(&t, "c", &["b's"]);
    hold(&t, "free", "x");
    wait(&t, "helper", &["x"]);
    assert!(stuck(&t).is_empty());
}

#[test]
fn who_wants_what_is_free_or_its_own_goes_on() {
    for wanted in ["nobody's", "x", "a"] {
        let t = table();
        depends_on_helper(&t);
        hold(&t, "free", "x");
        t.want(0, "other", "y").unwrap();
        t.want(0, "helper", wanted).unwrap();
        assert!(stuck(&t).is_empty(), "{wanted}");
        t.want(0, "helper", "b's").unwrap();
        assert_eq!(stuck(&t), [["b", "c", "helper"]], "{wanted}");
    }
}

#[test]
fn a_want_is_looked_at_again_when_what_it_is_for_comes_back() {
    let t = table();
    // Declared before the one that matters, for something else.
    t.want(0, "other", "y").unwrap();
    depends_on_helper(&t);
    hold(&t, "later", "x");
    hold(&t, "free", "z");
    t.want(0, "helper", "x").unwrap();
    wait(&t, "later", &["z"]);
    assert!(stuck(&t).is_empty());
}

#[test]
fn who_wants_its_namesake_goes_on_when_it_comes_back() {
    let t = with_implied_wants();
    depends_on_helper(&t);
    hold(&t, "free", "helper");
    assert!(stuck(&t).is_empty(), "nobody keeps it");
    let t = with_implied_wants();
    depends_on_helper(&t);
    hold(&t, "later", "helper");
    hold(&t, "free", "x");
    wait(&t, "later", &["x"]);
    assert!(stuck(&t).is_empty(), "it comes back in time");
    t.want(0, "later", "b's").unwrap();
    assert_eq!(stuck(&t), [["b", "c", "helper", "later"]]);
}

#[test]
fn a_namesake_that_comes_back_twice_is_wanted_once() {
    let t = with_implied_wants();
    t.declare(0, "a", 2, 0).unwrap();
    hold(&t, "later", "a");
    hold(&t, "free", "x");
    wait(&t, "later", &["x"]);
    hold(&t, "a", "a's");
    hold(&t, "c", "c's");
    wait(&t, "a", &["c's"]);
    wait(&t, "c", &["a's"]);
    assert_eq!(stuck(&t), [["a", "c"]]);
}

/// "b" and "c" are stuck, and "c" has what "a" would want if it wanted its namesake.
fn namesake_of_a_is_stuck() -> Table<Arrays> {
    let t = with_implied_wants();
    hold(&t, "b", "b's");
    granted(t.claim(0, &Claim { count: 2, ..Claim::one("c", &["c's", "a"]) }));
    wait(&t, "b", &["c's"]);
    wait(&t, "c", &["b's"]);
    t
}

#[test]
fn who_holds_or_waits_or_wants_anything_wants_its_namesake_and_nobody_else() {
    let t = namesake_of_a_is_stuck();
    assert_eq!(stuck(&t), [["b", "c"]]);

    let lease = hold(&t, "a", "x");
    assert_eq!(stuck(&t), [["a", "b", "c"]], "who holds");
    t.release(0, lease).unwrap();
    assert_eq!(stuck(&t), [["b", "c"]], "who held is remembered");

    hold(&t, "free", "y");
    let ticket = wait(&t, "a", &["y"]);
    assert_eq!(stuck(&t), [["a", "b", "c"]], "who waits");
    t.cancel(0, ticket).unwrap();
    assert_eq!(stuck(&t), [["b", "c"]], "who waited is remembered");

    t.want(0, "a", "z").unwrap();
    assert_eq!(stuck(&t), [["a", "b", "c"]], "who wants something else");
    t.unwant(0, "a", "z").unwrap();
    assert_eq!(stuck(&t), [["b", "c"]], "who wanted");
}

#[test]
fn a_want_that_can_be_fulfilled_is_not_what_a_worker_is_stuck_by() {
    let t = table();
    let a = hold(&t, "A", "a");
    let b = hold(&t, "B", "b");
    hold(&t, "free", "x");
    for (holder, resource) in [("A", "x"), ("A", "b"), ("B", "nobody's"), ("B", "a")] {
        t.want(0, holder, resource).unwrap();
    }
    let found = t.find_deadlocks(0).unwrap();
    let cycle: Vec<_> = found[0].cycle.iter().map(|step| (&*step.worker, step.lease)).collect();
    assert_eq!(cycle, [("B", a), ("A", b)]);
    assert_eq!(found[0].cycle[0].ticket, None);
}

#[test]
fn wants_are_taken_back_one_by_one_in_any_order() {
    for gone in 0..3 {
        let t = table();
        let (holders, resources) = (["A", "B", "C"], ["x", "y", "z"]);
        for holder in holders {
            for resource in resources {
                t.want(0, holder, resource).unwrap();
            }
        }
        for holder in holders {
            t.unwant(0, holder, resources[gone]).unwrap();
            assert_eq!(t.unwant(0, holder, resources[gone]), Err(Error::UnknownWant));
        }
        for resource in resources {
            let known = t.unwant(0, holders[gone], resource);
            assert_eq!(known.is_ok(), resource != resources[gone]);
        }
        // Those that are left are where they were, and those that come anew are beside them.
        t.want(0, holders[gone], "w").unwrap();
        for holder in holders {
            for resource in ["w", "x", "y", "z"] {
                t.want(0, holder, resource).unwrap();
            }
        }
        t.verify().unwrap();
        for resource in ["x", "w", "z", "y"] {
            for holder in ["B", "C", "A"] {
                assert!(t.resource(resource).is_some());
                t.unwant(0, holder, resource).unwrap();
                t.verify().unwrap();
            }
            assert_eq!(t.resource(resource), None, "nobody wants it any more");
        }
    }
}

#[test]
fn who_wants_again_what_it_wanted_before_stands_beside_the_others() {
    let t = table();
    for holder in ["A", "B", "C"] {
        t.want(0, holder, "x").unwrap();
    }
    t.unwant(0, "B", "x").unwrap();
    t.want(0, "B", "x").unwrap();
    // All of them are looked at when it comes back.
    hold(&t, "later", "x");
    hold(&t, "free", "z");
    wait(&t, "later", &["z"]);
    assert!(stuck(&t).is_empty());
}

#[test]
fn all_deadlocks_of_wants_alone_are_broken_at_once() {
    let t = new_table(Settings { deadlocks: DeadlockPolicy::Break, ..Settings::default() });
    let victims = [("P", "p"), ("Q", "q")].map(|(holder, resource)| {
        t.want(0, holder, "w").unwrap();
        t.want(0, "W", resource).unwrap();
        hold(&t, holder, resource)
    });
    assert_eq!(t.revocations(), 0);
    let kept = granted(t.claim(0, &Claim { priority: 1, ..Claim::one("W", &["w"]) }));
    for victim in victims {
        assert_eq!(t.lease(victim).unwrap().reason, Some(Reason::DeadlockVictim));
    }
    assert_eq!(t.state(kept, 0), Some(LeaseState::Held));
    assert_eq!(t.find_deadlocks(0), Ok(Vec::new()));
}

#[test]
fn who_came_first_is_waited_for_only_until_it_can_be_served() {
    let t = table();
    let x = hold(&t, "H", "x");
    hold(&t, "free", "w");
    hold(&t, "also free", "y");
    let both = waiting(t.claim(0, &Claim { count: 2, ..patient("E", &["x", "w"]) }));
    wait(&t, "H", &["y"]);
    let behind = wait(&t, "F", &["x"]);
    assert!(stuck(&t).is_empty());
    // Nobody was stuck because of the order: "E" can be served once "H" is. So nobody may overtake it.
    t.release(0, x).unwrap();
    assert_eq!(t.ticket(both), Some(TicketState::Waiting));
    assert_eq!(t.ticket(behind), Some(TicketState::Waiting));
}
