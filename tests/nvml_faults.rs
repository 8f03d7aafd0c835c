//! Faults that NVIDIA's devices report of their own accord: who is told, of what, and what is no fault.
#![cfg(all(target_os = "linux", feature = "nvml"))]

#[path = "common/asking.rs"]
mod asking;
#[path = "common/nvml.rs"]
mod fake;

use std::cell::Cell;
use std::thread;
use std::time::Duration;

use asking::{hasty, look, options, patient, until};
use fake::{Fake, PATIENCE};
use ternlease::inventory::{Fault, Nvml, NvmlOptions};
use ternlease::{Health, Inventory};

fn xids(faults: &[Fault]) -> Vec<(Option<usize>, Option<u64>)> {
    faults.iter().map(|fault| (fault.device, fault.xid)).collect()
}

#[test]
fn a_fault_is_told_to_each_who_waits_while_others_look() {
    let fake = Fake::with("device\ndevice\n");
    let found = patient(&fake).find();
    thread::scope(|scope| {
        let wait = || patient(&fake).faults(&found.devices, PATIENCE);
        let waiting = [scope.spawn(wait), scope.spawn(wait)];
        fake.wait_for("EventSetWait", 2);
        assert_eq!(look(&patient(&fake), &found.devices)[1].health, Health::Healthy);
        fake.script("device\ndevice\nevent 1 1 xid=79\n");
        for waiter in waiting {
            let faults = waiter.join().unwrap();
            assert_eq!(xids(&faults), [(Some(1), Some(79))]);
            assert!(faults[0].what.contains("Xid 79"), "{faults:?}");
        }
    });
}

#[test]
fn a_fault_is_told_once_and_the_set_is_kept() {
    let fake = Fake::with("device\n");
    let nvml = patient(&fake);
    let found = nvml.find();
    assert_eq!(nvml.faults(&found.devices, Duration::ZERO), []);
    fake.script("device\nevent 1 0 ecc=double\n");
    let faults = nvml.faults(&found.devices, PATIENCE);
    assert_eq!(xids(&faults), [(Some(0), None)]);
    assert!(faults[0].what.contains("memory error"), "{faults:?}");
    assert_eq!(nvml.faults(&found.devices, Duration::ZERO), []);
    assert_eq!(fake.count("EventSetCreate"), 1);
}

#[test]
fn several_faults_come_together_and_benign_ones_not_at_all() {
    let fake = Fake::with("device\ndevice\n");
    let nvml = patient(&fake);
    let found = nvml.find();
    assert_eq!(nvml.faults(&found.devices, Duration::ZERO), []);
    fake.script(
        "device\ndevice\nevent 1 0 xid=31\nevent 2 0 xid=13\nevent 3 1 xid=48\nevent 4 0 xid=43\nevent 5 0 xid=119\n",
    );
    let faults = nvml.faults(&found.devices, PATIENCE);
    assert_eq!(xids(&faults), [(Some(1), Some(48)), (Some(0), Some(119))]);
    // Who takes them for faults says so.
    let strict = Nvml::new(NvmlOptions { benign: vec![], ..options(&fake) });
    assert_eq!(xids(&strict.faults(&found.devices, PATIENCE)).len(), 5);
}

#[test]
fn a_device_that_cannot_report_is_not_sick_and_the_others_report() {
    for error in ["NOT_SUPPORTED", "UNKNOWN", "GPU_IS_LOST"] {
        let script = format!("device\ndevice\nfail RegisterEvents 0 {error}\n");
        let fake = Fake::with(&script);
        let nvml = patient(&fake);
        let found = nvml.find();
        assert_eq!(nvml.faults(&found.devices, Duration::ZERO), [], "{error}");
        assert_eq!(look(&nvml, &found.devices)[0].health, Health::Healthy);
        fake.script(&format!("{script}event 1 0 xid=79\nevent 2 1 xid=79\n"));
        let faults = nvml.faults(&found.devices, PATIENCE);
        assert_eq!(xids(&faults), [(Some(1), Some(79))], "{error}");
    }
}

