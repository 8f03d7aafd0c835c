//! Who comes first: lines, priorities that are inherited and given up, and who is served though others wait. Each rule by an example.

mod common;

use common::{granted, lease_of, table, waiting};
use ternlease::memory::{Arrays, new_table};
use ternlease::table::*;

fn take(t: &Table<Arrays>, holder: &str, names: &[&str]) -> LeaseId {
    let count = names.len() as u32;
    let id = granted(t.claim(t.now(), &Claim { count, ..Claim::one(holder, names) }));
    t.verify().unwrap();
    id
}

fn queue(t: &Table<Arrays>, claim: Claim<'_>) -> TicketId {
    let id = waiting(t.claim(t.now(), &Claim { wait: FOREVER, ..claim }));
    t.verify().unwrap();
    id
}

fn priority(t: &Table<Arrays>, ticket: TicketId) -> i16 {
    t.waiting_ticket(ticket).unwrap().priority
}

/// `w` makes somebody with priority 5 wait on `mine`; somebody with priority 3 waits for `free` and for what `z` has.
fn busy_worker() -> Table<Arrays> {
    let t = table();
    take(&t, "w", &["mine"]);
    take(&t, "z", &["taken"]);
    queue(&t, Claim { priority: 5, ..Claim::one("x", &["mine"]) });
    queue(&t, Claim { priority: 3, count: 2, ..Claim::one("y", &["free", "taken"]) });
    t
}

#[test]
fn a_new_claim_is_judged_by_the_priority_that_its_worker_inherits() {
    let t = busy_worker();
    granted(t.claim(0, &Claim::one("w", &["free"])));
    let t = busy_worker();
    assert_eq!(t.claim(0, &Claim::one("z", &["free"])), Err(Error::Busy), "it makes wait only y");
    assert_eq!(t.claim(0, &Claim::one("new", &["free"])), Err(Error::Busy));
    granted(t.claim(0, &Claim { priority: 4, ..Claim::one("new", &["free"]) }));
}

#[test]
fn a_spare_claim_neither_gives_nor_inherits_a_priority() {
    let t = table();
    take(&t, "w", &["mine"]);
    take(&t, "z", &["taken"]);
    let two = Claim { count: 2, ..Claim::one("y", &["free", "taken"]) };
    let plain = queue(&t, Claim { priority: 3, ..two });
    queue(&t, Claim { priority: 5, spare: true, ..Claim::one("x", &["mine"]) });
    assert_eq!(t.claim(0, &Claim::one("w", &["free"])), Err(Error::Busy), "nothing was given");
    t.cancel(0, plain).unwrap();
    queue(&t, Claim { priority: 3, spare: true, ..two });
    queue(&t, Claim { priority: 5, ..Claim::one("x", &["mine"]) });
    let spare = Claim { spare: true, ..Claim::one("w", &["free"]) };
    assert_eq!(t.claim(0, &spare), Err(Error::Busy), "nothing was inherited");
    granted(t.claim(0, &Claim { priority: 4, ..spare }));
}

#[test]
fn a_lease_stands_as_high_as_those_whom_its_worker_makes_wait_elsewhere() {
    for (spare, enough) in [(false, false), (true, true)] {
        let t = table();
        take(&t, "w", &["other"]);
        let lease = granted(t.claim(0, &Claim { preemptible: true, ..Claim::one("w", &["gpu"]) }));
        queue(&t, Claim { priority: 7, spare, ..Claim::one("x", &["other"]) });
        let ask = Claim { preempt: true, priority: 5, ..Claim::one("y", &["gpu"]) };
        queue_or_take(&t, ask);
        assert_eq!(t.state(lease, 0) == Some(LeaseState::Revoked), enough, "spare: {spare}");
        queue_or_take(&t, Claim { priority: 8, ..ask });
        assert_eq!(t.state(lease, 0), Some(LeaseState::Revoked));
        t.verify().unwrap();
    }
}

