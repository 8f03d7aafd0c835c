//! What claims can ask for, what they get, and what leases can do.

use std::sync::{Arc, mpsc};
use std::task::{Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use ternlease::inventory::{Declared, Mig};
use ternlease::{
    Error, GpuDevice, GpuPool, Health, LeaseManager, LeaseState, Options, PoolError, PoolOptions,
    Reason, TicketState, Vendor,
};

fn device(vendor: Vendor, index: u32, memory: u32) -> GpuDevice {
    GpuDevice {
        memory: Some(memory),
        uuid: Some(format!("GPU-{vendor}-{index}")),
        pci: format!("0000:{:02x}:00.0", index + 16 * (vendor as u32 + 1)).parse().ok(),
        ..GpuDevice::new(vendor, index, "test")
    }
}

fn nvidia(n: u32) -> Vec<GpuDevice> {
    (0..n).map(|index| device(Vendor::Nvidia, index, 80_000)).collect()
}

/// Eight devices in two islands of four, and two without links.
fn islands() -> Vec<GpuDevice> {
    let island = |index| (index < 8).then_some(index / 4);
    (0..10)
        .map(|index| GpuDevice { island: island(index), ..device(Vendor::Nvidia, index, 80_000) })
        .collect()
}

fn indices(lease: &ternlease::GpuLease) -> Vec<u32> {
    lease.devices().map(|device| device.index).collect()
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed().as_secs() < 60, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn several_devices_come_from_one_island() {
    let pool = GpuPool::new(&islands());
    // One for a single device is left over by no island: the lonely ones go first.
    let single = pool.try_claim().unwrap().unwrap();
    assert_eq!(indices(&single), [8]);
    let four = pool.claim().devices(4).try_now().unwrap().unwrap();
    assert_eq!(indices(&four), [0, 1, 2, 3]);
    let two = pool.claim().devices(2).try_now().unwrap().unwrap();
    assert_eq!(indices(&two), [4, 5]);
    // The rest of the broken island is the tightest for two.
    let two_more = pool.claim().devices(2).try_now().unwrap().unwrap();
    assert_eq!(indices(&two_more), [6, 7]);
    assert_eq!(indices(&pool.try_claim().unwrap().unwrap()), [9]);
}

#[test]
fn a_single_one_takes_what_is_left_over() {
    let pool = GpuPool::new(&islands()[..8]);
    let three = pool.claim().devices(3).try_now().unwrap().unwrap();
    assert_eq!(indices(&three), [0, 1, 2]);
    assert_eq!(indices(&pool.try_claim().unwrap().unwrap()), [3], "the other island stays whole");
}

#[test]
fn more_than_an_island_has_is_made_of_whole_ones() {
    let pool = GpuPool::new(&islands());
    let held = pool.claim().named(&["nvidia:0"]).try_now().unwrap().unwrap();
    let six = pool.claim().devices(6).try_now().unwrap().unwrap();
    // All of the whole island, then the tightest for the two that are missing.
    assert_eq!(indices(&six), [1, 2, 4, 5, 6, 7]);
    drop(held);
}

#[test]
fn devices_that_wait_in_line_are_chosen_by_island_too() {
    let pool = GpuPool::new(&islands()[..8]);
    let all: Vec<_> = (0..8).map(|_| pool.try_claim().unwrap().unwrap()).collect();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| pool.claim().devices(2).wait().unwrap().unwrap());
        wait_until("it waits", || pool.pending_claimers() == 1);
        let mut all = all;
        drop(all.remove(3));
        assert_eq!(pool.pending_claimers(), 1);
        drop(all.remove(6));
        // Two are free, but in different islands: better than to wait on.
        assert_eq!(indices(&waiter.join().unwrap()), [3, 7]);
    });
}

