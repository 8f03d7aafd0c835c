//! The rules of `docs/rules.md`, each by an example.

mod common;

use common::{granted, lease_of, table, waiting};
use ternlease::memory::{Arrays, new_table};
use ternlease::table::command::{Place, Release, Revoke, SetPrincipal, Transfer};
use ternlease::table::*;

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

fn patient<'a>(holder: &'a str, candidates: &'a [&'a str], count: u32) -> Claim<'a> {
    Claim { count, wait: FOREVER, ..Claim::one(holder, candidates) }
}

#[test]
fn a_claim_takes_all_it_needs_or_nothing() {
    let t = table();
    granted(t.claim(0, &Claim::one("a", &["g1"])));
    let ticket = waiting(t.claim(0, &patient("b", &["g0", "g1"], 2)));
    assert_eq!(t.resource("g0").unwrap().used_slots, 0, "nothing is held while waiting");
    let any = granted(t.claim(0, &Claim::one("c", &["g2"])));
    assert_eq!(t.lease(any).unwrap().takes[0].resource, "g2");
    t.release(1, t.held_by("a")[0]).unwrap();
    assert_eq!(t.lease(lease_of(&t, ticket)).unwrap().takes.len(), 2);
}

#[test]
fn nobody_overtakes_unless_that_delays_nobody() {
    let t = table();
    let a = granted(t.claim(0, &Claim::one("a", &["g0"])));
    let big = waiting(t.claim(0, &patient("big", &["g0", "g1"], 2)));
    // g1 is free, but big waits for it; g2 has nothing to do with big.
    assert_eq!(t.claim(0, &Claim::one("small", &["g1"])), Err(Error::Busy));
    granted(t.claim(0, &Claim::one("other", &["g2"])));
    let urgent = Claim { priority: 1, ..Claim::one("urgent", &["g1"]) };
    let urgent = granted(t.claim(0, &urgent));
    t.release(1, a).unwrap();
    assert_eq!(t.ticket(big), Some(TicketState::Waiting));
    t.release(1, urgent).unwrap();
    lease_of(&t, big);
}

#[test]
fn amounts_sharing_and_exclusive_use() {
    let t = table();
    t.declare(0, "gpu", 4, 1000).unwrap();
    let amount =
        |slots, memory| Claim { take: Take::Amount { slots, memory }, ..Claim::one("w", &["gpu"]) };
    let exclusive = Claim { take: Take::Exclusive, ..Claim::one("w", &["gpu"]) };
    let shared = Claim { take: Take::Shared, ..Claim::one("w", &["gpu"]) };
    let first = granted(t.claim(0, &amount(1, 600)));
    assert_eq!(t.claim(0, &amount(1, 600)), Err(Error::Busy));
    let second = granted(t.claim(0, &amount(3, 400)));
    assert_eq!(t.claim(0, &exclusive), Err(Error::Busy));
    assert_eq!(t.claim(0, &shared), Err(Error::Busy));
    t.release(0, first).unwrap();
    t.release(0, second).unwrap();
    let whole = granted(t.claim(0, &exclusive));
    assert_eq!(t.resource("gpu").unwrap().used_memory, 1000);
    assert_eq!(t.claim(0, &amount(0, 1)), Err(Error::Busy));
    t.release(0, whole).unwrap();
    let readers = [granted(t.claim(0, &shared)), granted(t.claim(0, &shared))];
    assert_eq!(t.claim(0, &amount(1, 0)), Err(Error::Busy));
    for reader in readers {
        t.release(0, reader).unwrap();
    }
    granted(t.claim(0, &amount(4, 1000)));
}

#[test]
fn a_notice_is_a_second_chance_and_then_the_end() {
    let t = table();
    let id = granted(t.claim(0, &Claim { ttl: 10, ..Claim::one("w", &["g"]) }));
    let told = t.revoke(5, id, Reason::NodeDrain, "ops", 20);
    assert_eq!(told, Ok(Revoked::Notified(25)));
    assert_eq!(t.revoke(6, id, Reason::Operator, "x", 30), Ok(Revoked::AlreadyNotified(25)));
    let info = t.lease(id).unwrap();
    assert!(info.revoking && info.state == LeaseState::Held);
    assert_eq!((info.reason, info.revoker), (Some(Reason::NodeDrain), Some("ops".into())));
    // Its own end comes first, so it must go on renewing; but not beyond the notice.
    assert_eq!(t.state(id, 10), Some(LeaseState::Expired));
    assert_eq!(t.renew(9, id, None), Ok(19));
    assert_eq!(t.renew(18, id, None), Ok(25));
    assert_eq!(t.state(id, 24), Some(LeaseState::Held));
    assert_eq!(t.state(id, 25), Some(LeaseState::Revoked), "by time alone");
    assert_eq!(t.revocations(), 0);
    t.advance(30).unwrap();
    assert_eq!((t.revocations(), t.count(Reason::NodeDrain)), (1, 1));
    assert_eq!(t.lease(id).unwrap().end, 25);
}

