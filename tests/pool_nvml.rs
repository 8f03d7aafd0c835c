//! A pool on NVIDIA's devices, as the real wrapper sees them in the fake driver library: health, evidence, and what they do to leases.
#![cfg(feature = "nvml")]

#[path = "common/gpus.rs"]
mod gpus;
#[path = "common/nvml.rs"]
mod nvml;

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use gpus::wait_until;
use nvml::Fake;
use ternlease::inventory::{Nvml, NvmlOptions, Why};
use ternlease::{
    DeviceStatus, GpuPool, Health, LeaseState, PoolError, PoolOptions, Reason, Rules, What,
};

/// Looks often, and forgives quickly.
fn options(fake: &Fake) -> PoolOptions {
    let nvml = Nvml::new(NvmlOptions {
        library: fake.library(),
        sysfs: "/nowhere".into(),
        ..NvmlOptions::default()
    });
    let rules =
        Rules { recovery: Duration::from_millis(50), drain_limit: HOUR, ..Rules::default() };
    PoolOptions::of(nvml).poll(Duration::from_millis(10)).rules(rules)
}

const HOUR: Duration = Duration::from_secs(3600);

fn open(fake: &Fake) -> GpuPool {
    GpuPool::open_with("process:", options(fake)).unwrap()
}

fn wait_for_health(pool: &GpuPool, place: usize, health: Health) -> DeviceStatus {
    let mut last = pool.status().swap_remove(place);
    wait_until(&format!("device {place} becomes {health:?}"), || {
        last = pool.status().swap_remove(place);
        last.health == health
    });
    last
}

fn trouble(status: DeviceStatus) -> String {
    status.trouble.expect("what is not healthy has a reason")
}

const TWO: &str = "device\ndevice\n";

#[test]
fn a_claim_asks_no_driver() {
    let fake = Fake::with(TWO);
    // Nobody looks in the meantime.
    let pool = GpuPool::open_with("process:", options(&fake).poll(HOUR)).unwrap();
    let of_claims = || {
        let calls = fake.calls();
        let events = |call: &&String| call.contains("Event");
        (calls.len(), calls.iter().filter(events).count())
    };
    fake.wait_for("EventSetWait", 1);
    let (all, events) = of_claims();
    for _ in 0..100 {
        let one = pool.try_claim().unwrap().unwrap();
        let two = pool.claim().min_memory(1).wait().unwrap().unwrap();
        assert!(pool.try_claim().unwrap().is_none());
        assert_eq!(one.state(), Some(LeaseState::Held));
        drop((one, two));
        assert!(!pool.snapshot_leases()[0].leased);
        assert_eq!(pool.status()[0].health, Health::Healthy);
    }
    let (all_after, events_after) = of_claims();
    // The thread that waits for faults goes on waiting, and asks whether the library is open.
    assert_eq!(all_after - events_after, all - events, "{:?}", fake.calls());
}

#[test]
fn an_xid_revokes_the_lease_and_the_device_comes_back_when_it_is_well() {
    let fake = Fake::with(TWO);
    let pool = open(&fake);
    let sick = pool.try_claim().unwrap().unwrap();
    let well = pool.try_claim().unwrap().unwrap();
    assert_eq!((sick.gpu_index(), well.gpu_index()), (0, 1));
    let (tell, told) = mpsc::channel();
    sick.on_change(move |notice| tell.send(*notice).unwrap()).unwrap();
    fake.wait_for("EventSetWait", 1);

    fake.script("device\ndevice\nevent 1 0 xid=79\n");
    let notice = told.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!(notice.state, Some(LeaseState::Revoked));
    assert_eq!(notice.reason, Some(Reason::DeviceFault));
    assert_eq!(sick.state(), Some(LeaseState::Revoked));
    assert_eq!(sick.info().unwrap().revoker.as_deref(), Some("device watch"));
    assert_eq!(well.state(), Some(LeaseState::Held), "the other one has nothing to do with it");
    drop((sick, well));

    wait_for_health(&pool, 0, Health::Healthy);
    let again = pool.claim().devices(2).wait().unwrap().unwrap();
    assert_eq!(again.devices().count(), 2);
}

#[test]
fn an_xid_that_is_the_programs_own_fault_changes_nothing() {
    let fake = Fake::with("device\nevent 1 0 xid=31\nevent 2 0 xid=43\n");
    let pool = open(&fake);
    let lease = pool.try_claim().unwrap().unwrap();
    // Both were told before this one, and this one is told.
    fake.script("device\nevent 1 0 xid=31\nevent 2 0 xid=43\nevent 3 0 xid=48\n");
    wait_until("the real fault is seen", || lease.state() == Some(LeaseState::Revoked));
    let (events, _) = pool.manager().events_since(0);
    let failures = events
        .iter()
        .filter(|event| matches!(event.what, What::Health { health: Health::Failed, .. }));
    assert_eq!(failures.count(), 1, "{events:?}");
}