#[test]
fn claims_choose_by_memory_capability_and_vendor() {
    let mut devices = nvidia(3);
    devices[1].memory = Some(16_000);
    devices[2].memory = None;
    devices[1].compute_capability = Some((9, 0));
    devices[0].compute_capability = Some((8, 9));
    devices.push(device(Vendor::Amd, 0, 192_000));
    let pool = GpuPool::new(&devices);
    let one = |claim: ternlease::GpuClaim<'_>| {
        let lease = claim.try_now().unwrap().unwrap();
        (lease.vendor(), lease.gpu_index())
    };
    assert_eq!(one(pool.claim().min_memory(20_000)), (Vendor::Nvidia, 0));
    assert_eq!(one(pool.claim().min_memory(100_000)), (Vendor::Amd, 0));
    assert_eq!(one(pool.claim().min_compute_capability(9, 0)), (Vendor::Nvidia, 1));
    assert_eq!(one(pool.claim().vendor(Vendor::Amd)), (Vendor::Amd, 0));
    // Several are of one vendor.
    let three = pool.claim().devices(3).try_now().unwrap().unwrap();
    assert!(three.devices().all(|device| device.vendor == Vendor::Nvidia));
    assert_eq!(
        pool.claim().devices(4).try_now().unwrap_err(),
        PoolError::TooFew {
            wanted: 4,
            fitting: 3,
            capacity: 4,
            conditions: " (whole devices of one vendor)".to_owned()
        }
    );
    let error = pool.claim().min_memory(200_000).min_compute_capability(10, 0).wait().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("asks for 1, but 0 of 4 devices fit"), "{text}");
    assert!(text.contains("at least 200000 MiB") && text.contains("10.0"), "{text}");
}

#[test]
fn devices_are_found_by_any_of_their_names() {
    let mut devices = nvidia(2);
    devices.push(device(Vendor::Amd, 1, 1_000));
    let pool = GpuPool::new(&devices);
    let find = |name| {
        let lease = pool.claim().named(&[name]).try_now()?.unwrap();
        Ok::<_, PoolError>((lease.vendor(), lease.gpu_index()))
    };
    for name in ["GPU-nvidia-1", "0000:11:00.0", "00000000:11:00.0", "nvidia:1"] {
        assert_eq!(find(name), Ok((Vendor::Nvidia, 1)), "{name}");
    }
    assert_eq!(find("0"), Ok((Vendor::Nvidia, 0)));
    assert_eq!(find("GPU-a"), Ok((Vendor::Amd, 1)));
    let unknown = |name: &str, matches| PoolError::UnknownDevice { name: name.into(), matches };
    assert_eq!(find("1"), Err(unknown("1", 2)), "two vendors have one");
    assert_eq!(find("GPU-nvidia"), Err(unknown("GPU-nvidia", 2)));
    for name in ["", "GPU", "GPU-", "9", "0000:99:00.0", "amd:0", "nvidia:"] {
        assert_eq!(find(name), Err(unknown(name, 0)), "{name}");
    }
    let both = pool.claim().named(&["nvidia:1", "nvidia:0"]).try_now().unwrap().unwrap();
    assert_eq!(both.gpu_index(), 1, "the preferred one first");
    assert_eq!(
        pool.claim().named(&["nvidia:0", "GPU-nvidia-0"]).try_now().unwrap_err(),
        PoolError::Lease(Error::DuplicateCandidate)
    );
}

#[test]
fn slots_and_memory_are_shared() {
    let pool = GpuPool::open_with("process:", PoolOptions::of(Declared::new(nvidia(1))).slots(3));
    let pool = pool.unwrap();
    let a = pool.claim().slots(2).memory(50_000).try_now().unwrap().unwrap();
    assert_eq!(pool.claim().memory(40_000).try_now().unwrap_err(), Error::Busy.into());
    let b = pool.claim().slots(1).memory(30_000).try_now().unwrap().unwrap();
    assert_eq!(pool.claim().slots(1).try_now().unwrap_err(), Error::Busy.into());
    assert_eq!(pool.claim().try_now().unwrap_err(), Error::Busy.into(), "not alone");
    assert_eq!(pool.status()[0].slots, (3, 3));
    assert_eq!(pool.status()[0].leased_memory, 80_000);
    drop((a, b));
    let alone = pool.claim().try_now().unwrap().unwrap();
    assert_eq!(pool.claim().slots(1).try_now().unwrap_err(), Error::Busy.into());
    drop(alone);
    assert_eq!(pool.claim().memory(80_001).wait().unwrap_err(), Error::Impossible.into());
}

