//! What claims can ask for, and what they get.

#[path = "common/gpus.rs"]
mod gpus;

use std::thread;

use gpus::{device, nvidia, wait_until};
use ternlease::inventory::{Declared, Mig};
use ternlease::{
    Error, GpuDevice, GpuPool, Health, LeaseManager, LeaseState, PoolError, PoolOptions, Vendor,
};

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
    let env = pool.try_claim().unwrap().unwrap().env().unwrap();
    assert!(env.remove.contains(&"CUDA_VISIBLE_DEVICES"), "{env:?}");
    let both = GpuPool::new(&[device(Vendor::Amd, 1, 1), device(Vendor::Nvidia, 0, 1)]);
    let env = both.try_claim().unwrap().unwrap().env().unwrap();
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