#[test]
fn a_device_that_is_lost_without_a_word_is_found_out() {
    let fake = Fake::with(TWO);
    let pool = open(&fake);
    let lease = pool.try_claim().unwrap().unwrap();
    fake.script("device\ndevice\nlost 0\n");
    let status = wait_for_health(&pool, 0, Health::Failed);
    assert!(trouble(status).contains("lost"));
    assert_eq!(lease.info().unwrap().reason, Some(Reason::DeviceFault));
    assert_eq!(pool.try_claim().unwrap().unwrap().gpu_index(), 1);
    drop(lease);
    fake.script(TWO);
    wait_for_health(&pool, 0, Health::Healthy);
}

#[test]
fn new_ecc_errors_fail_a_device() {
    let fake = Fake::with("device ecc=3\n");
    let pool = open(&fake);
    assert_eq!(pool.status()[0].health, Health::Healthy, "what was there before is old news");
    fake.script("device ecc=4\n");
    let status = wait_for_health(&pool, 0, Health::Failed);
    let text = trouble(status);
    assert!(text.contains("memory error"), "{text}");
}

#[test]
fn two_faulty_devices_of_eight_leave_six() {
    let devices = "device\n".repeat(8);
    let fake = Fake::with(&devices);
    let pool = open(&fake);
    fake.wait_for("EventSetWait", 1);
    fake.script(&format!("{devices}lost 2\n"));
    wait_for_health(&pool, 2, Health::Failed);
    fake.script(&format!("{devices}lost 2\nevent 1 5 xid=79\n"));
    // It would come back, as it is well apart from the fault.
    wait_until("the fault is told", || pool.status()[5].health != Health::Healthy);
    fake.script(&format!("{devices}lost 2\nlost 5\n"));
    wait_for_health(&pool, 5, Health::Failed);
    let status = pool.status();
    for (place, device) in status.iter().enumerate() {
        let expected = if [2, 5].contains(&place) { Health::Failed } else { Health::Healthy };
        assert_eq!(device.health, expected, "{place}: {:?}", device.trouble);
    }
    assert!(status[2].trouble.as_ref().unwrap().contains("lost"));
    assert!(status[5].trouble.is_some());
    let six: Vec<_> = (0..6).map(|_| pool.try_claim().unwrap().unwrap()).collect();
    let indices: Vec<u32> = six.iter().map(|lease| lease.gpu_index()).collect();
    assert_eq!(indices, [0, 1, 3, 4, 6, 7]);
    assert!(pool.try_claim().unwrap().is_none());
}

#[test]
fn what_the_last_holder_left_is_gone_before_the_next_one_comes() {
    let fake = Fake::with("device\n");
    let pool = GpuPool::open_with("process:", options(&fake).check_use(true)).unwrap();
    let first = pool.claim().wait().unwrap().unwrap();
    fake.script("device used=40000\nprocess 0 pid=4242 memory=40000\n");
    thread::scope(|scope| {
        let second = scope.spawn(|| pool.claim().wait().unwrap().unwrap().id());
        wait_until("the second one waits", || pool.pending_claimers() == 1);
        drop(first);
        let status = wait_for_health(&pool, 0, Health::Draining);
        wait_until("it is seen", || pool.status()[0].trouble.is_some());
        assert!(status.leases.is_empty());
        // However often it is looked at, it is not handed out while it is dirty.
        let looks = fake.count("GetMemoryInfo");
        fake.wait_for("GetMemoryInfo", looks + 5);
        assert_eq!(pool.pending_claimers(), 1);
        assert!(pool.try_claim().unwrap().is_none());
        let text = trouble(pool.status().swap_remove(0));
        assert!(text.contains("pid 4242") && text.contains("40000 MiB"), "{text}");

        // The process has gone, its memory has not: still dirty.
        fake.script("device used=40000\n");
        wait_until("the ghost is seen", || {
            pool.status()[0].trouble.as_ref().is_some_and(|text| text.contains("no process"))
        });
        assert_eq!(pool.pending_claimers(), 1);
        fake.script("device\n");
        second.join().unwrap();
    });
}