#[test]
fn children_see_the_devices_of_their_lease_and_no_others() {
    let mut devices = nvidia(3);
    let part = |n: u32| GpuDevice {
        uuid: Some(format!("MIG-{n}")),
        mig: Some(Mig {
            parent: "GPU-nvidia-2".into(),
            profile: "1g.10gb".into(),
            gpu_instance: n,
            compute_instance: 0,
        }),
        ..devices[2].clone()
    };
    let parts = [part(1), part(2)];
    devices.truncate(2);
    devices.extend(parts);
    let pool = GpuPool::new(&devices);
    let order = ("CUDA_DEVICE_ORDER", "PCI_BUS_ID".to_owned());
    let visible = |value: &str| vec![order.clone(), ("CUDA_VISIBLE_DEVICES", value.to_owned())];
    let two = pool.claim().named(&["nvidia:0", "nvidia:1"]).devices(2).try_now().unwrap().unwrap();
    assert_eq!(two.env().set, visible("0,1"));
    assert_eq!(two.env_by_uuid().set, visible("GPU-nvidia-0,GPU-nvidia-1"));
    let part = pool.claim().named(&["MIG-2"]).try_now().unwrap().unwrap();
    assert_eq!(part.env().set, visible("MIG-2"), "a part has no number");

    let mixed = GpuPool::new(&[device(Vendor::Nvidia, 4, 1), device(Vendor::Amd, 0, 1)]);
    let amd = mixed.claim().vendor(Vendor::Amd).try_now().unwrap().unwrap().env();
    assert!(amd.set.contains(&("ROCR_VISIBLE_DEVICES", "GPU-amd-0".to_owned())));
    assert!(amd.set.contains(&("CUDA_VISIBLE_DEVICES", String::new())), "not its business");
    assert_eq!(amd.remove, ["HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"]);

    let mut command = std::process::Command::new("sh");
    command.args(["-c", "echo $CUDA_VISIBLE_DEVICES/$HIP_VISIBLE_DEVICES/$ROCR_VISIBLE_DEVICES"]);
    command.env("HIP_VISIBLE_DEVICES", "3");
    amd.apply(&mut command);
    assert_eq!(command.output().unwrap().stdout, b"//GPU-amd-0\n");
}

#[test]
fn a_lease_is_kept_alive_while_it_lives_and_not_longer() {
    let pool = GpuPool::new(&nvidia(2));
    let ttl = Duration::from_millis(60);
    let kept = pool.claim().ttl(ttl).keep_alive().wait().unwrap().unwrap();
    let left = pool.claim().ttl(ttl).wait().unwrap().unwrap();
    let end = |lease: &ternlease::GpuLease| lease.info().unwrap().end;
    let before = end(&kept);
    wait_until("the other one ends", || left.state() == Some(LeaseState::Expired));
    assert_eq!(left.info().unwrap().reason, Some(Reason::TimedOut));
    wait_until("it is renewed", || end(&kept) > before);
    assert_eq!(kept.state(), Some(LeaseState::Held));
    let id = kept.into_id();
    wait_until("it ends", || pool.manager().state(id) == Some(LeaseState::Expired));
}

#[test]
fn keeping_alive_needs_real_time() {
    let manager = LeaseManager::with(Options::ticks());
    let pool = GpuPool::on(&manager, &nvidia(1)).unwrap();
    let error = pool.claim().ttl(5).keep_alive().try_now().unwrap_err();
    assert_eq!(error, Error::WrongClock.into());
    assert!(pool.try_claim().unwrap().is_some(), "what it was granted was given back");
}

#[test]
fn a_preempted_holder_is_told_and_can_save_its_work() {
    let pool = GpuPool::new(&nvidia(1));
    let notice = Duration::from_secs(3600);
    let low = pool.claim().preemptible(notice).wait().unwrap().unwrap();
    let (tell, told) = mpsc::channel();
    low.on_change(move |notice| tell.send(*notice).unwrap()).unwrap();
    thread::scope(|scope| {
        let high = scope.spawn(|| pool.claim().priority(5).preempt().wait().unwrap().unwrap());
        let first = told.recv_timeout(Duration::from_secs(60)).unwrap();
        assert_eq!(first.state, Some(LeaseState::Held));
        assert_eq!(first.reason, Some(Reason::Preempted));
        low.release().unwrap();
        assert_eq!(high.join().unwrap().gpu_index(), 0);
    });
    let last = told.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!(last.state, Some(LeaseState::Expired));
}

#[test]
fn giving_back_what_was_taken_away_says_so() {
    let pool = GpuPool::new(&nvidia(1));
    let lease = pool.try_claim().unwrap().unwrap();
    pool.manager().revoke(lease.id()).unwrap();
    assert_eq!(lease.release(), Err(Error::NotHeld(LeaseState::Revoked, Reason::Operator)));
}

#[test]
fn a_device_that_an_operator_drains_gets_no_new_leases() {
    let pool = GpuPool::new(&nvidia(2));
    let lease = pool.try_claim().unwrap().unwrap();
    pool.manager().set_health(&lease.device().key(), Health::Draining).unwrap();
    assert_eq!(lease.state(), Some(LeaseState::Held));
    drop(lease);
    let other = pool.try_claim().unwrap().unwrap();
    assert_eq!(other.gpu_index(), 1);
    assert_eq!(pool.status()[0].health, Health::Draining);
}

