//! Leases whose time their owner keeps: as long as there is one owner, nothing is otherwise than in any table.

use super::copies::Random;
use ternlease::sim_api::replica::Replica;
use ternlease::sim_api::{Arrays, KeptAccess, TableAccess, is_kept, new_table};
use ternlease::table::{
    Cancelled, Claim, Error, FOREVER, LeaseId, LeaseState, Limits, Memory, Outcome, Reason,
    Settings, Table, TicketState, Time, lease_state,
};

const OWNER: u16 = 3;

fn settings() -> Settings {
    let limits = Limits { leases: 32, tickets: 32, resources: 32, history: 64 };
    Settings { limits, first_sequence: 1, ..Settings::default() }
}

/// A copy whose leases are kept by one owner.
fn copy() -> (Replica, Table<Arrays<Replica>>) {
    let (replica, arrays) = Replica::try_new(&settings().limits.sizes()).unwrap();
    let table = Table::try_new(arrays, settings()).unwrap();
    table.memory().kept().unwrap().be_of(OWNER);
    (replica, table)
}

fn claim<'a>(holder: &'a str, resource: &'a [&'a str], ttl: Time) -> Claim<'a> {
    Claim { ttl, owner: OWNER, ..Claim::one(holder, resource) }
}

fn granted(told: Result<Outcome, Error>) -> LeaseId {
    match told {
        Ok(Outcome::Granted(lease)) => lease,
        told => panic!("{told:?}"),
    }
}

fn state<M: Memory>(table: &Table<M>, lease: LeaseId, now: Time) -> Option<LeaseState> {
    lease_state(table.memory(), lease, || now)
}

/// One step of a random story, and its answer as text.
fn step<M: Memory>(
    table: &Table<M>,
    random: &mut Random,
    now: Time,
    ids: &mut Vec<LeaseId>,
) -> String {
    let names = ["a", "b", "c", "d"];
    let resource = [names[random.below(4) as usize]];
    let holder = names[random.below(4) as usize];
    let lease = match ids.len() as u64 {
        0 => LeaseId(1),
        len => ids[random.below(len) as usize],
    };
    let ttl = [3, 10, 40, FOREVER][random.below(4) as usize];
    match random.below(8) {
        0..=2 => {
            let wait = [0, 5, 30, FOREVER][random.below(4) as usize];
            let parent = (random.below(4) == 0).then_some(lease);
            let told = table.claim(now, &Claim { wait, parent, ..claim(holder, &resource, ttl) });
            if let Ok(Outcome::Granted(lease)) = told {
                ids.push(lease);
            }
            format!("{told:?}")
        }
        3 => format!("{:?}", table.renew(now, lease, None)),
        4 => format!("{:?}", table.renew(now, lease, Some(ttl))),
        5 => format!("{:?}", table.release(now, lease)),
        6 => {
            let notice = [0, 4, 20][random.below(3) as usize];
            format!("{:?}", table.revoke(now, lease, Reason::Operator, "ops", notice))
        }
        _ => format!("{:?}", table.advance(now)),
    }
}

#[test]
fn one_owner_sees_what_any_table_shows() {
    for seed in 1..=100u64 {
        let plain = new_table(settings());
        let (_replica, kept) = copy();
        let start = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let (mut random, mut same) = (Random(start), Random(start));
        let (mut ids, mut others) = (Vec::new(), Vec::new());
        let mut now = 0;
        for number in 0..200 {
            now += [0, 1, 2, 7, 15][random.below(5) as usize];
            same.below(5);
            let expected = step(&plain, &mut random, now, &mut ids);
            let told = step(&kept, &mut same, now, &mut others);
            assert_eq!(told, expected, "seed {seed}, step {number}");
            assert_eq!(kept.leases(), plain.leases(), "seed {seed}, step {number}");
            assert_eq!(kept.tickets(), plain.tickets(), "seed {seed}, step {number}");
            let (mut told, mut expected) = (Vec::new(), Vec::new());
            kept.events_since(0, &mut told);
            plain.events_since(0, &mut expected);
            assert_eq!(told, expected, "seed {seed}, step {number}");
            now += random.below(5);
            same.below(5);
            for lease in &ids {
                assert_eq!(state(&kept, *lease, now), state(&plain, *lease, now));
            }
            assert_eq!(kept.verify(), Ok(()));
            // Leases that tickets became.
            ids.extend(plain.leases().iter().map(|lease| lease.id));
            ids.sort_unstable();
            ids.dedup();
            others.clone_from(&ids);
            plain.take_decided(|_| ());
            kept.take_decided(|_| ());
        }
    }
}