#[test]
fn a_device_that_stays_dirty_fails_and_comes_back_once_it_is_clean() {
    let fake = Fake::with("device\ndevice\n");
    let rules = Rules { drain_limit: Duration::from_millis(30), ..Rules::default() };
    let options = options(&fake).check_use(true).rules(rules);
    let pool = GpuPool::open_with("process:", options).unwrap();
    let lease = pool.try_claim().unwrap().unwrap();
    fake.script("device used=40000\ndevice\n");
    drop(lease);
    let status = wait_for_health(&pool, 0, Health::Failed);
    assert!(trouble(status).contains("still in use"));
    assert_eq!(pool.try_claim().unwrap().unwrap().gpu_index(), 1);
    fake.script("device\ndevice\n");
    wait_for_health(&pool, 0, Health::Healthy);
}

#[test]
fn a_squatter_is_seen_named_and_passed_over() {
    let me = std::process::id();
    let fake = Fake::with(&format!("device used=900\ndevice\nprocess 0 pid={me} memory=900\n"));
    let pool = GpuPool::open_with("process:", options(&fake).check_use(true)).unwrap();
    let status = pool.status().swap_remove(0);
    assert_eq!(status.health, Health::Draining, "from the beginning");
    let squatter = &status.squatters[0];
    assert_eq!((squatter.pid, squatter.memory), (me, Some(900)));
    // In a container the number may be somebody else's.
    let spaces = std::fs::read_link("/proc/self/ns/pid").unwrap();
    let named = spaces.as_os_str() == "pid:[4026531836]";
    assert_eq!(squatter.user.is_some(), named, "{squatter:?}");
    assert_eq!(squatter.command.is_some(), named, "{squatter:?}");
    assert!(trouble(status).contains(&format!("pid {me}")));
    assert_eq!(pool.try_claim().unwrap().unwrap().gpu_index(), 1);
}

#[test]
fn without_check_use_squatters_are_only_reported() {
    // A pid that cannot be, as one of another name space may look.
    let fake = Fake::with("device used=900\nprocess 0 pid=4194303 memory=900\n");
    let pool = open(&fake);
    let status = pool.status().swap_remove(0);
    assert_eq!(status.health, Health::Healthy);
    let squatter = &status.squatters[0];
    assert_eq!((squatter.pid, &squatter.user, &squatter.command), (4_194_303, &None, &None));
    let lease = pool.try_claim().unwrap().unwrap();
    assert!(pool.status()[0].squatters.is_empty(), "it may be the holder's, who knows");
    drop(lease);
}

#[test]
fn a_lease_that_nobody_uses_is_reported_as_idle() {
    let fake = Fake::with(TWO);
    let pool = open(&fake);
    let _both = [pool.try_claim().unwrap(), pool.try_claim().unwrap()];
    wait_until("both are idle", || pool.status().iter().all(|gpu| gpu.idle_for.is_some()));
    fake.script("device busy=80\ndevice\n");
    wait_until("one is busy", || pool.status()[0].busy == Some(80));
    assert_eq!(pool.status()[0].idle_for, None);
    assert!(pool.status()[1].idle_for.is_some());
}

#[test]
fn a_driver_that_hangs_hangs_nobody_and_takes_no_lease() {
    let fake = Fake::with(TWO);
    let nvml = Nvml::new(NvmlOptions {
        library: fake.library(),
        deadline: Duration::from_millis(50),
        sysfs: "/nowhere".into(),
        ..NvmlOptions::default()
    });
    let options = PoolOptions::of(nvml).poll(Duration::from_millis(10));
    let pool = GpuPool::open_with("process:", options).unwrap();
    let lease = pool.try_claim().unwrap().unwrap();
    fake.script("device\ndevice\nhang GetMemoryInfo\n");
    let status = wait_for_health(&pool, 1, Health::Draining);
    assert!(trouble(status).contains("not answered"));
    assert_eq!(lease.state(), Some(LeaseState::Held));
    assert!(pool.try_claim().unwrap().is_none());
    fake.script(TWO);
    wait_for_health(&pool, 1, Health::Healthy);
    assert_eq!(pool.try_claim().unwrap().unwrap().gpu_index(), 1);
}

#[test]
fn what_an_operator_said_stays_until_he_takes_it_back() {
    let fake = Fake::with(TWO);
    let pool = open(&fake);
    let key = pool.devices()[0].key();
    pool.manager().set_health(&key, Health::Draining).unwrap();
    let looks = fake.count("GetMemoryInfo");
    fake.wait_for("GetMemoryInfo", looks + 10);
    assert_eq!(pool.status()[0].health, Health::Draining);
    pool.manager().set_health(&key, Health::Healthy).unwrap();
    assert_eq!(pool.claim().devices(2).try_now().unwrap().unwrap().devices().count(), 2);
}