#[test]
fn deadlocks_through_devices_and_named_resources_are_seen_together() {
    let manager = LeaseManager::open("process:").unwrap();
    let pool = GpuPool::on(&manager, &nvidia(1)).unwrap();
    let gpu = pool.claim().holder("a").wait().unwrap().unwrap();
    let data = manager.claim("b").of(&["dataset"]).try_now().unwrap();
    let a_waits = manager.claim("a").of(&["dataset"]).enqueue().unwrap();
    assert!(manager.find_deadlocks().unwrap().is_empty());
    assert_eq!(pool.pending_claimers(), 0, "nobody waits for a device");
    thread::scope(|scope| {
        let b_waits = scope.spawn(|| pool.claim().holder("b").wait().unwrap().unwrap());
        wait_until("both wait", || pool.pending_claimers() == 1);
        let deadlocks = manager.find_deadlocks().unwrap();
        assert_eq!(deadlocks[0].stuck, ["a", "b"]);
        drop(gpu);
        assert_eq!(b_waits.join().unwrap().gpu_index(), 0);
    });
    manager.release(data).unwrap();
    manager.release(a_waits.wait().unwrap()).unwrap();
}

#[test]
fn devices_that_are_called_the_same_are_told_apart() {
    let twice = [GpuDevice::new(Vendor::Nvidia, 0, "a"), GpuDevice::new(Vendor::Nvidia, 0, "b")];
    let pool = GpuPool::new(&twice);
    let both = [pool.try_claim().unwrap().unwrap(), pool.try_claim().unwrap().unwrap()];
    assert_eq!(both.each_ref().map(|lease| lease.device().name.as_str()), ["a", "b"]);
}