#[test]
fn children_end_with_their_parent() {
    let t = table();
    let parent = granted(t.claim(0, &Claim { ttl: 10, ..Claim::one("p", &["a"]) }));
    let below = |name| Claim { parent: Some(parent), ttl: 50, ..Claim::one("c", name) };
    let child = granted(t.claim(2, &below(&["b"])));
    assert_eq!(t.lease(child).unwrap().end, 10);
    assert_eq!(t.renew(3, parent, None), Ok(13));
    assert_eq!(t.renew(3, child, None), Ok(13));
    let late = waiting(t.claim(3, &Claim { wait: FOREVER, ..below(&["b"]) }));
    t.revoke(4, parent, Reason::Operator, "", 0).unwrap();
    assert_eq!(t.lease(child).unwrap().reason, Some(Reason::ParentRevoked));
    assert_eq!(t.ticket(late), Some(TicketState::Refused(Reason::ParentEnded)));
    assert_eq!(t.claim(5, &below(&["b"])), Err(Error::ParentNotHeld));
    t.verify().unwrap();
}

#[test]
fn spare_leases_give_way_one_by_one() {
    let t = table();
    let spare =
        |holder, wait| Claim { spare: true, wait, grace: 3, ..patient(holder, &["g0", "g1"], 1) };
    let first = granted(t.claim(0, &spare("s0", 0)));
    let second = granted(t.claim(0, &spare("s1", 0)));
    let ticket = waiting(t.claim(1, &patient("job", &["g0", "g1"], 1)));
    assert!(t.lease(first).unwrap().revoking, "on the candidate that the claim prefers");
    assert!(!t.lease(second).unwrap().revoking, "one is enough");
    assert_eq!(t.claim(1, &spare("s2", 0)), Err(Error::Busy));
    t.advance(4).unwrap();
    lease_of(&t, ticket);
    assert_eq!(t.count(Reason::SpareReclaimed), 1);
}

#[test]
fn a_higher_priority_may_preempt_what_is_preemptible() {
    let t = table();
    let low = granted(t.claim(0, &Claim { preemptible: true, ..Claim::one("low", &["g"]) }));
    let same = Claim { preempt: true, ..patient("same", &["g"], 1) };
    let same = waiting(t.claim(0, &same));
    let high = Claim { preempt: true, priority: 5, ..patient("high", &["g"], 1) };
    let high = granted(t.claim(0, &high));
    assert_eq!(t.lease(low).unwrap().reason, Some(Reason::Preempted));
    assert_eq!(t.ticket(same), Some(TicketState::Waiting));
    assert_eq!(t.held_by("high"), [high]);
}

#[test]
fn who_makes_the_important_wait_is_important() {
    let t = table();
    granted(t.claim(0, &Claim::one("low", &["a"])));
    let b = granted(t.claim(0, &Claim::one("other", &["b"])));
    let middle = waiting(t.claim(0, &Claim { priority: 5, ..patient("middle", &["b"], 1) }));
    let low = waiting(t.claim(0, &patient("low", &["b"], 1)));
    assert_eq!((t.place(middle), t.place(low)), (Some(1), Some(2)));
    let high = waiting(t.claim(0, &Claim { priority: 9, ..patient("high", &["a"], 1) }));
    assert_eq!((t.place(middle), t.place(low)), (Some(2), Some(1)), "low has inherited 9");
    t.cancel(0, high).unwrap();
    assert_eq!((t.place(middle), t.place(low)), (Some(1), Some(2)));
    t.release(0, b).unwrap();
    lease_of(&t, middle);
}

#[test]
fn deadlocks_are_found_and_if_wanted_broken() {
    for deadlocks in [DeadlockPolicy::Report, DeadlockPolicy::Break] {
        let t = new_table(Settings { deadlocks, ..Settings::default() });
        let a = granted(t.claim(0, &Claim::one("A", &["a"])));
        let b = granted(t.claim(0, &Claim::one("B", &["b"])));
        let wants_b = waiting(t.claim(0, &patient("A", &["b"], 1)));
        let closing = t.claim(0, &patient("B", &["a"], 1));
        let found = t.find_deadlocks(0).unwrap();
        if deadlocks == DeadlockPolicy::Report {
            let wants_a = waiting(closing);
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].stuck, ["A", "B"]);
            let cycle: Vec<_> = found[0].cycle.iter().map(|w| (w.ticket, w.lease)).collect();
            assert_eq!(cycle, [(Some(wants_a), a), (Some(wants_b), b)]);
            assert_eq!(found[0].victim, b, "the youngest of equals");
        } else {
            assert!(found.is_empty());
            assert_eq!(t.lease(b).unwrap().reason, Some(Reason::DeadlockVictim));
            assert_eq!(t.lease(a).unwrap().state, LeaseState::Held);
            lease_of(&t, wants_b);
        }
        t.verify().unwrap();
    }
}

