//! What ids and clocks are good for, in a small world of which every state is looked at: holders that are stopped, crash and have bad clocks, an engine that changes
//! its leader, messages that are late, lost, doubled and overtaken, and a resource that goes by the ids of leases. A world in which one of these is missing must be
//! found out, or the others prove nothing.

#[path = "fencing/explore.rs"]
mod explore;
#[path = "fencing/world.rs"]
mod world;

use explore::{Explored, explore, told};
use world::{AS_IT_IS, State, Step, World};

/// More than any of these worlds has.
const LIMIT: usize = 100_000;

/// All states of a world in which nothing is wrong.
fn holds(name: &str, world: World, wrong: fn(&State) -> bool) -> Explored<State, Step> {
    let all = explore(&world, LIMIT, wrong);
    println!("{name}: all of {} states, {} steps", all.state_count(), all.step_count());
    if let Some(way) = all.way_to_wrong() {
        panic!("{name}:\n{}", told(&way));
    }
    all
}

/// The resource has accepted a write of an older lease after one of a younger.
fn stale(state: &State) -> bool {
    state.stale
}

/// Somebody takes a lease for its own that the engine has ended, and may give to somebody else.
fn mistaken(state: &State) -> bool {
    let given = state.lease.map(|lease| lease.serial);
    state.holders.iter().filter_map(|holder| holder.is_sure_of()).any(|sure| Some(sure) != given)
}

/// The engine can give the lease to somebody.
fn free(state: &State) -> bool {
    state.lease.is_none()
}

/// The shortest way to what must not happen, in a world in which it does.
fn fails(name: &str, world: World, wrong: fn(&State) -> bool) -> Vec<Step> {
    let some = explore(&world, LIMIT, wrong);
    let way = some.way_to_wrong().unwrap_or_else(|| panic!("nothing is wrong: {name}"));
    println!("{name}, after {} states:\n{}", some.state_count(), told(&way));
    way
}

fn place(way: &[Step], wanted: impl Fn(&Step) -> bool) -> usize {
    way.iter()
        .position(wanted)
        .unwrap_or_else(|| panic!("it is not the classic one:\n{}", told(way)))
}

/// Everything that is promised, and that the lease can be had again whatever has happened.
#[test]
fn as_it_is() {
    let all = holds("as it is", AS_IT_IS, |state| stale(state) || mistaken(state));
    assert_eq!(all.stuck(free), None);
}

/// The resource takes nothing of an older lease after a younger, of whichever of three holders, and if their leases end at any moment.
#[test]
fn whenever_leases_end() {
    let world = World { holders: 3, revokes: true, time: false, ..AS_IT_IS };
    holds("three holders, leases end at any moment", world, stale);
}

/// The classic one: a holder looks, is stopped, its successor writes, and then it writes, too. No message is late in this.
#[test]
fn without_a_fence_a_stopped_holder_writes_after_its_successor() {
    let open = World { fence: false, prompt: true, ..AS_IT_IS };
    let way = fails("without a fence", open, stale);
    let looks = place(&way, |step| matches!(step, Step::LooksAndSays1(_)));
    let Step::LooksAndSays1(stopped) = way[looks] else { panic!("it is that step") };
    let ends = place(&way, |step| matches!(step, Step::EngineEnds(1)));
    let next = place(&way, |step| matches!(step, Step::EngineGrants(_, 2)));
    let after = place(&way, |step| matches!(step, Step::Writes(_, 2)));
    assert!(looks < ends && ends < next && next < after, "{}", told(&way));
    assert_eq!(way.last(), Some(&Step::Writes(stopped, 1)), "{}", told(&way));
    assert!(!way[looks + 1..way.len() - 1].iter().any(|step| is_of(step, stopped)));
}

/// Does this holder do anything in this step?
fn is_of(step: &Step, holder: u8) -> bool {
    use Step::*;
    match *step {
        Asks(of) | HearsOfItsLease(of, _) | LooksAndSays1(of) | LooksAndSays0(of) => of == holder,
        Writes(of, _) | Releases(of) | Renews(of) | Crashes(of) => of == holder,
        _ => false,
    }
}

/// A write that is late does the same harm, and nobody need have been stopped for it.
#[test]
fn without_a_fence_a_late_write_comes_after_a_younger_one() {
    let way = fails("without a fence, late", World { fence: false, ..AS_IT_IS }, stale);
    assert_eq!(way.last(), Some(&Step::ResourceAccepts(1)));
}

#[test]
fn a_fence_is_nothing_without_ids_that_grow() {
    fails("ids that are used again", World { ids_grow: false, ..AS_IT_IS }, stale);
}

/// Only clocks and renewals, nobody writes.
const CLOCKS: World = World { writes: false, leases: 2, renewals: 2, ..AS_IT_IS };

/// A holder says 0 before the engine gives its lease to another, also if it renews.
#[test]
fn with_renewals() {
    let all = holds("with renewals", CLOCKS, mistaken);
    assert_eq!(all.stuck(free), None);
}

#[test]
fn a_clock_that_is_worse_than_it_may_be_fails() {
    fails("clocks beyond the bound", World { lost: 2, renewals: 0, ..CLOCKS }, mistaken);
}

#[test]
fn counting_from_the_answer_fails() {
    fails("from the answer", World { from_the_send: false, renewals: 0, ..CLOCKS }, mistaken);
}

#[test]
fn taking_an_answer_for_that_to_the_latest_renewal_fails() {
    fails("for the newest", World { for_the_oldest: false, ..CLOCKS }, mistaken);
}

/// Somebody dies with its lease, or its release is lost.
#[test]
fn without_an_end_a_lease_is_lost_for_ever() {
    let world = World { expiry: false, ..AS_IT_IS };
    let all = holds("without an end", world, |_| false);
    println!("stuck: {:?}", all.stuck(free).expect("nothing is stuck"));
}