#[test]
fn a_pool_is_told_its_devices_by_a_text() {
    let pool = |spec: &str| GpuPool::open_with("process:", PoolOptions::from_spec(spec)?);
    assert_eq!(pool("fake:8").unwrap().capacity(), 8);
    assert_eq!(pool("none").unwrap().capacity(), 0);
    for bad in ["", "fake:", "fake:x", "file:/nowhere/at/all", "gpu"] {
        let text = pool(bad).unwrap_err().to_string();
        assert!(!text.is_empty(), "{bad}");
    }
    let error = GpuPool::open_with("elsewhere:", PoolOptions::default()).unwrap_err();
    assert!(error.to_string().contains("elsewhere:"), "{error}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_descriptor_tells_of_revocation() {
    use std::io::Read;
    let pool = GpuPool::new(&nvidia(1));
    let lease = pool.try_claim().unwrap().unwrap();
    let mut told = std::fs::File::from(lease.fd().unwrap());
    let mut count = [0; 8];
    let early = told.read(&mut count).unwrap_err();
    assert_eq!(early.kind(), std::io::ErrorKind::WouldBlock);
    pool.manager().revoke_with(lease.id(), Reason::NodeDrain, "ops", Duration::ZERO).unwrap();
    wait_until("it is readable", || (&told).read(&mut [0; 8]).is_ok());
    assert_eq!(lease.state(), Some(LeaseState::Revoked));
    assert!(matches!(lease.fd(), Err(Error::NotHeld(..))), "it is over");
}

#[test]
fn who_is_woken_by_a_renewal_keeps_nobody_else_from_being_renewed() {
    /// Whoever calls this stays here until the gate is open.
    struct Slow(Mutex<(mpsc::Sender<()>, mpsc::Receiver<()>)>);
    impl Wake for Slow {
        fn wake(self: Arc<Self>) {
            let both = self.0.lock();
            both.0.send(()).unwrap();
            let _ = both.1.recv();
        }
    }
    let pool = GpuPool::new(&nvidia(5));
    let parent = pool.claim().named(&["0"]).wait().unwrap().unwrap();
    let kept = pool.claim().named(&["1"]).child_of(parent.id()).ttl(Duration::from_millis(60));
    let _kept = kept.keep_alive().wait().unwrap().unwrap();
    let (enter, entered) = mpsc::channel();
    let mut gates = Vec::new();
    let mut tickets = Vec::new();
    // One of the two is woken by the thread that renews, the other by the one that looks at the clock.
    for (number, place) in [("2", 2), ("3", 3)] {
        let short = pool.claim().named(std::slice::from_ref(&number));
        let short = short.ttl(Duration::from_millis(30)).wait().unwrap().unwrap();
        let (open, gate) = mpsc::channel();
        gates.push(open);
        let ticket =
            pool.manager().claim("waiter").of(&[&pool.devices()[place].key()]).enqueue().unwrap();
        let slow = Arc::new(Slow(Mutex::new((enter.clone(), gate))));
        assert_eq!(ticket.watch(&Waker::from(slow)), TicketState::Waiting);
        short.into_id();
        tickets.push(ticket);
        entered.recv_timeout(Duration::from_secs(60)).expect("it is woken");
    }
    let (tell, told) = mpsc::channel();
    let other = pool.clone();
    thread::spawn(move || {
        let claim = other.claim().named(&["4"]).ttl(Duration::from_secs(60)).keep_alive();
        tell.send(claim.wait().unwrap().is_some()).unwrap();
    });
    let granted = told.recv_timeout(Duration::from_secs(10));
    drop(gates);
    assert_eq!(granted, Ok(true));
}

#[test]
fn devices_whose_names_no_table_takes_go_by_their_numbers() {
    let mig = Mig { parent: "".into(), profile: "".into(), gpu_instance: 0, compute_instance: 0 };
    let part = |uuid: &str| GpuDevice {
        uuid: Some(uuid.to_owned()),
        mig: Some(mig.clone()),
        ..device(Vendor::Nvidia, 0, 1000)
    };
    let pool = GpuPool::new(&[part(""), part(&"x".repeat(5000)), part("MIG-1")]);
    assert!(pool.claim().named(&["nvidia:0"]).try_now().unwrap().is_some());
    assert!(pool.claim().named(&["nvidia:0#2"]).try_now().unwrap().is_some());
    assert!(pool.claim().named(&["MIG-1"]).try_now().unwrap().is_some());
}

#[test]
fn very_many_devices_are_no_trouble() {
    let pool = GpuPool::new(&nvidia(100_000));
    let lease = pool.claim().devices(1000).try_now().unwrap().unwrap();
    assert_eq!(lease.devices().count(), 1000);
}

#[test]
fn an_outer_mask_of_cudas_does_not_hide_amds_devices_from_a_child() {
    let pool = GpuPool::new(&[GpuDevice::new(Vendor::Amd, 1, "MI300")]);
    let env = pool.try_claim().unwrap().unwrap().env();
    assert!(env.remove.contains(&"CUDA_VISIBLE_DEVICES"), "{env:?}");
    let both = GpuPool::new(&[device(Vendor::Amd, 1, 1), device(Vendor::Nvidia, 0, 1)]);
    let env = both.try_claim().unwrap().unwrap().env();
    assert!(env.set.contains(&("CUDA_VISIBLE_DEVICES", String::new())), "{env:?}");
    assert!(!env.remove.contains(&"CUDA_VISIBLE_DEVICES"), "{env:?}");
}

#[test]
fn who_allows_none_gets_none() {
    let pool = GpuPool::new(&nvidia(2));
    let text = pool.claim().named(&[]).try_now().unwrap_err().to_string();
    assert!(text.contains("0 of 2 devices fit (none is named)"), "{text}");
}

#[test]
fn a_claim_for_several_gets_no_parts_unless_it_names_them() {
    let part = |n: u32| GpuDevice {
        uuid: Some(format!("MIG-{n}")),
        mig: Some(Mig {
            parent: "GPU-a".into(),
            profile: "1g.10gb".into(),
            gpu_instance: n,
            compute_instance: 0,
        }),
        ..GpuDevice::new(Vendor::Nvidia, 0, "A")
    };
    let mut devices = vec![part(1), part(2)];
    devices.extend(nvidia(3).drain(1..));
    let pool = GpuPool::new(&devices);
    let two = pool.claim().devices(2).try_now().unwrap().unwrap();
    assert!(two.devices().all(|device| device.mig.is_none()));
    assert!(matches!(pool.claim().devices(3).try_now(), Err(PoolError::TooFew { fitting: 2, .. })));
    let parts = pool.claim().devices(2).named(&["MIG-1", "MIG-2"]).try_now().unwrap().unwrap();
    assert_eq!(parts.devices().count(), 2);
}

#[test]
fn leases_and_claims_can_go_to_other_threads() {
    fn send<T: Send>() {}
    fn sync<T: Sync>() {}
    send::<ternlease::GpuLease>();
    sync::<ternlease::GpuLease>();
    sync::<GpuPool>();
    send::<ternlease::pool::GpuClaiming<'static>>();
    send::<PoolOptions>();
}
