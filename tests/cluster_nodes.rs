//! A pool of many machines on etcd: the devices of all of them, claims for several on one, here or anywhere, and machines that die and come back.
//! A machine is a process here, or a pool with a session of its own.
#![cfg(all(target_os = "linux", feature = "cluster"))]

#[path = "common/etcd.rs"]
mod etcd;

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use etcd::{Etcd, until};
use ternlease::inventory::{Declared, Fault, Found, Observation};
use ternlease::{
    Error, GpuDevice, GpuLease, GpuPool, Health, Inventory, LeaseState, PoolError, PoolOptions,
    Reason,
};

fn url(etcd: &Etcd, name: &str) -> String {
    url_for(etcd, name, 60)
}

/// Whoever dies is missed after so many seconds.
fn url_for(etcd: &Etcd, name: &str, session: u32) -> String {
    format!("etcd://{}/{name}?session_ttl={session}&timeout=10&member=own", etcd.authority())
}

fn open(url: &str, node: &str, spec: &str) -> GpuPool {
    let options = PoolOptions::from_spec(spec).unwrap().node(node);
    GpuPool::open_with(url, options).unwrap_or_else(|error| panic!("{error}"))
}

/// A process on a machine, which has opened the pool and does nothing else.
struct Machine(Child);

/// What the process is to be: `URL NODE SPEC`.
const ROLE: &str = "TERN_TEST_MACHINE";

#[test]
#[ignore = "the other processes of these tests"]
fn role() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let words: Vec<&str> = role.split(' ').collect();
    let _pool = open(words[0], words[1], words[2]);
    println!("\nhere");
    // Until the test lets go of it.
    let _ = std::io::stdin().read(&mut [0]);
}

