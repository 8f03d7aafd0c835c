//! Leases whose time their owner counts: with one owner the table behaves as any other.

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

/// A copy whose leases belong to one owner.
fn copy() -> (Replica, Table<Arrays<Replica>>) {
    let (replica, arrays) = Replica::try_new(&settings().limits.sizes()).unwrap();
    let table = Table::try_new(arrays, settings()).unwrap();
    table.memory().kept().unwrap().be_of(OWNER);
    (replica, table)
}

fn claim<'a>(holder: &'a str, resource: &'a [&'a str], ttl: Time) -> Claim<'a> {
    Claim { ttl, owner: OWNER, ..Claim::one(holder, resource) }
}

fn granted(answer: Result<Outcome, Error>) -> LeaseId {
    match answer {
        Ok(Outcome::Granted(lease)) => lease,
        answer => panic!("{answer:?}"),
    }
}

fn state<M: Memory>(table: &Table<M>, lease: LeaseId, now: Time) -> Option<LeaseState> {
    lease_state(table.memory(), lease, || now)
}

/// A random step, and its answer as text.
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
            let answer = table.claim(now, &Claim { wait, parent, ..claim(holder, &resource, ttl) });
            if let Ok(Outcome::Granted(lease)) = answer {
                ids.push(lease);
            }
            format!("{answer:?}")
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
fn table_of_one_owner_equals_any_other() {
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
            let answer = step(&kept, &mut same, now, &mut others);
            assert_eq!(answer, expected, "seed {seed}, step {number}");
            assert_eq!(kept.leases(), plain.leases(), "seed {seed}, step {number}");
            assert_eq!(kept.tickets(), plain.tickets(), "seed {seed}, step {number}");
            let (mut answer, mut expected) = (Vec::new(), Vec::new());
            kept.events_since(0, &mut answer);
            plain.events_since(0, &mut expected);
            assert_eq!(answer, expected, "seed {seed}, step {number}");
            now += random.below(5);
            same.below(5);
            for lease in &ids {
                assert_eq!(state(&kept, *lease, now), state(&plain, *lease, now));
            }
            assert_eq!(kept.verify(), Ok(()));
            // Leases that were granted to tickets.
            ids.extend(plain.leases().iter().map(|lease| lease.id));
            ids.sort_unstable();
            ids.dedup();
            others.clone_from(&ids);
            plain.take_decided(|_| ());
            kept.take_decided(|_| ());
        }
    }
}

/// Other processes see a lease as held until its owner ends it, and see no renewal.
#[test]
fn other_processes_see_no_end_and_no_renewal() {
    let (owner, table) = copy();
    let (other, copied) = copy();
    copied.memory().kept().unwrap().be_of(OWNER + 1);
    let commit = || {
        let written = owner.take_written();
        assert!(other.apply(&owner.changes(&written)));
        written
    };
    commit();
    let lease = granted(table.claim(1, &claim("one", &["gpu"], 100)));
    commit();
    assert_eq!(table.lease(lease).unwrap().end, 101);
    assert_eq!(copied.lease(lease).unwrap().end, FOREVER);
    assert_eq!(table.renew(50, lease, None), Ok(150));
    let written = commit();
    assert!(owner.is_only(&written, table.now_cell()), "another client is notified");
    assert_eq!(state(&copied, lease, 1000), Some(LeaseState::Held));
    assert_eq!(state(&table, lease, 149), Some(LeaseState::Held));
    assert_eq!(state(&table, lease, 150), Some(LeaseState::Expired));
    table.advance(160).unwrap();
    commit();
    assert_eq!(state(&copied, lease, 160), Some(LeaseState::Expired));
    assert_eq!(copied.lease(lease).unwrap().reason, Some(Reason::TimedOut));
}