fn queue_or_take(t: &Table<Arrays>, claim: Claim<'_>) {
    t.claim(t.now(), &Claim { wait: FOREVER, ..claim }).unwrap();
}

#[test]
fn a_lease_does_not_stand_high_by_those_whom_others_make_wait() {
    let t = table();
    take(&t, "somebody", &["other"]);
    let lease = granted(t.claim(0, &Claim { preemptible: true, ..Claim::one("w", &["gpu"]) }));
    queue(&t, Claim { priority: 7, ..Claim::one("x", &["other"]) });
    queue_or_take(&t, Claim { preempt: true, priority: 5, ..Claim::one("y", &["gpu"]) });
    assert_eq!(t.state(lease, 0), Some(LeaseState::Revoked));
}

#[test]
fn what_was_inherited_goes_with_what_was_held() {
    let t = table();
    take(&t, "z", &["taken", "taken, too"]);
    // Whoever was in line before makes no difference.
    let gone = queue(&t, Claim::one("gone", &["taken"]));
    t.cancel(0, gone).unwrap();
    let held = take(&t, "w", &["mine"]);
    let raised = queue(&t, Claim::one("w", &["taken"]));
    let other = queue(&t, Claim { priority: 1, ..Claim::one("v", &["taken"]) });
    assert_eq!([raised, other].map(|ticket| priority(&t, ticket)), [0, 1]);
    queue(&t, Claim { priority: 5, count: 2, ..Claim::one("x", &["mine", "taken, too"]) });
    assert_eq!([raised, other].map(|ticket| priority(&t, ticket)), [5, 1]);
    assert_eq!([raised, other].map(|ticket| t.place(ticket)), [Some(1), Some(2)]);
    t.release(1, held).unwrap();
    assert_eq!([raised, other].map(|ticket| priority(&t, ticket)), [0, 1]);
    assert_eq!([raised, other].map(|ticket| t.place(ticket)), [Some(2), Some(1)]);
    t.verify().unwrap();
}

#[test]
fn spare_leases_are_taken_back_whoever_has_left_the_line_before() {
    let t = table();
    let filler = granted(t.claim(0, &Claim { spare: true, ..Claim::one("filler", &["gpu"]) }));
    let left = queue(&t, Claim { spare: true, ..Claim::one("x", &["gpu"]) });
    t.cancel(0, left).unwrap();
    granted(t.claim(0, &Claim { wait: FOREVER, ..Claim::one("y", &["gpu"]) }));
    assert_eq!(t.lease(filler).unwrap().reason, Some(Reason::SpareReclaimed));
}

#[test]
fn shared_claims_of_one_line_do_not_wait_for_each_other() {
    let t = table();
    let [first, second] = [["a"], ["b"]].map(|name| take(&t, "w", &name));
    let share = |count| Claim { take: Take::Shared, count, ..Claim::one("x", &["a", "b"]) };
    let [both, one] = [2, 1].map(|count| queue(&t, share(count)));
    t.release(1, second).unwrap();
    assert_eq!(t.ticket(both), Some(TicketState::Waiting));
    lease_of(&t, one);
    t.release(1, first).unwrap();
    lease_of(&t, both);
    t.verify().unwrap();
}

#[test]
fn who_may_overtake_does_so_in_its_own_line() {
    let t = table();
    take(&t, "w", &["a"]);
    let held = take(&t, "z", &["b"]);
    let names = ["a", "b"];
    let both = queue(&t, Claim { count: 2, ..Claim::one("x", &names) });
    // Behind it: without b the worker that has a does not go on.
    let one = queue(&t, Claim::one("w", &names));
    t.release(1, held).unwrap();
    assert_eq!(t.ticket(both), Some(TicketState::Waiting));
    lease_of(&t, one);
    t.verify().unwrap();
}