impl Machine {
    fn start(url: &str, node: &str, spec: &str) -> Machine {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "role", "--nocapture"])
            .env(ROLE, format!("{url} {node} {spec}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let said = lines.map_while(Result::ok).any(|line| line == "here");
        assert!(said, "{node} did not come");
        Machine(child)
    }

    /// As a machine dies: without a word.
    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn nodes(lease: &GpuLease) -> Vec<&str> {
    lease.devices().map(|device| device.node.as_deref().unwrap()).collect()
}

fn health_on(pool: &GpuPool, node: &str) -> Vec<Health> {
    let status = pool.status().into_iter();
    let there = status.filter(|status| status.device.node.as_deref() == Some(node));
    there.map(|status| status.health).collect()
}

#[test]
fn one_pool_has_the_devices_of_all_machines() {
    let Some(etcd) = Etcd::start() else { return };
    let url = url(&etcd, "all");
    let first = open(&url, "a", "fake:4");
    assert_eq!((first.capacity(), first.node()), (4, Some("a")));
    let _second = Machine::start(&url, "b", "fake:2");
    let scheduler = open(&url, "login", "none");
    etcd.assert_sessions("all", 3);
    assert_eq!(scheduler.capacity(), 6);
    assert_eq!(first.capacity(), 4, "as it was opened");
    let first = first.refreshed().unwrap();
    assert_eq!(first.capacity(), 6);

    // Its own come first, and each tells where it is and what it is like.
    let where_they_are = |pool: &GpuPool| -> Vec<String> {
        pool.devices().iter().map(|device| device.node.clone().unwrap()).collect()
    };
    assert_eq!(where_they_are(&first), ["a", "a", "a", "a", "b", "b"]);
    assert_eq!(first.key(4), Some("b/0000:01:00.0"));
    let there = GpuDevice { node: None, ..first.devices()[4].clone() };
    assert_eq!(there, Declared::fake(2).find().devices[0]);

    // Whoever holds what, all know.
    let lease = scheduler.claim().holder("job").on_node("b").try_now().unwrap().unwrap();
    assert_eq!((lease.node(), lease.gpu_index()), (Some("b"), 0));
    let entry = &first.snapshot_leases()[4];
    assert_eq!((entry.node.as_deref(), &entry.holders[..]), (Some("b"), &["job".to_owned()][..]));
}

#[test]
fn several_on_one_node_here_or_anywhere() {
    let Some(etcd) = Etcd::start() else { return };
    let url = url(&etcd, "places");
    let (a, b) = (open(&url, "a", "fake:4"), open(&url, "b", "fake:4"));
    etcd.assert_sessions("places", 2);
    let pool = a.refreshed().unwrap();

    let three = pool.claim().devices(3).on_one_node().try_now().unwrap().unwrap();
    assert_eq!(nodes(&three), ["a", "a", "a"]);
    let two = pool.claim().devices(2).on_one_node().try_now().unwrap().unwrap();
    assert_eq!(nodes(&two), ["b", "b"]);
    let busy = pool.claim().devices(3).on_one_node().try_now().unwrap_err();
    assert_eq!(busy, PoolError::Lease(Error::Busy), "three are free, but not on one node");
    let anywhere = pool.claim().devices(3).try_now().unwrap().unwrap();
    assert_eq!(nodes(&anywhere), ["a", "b", "b"]);
    let never = pool.claim().devices(5).on_one_node().try_now().unwrap_err();
    assert_eq!(never, PoolError::Lease(Error::Impossible));
    drop((three, two, anywhere));

    // Here is another place for each.
    let here = |pool: &GpuPool| {
        let lease = pool.claim().devices(4).on_this_node().try_now().unwrap().unwrap();
        assert_eq!(nodes(&lease), [pool.node().unwrap(); 4]);
        lease
    };
    let all = (here(&pool), here(&b));
    let scheduler = open(&url, "login", "none");
    let none = scheduler.claim().on_this_node().try_now().unwrap_err();
    assert!(none.to_string().contains("0 of 8 devices fit (on this machine)"), "{none}");

    // A mask is for the machine where the devices are.
    drop(all);
    let there = scheduler.claim().devices(2).on_node("b").try_now().unwrap().unwrap();
    assert_eq!(there.env().unwrap_err(), PoolError::Elsewhere("b".to_owned()));
    let visible = ("CUDA_VISIBLE_DEVICES", "0,1".to_owned());
    assert!(there.env_on("b").set.contains(&visible));
    drop(there);
    let own = a.claim().devices(2).on_this_node().try_now().unwrap().unwrap();
    assert!(own.env().unwrap().set.contains(&visible));
}

#[test]
fn a_claim_waits_for_one_machine_to_have_enough() {
    let Some(etcd) = Etcd::start() else { return };
    let url = url(&etcd, "line");
    let (a, b) = (open(&url, "a", "fake:2"), open(&url, "b", "fake:2"));
    let (one, other) = (a.claim().try_now().unwrap(), b.claim().on_this_node().try_now().unwrap());
    std::thread::scope(|scope| {
        let pool = a.refreshed().unwrap();
        let waits = scope.spawn(move || {
            let lease = pool.claim().devices(2).on_one_node().wait().unwrap().unwrap();
            nodes(&lease).join(" ")
        });
        until("it waits", || (b.pending_claimers() == 1).then_some(()));
        assert!(b.try_claim().unwrap().is_none(), "it is first in line for whatever is free");
        drop(other);
        assert_eq!(waits.join().unwrap(), "b b");
    });
    drop(one);
}

/// One device, which fails when it is told to.
struct Frail(Arc<AtomicBool>);

impl Inventory for Frail {
    fn find(&self) -> Found {
        Declared::fake(1).find()
    }

    fn observe(&self, devices: &[GpuDevice]) -> Vec<Option<Observation>> {
        let failed = self.0.load(Ordering::SeqCst);
        let health = if failed { Health::Failed } else { Health::Healthy };
        let seen = Observation {
            health,
            trouble: None,
            memory_used: None,
            busy: None,
            processes: None,
            uuid: None,
        };
        vec![Some(seen); devices.len()]
    }

    fn faults(&self, _: &[GpuDevice], patience: Duration) -> Vec<Fault> {
        std::thread::sleep(patience);
        Vec::new()
    }

    fn watches(&self) -> bool {
        true
    }
}

#[test]
fn what_a_machine_sees_of_its_devices_counts_for_all() {
    let Some(etcd) = Etcd::start() else { return };
    let url = url(&etcd, "health");
    let failed = Arc::new(AtomicBool::new(false));
    let options = PoolOptions::of(Frail(failed.clone())).node("a").poll(Duration::from_millis(20));
    let _a = GpuPool::open_with(&url, options).unwrap();
    let b = open(&url, "b", "fake:1");
    let lease = b.claim().on_node("a").try_now().unwrap().unwrap();
    failed.store(true, Ordering::SeqCst);
    until("it is revoked", || (lease.state() == Some(LeaseState::Revoked)).then_some(()));
    assert_eq!(lease.info().unwrap().reason, Some(Reason::DeviceFault));
    assert_eq!(health_on(&b, "a"), [Health::Failed]);
    assert_eq!(nodes(&b.try_claim().unwrap().unwrap()), ["b"]);
    assert_eq!(
        b.claim().on_node("a").try_now().unwrap_err(),
        PoolError::Lease(Error::Busy),
        "not now"
    );
}

#[test]
fn a_machine_that_dies_takes_its_devices_out_and_brings_them_back() {
    let Some(etcd) = Etcd::start() else { return };
    let mortal = url_for(&etcd, "death", 10);
    let machine = Machine::start(&mortal, "a", "fake:2");
    let second = Machine::start(&mortal, "a", "fake:2");
    let pool = open(&url(&etcd, "death"), "b", "fake:1");
    let lease = pool.claim().on_node("a").try_now().unwrap().unwrap();

    // Not as long as somebody is there.
    machine.kill();
    until("its process is noticed to be gone", || {
        (pool.manager().count(Reason::HolderDied) == 1).then_some(())
    });
    assert_eq!(lease.state(), Some(LeaseState::Held));
    assert_eq!(health_on(&pool, "a"), [Health::Healthy; 2]);

    second.kill();
    until("its devices are gone", || (lease.state() == Some(LeaseState::Revoked)).then_some(()));
    assert_eq!(lease.info().unwrap().reason, Some(Reason::NodeDrain));
    assert_eq!(health_on(&pool, "a"), [Health::Failed; 2]);
    let trouble = pool.status().pop().unwrap().trouble;
    assert_eq!(trouble.as_deref(), Some("nobody is on its machine any more"));
    assert_eq!(pool.claim().devices(2).try_now().unwrap_err(), PoolError::Lease(Error::Busy));

    std::thread::scope(|scope| {
        let waits = scope.spawn(|| pool.claim().devices(2).on_one_node().wait());
        until("it waits", || (pool.pending_claimers() == 1).then_some(()));
        let _again = Machine::start(&mortal, "a", "fake:2");
        assert_eq!(nodes(&waits.join().unwrap().unwrap().unwrap()), ["a", "a"]);
    });
    pool.manager().verify().unwrap();
}

#[test]
fn a_machine_that_was_cut_off_comes_back_by_itself() {
    let Some(mut etcd) = Etcd::start() else { return };
    let pool = open(&url_for(&etcd, "away", 10), "a", "fake:2");
    let lease = pool.claim().try_now().unwrap().unwrap();
    etcd.kill(0);
    until("it is over", || (lease.state() == Some(LeaseState::Expired)).then_some(()));
    etcd.restart(0);
    let again = until("there is one again", || pool.claim().devices(2).try_now().ok().flatten());
    assert_eq!(nodes(&again), ["a", "a"]);
    assert_eq!(health_on(&pool, "a"), [Health::Healthy; 2]);
}

#[test]
fn processes_of_a_machine_that_see_different_devices_publish_all() {
    let Some(etcd) = Etcd::start() else { return };
    let url = url(&etcd, "masks");
    let devices = Declared::fake(3).find().devices;
    let open_some = |devices: &[GpuDevice]| {
        let options = PoolOptions::of(Declared::new(devices.to_vec())).node("a");
        GpuPool::open_with(&url, options).unwrap()
    };
    let (one, _other) = (open_some(&devices[..2]), open_some(&devices[1..]));
    assert_eq!(one.refreshed().unwrap().capacity(), 2, "what it may see itself");
    assert_eq!(open(&url, "b", "none").capacity(), 3);
}
