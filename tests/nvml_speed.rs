//! How fast NVIDIA's devices are, as their driver tells; and that what it does not tell is unknown and harms nobody.
#![cfg(all(target_os = "linux", feature = "nvml"))]

#[path = "common/asking.rs"]
mod asking;
#[path = "common/nvml.rs"]
mod fake;
#[path = "common/places.rs"]
mod places;

use asking::{hasty, look, options, patient, until};
use fake::Fake;
use places::Places;
use ternlease::inventory::{Nvml, NvmlOptions, Why};
use ternlease::{GpuDevice, GpuSpeed, Health, Inventory};

const A100: &str =
    "cores=6912 core_mhz=1410 memory_mhz=1593 memory_bits=5120 pcie_generation=4 pcie_lanes=16";

const ALL: GpuSpeed = GpuSpeed {
    cores: Some(6912),
    multiprocessors: None,
    core_mhz: Some(1410),
    memory_mhz: Some(1593),
    memory_bits: Some(5120),
    pcie_generation: Some(4),
    pcie_lanes: Some(16),
};

const NOTHING: GpuSpeed = GpuSpeed {
    cores: None,
    multiprocessors: None,
    core_mhz: None,
    memory_mhz: None,
    memory_bits: None,
    pcie_generation: None,
    pcie_lanes: None,
};

fn devices(fake: &Fake) -> Vec<GpuDevice> {
    let found = patient(fake).find();
    assert_eq!(found.absences, []);
    found.devices
}

/// The speed of the only device, which must be well.
fn speed(fake: &Fake) -> GpuSpeed {
    let [device] = devices(fake).try_into().unwrap();
    assert_eq!((device.health, &device.trouble), (Health::Healthy, &None), "{device:?}");
    device.speed
}

#[test]
fn figures_are_told_of_each_device() {
    let fake = Fake::with(&format!("device {A100}\ndevice cores=16896 memory_bits=6144\n"));
    let found = devices(&fake);
    assert_eq!(found[0].speed, ALL);
    let other = GpuSpeed { cores: Some(16_896), memory_bits: Some(6144), ..NOTHING };
    assert_eq!(found[1].speed, other);
    assert_eq!(NOTHING, GpuSpeed::default());
}

#[test]
fn what_an_older_driver_has_no_function_for_is_unknown() {
    let old = Fake::variant("old");
    old.script(&format!("device {A100}\n"));
    assert_eq!(speed(&old), GpuSpeed { cores: None, memory_bits: None, ..ALL });
    let bare = Fake::variant("bare");
    bare.script(&format!("device {A100}\n"));
    assert_eq!(speed(&bare), NOTHING);
}

/// Each call that tells a figure, the figure as a script has it, and what is left without it. The first clock that is asked for is that
/// of the cores.
const WITHOUT: [(&str, &str, GpuSpeed); 6] = [
    ("GetNumGpuCores", "cores=6912", GpuSpeed { cores: None, ..ALL }),
    ("GetMaxClockInfo", "core_mhz=1410", GpuSpeed { core_mhz: None, ..ALL }),
    ("GetMaxClockInfo", "memory_mhz=1593", GpuSpeed { core_mhz: None, memory_mhz: None, ..ALL }),
    ("GetMemoryBusWidth", "memory_bits=5120", GpuSpeed { memory_bits: None, ..ALL }),
    ("GetMaxPcieLinkGeneration", "pcie_generation=4", GpuSpeed { pcie_generation: None, ..ALL }),
    ("GetMaxPcieLinkWidth", "pcie_lanes=16", GpuSpeed { pcie_lanes: None, ..ALL }),
];

#[test]
fn what_is_refused_for_whatever_reason_is_unknown_alone_and_no_fault() {
    let fake = Fake::new();
    for error in ["NOT_SUPPORTED", "NO_PERMISSION", "INVALID_ARGUMENT", "UNKNOWN", "NOT_READY"] {
        for (call, figure, left) in WITHOUT {
            let times = if figure.starts_with("core_mhz") { "times=1" } else { "" };
            fake.script(&format!("device {A100}\nfail {call} {error} {times}\n"));
            assert_eq!(speed(&fake), left, "{call} {error}");
        }
    }
}

