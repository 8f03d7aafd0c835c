//! A forked child asks NVIDIA's driver by itself. In a program of its own, because it forks.
#![cfg(all(target_os = "linux", feature = "nvml"))]

#[path = "common/nvml.rs"]
mod fake;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

use fake::{Fake, PATIENCE};
use ternlease::inventory::{Nvml, NvmlOptions, Why};
use ternlease::{GpuDevice, Health, Inventory};

/// Does the work in a forked child; did it succeed?
fn in_child(work: impl FnOnce()) -> bool {
    // SAFETY: the child only goes on in the library, which is what is tested, and ends without going back to the test.
    match unsafe { libc::fork() } {
        -1 => panic!("cannot fork"),
        0 => {
            // SAFETY: an alarm that is not handled ends the child, so that one that hangs fails.
            unsafe { libc::alarm(PATIENCE.as_secs() as u32) };
            let done = catch_unwind(AssertUnwindSafe(work)).is_ok();
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(if done { 0 } else { 1 }) }
        }
        child => {
            let mut status = 0;
            // SAFETY: waits for a child of ours, and the place is valid.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
        }
    }
}

fn nvml(fake: &Fake, deadline: Duration) -> Nvml {
    Nvml::new(NvmlOptions {
        library: fake.library(),
        deadline,
        sysfs: "/no/such/place".into(),
        ..NvmlOptions::default()
    })
}

fn is_well(nvml: &Nvml, devices: &[GpuDevice]) -> bool {
    nvml.observe(devices).iter().all(|seen| seen.as_ref().unwrap().health == Health::Healthy)
}

#[test]
fn a_child_begins_anew_and_its_parent_goes_on() {
    let fake = Fake::with("device\ndevice\n");
    let ours = nvml(&fake, PATIENCE);
    let found = ours.find();
    assert_eq!(found.devices.len(), 2);
    assert_eq!(ours.faults(&found.devices, Duration::ZERO), []);
    assert!(in_child(|| {
        // What was inherited works, in the child's own name.
        assert_eq!(ours.find(), found);
        assert!(is_well(&ours, &found.devices));
        fake.script("device\ndevice\nevent 1 1 xid=79\n");
        assert_eq!(ours.faults(&found.devices, PATIENCE)[0].xid, Some(79));
        // And so it does in the child of the child.
        assert!(in_child(|| assert_eq!(ours.find(), found)));
        assert_eq!(fake.count("Init"), 3);
        drop(ours);
    }));
    assert_eq!(fake.count("Init"), 3);
    assert!(nvml(&fake, PATIENCE).find() == found);
    assert_eq!(fake.count("Init"), 3);
}

#[test]
fn a_child_does_not_hang_behind_what_its_parent_hangs_in() {
    let fake = Fake::with("device\n");
    let ours = nvml(&fake, Duration::from_millis(100));
    let found = nvml(&fake, PATIENCE).find();
    fake.script("device\nhang GetUtilizationRates\n");
    assert!(!is_well(&ours, &found.devices));
    assert!(matches!(ours.find().absences[0].why, Why::Hung(_)));
    // What hangs here would not in the child.
    assert!(in_child(|| assert_eq!(nvml(&fake, PATIENCE).find(), found)));
    assert!(matches!(ours.find().absences[0].why, Why::Hung(_)));
}

#[test]
fn a_child_works_whatever_the_threads_of_its_parent_do_at_that_moment() {
    let fake = Fake::with("device\n");
    let ours = nvml(&fake, PATIENCE);
    let found = ours.find();
    let stop = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    assert!(is_well(&ours, &found.devices));
                }
            });
        }
        let forked = catch_unwind(AssertUnwindSafe(|| {
            (0..20).all(|_| in_child(|| assert!(is_well(&ours, &found.devices))))
        }));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(matches!(forked, Ok(true)), "a child failed");
    });
}