#[test]
fn declared_wants_take_part_in_deadlocks() {
    let t = table();
    granted(t.claim(0, &Claim::one("A", &["a"])));
    granted(t.claim(0, &Claim::one("B", &["b"])));
    t.want(0, "A", "b").unwrap();
    assert!(t.find_deadlocks(0).unwrap().is_empty());
    t.want(0, "B", "a").unwrap();
    assert_eq!(t.find_deadlocks(0).unwrap().len(), 1);
    t.unwant(0, "B", "a").unwrap();
    assert!(t.find_deadlocks(0).unwrap().is_empty());
    t.verify().unwrap();
}

#[test]
fn a_queue_that_only_its_order_blocks_is_cured_without_harm() {
    let t = table();
    let x = granted(t.claim(0, &Claim::one("X", &["a"])));
    let h = granted(t.claim(0, &Claim::one("H", &["b"])));
    let both = waiting(t.claim(0, &patient("E", &["a", "b"], 2)));
    let more = waiting(t.claim(0, &patient("H", &["a"], 1)));
    // E is first for a but needs b from H; H needs a, behind E.
    t.release(1, x).unwrap();
    let overtaken = lease_of(&t, more);
    assert_eq!(t.ticket(both), Some(TicketState::Waiting));
    assert_eq!(t.revocations(), 0);
    t.release(2, overtaken).unwrap();
    t.release(2, h).unwrap();
    lease_of(&t, both);
}

#[test]
fn a_sick_resource_gets_no_new_leases() {
    let t = table();
    let gpu = t.declare(0, "gpu", 2, 0).unwrap();
    let id = granted(t.claim(0, &Claim::one("w", &["gpu"])));
    t.set_health(1, gpu, Health::Failed).unwrap();
    assert_eq!(t.state(id, 1), Some(LeaseState::Held), "that is for others to revoke");
    let ticket = waiting(t.claim(1, &patient("v", &["gpu"], 1)));
    t.set_health(2, gpu, Health::Healthy).unwrap();
    lease_of(&t, ticket);
    let mut events = Vec::new();
    t.events_since(0, &mut events);
    let health = events.iter().filter(|event| matches!(event.what, What::Health { .. })).count();
    assert_eq!(health, 2);
}

#[test]
fn readers_of_events_are_told_what_they_missed() {
    let limits = Limits { history: 8, ..Limits::default() };
    let t = new_table(Settings { limits, ..Settings::default() });
    for now in 0..10 {
        let id = granted(t.claim(now, &Claim::one("w", &["g"])));
        t.release(now, id).unwrap();
    }
    let mut events = Vec::new();
    assert_eq!(t.events_since(0, &mut events), 12);
    assert_eq!(events.len(), 8);
    assert_eq!((events[0].number, events[7].number), (13, 20));
    assert_eq!(t.events_since(20, &mut events), 0);
    assert_eq!(events.len(), 8);
}

#[test]
fn resources_are_listed_with_who_is_on_them() {
    let t = table();
    t.declare(0, "b", 2, 0).unwrap();
    let first = granted(t.claim(0, &Claim::one("x", &["b"])));
    let second = granted(t.claim(0, &Claim::one("y", &["b"])));
    let other = granted(t.claim(0, &Claim::one("x", &["a"])));
    let names = |t: &Table<Arrays>| -> Vec<(String, u32)> {
        t.resources().into_iter().map(|resource| (resource.name, resource.used_slots)).collect()
    };
    assert_eq!(names(&t), [("a".into(), 1), ("b".into(), 2)]);
    assert_eq!(t.leases_on("b"), [first, second]);
    assert_eq!(t.leases_on("nothing"), []);
    t.release(1, first).unwrap();
    t.release(1, other).unwrap();
    assert_eq!(t.leases_on("b"), [second]);
    assert_eq!(t.leases_on("a"), []);
}

/// A process with this owner number and principal.
fn join(t: &Table<Arrays>, owner: u16, principal: u32) -> (Issuer, Actor) {
    let actor = Actor { principal, process: 100 + u32::from(owner) };
    let issuer = Issuer::new(owner, actor);
    t.apply(issuer, &SetPrincipal { owner }, 0).unwrap();
    (issuer, actor)
}

/// Claims at time 0 for a process.
fn place(t: &Table<Arrays>, issuer: Issuer, claim: &Claim<'_>) -> Result<Outcome, Error> {
    t.apply(issuer, &Place::<()>::new(claim), 0).map(|placed| placed.outcome)
}