/// To others a lease is held until its owner says otherwise, and its owner's renewals are nobody else's business.
#[test]
fn others_know_no_end_and_hear_of_no_renewal() {
    let (owner, table) = copy();
    let (other, copied) = copy();
    copied.memory().kept().unwrap().be_of(OWNER + 1);
    let tell = || {
        let written = owner.take_written();
        assert!(other.apply(&owner.changes(&written)));
        written
    };
    tell();
    let lease = granted(table.claim(1, &claim("one", &["gpu"], 100)));
    tell();
    assert_eq!(table.lease(lease).unwrap().end, 101);
    assert_eq!(copied.lease(lease).unwrap().end, FOREVER);
    assert_eq!(table.renew(50, lease, None), Ok(150));
    let written = tell();
    assert!(owner.is_only(&written, table.now_cell()), "somebody hears of it");
    assert_eq!(state(&copied, lease, 1000), Some(LeaseState::Held));
    assert_eq!(state(&table, lease, 149), Some(LeaseState::Held));
    assert_eq!(state(&table, lease, 150), Some(LeaseState::Expired));
    table.advance(160).unwrap();
    tell();
    assert_eq!(state(&copied, lease, 160), Some(LeaseState::Expired));
    assert_eq!(copied.lease(lease).unwrap().reason, Some(Reason::TimedOut));
}

/// The clocks of others are no reason to end a lease early.
#[test]
fn a_jump_of_the_common_time_ends_nothing() {
    let (_owner, table) = copy();
    let lease = granted(table.claim(1, &claim("one", &["gpu"], 100)));
    table.memory().kept().unwrap().lag_behind(5000);
    assert_eq!(state(&table, lease, 5050), Some(LeaseState::Held));
    table.advance(5050).unwrap();
    assert_eq!(table.next_due(), 5101);
    assert_eq!(table.renew(5060, lease, None), Ok(5160));
    assert_eq!(state(&table, lease, 5160), Some(LeaseState::Expired));
    table.advance(5160).unwrap();
    assert_eq!(table.next_due(), FOREVER, "nothing is left that ends");
}

/// What is another's does not end here, however long ago its owner was last heard of.
#[test]
fn each_ends_what_is_its_own() {
    let (_owner, table) = copy();
    let own = granted(table.claim(1, &claim("one", &["a"], 100)));
    let foreign = Claim { owner: OWNER + 1, ..claim("two", &["b"], 50) };
    let foreign = granted(table.claim(1, &foreign));
    assert!(is_kept(table.memory(), own));
    assert!(!is_kept(table.memory(), foreign));
    table.advance(200).unwrap();
    assert_eq!(state(&table, own, 200), Some(LeaseState::Expired));
    assert_eq!(state(&table, foreign, 200), Some(LeaseState::Held));
    assert_eq!(table.next_due(), FOREVER);
    assert_eq!(table.kept_ids(), [own], "what is over as well");
    assert!(!is_kept(table.memory(), LeaseId(own.0 + table.memory().index_mask() + 1)));
}

/// Others grant to an owner what it waits for. It counts the time from the grant, by its own clock from when it finds the lease.
#[test]
fn what_others_granted_lasts_as_long_as_what_was_granted_here() {
    let (_owner, table) = copy();
    let foreign = Claim { owner: OWNER + 1, ..claim("one", &["gpu"], 100) };
    let lease = granted(table.claim(1, &foreign));
    table.give_to(1, lease, OWNER).unwrap();
    assert_eq!(table.lease(lease).unwrap().end, 101);
    table.find_kept();
    assert_eq!(table.next_due(), 101);
    table.memory().kept().unwrap().lag_behind(50);
    assert_eq!(table.lease(lease).unwrap().end, 151);
    assert_eq!(state(&table, lease, 150), Some(LeaseState::Held));
    assert_eq!(state(&table, lease, 151), Some(LeaseState::Expired));
}

