//! Pools whose inventory says odd things, or little, or nothing; whose options are absurd; whose table is full.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use ternlease::inventory::{Fault, Found, Inventory, Observation, Process, ProcessKind};
use ternlease::{
    GpuDevice, GpuPool, Health, LeaseManager, LeaseState, Limits, Options, PoolOptions, Rules,
    TicketState, Vendor,
};

const HOUR: Duration = Duration::from_secs(3600);

#[derive(Clone, Default)]
struct Scripted(Arc<Inner>);

#[derive(Default)]
struct Inner {
    devices: Mutex<Vec<GpuDevice>>,
    seen: Mutex<Vec<Option<Observation>>>,
    faults: Mutex<Vec<Fault>>,
    looks: AtomicUsize,
    /// Once, who looks waits here with what it has seen.
    gate: Mutex<Option<mpsc::Receiver<()>>>,
}

fn clean() -> Observation {
    Observation {
        health: Health::Healthy,
        trouble: None,
        memory_used: Some(1),
        busy: Some(0),
        processes: Some(Vec::new()),
        uuid: None,
    }
}

fn silent(health: Health) -> Observation {
    Observation { health, memory_used: None, processes: None, busy: None, ..clean() }
}

fn dirty() -> Observation {
    let process =
        Process { kind: ProcessKind::Compute, pid: 7, memory: None, user: None, command: None };
    Observation { memory_used: Some(9000), processes: Some(vec![process]), ..clean() }
}

impl Scripted {
    fn of(seen: &[Observation]) -> Self {
        let this = Scripted::default();
        *this.0.devices.lock() =
            (0..seen.len() as u32).map(|n| GpuDevice::new(Vendor::Nvidia, n, "A100")).collect();
        this.see(seen);
        this
    }
    fn see(&self, seen: &[Observation]) {
        *self.0.seen.lock() = seen.iter().cloned().map(Some).collect();
    }
    fn looks(&self) -> usize {
        self.0.looks.load(Ordering::SeqCst)
    }
    fn options(&self) -> PoolOptions {
        PoolOptions::of(self.clone()).poll(Duration::from_millis(10)).rules(Rules {
            recovery: Duration::from_millis(50),
            drain_limit: HOUR,
            ..Rules::default()
        })
    }
    fn open(&self) -> GpuPool {
        GpuPool::open_with("process:", self.options()).unwrap()
    }
}

