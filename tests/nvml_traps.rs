//! What NVIDIA's driver library does to those who trust it: each trap as a test, through the real wrapper, on a fake library.
#![cfg(all(target_os = "linux", feature = "nvml"))]

#[path = "common/asking.rs"]
mod asking;
#[path = "common/nvml.rs"]
mod fake;
#[path = "common/places.rs"]
mod places;

use std::thread;
use std::time::{Duration, Instant};

use asking::{hasty, look, options, patient, until};
use fake::{Fake, PATIENCE};
use places::Places;
use ternlease::inventory::{Nvml, NvmlOptions, Observation, Process, ProcessKind, Why};
use ternlease::{Health, Inventory};

/// The first device, found and looked at.
fn first(fake: &Fake) -> Observation {
    let nvml = patient(fake);
    let found = nvml.find();
    look(&nvml, &found.devices).swap_remove(0)
}

fn pids(seen: &Observation) -> Option<Vec<u32>> {
    Some(seen.processes.as_ref()?.iter().map(|process| process.pid).collect())
}

// The library and its calls.

#[test]
fn initialised_once_for_all_and_never_shut_down() {
    let fake = Fake::with("device\n");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let nvml = patient(&fake);
                let found = nvml.find();
                assert_eq!(look(&nvml, &found.devices)[0].health, Health::Healthy);
                assert_eq!(nvml.faults(&found.devices, Duration::ZERO), []);
            });
        }
    });
    assert_eq!((fake.count("Init"), fake.count("Shutdown")), (1, 0));
}

#[test]
fn somebody_else_shut_it_down_and_it_is_initialised_again() {
    let fake = Fake::with("device\n");
    let nvml = patient(&fake);
    let found = nvml.find();
    fake.script("device\nfail GetCount UNINITIALIZED times=1\n");
    assert_eq!(look(&nvml, &found.devices)[0].health, Health::Healthy);
    assert_eq!(fake.count("Init"), 2);
}

#[test]
fn symbols_that_old_drivers_lack_are_unknown_values() {
    for variant in ["old", "bare"] {
        let fake = Fake::variant(variant);
        fake.script("device memory=1000 used=10 busy=7\nprocess 0 pid=42 memory=5\n");
        let nvml = patient(&fake);
        let found = nvml.find();
        assert_eq!((found.devices.len(), found.absences.len()), (1, 0), "{variant}: {found:?}");
        let device = &found.devices[0];
        assert_eq!((device.numa, device.island, &device.mig), (None, None, &None), "{variant}");
        assert_eq!((device.memory, device.health), (Some(1000), Health::Healthy), "{variant}");
        let seen = look(&nvml, &found.devices).swap_remove(0);
        assert_eq!((seen.memory_used, seen.busy), (Some(10), Some(7)), "{variant}");
        assert_eq!(pids(&seen), Some(vec![42]), "{variant}");
        assert_eq!(nvml.faults(&found.devices, Duration::ZERO), [], "{variant}");
    }
}

#[test]
fn answers_that_the_wrapper_has_no_name_for_spoil_nothing() {
    // Beyond the errors that the wrapper knows.
    let fake = Fake::with(
        "device\ndevice\nlink 0 1\n\
         fail GetNvLinkState INSUFFICIENT_RESOURCES\nfail GetMigMode GPU_NOT_FOUND\n\
         fail GetCudaComputeCapability NOT_READY\nfail GetUtilizationRates NOT_READY\n",
    );
    let nvml = patient(&fake);
    let found = nvml.find();
    assert_eq!(found.devices.len(), 2);
    assert_eq!((found.devices[0].compute_capability, found.devices[0].island), (None, None));
    let seen = look(&nvml, &found.devices).swap_remove(0);
    assert_eq!((seen.health, seen.busy, seen.memory_used.is_some()), (Health::Healthy, None, true));
}

#[test]
fn what_a_device_does_not_support_is_unknown_and_no_fault() {
    let fake = Fake::with(
        "device\n\
         fail GetUtilizationRates NOT_SUPPORTED\nfail GetMemoryInfo NOT_SUPPORTED\n\
         fail GetComputeRunningProcesses NOT_SUPPORTED\nfail GetTotalEccErrors NOT_SUPPORTED\n",
    );
    let seen = first(&fake);
    assert_eq!((seen.health, seen.trouble), (Health::Healthy, None));
    assert_eq!((seen.busy, seen.memory_used, seen.processes), (None, None, None));
}