/// At the end of a notice a lease is revoked, even if its own end is the same.
#[test]
fn a_notice_that_ends_with_the_lease_revokes_it() {
    let (_owner, table) = copy();
    let lease = granted(table.claim(1, &claim("one", &["gpu"], 100)));
    table.revoke(1, lease, Reason::Operator, "ops", 100).unwrap();
    assert_eq!(state(&table, lease, 100), Some(LeaseState::Held));
    assert_eq!(state(&table, lease, 101), Some(LeaseState::Revoked));
    table.advance(101).unwrap();
    assert_eq!(table.lease(lease).unwrap().state, LeaseState::Revoked);
}

/// Whether somebody was told of a grant is known to its owner first.
#[test]
fn what_was_granted_to_another_owner_is_not_withdrawn() {
    let (_owner, table) = copy();
    let held = granted(table.claim(1, &claim("one", &["gpu"], 100)));
    let wait = |owner| {
        let wait = Claim { owner, wait: FOREVER, ..claim("two", &["gpu"], 100) };
        match table.claim(1, &wait) {
            Ok(Outcome::Waiting(ticket)) => ticket,
            told => panic!("{told:?}"),
        }
    };
    let [foreign, own] = [OWNER + 1, OWNER].map(wait);
    let lease = |ticket| match table.ticket(ticket) {
        Some(TicketState::Granted(lease)) => lease,
        told => panic!("{told:?}"),
    };
    table.release(2, held).unwrap();
    assert_eq!(table.cancel(2, foreign), Ok(Cancelled::WasCollected(lease(foreign))));
    let first = lease(foreign);
    table.release(3, first).unwrap();
    let second = lease(own);
    assert_eq!(table.cancel(3, own), Ok(Cancelled::WasGranted(second)));
}

/// Whoever renews what is another's has it from then on.
#[test]
fn renewing_takes_over() {
    let (_owner, table) = copy();
    let foreign = Claim { owner: OWNER + 1, ..claim("one", &["gpu"], 100) };
    let lease = granted(table.claim(1, &foreign));
    assert_eq!(table.lease(lease).unwrap().end, FOREVER);
    assert_eq!(table.renew(500, lease, None), Ok(600));
    assert_eq!(table.lease(lease).unwrap().owner, OWNER);
    table.advance(600).unwrap();
    assert_eq!(state(&table, lease, 600), Some(LeaseState::Expired));
}

/// What somebody else has taken over is not one's own any more, and does not become so by being cut off.
#[test]
fn who_is_relieved_keeps_the_time_no_longer() {
    let (owner, table) = copy();
    let (other, copied) = copy();
    copied.memory().kept().unwrap().be_of(OWNER + 1);
    let tell = |from: &Replica, to: &Replica| {
        assert!(to.apply(&from.changes(&from.take_written())));
        to.take_written();
    };
    let [taken, left] =
        [["a"], ["b"]].map(|name| granted(table.claim(1, &claim("one", &name, 100))));
    tell(&owner, &other);
    assert_eq!(table.kept_ids(), [taken, left]);
    copied.renew(2, taken, None).unwrap();
    tell(&other, &owner);
    table.find_kept();
    assert_eq!(table.kept_ids(), [left]);
    assert!(is_kept(table.memory(), left) && !is_kept(table.memory(), taken));
}

/// Who gives up its number has nothing under it, whatever is found there.
#[test]
fn a_number_that_is_given_up_keeps_no_times() {
    let (_owner, table) = copy();
    let kept = || table.memory().kept().unwrap();
    let lease = granted(table.claim(1, &claim("one", &["gpu"], 100)));
    assert!(!kept().is_nobodys() && is_kept(table.memory(), lease));
    kept().be_nobodys();
    assert!(kept().is_nobodys() && !is_kept(table.memory(), lease));
    assert_eq!(state(&table, lease, 500), Some(LeaseState::Held));
}