#[test]
fn another_device_in_the_same_place_is_not_the_one_that_was_leased() {
    let fake = Fake::with("device uuid=GPU-aaaa\n");
    let pool = open(&fake);
    let lease = pool.try_claim().unwrap().unwrap();
    fake.script("device uuid=GPU-bbbb\n");
    let status = wait_for_health(&pool, 0, Health::Failed);
    assert_eq!(lease.info().unwrap().reason, Some(Reason::Reconfigured));
    let text = trouble(status);
    assert!(text.contains("GPU-aaaa") && text.contains("GPU-bbbb"), "{text}");
}

#[test]
fn parts_of_a_device_are_devices() {
    let fake = Fake::with(
        "device mig=on\nmig 0 0 uuid=MIG-a profile=1g.10gb memory=10000\nmig 0 3 uuid=MIG-b profile=2g.20gb memory=20000\n",
    );
    let pool = open(&fake);
    assert_eq!(pool.capacity(), 2);
    let large = pool.claim().min_memory(15_000).try_now().unwrap().unwrap();
    assert_eq!(large.device().uuid.as_deref(), Some("MIG-b"));
    assert!(large.env().unwrap().set.contains(&("CUDA_VISIBLE_DEVICES", "MIG-b".to_owned())));
    let small = pool.try_claim().unwrap().unwrap();
    assert_eq!(small.device().uuid.as_deref(), Some("MIG-a"));
}

#[test]
fn linked_devices_are_claimed_together() {
    let links = "link 0 2\nlink 1 3\n";
    let fake = Fake::with(&format!("{}{links}", "device\n".repeat(4)));
    let pool = open(&fake);
    let pair = |lease: &ternlease::GpuLease| {
        lease.devices().map(|device| device.index).collect::<Vec<_>>()
    };
    let first = pool.claim().devices(2).try_now().unwrap().unwrap();
    assert_eq!(pair(&first), [0, 2]);
    let second = pool.claim().devices(2).try_now().unwrap().unwrap();
    assert_eq!(pair(&second), [1, 3]);
}

#[test]
fn no_library_no_driver_no_device_each_says_so_and_claims_end_at_once() {
    let fake = Fake::with("");
    let why = |fake: &Fake| {
        let pool = open(fake);
        assert_eq!(pool.capacity(), 0);
        assert!(pool.claim().wait().unwrap().is_none());
        assert!(pool.claim().devices(3).min_memory(1).wait().unwrap().is_none());
        pool.found().absences[0].clone()
    };
    let none = why(&fake);
    assert_eq!(none.why, Why::NoDevice);
    fake.unload_driver();
    let gone = why(&fake);
    assert_eq!(gone.why, Why::NoDriver);
    std::fs::remove_file(fake.library()).unwrap();
    // The library of a process is loaded once; one that was never there is another.
    let missing =
        NvmlOptions { library: fake.library().with_extension("missing"), ..NvmlOptions::default() };
    let pool = GpuPool::open_with("process:", PoolOptions::of(Nvml::new(missing))).unwrap();
    let absence = pool.found().absences[0].to_string();
    assert!(absence.contains("cannot be loaded"), "{absence}");
    for text in [none.to_string(), gone.to_string(), absence] {
        assert!(text.starts_with("nvml: ") && text.len() > 30, "{text}");
    }
}

#[test]
fn a_device_that_was_sick_when_it_was_found_comes_back_too() {
    let fake = Fake::with("device mode=prohibited\ndevice\n");
    let pool = open(&fake);
    assert_eq!(pool.capacity(), 2);
    let status = pool.status().swap_remove(0);
    assert_eq!(status.health, Health::Draining);
    assert!(status.trouble.is_some());
    fake.script(TWO);
    wait_for_health(&pool, 0, Health::Healthy);
    assert_eq!(pool.status()[0].trouble, None);
}

#[test]
fn a_driver_that_does_not_answer_is_not_taken_for_a_machine_without_devices() {
    let fake = Fake::with("device\nhang Init\n");
    let nvml = Nvml::new(NvmlOptions {
        library: fake.library(),
        deadline: Duration::from_millis(50),
        sysfs: "/nowhere".into(),
        ..NvmlOptions::default()
    });
    let error = GpuPool::open_with("process:", PoolOptions::of(nvml)).unwrap_err();
    assert!(matches!(error, PoolError::NoAnswer(_)), "{error:?}");
    let text = error.to_string();
    assert!(text.starts_with("nvml: ") && text.contains("not answered"), "{text}");
    fake.script("device\n");
}