#[test]
fn a_device_that_answers_nothing_is_not_known_to_be_well() {
    let fake = Fake::with("device\n");
    let nvml = patient(&fake);
    let found = nvml.find();
    fake.script(
        "device\n\
         fail GetUtilizationRates UNKNOWN\nfail GetMemoryInfo UNKNOWN\n\
         fail GetComputeRunningProcesses UNKNOWN\nfail GetGraphicsRunningProcesses UNKNOWN\n\
         fail GetMPSComputeRunningProcesses UNKNOWN\nfail GetTotalEccErrors UNKNOWN\n",
    );
    let seen = look(&nvml, &found.devices).swap_remove(0);
    assert_eq!(seen.health, Health::Draining);
    assert!(seen.trouble.unwrap().contains("internal driver error"));
}

// Memory.

#[test]
fn memory_by_the_first_call_where_the_second_is_missing_or_refused() {
    let script = "device memory=1000 used=10\n";
    let old = Fake::variant("old");
    old.script(script);
    let refused = Fake::with(&format!("{script}fail GetMemoryInfo_v2 NOT_SUPPORTED\n"));
    let mismatch =
        Fake::with(&format!("{script}fail GetMemoryInfo_v2 ARGUMENT_VERSION_MISMATCH\n"));
    let not_found = Fake::with(&format!("{script}fail GetMemoryInfo_v2 FUNCTION_NOT_FOUND\n"));
    for fake in [old, refused, mismatch, not_found] {
        assert_eq!(patient(&fake).find().devices[0].memory, Some(1000));
        assert_eq!(first(&fake).memory_used, Some(10));
    }
}

#[test]
fn memory_by_the_second_call_where_the_first_is_missing() {
    let fake = Fake::variant("v2-memory-only");
    fake.script("device memory=1000 used=10\n");
    assert_eq!(patient(&fake).find().devices[0].memory, Some(1000));
    assert_eq!(first(&fake).memory_used, Some(10));
}

#[test]
fn memory_that_no_call_tells_is_unknown_and_not_zero() {
    for script in ["device\nfail GetMemoryInfo NOT_SUPPORTED\n", "device memory=0 used=0\n"] {
        let fake = Fake::with(script);
        let found = patient(&fake).find();
        assert_eq!((found.devices[0].memory, found.devices[0].health), (None, Health::Healthy));
        assert_eq!(first(&fake).memory_used, None);
    }
}

// Processes.

#[test]
fn processes_are_asked_for_with_room_for_them_and_not_counted_first() {
    let fake = Fake::with(
        "device memory=1000\n\
         process 0 pid=11 memory=100\nprocess 0 pid=12 memory=unknown\n\
         process 0 pid=13 kind=mps memory=7\n\
         process 0 pid=14 kind=graphics memory=8\nprocess 0 pid=11 kind=graphics memory=9\n",
    );
    let seen = first(&fake).processes.unwrap();
    let told = |process: &Process| (process.kind, process.pid, process.memory);
    assert_eq!(
        seen.iter().map(told).collect::<Vec<_>>(),
        [
            (ProcessKind::Compute, 11, Some(100)),
            (ProcessKind::Compute, 12, None),
            (ProcessKind::Compute, 13, Some(7)),
            (ProcessKind::Graphics, 14, Some(8)),
        ]
    );
    assert_eq!(fake.count("GetComputeRunningProcesses"), 1);
}

#[test]
fn more_processes_than_there_was_room_for() {
    let mut script = "device\n".to_owned();
    (1..=500).for_each(|pid| script += &format!("process 0 pid={pid} memory=1\n"));
    let fake = Fake::with(&script);
    assert_eq!(pids(&first(&fake)), Some((1..=500).collect()));
}

#[test]
fn a_list_in_the_layout_of_the_535_accident_is_no_list() {
    let fake = Fake::with(
        "device\ndevice\nprocess_garbage 0\n\
         process 0 pid=11 memory=100\nprocess 0 pid=12 memory=100\nprocess 1 pid=13 memory=100\n",
    );
    let nvml = patient(&fake);
    let seen = look(&nvml, &nvml.find().devices);
    assert_eq!((seen[0].health, &seen[0].processes), (Health::Healthy, &None));
    assert_eq!(pids(&seen[1]), Some(vec![13]));
}

#[test]
fn impossible_pids_and_memory_make_no_list() {
    for process in ["pid=0", "pid=4194305", "pid=7 memory=2000"] {
        let fake = Fake::with(&format!("device memory=1000\nprocess 0 {process}\n"));
        assert_eq!(first(&fake).processes, None, "{process}");
    }
}