#[test]
fn zero_and_what_nvml_writes_for_no_value_are_unknown() {
    let fake = Fake::new();
    for nothing in ["0", "4294967295"] {
        for (_, figure, left) in WITHOUT {
            let (key, _) = figure.split_once('=').unwrap();
            let script = A100.replace(figure, &format!("{key}={nothing}"));
            fake.script(&format!("device {script}\n"));
            // Of the clocks only this one is missing here.
            let core_mhz = if key == "core_mhz" { None } else { ALL.core_mhz };
            assert_eq!(speed(&fake), GpuSpeed { core_mhz, ..left }, "{key}={nothing}");
        }
    }
}

#[test]
fn a_device_that_is_broken_says_so_here_too_and_is_asked_no_more() {
    for (error, words) in [("GPU_IS_LOST", "lost"), ("RESET_REQUIRED", "reset")] {
        let script = format!("device {A100}\ndevice {A100}\nfail GetMemoryBusWidth 1 {error}\n");
        let fake = Fake::with(&script);
        let found = devices(&fake);
        assert_eq!((found[0].health, found[0].speed), (Health::Healthy, ALL));
        assert_eq!(found[1].health, Health::Failed);
        assert!(found[1].trouble.as_ref().unwrap().contains(words), "{:?}", found[1]);
        let before = GpuSpeed { memory_bits: None, pcie_generation: None, pcie_lanes: None, ..ALL };
        assert_eq!(found[1].speed, before);
        assert_eq!(fake.count("GetMaxPcieLinkGeneration"), 1, "only the one that is well");
    }
    // One of which that was known before is not asked at all.
    let fake = Fake::with(&format!("device {A100}\nfail GetMemoryInfo GPU_IS_LOST\n"));
    let found = devices(&fake);
    assert_eq!((found[0].health, found[0].speed), (Health::Failed, NOTHING));
    assert_eq!(fake.count("GetNumGpuCores"), 0);
}

#[test]
fn a_lost_device_is_listed_and_has_no_speed() {
    let places = Places::new();
    for pci in ["0000:01:00.0", "0000:02:00.0"] {
        places.say(pci, "vendor", "0x10de");
        places.say(pci, "class", "0x030200");
    }
    let fake = Fake::with(&format!("device {A100}\ndevice {A100}\nlost 1\n"));
    let nvml = Nvml::new(NvmlOptions { sysfs: places.root(), ..options(&fake) });
    let found = nvml.find().devices;
    assert_eq!((found[0].health, found[0].speed), (Health::Healthy, ALL));
    assert_eq!((found[1].health, found[1].speed), (Health::Failed, NOTHING));
}

/// All that a device is asked for that tells how it is.
const VITAL: [&str; 5] =
    ["GetName", "GetMemoryInfo", "GetCudaComputeCapability", "GetNumaNodeId", "GetTotalEccErrors"];

fn vital(error: &str) -> String {
    VITAL.iter().map(|call| format!("fail {call} {error}\n")).collect()
}

#[test]
fn that_it_answers_here_does_not_make_a_device_well_nor_a_refusal_sick() {
    let silent = Fake::with(&format!("device {A100}\n{}", vital("UNKNOWN")));
    let found = devices(&silent);
    assert_eq!((found[0].health, found[0].speed), (Health::Draining, ALL));

    let refusals: String =
        WITHOUT.iter().map(|(call, _, _)| format!("fail {call} UNKNOWN\n")).collect();
    let modest = Fake::with(&format!("device {A100}\n{}{refusals}", vital("NOT_SUPPORTED")));
    assert_eq!(speed(&modest), NOTHING);
}