/// The clocks of other processes end no lease early.
#[test]
fn jump_of_common_time_ends_no_lease() {
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

/// A lease of another owner does not end here, however old it is.
#[test]
fn owner_ends_only_its_own_leases() {
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

/// Another process grants a lease to an owner. The owner counts the time from the grant, by its own
/// clock from when it finds the lease.
#[test]
fn lease_granted_by_other_process_lasts_its_ttl() {
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
fn notice_ending_with_lease_revokes_it() {
    let (_owner, table) = copy();
    let lease = granted(table.claim(1, &claim("one", &["gpu"], 100)));
    table.revoke(1, lease, Reason::Operator, "ops", 100).unwrap();
    assert_eq!(state(&table, lease, 100), Some(LeaseState::Held));
    assert_eq!(state(&table, lease, 101), Some(LeaseState::Revoked));
    table.advance(101).unwrap();
    assert_eq!(table.lease(lease).unwrap().state, LeaseState::Revoked);
}

/// Only the owner knows whether a grant was reported to a client.
#[test]
fn grant_to_other_owner_is_not_withdrawn() {
    let (_owner, table) = copy();
    let held = granted(table.claim(1, &claim("one", &["gpu"], 100)));
    let wait = |owner| {
        let wait = Claim { owner, wait: FOREVER, ..claim("two", &["gpu"], 100) };
        match table.claim(1, &wait) {
            Ok(Outcome::Waiting(ticket)) => ticket,
            answer => panic!("{answer:?}"),
        }
    };
    let [foreign, own] = [OWNER + 1, OWNER].map(wait);
    let lease = |ticket| match table.ticket(ticket) {
        Some(TicketState::Granted(lease)) => lease,
        answer => panic!("{answer:?}"),
    };
    table.release(2, held).unwrap();
    assert_eq!(table.cancel(2, foreign), Ok(Cancelled::WasCollected(lease(foreign))));
    let first = lease(foreign);
    table.release(3, first).unwrap();
    let second = lease(own);
    assert_eq!(table.cancel(3, own), Ok(Cancelled::WasGranted(second)));
}

/// A process that renews a lease of another owner becomes its owner.
#[test]
fn renewal_takes_over_lease() {
    let (_owner, table) = copy();
    let foreign = Claim { owner: OWNER + 1, ..claim("one", &["gpu"], 100) };
    let lease = granted(table.claim(1, &foreign));
    assert_eq!(table.lease(lease).unwrap().end, FOREVER);
    assert_eq!(table.renew(500, lease, None), Ok(600));
    assert_eq!(table.lease(lease).unwrap().owner, OWNER);
    table.advance(600).unwrap();
    assert_eq!(state(&table, lease, 600), Some(LeaseState::Expired));
}

/// A lease that another process has taken over is not counted here any more, also after this
/// process was cut off.
#[test]
fn previous_owner_does_not_count_time() {
    let (owner, table) = copy();
    let (other, copied) = copy();
    copied.memory().kept().unwrap().be_of(OWNER + 1);
    let commit = |from: &Replica, to: &Replica| {
        assert!(to.apply(&from.changes(&from.take_written())));
        to.take_written();
    };
    let [taken, left] =
        [["a"], ["b"]].map(|name| granted(table.claim(1, &claim("one", &name, 100))));
    commit(&owner, &other);
    assert_eq!(table.kept_ids(), [taken, left]);
    copied.renew(2, taken, None).unwrap();
    commit(&other, &owner);
    table.find_kept();
    assert_eq!(table.kept_ids(), [left]);
    assert!(is_kept(table.memory(), left) && !is_kept(table.memory(), taken));
}

/// A process that gives up its number has no lease under it.
#[test]
fn number_given_up_has_no_leases() {
    let (_owner, table) = copy();
    let kept = || table.memory().kept().unwrap();
    let lease = granted(table.claim(1, &claim("one", &["gpu"], 100)));
    assert!(!kept().is_nobodys() && is_kept(table.memory(), lease));
    kept().be_nobodys();
    assert!(kept().is_nobodys() && !is_kept(table.memory(), lease));
    assert_eq!(state(&table, lease, 500), Some(LeaseState::Held));
}
