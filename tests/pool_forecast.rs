//! How long a claim would wait is told by the line, the ends of leases and their history, and nothing is changed by asking.

use std::time::Duration;

use ternlease::{
    Error, ExpectedWait, GpuLease, GpuPool, Health, LeaseManager, Options, Outcome, PoolError,
    PoolOptions, inventory::Declared, inventory::Inventory,
};

const MINUTE: Duration = Duration::from_secs(60);

fn pool(devices: u32) -> GpuPool {
    GpuPool::open_with("process:", PoolOptions::of(Declared::fake(devices))).unwrap()
}

fn held(pool: &GpuPool, count: u32, ttl: Duration) -> GpuLease {
    pool.claim().devices(count).ttl(ttl).try_now().unwrap().unwrap()
}

/// About so many minutes, to the next ten seconds.
#[track_caller]
fn assert_minutes(wait: ExpectedWait, minutes: u32) {
    let ExpectedWait::About(wait) = wait else { panic!("{wait:?} and not {minutes} minutes") };
    let expected = MINUTE * minutes;
    assert!(wait <= expected && wait + Duration::from_secs(10) > expected, "{wait:?}");
}

#[test]
fn who_finds_something_free_does_not_wait_and_who_finds_no_device_never_does() {
    assert_eq!(pool(2).claim().devices(2).expected_wait().unwrap(), ExpectedWait::None);
    assert_eq!(pool(0).claim().expected_wait().unwrap(), ExpectedWait::NoDevices);
    let too_many = pool(2).claim().devices(3).expected_wait();
    assert!(matches!(too_many, Err(PoolError::TooFew { .. })));
    let pool = pool(2);
    for claim in [pool.claim().slots(2), pool.claim().memory(1 << 30)] {
        let refused = claim.expected_wait().unwrap_err();
        assert!(matches!(refused, PoolError::Lease(Error::Impossible)), "{refused}");
        assert!(matches!(claim.try_now(), Err(PoolError::Lease(Error::Impossible))));
    }
}

#[test]
fn the_first_end_serves_one_and_the_last_all() {
    let pool = pool(3);
    let _leases = [1, 2, 3].map(|minutes| held(&pool, 1, MINUTE * minutes));
    assert_minutes(pool.claim().expected_wait().unwrap(), 1);
    assert_minutes(pool.claim().devices(2).expected_wait().unwrap(), 2);
    assert_minutes(pool.claim().devices(3).expected_wait().unwrap(), 3);
    // A certain one.
    let named = ["nvidia:2"];
    assert_minutes(pool.claim().named(&named).expected_wait().unwrap(), 3);
}

#[test]
fn those_who_stand_in_line_come_first() {
    let pool = pool(1);
    let lease = held(&pool, 1, MINUTE);
    let claim = pool.claim().ttl(MINUTE * 5);
    let Some(Outcome::Waiting(first)) = claim.submit().unwrap() else { panic!("it is taken") };
    let Some(Outcome::Waiting(second)) = claim.submit().unwrap() else { panic!("it is taken") };
    assert_minutes(pool.expected_wait_of(first), 1);
    assert_minutes(pool.expected_wait_of(second), 6);
    assert_minutes(pool.claim().expected_wait().unwrap(), 11);
    // A higher priority goes first, here as in the pool.
    assert_minutes(pool.claim().priority(1).expected_wait().unwrap(), 1);
    drop(lease);
    assert_eq!(pool.expected_wait_of(first), ExpectedWait::None, "it has the device");
}

#[test]
fn preemption_and_spare_claims_are_foreseen() {
    let pool = pool(1);
    let claim = pool.claim().ttl(MINUTE).preemptible(Duration::from_millis(1));
    let _lease = claim.try_now().unwrap().unwrap();
    assert_minutes(pool.claim().expected_wait().unwrap(), 1);
    let urgent = pool.claim().priority(5).preempt().expected_wait().unwrap();
    assert!(!matches!(urgent, ExpectedWait::About(wait) if wait > MINUTE / 2), "{urgent:?}");
}

#[test]
fn one_without_end_and_without_history_is_not_foreseen() {
    let pool = pool(2);
    let _for_ever = pool.claim().try_now().unwrap().unwrap();
    let _short = held(&pool, 1, MINUTE);
    assert_minutes(pool.claim().expected_wait().unwrap(), 1);
    assert_eq!(pool.claim().devices(2).expected_wait().unwrap(), ExpectedWait::Unknown);
}

#[test]
fn history_tells_how_long_a_holder_holds() {
    // By a clock of the test's own, so that minutes pass in no time.
    let manager = LeaseManager::with(Options::ticks());
    let pool = GpuPool::on(&manager, &Declared::fake(1).find().devices).unwrap();
    for _ in 0..3 {
        let lease = pool.claim().holder("nightly").try_now().unwrap().unwrap();
        (0..100).for_each(|_| manager.tick());
        drop(lease);
    }
    let _lease = pool.claim().holder("nightly").try_now().unwrap().unwrap();
    // Ticks are of no length, but that it ends is known.
    let Some(Outcome::Waiting(ticket)) = pool.claim().submit().unwrap() else { panic!() };
    assert_eq!(pool.expected_wait_of(ticket), ExpectedWait::Unknown);

    let pool = self::pool(1);
    let lease = pool.claim().holder("short").try_now().unwrap().unwrap();
    drop(lease);
    let _lease = pool.claim().holder("short").try_now().unwrap().unwrap();
    let wait = pool.claim().expected_wait().unwrap();
    assert!(matches!(wait, ExpectedWait::About(wait) if wait < MINUTE), "{wait:?}");
}

#[test]
fn a_failed_device_serves_nobody() {
    let pool = pool(2);
    let _lease = held(&pool, 1, MINUTE);
    pool.manager().set_health(pool.key(1).unwrap(), Health::Failed).unwrap();
    assert_minutes(pool.claim().expected_wait().unwrap(), 1);
    assert_eq!(pool.claim().devices(2).expected_wait().unwrap(), ExpectedWait::Unknown);
}

#[test]
fn asking_changes_nothing() {
    let pool = pool(4);
    let _lease = held(&pool, 3, MINUTE);
    let Some(Outcome::Waiting(_)) = pool.claim().devices(4).submit().unwrap() else { panic!() };
    let manager = pool.manager();
    let look = || (manager.leases(), manager.tickets(), manager.events_since(0));
    let before = look();
    for count in 1..=4 {
        pool.claim().devices(count).expected_wait().unwrap();
    }
    assert_eq!(look(), before);
    manager.verify().unwrap();
}

#[test]
fn of_a_claim_for_something_else_the_pool_knows_nothing() {
    let pool = pool(1);
    let manager = pool.manager();
    manager.acquire("a licence", "ann", MINUTE).unwrap();
    let asked = manager.claim("bob").of(&["a licence"]).submit().unwrap();
    let Outcome::Waiting(ticket) = asked else { panic!("it is taken") };
    assert_eq!(pool.expected_wait_of(ticket), ExpectedWait::Unknown);
}