#[test]
fn release_by_other_principal_is_a_revocation_with_its_actor() {
    let t = table();
    let (owner, _) = join(&t, 1, 1001);
    let [first, second, third] =
        ["x", "y", "z"].map(|it| granted(place(&t, owner, &Claim::one("a", &[it]))));
    let (thief, other) = join(&t, 2, 1002);
    t.apply(thief, &Release { lease: first }, 3).unwrap();
    let transfer = Transfer { lease: second, to: 2 };
    assert_eq!(t.apply(thief, &transfer, 3), Err(Error::OtherPrincipal));
    let (sibling, script) = join(&t, 3, 1001);
    t.apply(sibling, &Release { lease: second }, 4).unwrap();
    t.apply(owner, &Release { lease: third }, 5).unwrap();
    let told = [first, second, third].map(|id| {
        let info = t.lease(id).unwrap();
        (info.state, info.reason.unwrap(), info.ended_by)
    });
    assert_eq!(
        told,
        [
            (LeaseState::Revoked, Reason::Operator, Some(other)),
            (LeaseState::Expired, Reason::Released, Some(script)),
            (LeaseState::Expired, Reason::Released, None),
        ]
    );
    assert_eq!((t.revocations(), t.foreign_revocations(), t.count(Reason::Released)), (1, 1, 2));
    t.verify().unwrap();
}

#[test]
fn release_during_notice_acknowledges_it() {
    let t = table();
    let (owner, holder) = join(&t, 1, 1001);
    let id = granted(place(&t, owner, &Claim::one("a", &["x"])));
    let (operator, other) = join(&t, 2, 1002);
    let revoke = Revoke { lease: id, reason: Reason::Quota, by: "root", notice: 10 };
    t.apply(operator, &revoke, 1).unwrap();
    t.apply(owner, &Release { lease: id }, 4).unwrap();
    let info = t.lease(id).unwrap();
    assert_eq!((info.state, info.reason, info.end), (LeaseState::Revoked, Some(Reason::Quota), 4));
    assert_eq!((info.revoker.as_deref(), info.ended_by), (Some("root"), Some(other)));
    assert!(info.acknowledged);
    let mut events = Vec::new();
    t.events_since(0, &mut events);
    let actors: Vec<_> = events.iter().map(|event| event.actor).collect();
    assert_eq!(actors, [Some(holder), Some(other), Some(holder)]);
    let ended = What::Ended { lease: id, reason: Reason::Quota, held: 4, acknowledged: true };
    assert_eq!(events[2].what, ended);
    t.verify().unwrap();
}

#[test]
fn child_that_ends_with_its_parent_names_the_process_that_revoked_the_parent() {
    let t = table();
    let (owner, _) = join(&t, 1, 1001);
    let parent = granted(place(&t, owner, &Claim::one("a", &["x"])));
    let child = Claim { parent: Some(parent), ..Claim::one("a", &["y"]) };
    let child = granted(place(&t, owner, &child));
    let (operator, other) = join(&t, 2, 1002);
    let revoke = Revoke { lease: parent, reason: Reason::Quota, by: "root", notice: 0 };
    t.apply(operator, &revoke, 1).unwrap();
    let ended = [parent, child].map(|id| t.lease(id).unwrap());
    assert_eq!(ended[1].reason, Some(Reason::ParentRevoked));
    assert_eq!(ended.map(|info| info.ended_by), [Some(other); 2]);
}

#[test]
fn lease_in_a_used_record_does_not_have_the_ender_of_the_lease_before() {
    let limits = Limits { leases: 1, tickets: 1, resources: 2, history: 1 };
    let t = new_table(Settings { limits, ..Settings::default() });
    let (owner, _) = join(&t, 1, 1001);
    let (operator, other) = join(&t, 2, 1002);
    for _ in 0..6 {
        let lease = granted(place(&t, owner, &Claim::one("a", &["x"])));
        assert_eq!(t.lease(lease).unwrap().ended_by, None);
        t.apply(operator, &Release { lease }, 0).unwrap();
        assert_eq!(t.lease(lease).unwrap().ended_by, Some(other));
    }
}

#[test]
fn change_of_the_table_itself_after_a_command_has_no_actor() {
    let t = table();
    let (owner, holder) = join(&t, 1, 1001);
    let lease = granted(place(&t, owner, &Claim { ttl: 5, ..Claim::one("a", &["x"]) }));
    t.release(1, lease).unwrap();
    let mut events = Vec::new();
    t.events_since(0, &mut events);
    let actors: Vec<_> = events.iter().map(|event| event.actor).collect();
    assert_eq!(actors, [Some(holder), None]);
}

#[test]
fn actor_as_text_names_principal_and_process() {
    let actor = Actor { principal: 1001, process: 42 };
    assert_eq!(actor.to_string(), "principal 1001 (process 42)");
}