impl Inventory for Scripted {
    fn find(&self) -> Found {
        Found { devices: self.0.devices.lock().clone(), ..Found::default() }
    }
    fn observe(&self, _: &[GpuDevice]) -> Vec<Option<Observation>> {
        self.0.looks.fetch_add(1, Ordering::SeqCst);
        let seen = self.0.seen.lock().clone();
        let gate = self.0.gate.lock().take();
        if let Some(gate) = gate {
            let _ = gate.recv();
        }
        seen
    }
    fn faults(&self, _: &[GpuDevice], patience: Duration) -> Vec<Fault> {
        let end = Instant::now() + patience;
        loop {
            let faults = std::mem::take(&mut *self.0.faults.lock());
            if !faults.is_empty() || Instant::now() >= end {
                return faults;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
    fn watches(&self) -> bool {
        true
    }
}

fn within(limit: u64, condition: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while !condition() {
        if began.elapsed().as_secs() >= limit {
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
    true
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    assert!(within(60, condition), "waited in vain: {what}");
}

fn health(pool: &GpuPool) -> Health {
    pool.status()[0].health
}

#[test]
fn a_device_that_was_found_unfit_is_used_once_it_is_well() {
    let inventory = Scripted::of(&[silent(Health::Draining)]);
    inventory.0.devices.lock()[0].health = Health::Draining;
    let pool = inventory.open();
    assert_eq!(health(&pool), Health::Draining);
    inventory.see(&[clean()]);
    assert!(within(60, || health(&pool) == Health::Healthy), "{:?}", pool.status());
}

#[test]
fn a_device_that_said_nothing_at_first_is_checked_once_it_does() {
    let inventory = Scripted::of(&[silent(Health::Draining)]);
    let pool = GpuPool::open_with("process:", inventory.options().check_use(true)).unwrap();
    inventory.see(&[clean()]);
    assert!(within(60, || health(&pool) == Health::Healthy));
    let lease = pool.try_claim().unwrap().unwrap();
    inventory.see(&[dirty()]);
    drop(lease);
    assert!(pool.try_claim().unwrap().is_none(), "handed out dirty");
}

/// On a table that others share, the pool that wanted its devices checked may be gone.
#[cfg(target_os = "linux")]
#[test]
fn a_device_that_another_pool_wanted_checked_is_checked_by_whoever_sees_it() {
    let path = std::env::temp_dir().join(format!("ternlease-watch-{}", std::process::id()));
    let url = format!("host:{}", path.display());
    let inventory = Scripted::of(&[clean()]);
    let strict = GpuPool::open_with(&url, inventory.options().check_use(true)).unwrap();
    let pool = GpuPool::open_with(&url, inventory.options()).unwrap();
    drop(strict);
    let lease = pool.try_claim().unwrap().unwrap();
    inventory.see(&[dirty()]);
    drop(lease);
    assert!(pool.try_claim().unwrap().is_none(), "handed out dirty");
    inventory.see(&[clean()]);
    assert!(within(60, || health(&pool) == Health::Healthy), "{:?}", pool.status());
    drop(pool);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_cannot_be_seen_any_more_is_not_taken_for_unused() {
    let inventory = Scripted::of(&[clean()]);
    let pool = GpuPool::open_with("process:", inventory.options().check_use(true)).unwrap();
    let lease = pool.try_claim().unwrap().unwrap();
    inventory.see(&[silent(Health::Healthy)]);
    drop(lease);
    let looks = inventory.looks();
    assert!(within(60, || inventory.looks() > looks + 3));
    assert!(pool.try_claim().unwrap().is_none(), "handed out without having been seen unused");
}

#[test]
fn a_pool_that_is_hardly_ever_looked_at_still_cleans_after_its_leases() {
    let inventory = Scripted::of(&[clean()]);
    let options = inventory.options().check_use(true).poll(Duration::MAX);
    let pool = GpuPool::open_with("process:", options).unwrap();
    for _ in 0..3 {
        let lease = pool.claim().wait_for(Duration::from_secs(5)).unwrap().unwrap();
        drop(lease);
    }
}

#[test]
fn a_fault_revokes_leases_even_if_the_table_is_full_of_names() {
    let limits = Limits { leases: 8, tickets: 1, resources: 4, history: 1 };
    let manager = LeaseManager::with(Options::real().limits(limits));
    let inventory = Scripted::of(&[clean()]);
    let pool = GpuPool::on_with(&manager, inventory.options()).unwrap();
    let lease = pool.claim().holder("h").try_now().unwrap().unwrap();
    // As many names as there is room for.
    let mut n = 0;
    let mut long = 200;
    while long > 0 {
        let name = format!("{n:0long$}");
        match manager.want(&name, "x") {
            Ok(()) => n += 1,
            Err(_) => long /= 2,
        }
    }
    inventory.0.faults.lock().push(Fault { device: Some(0), xid: None, what: "x".into() });
    assert!(within(60, || lease.state() == Some(LeaseState::Revoked)), "not revoked");
}

#[test]
fn a_device_that_cannot_be_used_is_looked_at_at_leisure() {
    let inventory = Scripted::of(&[silent(Health::Draining)]);
    let pool =
        GpuPool::open_with("process:", inventory.options().poll(Duration::from_secs(10))).unwrap();
    assert!(within(60, || inventory.looks() >= 2), "it was not looked at again");
    let looks = inventory.looks();
    // As often as one that is being cleaned, it would be looked at now.
    assert!(!within(1, || inventory.looks() > looks + 1));
    assert_eq!(health(&pool), Health::Draining);
}

#[test]
fn the_threads_of_a_pool_end_with_it_though_the_manager_goes_on() {
    let manager = LeaseManager::with(Options::real());
    let inventory = Scripted::of(&[clean()]);
    let weak = Arc::downgrade(&inventory.0);
    let pool = GpuPool::on_with(&manager, inventory.options().poll(HOUR)).unwrap();
    let looks = inventory.looks();
    assert!(within(60, || inventory.looks() > looks));
    drop(inventory);
    drop(pool);
    assert!(within(60, || weak.strong_count() == 0), "somebody still watches");
}

#[test]
fn a_new_lease_is_not_idle_for_as_long_as_the_one_before() {
    let inventory = Scripted::of(&[clean()]);
    let pool = inventory.open();
    let lease = pool.try_claim().unwrap().unwrap();
    assert!(within(60, || pool.status()[0].idle_for > Some(Duration::from_millis(1500))));
    drop(lease);
    let began = Instant::now();
    let _lease = pool.try_claim().unwrap().unwrap();
    let idle = pool.status()[0].idle_for;
    assert!(idle.is_none_or(|idle| idle <= began.elapsed()), "{idle:?}");
}

#[test]
fn what_was_seen_before_a_lease_does_not_clear_the_device_after_it() {
    let inventory = Scripted::of(&[clean()]);
    let options = inventory.options().check_use(true).poll(HOUR);
    let pool = GpuPool::open_with("process:", options).unwrap();
    assert!(within(60, || inventory.looks() == 2), "from now on only what happens makes it look");
    let lease = pool.try_claim().unwrap().unwrap();
    let (open, gate) = mpsc::channel();
    *inventory.0.gate.lock() = Some(gate);
    drop(lease);
    assert!(
        within(60, || inventory.0.gate.lock().is_none()),
        "somebody has seen it clean, and waits"
    );
    // Somebody else is made to look meanwhile.
    let fault = Fault { device: None, xid: None, what: "something".into() };
    inventory.0.faults.lock().push(fault);
    // Either that clears it, and the next holder leaves it dirty, or it has to wait for the first one.
    if within(1, || health(&pool) == Health::Healthy) {
        let lease = pool.try_claim().unwrap().unwrap();
        inventory.see(&[dirty()]);
        drop(lease);
        let next = pool.manager().claim("next").of(&["nvidia:0"]).enqueue().unwrap();
        let looks = inventory.looks();
        drop(open);
        assert!(within(60, || inventory.looks() > looks));
        assert_eq!(next.state(), TicketState::Waiting, "handed out dirty");
    } else {
        drop(open);
        assert!(within(60, || health(&pool) == Health::Healthy));
    }
}

#[test]
fn a_holder_that_has_just_gone_is_no_squatter() {
    let inventory = Scripted::of(&[clean()]);
    let pool = GpuPool::open_with("process:", inventory.options().poll(HOUR)).unwrap();
    let lease = pool.try_claim().unwrap().unwrap();
    inventory.see(&[dirty()]);
    // Makes it look.
    let fault = Fault { device: None, xid: None, what: "something".into() };
    inventory.0.faults.lock().push(fault);
    assert!(within(60, || pool.status()[0].memory_used == Some(9000)));
    drop(lease);
    assert_eq!(pool.status()[0].squatters, []);
    let fault = Fault { device: None, xid: None, what: "something".into() };
    inventory.0.faults.lock().push(fault);
    assert!(within(60, || pool.status()[0].squatters.len() == 1), "now it is one");
}

#[test]
fn what_an_operator_says_while_it_is_cleaned_counts() {
    let inventory = Scripted::of(&[clean()]);
    let pool = GpuPool::open_with("process:", inventory.options().check_use(true)).unwrap();
    let lease = pool.try_claim().unwrap().unwrap();
    inventory.see(&[dirty()]);
    drop(lease);
    assert_eq!(health(&pool), Health::Draining);
    pool.manager().set_health("nvidia:0", Health::Draining).unwrap();
    inventory.see(&[clean()]);
    let looks = inventory.looks();
    wait_until("it is looked at", || inventory.looks() > looks + 3);
    assert_eq!(health(&pool), Health::Draining);
    pool.manager().set_health("nvidia:0", Health::Healthy).unwrap();
    assert_eq!(health(&pool), Health::Healthy);
}

#[test]
fn a_pool_that_is_opened_again_sees_for_itself() {
    let manager = LeaseManager::with(Options::real());
    let inventory = Scripted::of(&[clean()]);
    let pool = GpuPool::on_with(&manager, inventory.options()).unwrap();
    inventory.see(&[silent(Health::Failed)]);
    wait_until("it fails", || health(&pool) == Health::Failed);
    drop(pool);
    inventory.see(&[clean()]);
    let pool = GpuPool::on_with(&manager, inventory.options()).unwrap();
    assert_eq!(health(&pool), Health::Healthy);
}

#[test]
fn what_is_given_back_after_its_pool_has_gone_waits_for_nobody() {
    let manager = LeaseManager::with(Options::real());
    let inventory = Scripted::of(&[clean()]);
    let pool = GpuPool::on_with(&manager, inventory.options().check_use(true)).unwrap();
    let lease = pool.try_claim().unwrap().unwrap().into_id();
    drop(pool);
    manager.release(lease).unwrap();
    assert_eq!(manager.resource("nvidia:0").unwrap().health, Health::Healthy);
}

#[test]
fn what_one_pool_wants_checked_another_clears_only_if_it_sees_it_unused() {
    let manager = LeaseManager::with(Options::real());
    let strict = Scripted::of(&[clean()]);
    let pool = GpuPool::on_with(&manager, strict.options().check_use(true)).unwrap();
    let lease = pool.try_claim().unwrap().unwrap();
    strict.see(&[dirty()]);
    // One that sees it in use, and one that never sees anything of its use.
    let seeing = Scripted::of(&[dirty()]);
    let blind = Scripted::of(&[silent(Health::Healthy)]);
    let others = [&seeing, &blind].map(|one| GpuPool::on_with(&manager, one.options()).unwrap());
    drop(lease);
    let looks = [seeing.looks(), blind.looks()];
    wait_until("the others look", || seeing.looks() > looks[0] + 3 && blind.looks() > looks[1] + 3);
    assert!(others.iter().all(|other| other.try_claim().unwrap().is_none()));
    seeing.see(&[clean()]);
    wait_until("another sees that it is clean", || health(&pool) == Health::Healthy);
}