/// `late` waits for a resource that comes into service while the table has no room for another lease.
fn starved(policy: DeadlockPolicy) -> (Table<Arrays>, Settings, LeaseId, TicketId) {
    let limits = Limits { leases: 2, tickets: 8, resources: 8, history: 4 };
    let settings = Settings { limits, deadlocks: policy, ..Settings::default() };
    let t = new_table(settings);
    let gpu = t.declare(0, "gpu", 1, 0).unwrap();
    t.set_health(0, gpu, Health::Draining).unwrap();
    let first = take(&t, "first", &["a"]);
    granted(t.claim(0, &Claim { spare: true, grace: 9, ..Claim::one("second", &["b"]) }));
    let late = queue(&t, Claim::one("late", &["gpu"]));
    t.set_health(1, gpu, Health::Healthy).unwrap();
    assert_eq!(t.ticket(late), Some(TicketState::Waiting));
    (t, settings, first, late)
}

#[test]
fn who_waits_for_room_in_the_table_is_served_whoever_makes_room() {
    let (t, settings, first, late) = starved(DeadlockPolicy::Report);
    let other_process = Table::try_new(t.memory().clone(), settings).unwrap();
    other_process.release(2, first).unwrap();
    lease_of(&t, late);
    t.verify().unwrap();
}

#[test]
fn who_waits_for_room_in_the_table_still_does_when_others_were_told_to_go() {
    let (t, settings, first, late) = starved(DeadlockPolicy::Report);
    queue(&t, Claim::one("third", &["b"]));
    assert!(t.leases()[1].revoking, "the spare one");
    let other_process = Table::try_new(t.memory().clone(), settings).unwrap();
    other_process.release(2, first).unwrap();
    lease_of(&t, late);
    t.verify().unwrap();
}

#[test]
fn a_table_that_was_full_does_about_deadlocks_what_it_did_before() {
    for (policy, waiting) in [(DeadlockPolicy::Report, 2), (DeadlockPolicy::Break, 1)] {
        let (t, _, first, late) = starved(policy);
        t.release(2, first).unwrap();
        t.release(2, lease_of(&t, late)).unwrap();
        t.release(2, t.leases()[0].id).unwrap();
        take(&t, "x", &["a"]);
        take(&t, "y", &["b"]);
        queue(&t, Claim::one("x", &["b"]));
        queue_or_take(&t, Claim::one("y", &["a"]));
        assert_eq!(t.waiting(), waiting, "{policy:?}");
        t.verify().unwrap();
    }
}

#[test]
fn who_waits_no_longer_wants_its_namesake_no_longer() {
    let t = new_table(Settings { implied_wants: true, ..Settings::default() });
    take(&t, "one", &["was here"]);
    take(&t, "two", &["b"]);
    let ticket = queue(&t, Claim::one("was here", &["b"]));
    queue(&t, Claim::one("one", &["b"]));
    queue(&t, Claim::one("two", &["was here"]));
    let stuck = || {
        let found = t.find_deadlocks(0).unwrap();
        found[0].stuck.clone()
    };
    assert_eq!(stuck(), ["one", "two", "was here"]);
    t.cancel(0, ticket).unwrap();
    assert_eq!(stuck(), ["one", "two"]);
}

#[test]
fn of_a_node_with_one_candidate_that_one_is_taken_back() {
    let t = table();
    let ids = ["a", "b"].map(|node| {
        let node = Some(t.declare(0, node, 1, 0).unwrap());
        let device = t.declare(0, &format!("device {}", t.resources().len()), 1, 0).unwrap();
        t.set_traits(0, device, Traits { node, ..Traits::default() }).unwrap();
        device
    });
    let of = |holder| Claim { candidates: Candidates::Declared(&ids), ..Claim::one(holder, &[]) };
    granted(t.claim(0, &Claim { spare: true, count: 2, ..of("filler") }));
    granted(t.claim(0, &Claim { together: true, wait: FOREVER, ..of("x") }));
    t.verify().unwrap();
}