#[test]
fn other_devices_get_another_set() {
    let fake = Fake::with("device\ndevice\n");
    let nvml = patient(&fake);
    let found = nvml.find();
    assert_eq!(nvml.faults(&found.devices[..1], Duration::ZERO), []);
    assert_eq!(nvml.faults(&found.devices, Duration::ZERO), []);
    assert_eq!((fake.count("EventSetCreate"), fake.count("EventSetFree")), (2, 1));
    fake.script("device\ndevice\nevent 1 1 xid=79\n");
    assert_eq!(xids(&nvml.faults(&found.devices, PATIENCE)), [(Some(1), Some(79))]);
}

#[test]
fn waiting_that_fails_is_told_once_and_begun_again() {
    let fake = Fake::with("device\nfail EventSetWait GPU_IS_LOST times=2\n");
    let nvml = patient(&fake);
    let found = nvml.find();
    let faults = nvml.faults(&found.devices, PATIENCE);
    assert_eq!(xids(&faults), [(None, None)]);
    assert_eq!(nvml.faults(&found.devices, Duration::ZERO), []);
    fake.script("device\nevent 1 0 xid=79\n");
    assert_eq!(xids(&nvml.faults(&found.devices, PATIENCE)), [(Some(0), Some(79))]);
}

#[test]
fn a_fault_of_a_divided_device_is_one_of_each_part() {
    let script = "device mig=on\nmig 0 0 uuid=MIG-a gi=1\nmig 0 2 uuid=MIG-b gi=2\n";
    let fake = Fake::with(script);
    let nvml = patient(&fake);
    let found = nvml.find();
    assert_eq!(nvml.faults(&found.devices, Duration::ZERO), []);
    fake.script(&format!("{script}event 1 0 xid=79\n"));
    let faults = nvml.faults(&found.devices, PATIENCE);
    assert_eq!(xids(&faults), [(Some(0), Some(79)), (Some(1), Some(79))]);
}

#[test]
fn waiting_for_faults_ends_though_the_driver_hangs() {
    let fake = Fake::with("device\n");
    let nvml = hasty(&fake);
    let found = patient(&fake).find();
    fake.script("device\nhang EventSetWait\n");
    assert_eq!(nvml.faults(&found.devices, Duration::from_millis(10)), []);
    // The thread for everything else is free.
    assert_eq!(look(&patient(&fake), &found.devices)[0].health, Health::Healthy);
    fake.script("device\nevent 1 0 xid=79\n");
    until("nobody waits for faults any more", || {
        !nvml.faults(&found.devices, Duration::from_millis(10)).is_empty()
    });
}

#[test]
fn a_fault_of_one_part_is_none_of_the_others() {
    let script = "device mig=on\nmig 0 0 uuid=MIG-a gi=1\nmig 0 2 uuid=MIG-b gi=2\n";
    let fake = Fake::with(script);
    let nvml = patient(&fake);
    let found = nvml.find();
    assert_eq!(nvml.faults(&found.devices, Duration::ZERO), []);
    fake.script(&format!("{script}event 1 0/2 xid=94\n"));
    assert_eq!(xids(&nvml.faults(&found.devices, PATIENCE)), [(Some(1), Some(94))]);
}

#[test]
fn no_patience_is_too_long() {
    let fake = Fake::with("device\nevent 1 0 xid=79\n");
    let nvml = patient(&fake);
    let found = nvml.find();
    assert_eq!(xids(&nvml.faults(&found.devices, Duration::MAX)), [(Some(0), Some(79))]);
}

#[test]
fn a_device_that_was_in_trouble_when_it_was_to_be_registered_reports_later() {
    let fake = Fake::with("device\ndevice\n");
    let nvml = patient(&fake);
    let devices = nvml.find().devices;
    fake.script("device\ndevice\nfail RegisterEvents 0 GPU_IS_LOST\n");
    assert!(nvml.faults(&devices, Duration::from_millis(10)).is_empty());
    let serial = Cell::new(0);
    until("its faults are heard", || {
        serial.set(serial.get() + 1);
        fake.script(&format!("device\ndevice\nevent {} 0 xid=79\n", serial.get()));
        let faults = nvml.faults(&devices, Duration::from_millis(200));
        faults.iter().any(|fault| fault.device == Some(0))
    });
}