#[test]
fn a_pid_of_another_name_space_is_a_process_without_a_name() {
    // None has this number: the kernel gives out smaller ones.
    let fake = Fake::with("device\nprocess 0 pid=4194304 memory=1\n");
    let seen = first(&fake).processes.unwrap();
    assert_eq!((seen[0].pid, &seen[0].user, &seen[0].command), (4_194_304, &None, &None));
}

#[test]
fn a_process_of_this_machine_has_user_and_program() {
    let own = std::process::id();
    let fake = Fake::with(&format!("device\nprocess 0 pid={own} memory=1\n"));
    let seen = first(&fake).processes.unwrap();
    let first_space = std::fs::read_link("/proc/self/ns/pid")
        .is_ok_and(|name| name.as_os_str() == "pid:[4026531836]");
    let command = std::fs::read_to_string("/proc/self/comm").unwrap();
    // In a container the driver would mean another process by that number.
    let expected = first_space.then(|| command.trim_end().to_owned());
    assert_eq!(seen[0].command, expected);
    assert_eq!(seen[0].user.is_some(), first_space);
}

// Trouble with devices.

#[test]
fn a_lost_device_has_failed_though_no_event_told() {
    let fake = Fake::with("device\ndevice\n");
    let nvml = patient(&fake);
    let found = nvml.find();
    fake.script("device\ndevice\nlost 1\n");
    let seen = look(&nvml, &found.devices);
    assert_eq!((seen[0].health, seen[1].health), (Health::Healthy, Health::Failed));
    assert!(seen[1].trouble.as_ref().unwrap().contains("lost"), "{:?}", seen[1]);
    assert_eq!(nvml.faults(&found.devices, Duration::ZERO), []);
    // And back.
    fake.script("device\ndevice\n");
    assert_eq!(look(&nvml, &found.devices)[1].health, Health::Healthy);
}

#[test]
fn a_device_that_is_gone_or_must_be_reset_has_failed() {
    let fake = Fake::with("device\ndevice\n");
    let nvml = patient(&fake);
    let found = nvml.find();
    fake.script("device\nfail GetUtilizationRates 0 RESET_REQUIRED\n");
    let seen = look(&nvml, &found.devices);
    assert_eq!((seen[0].health, seen[1].health), (Health::Failed, Health::Failed));
    assert!(seen[0].trouble.as_ref().unwrap().contains("reset"), "{:?}", seen[0]);
    assert!(seen[1].trouble.as_ref().unwrap().contains("no such device"), "{:?}", seen[1]);
}

#[test]
fn another_device_in_the_same_place_is_noticed() {
    let fake = Fake::with("device uuid=GPU-a\n");
    let nvml = patient(&fake);
    let found = nvml.find();
    fake.script("device uuid=GPU-b\n");
    assert_eq!(look(&nvml, &found.devices)[0].uuid.as_deref(), Some("GPU-b"));
}

#[test]
fn a_device_is_found_again_when_the_order_changes() {
    let fake =
        Fake::with("device pci=00000000:01:00.0 used=1\ndevice pci=00000000:02:00.0 used=2\n");
    let nvml = patient(&fake);
    let found = nvml.find();
    fake.script("device pci=00000000:02:00.0 used=2\ndevice pci=00000000:01:00.0 used=1\n");
    let seen = look(&nvml, &found.devices);
    assert_eq!((seen[0].memory_used, seen[1].memory_used), (Some(1), Some(2)));
}

#[test]
fn memory_errors_count_from_when_a_device_was_first_seen() {
    let fake = Fake::with("device ecc=3\n");
    let nvml = patient(&fake);
    let found = nvml.find();
    let health = || look(&nvml, &found.devices)[0].health;
    assert_eq!(health(), Health::Healthy);
    fake.script("device ecc=5\n");
    let seen = look(&nvml, &found.devices).swap_remove(0);
    assert_eq!(seen.health, Health::Failed);
    assert!(seen.trouble.as_ref().unwrap().starts_with("2 new memory errors"), "{seen:?}");
    // A reset counts from zero again; and from there they are new.
    fake.script("device ecc=0\n");
    assert_eq!(health(), Health::Healthy);
    fake.script("device ecc=1\n");
    assert_eq!(health(), Health::Failed);
}