#[test]
fn parts_have_their_share() {
    let fake = Fake::with(&format!(
        "device {A100} mig=on memory=81920\n\
         mig 0 0 uuid=MIG-a profile=1g.10gb memory=9728\n\
         mig 0 1 uuid=MIG-b profile=2g.20gb memory=19968\n\
         mig 0 2 uuid=MIG-c profile=3g.40gb memory=40192\n\
         mig 0 3 uuid=MIG-d profile=1c.3g.40gb memory=40192\n"
    ));
    let speeds: Vec<GpuSpeed> = devices(&fake).iter().map(|part| part.speed).collect();
    let part = |multiprocessors, memory_bits| GpuSpeed {
        cores: None,
        multiprocessors: Some(multiprocessors),
        memory_bits: Some(memory_bits),
        ..ALL
    };
    assert_eq!(speeds, [part(14, 640), part(28, 1280), part(42, 2560), part(14, 2560)]);
}

#[test]
fn what_is_not_known_of_a_part_is_unknown_alone() {
    let part = GpuSpeed { cores: None, multiprocessors: Some(14), memory_bits: Some(640), ..ALL };
    let fake = Fake::new();
    let with = |device: &str, rule: &str| {
        let parts = "mig 0 0 uuid=MIG-a memory=9728\n";
        fake.script(&format!("device {device} mig=on memory=81920\n{parts}{rule}\n"));
        speed(&fake)
    };
    assert_eq!(with(A100, ""), part);
    for error in ["NOT_SUPPORTED", "FUNCTION_NOT_FOUND", "UNKNOWN"] {
        let rule = format!("fail GetAttributes 0/0 {error}");
        assert_eq!(with(A100, &rule), GpuSpeed { multiprocessors: None, ..part });
    }
    let unshared = GpuSpeed { memory_bits: None, ..part };
    assert_eq!(with(A100, "fail GetMemoryInfo 0 NO_PERMISSION"), unshared);
    assert_eq!(with(A100, "fail GetMemoryInfo 0/0 NOT_SUPPORTED"), unshared);
    assert_eq!(with(&A100.replace("memory_bits=5120", "memory_bits=0"), ""), unshared);
    let nothing = GpuSpeed { multiprocessors: Some(14), ..NOTHING };
    assert_eq!(with("", ""), nothing);
}

#[test]
fn a_part_is_asked_once_for_its_sizes_and_has_its_profile_of_them() {
    let script =
        format!("device {A100} name=A100 mig=on\nmig 0 0 uuid=MIG-a profile=1g.10gb memory=9728\n");
    let fake = Fake::with(&format!("{script}fail GetName 0/0 NOT_SUPPORTED\n"));
    let found = devices(&fake);
    assert_eq!(found[0].mig.as_ref().unwrap().profile, "1g.10gb");
    assert_eq!(found[0].speed.multiprocessors, Some(14));
    assert_eq!(fake.count("GetAttributes"), 1);
}

#[test]
fn whoever_looks_at_a_device_or_waits_for_it_does_not_ask_for_its_speed() {
    let fake = Fake::with(&format!("device {A100}\n"));
    let nvml = patient(&fake);
    let found = nvml.find();
    // Whoever asked would hang.
    let hung: String = WITHOUT.iter().map(|(call, _, _)| format!("hang {call}\n")).collect();
    fake.script(&format!("device {A100}\n{hung}"));
    assert_eq!(look(&nvml, &found.devices)[0].health, Health::Healthy);
    assert_eq!(nvml.faults(&found.devices, std::time::Duration::ZERO), []);
}

#[test]
fn a_driver_that_hangs_here_keeps_nobody_longer_than_elsewhere() {
    let fake = Fake::with(&format!("device {A100}\nhang GetNumGpuCores\n"));
    let nvml = hasty(&fake);
    assert!(matches!(nvml.find().absences[0].why, Why::Hung(_)));
    fake.script(&format!("device {A100}\n"));
    until("the driver is not asked again", || {
        nvml.find().devices.first().is_some_and(|device| device.speed == ALL)
    });
}