#[test]
fn parts_are_looked_at_by_themselves() {
    let script = "device uuid=GPU-p mig=on used=900 memory=1000\n\
                  mig 0 0 uuid=MIG-a gi=1 memory=100 used=10\nmig 0 3 uuid=MIG-b gi=2 memory=100 used=20\n";
    let fake = Fake::with(&format!("{script}process 0/3 pid=42 memory=5\n"));
    let nvml = patient(&fake);
    let found = nvml.find();
    let seen = look(&nvml, &found.devices);
    assert_eq!((seen[0].memory_used, pids(&seen[0])), (Some(10), Some(vec![])));
    assert_eq!((seen[1].memory_used, pids(&seen[1])), (Some(20), Some(vec![42])));
    assert_eq!((seen[0].busy, seen[0].health), (None, Health::Healthy));
    assert_eq!(seen[1].uuid.as_deref(), Some("MIG-b"));
    // One is taken away.
    fake.script("device uuid=GPU-p mig=on\nmig 0 0 uuid=MIG-a gi=1\n");
    let seen = look(&nvml, &found.devices);
    assert_eq!((seen[0].health, seen[1].health), (Health::Healthy, Health::Failed));
}

#[test]
fn a_sleeping_device_is_not_woken() {
    let places = Places::new();
    places.say("0000:01:00.0", "power/runtime_status", "suspended");
    places.say("0000:02:00.0", "power/runtime_status", "active");
    let fake =
        Fake::with("device uuid=GPU-a pci=00000000:01:00.0\ndevice pci=00000000:02:00.0 busy=3\n");
    let nvml = Nvml::new(NvmlOptions { sysfs: places.root(), ..options(&fake) });
    let found = nvml.find();
    let touched = || fake.calls().iter().filter(|call| call.ends_with(" 0")).count();
    let before = touched();
    let seen = look(&nvml, &found.devices);
    assert_eq!(nvml.faults(&found.devices, Duration::ZERO), []);
    assert_eq!(touched(), before);
    let asleep = Observation {
        health: Health::Healthy,
        trouble: None,
        memory_used: None,
        busy: Some(0),
        processes: Some(vec![]),
        uuid: Some("GPU-a".into()),
    };
    assert_eq!(seen[0], asleep);
    assert_eq!(seen[1].busy, Some(3));
    places.say("0000:01:00.0", "power/runtime_status", "active");
    look(&nvml, &found.devices);
    assert!(touched() > before);
}

// A driver that hangs.

#[test]
fn a_hung_driver_is_a_reason_and_nobody_waits_behind_it() {
    let fake = Fake::with("device\nhang Init\n");
    let nvml = hasty(&fake);
    assert!(matches!(nvml.find().absences[0].why, Why::Hung(_)));
    // Each of these would take a deadline, if anybody waited.
    let start = Instant::now();
    for _ in 0..2000 {
        assert!(matches!(nvml.find().absences[0].why, Why::Hung(_)));
    }
    assert!(start.elapsed() < PATIENCE, "calls wait behind one that hangs");
    assert_eq!(fake.count("Init"), 1);
    assert!(nvml.find().absences[0].to_string().contains("has not answered for"));
    // When it comes back it is used again, and what was given up is not made up for.
    fake.script("device\n");
    until("the driver is not asked again", || nvml.find().devices.len() == 1);
    assert_eq!(fake.count("Init"), 1);
}

#[test]
fn a_device_that_hangs_leaves_what_was_seen_before_it() {
    let well = "device busy=1\ndevice busy=2\ndevice busy=3\n";
    let fake = Fake::with(well);
    let found = patient(&fake).find();
    // On a busy machine the first device may need longer than a short deadline.
    let mut deadline = Duration::from_millis(50);
    let (nvml, seen) = loop {
        let nvml = Nvml::new(NvmlOptions { deadline, ..options(&fake) });
        fake.script(&format!("{well}hang GetUtilizationRates 1\n"));
        let seen = look(&nvml, &found.devices);
        if seen[0].health == Health::Healthy {
            break (nvml, seen);
        }
        deadline *= 4;
        assert!(deadline < PATIENCE, "{seen:?}");
        fake.script(well);
        patient(&fake).find();
    };
    assert_eq!(seen[0].busy, Some(1));
    for unknown in &seen[1..] {
        assert_eq!((unknown.health, unknown.busy), (Health::Draining, None));
        assert!(unknown.trouble.as_ref().unwrap().contains("has not answered for"));
    }
    // While it hangs, nothing can be told of any.
    assert!(look(&nvml, &found.devices).iter().all(|seen| seen.health == Health::Draining));
    fake.script(well);
    until("the driver is not asked again", || {
        look(&nvml, &found.devices).iter().all(|seen| seen.health == Health::Healthy)
    });
}
