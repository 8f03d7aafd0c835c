//! Which of NVIDIA's devices there are and what is known of them; or why there are none.
#![cfg(all(target_os = "linux", feature = "nvml"))]

#[path = "common/asking.rs"]
mod asking;
#[path = "common/nvml.rs"]
mod fake;
#[path = "common/places.rs"]
mod places;

use asking::options;
use fake::Fake;
use places::Places;
use ternlease::inventory::{Found, Mig, Nvml, NvmlOptions, Why};
use ternlease::{GpuDevice, GpuSpeed, Health, Inventory, Vendor};

fn find(fake: &Fake) -> Found {
    Nvml::new(options(fake)).find()
}

fn devices(fake: &Fake) -> Vec<GpuDevice> {
    let found = find(fake);
    assert_eq!(found.absences, []);
    found.devices
}

fn why(found: &Found) -> &Why {
    assert_eq!((found.devices.len(), found.absences.len()), (0, 1), "{found:?}");
    assert_eq!(found.absences[0].source, "nvml");
    &found.absences[0].why
}

#[test]
fn a_device_with_all_that_is_known_of_it() {
    let fake = Fake::with(
        "device uuid=GPU-aa pci=00000000:07:00.0 numa=1 name=\"NVIDIA H100\" cc=9.0 memory=81559 used=5\n",
    );
    let expected = GpuDevice {
        uuid: Some("GPU-aa".into()),
        pci: Some("0000:07:00.0".parse().unwrap()),
        memory: Some(81_559),
        compute_capability: Some((9, 0)),
        numa: Some(1),
        ..GpuDevice::new(Vendor::Nvidia, 0, "NVIDIA H100")
    };
    assert_eq!(devices(&fake), [expected]);
}

#[test]
fn numbers_follow_pci_addresses_whatever_order_the_driver_has() {
    let fake = Fake::with(
        "device uuid=GPU-c pci=00010000:01:00.0\n\
         device uuid=GPU-b pci=00000000:41:00.0\n\
         device uuid=GPU-a pci=00000000:07:00.0\n",
    );
    let numbered = |fake: &Fake| -> Vec<(u32, String)> {
        devices(fake).into_iter().map(|device| (device.index, device.uuid.unwrap())).collect()
    };
    let expected = [(0, "GPU-a".into()), (1, "GPU-b".into()), (2, "GPU-c".into())];
    assert_eq!(numbered(&fake), expected);
    fake.script(
        "device uuid=GPU-a pci=00000000:07:00.0\n\
         device uuid=GPU-c pci=00010000:01:00.0\n\
         device uuid=GPU-b pci=00000000:41:00.0\n",
    );
    assert_eq!(numbered(&fake), expected);
}

#[test]
fn no_library_is_a_reason_in_words() {
    let options =
        NvmlOptions { library: "/no/such/libnvidia-ml.so.1".into(), ..NvmlOptions::default() };
    let found = Nvml::new(options).find();
    assert!(matches!(why(&found), Why::NoLibrary { library, cause }
        if library == "/no/such/libnvidia-ml.so.1" && !cause.is_empty()));
    assert!(found.absences[0].to_string().contains("cannot be loaded"), "{found:?}");
}

#[test]
fn no_driver_is_a_reason_and_one_that_is_loaded_later_is_found() {
    let fake = Fake::new();
    let nvml = Nvml::new(options(&fake));
    assert_eq!(why(&nvml.find()), &Why::NoDriver);
    fake.script("device\n");
    assert_eq!(nvml.find().devices.len(), 1);
    fake.unload_driver();
    assert_eq!(why(&nvml.find()), &Why::NoDriver);
}

#[test]
fn a_driver_without_devices_is_a_reason() {
    assert_eq!(why(&find(&Fake::with("driver 550.54.15\n"))), &Why::NoDevice);
    assert_eq!(why(&find(&Fake::with("fail Init NOT_FOUND\n"))), &Why::NoDevice);
}

#[test]
fn other_errors_are_told_in_the_drivers_words() {
    let fake = Fake::with("device\nfail Init LIB_RM_VERSION_MISMATCH\n");
    assert!(matches!(why(&find(&fake)), Why::Failed(cause) if cause.contains("version")));
    fake.script("device\nfail GetCount UNKNOWN\n");
    assert!(matches!(why(&find(&fake)), Why::Failed(cause) if cause.contains("internal driver")));
}

#[test]
fn making_it_loads_nothing() {
    let fake = Fake::with("device\n");
    let nvml = Nvml::new(options(&fake));
    assert!(nvml.watches());
    assert_eq!(fake.calls(), [""; 0]);
}

#[test]
fn the_numa_node_comes_from_the_kernel_if_the_driver_does_not_tell() {
    let places = Places::new();
    places.say("0000:07:00.0", "numa_node", "1");
    places.say("0000:08:00.0", "numa_node", "-1");
    let fake = Fake::variant("old");
    fake.script(
        "device pci=00000000:07:00.0\ndevice pci=00000000:08:00.0\ndevice pci=00000000:09:00.0\n",
    );
    let nvml = Nvml::new(NvmlOptions { sysfs: places.root(), ..options(&fake) });
    let nodes: Vec<_> = nvml.find().devices.into_iter().map(|device| device.numa).collect();
    assert_eq!(nodes, [Some(1), None, None]);
}

#[test]
fn links_make_islands() {
    let fake = Fake::with(
        "device\ndevice\ndevice\ndevice\ndevice\n\
         link 0 3 4\nlink 1 2\n",
    );
    let islands = |fake: &Fake| -> Vec<Option<u32>> {
        devices(fake).into_iter().map(|device| device.island).collect()
    };
    assert_eq!(islands(&fake), [Some(0), Some(1), Some(1), Some(0), None]);
    fake.script(
        "device\ndevice\ndevice\ndevice\n\
         link 0 1\nlink 0 2\nlink 0 3\nlink 1 2\nlink 1 3\nlink 2 3\n",
    );
    assert_eq!(islands(&fake), [Some(0); 4]);
    // No link that leads to none of ours is taken for one.
    fake.script("device\ndevice\nfail GetNvLinkState NOT_SUPPORTED\nlink 0 1\n");
    assert_eq!(islands(&fake), [None; 2]);
}

#[test]
fn devices_at_a_switch_are_one_island() {
    let fake = Fake::with("device\ndevice\ndevice\nlink 0 switch\nlink 2 switch\n");
    let islands: Vec<_> = devices(&fake).into_iter().map(|device| device.island).collect();
    assert_eq!(islands, [Some(0), None, Some(0)]);
}

#[test]
fn a_divided_device_is_replaced_by_its_parts() {
    let fake = Fake::with(
        "device name=A30\n\
         device uuid=GPU-p pci=00000000:81:00.0 name=A100 mig=on mig_slots=7 cc=8.0 numa=1 memory=81920\n\
         mig 1 1 uuid=MIG-one profile=1g.10gb gi=9 ci=0 memory=9728\n\
         mig 1 5 uuid=MIG-GPU-p/1/0 profile=3g.40gb gi=1 ci=0 memory=40192\n",
    );
    let found = devices(&fake);
    let part = |uuid: &str, name: &str, memory, profile: &str, gpu_instance| GpuDevice {
        uuid: Some(uuid.into()),
        pci: Some("0000:81:00.0".parse().unwrap()),
        memory: Some(memory),
        compute_capability: Some((8, 0)),
        numa: Some(1),
        mig: Some(Mig {
            parent: "GPU-p".into(),
            profile: profile.into(),
            gpu_instance,
            compute_instance: 0,
        }),
        ..GpuDevice::new(Vendor::Nvidia, 1, name)
    };
    assert_eq!((found.len(), found[0].name.as_str(), &found[0].mig), (3, "A30", &None));
    let with = |multiprocessors, part| {
        let multiprocessors = Some(multiprocessors);
        GpuDevice { speed: GpuSpeed { multiprocessors, ..GpuSpeed::default() }, ..part }
    };
    assert_eq!(found[1], with(14, part("MIG-one", "A100 MIG 1g.10gb", 9_728, "1g.10gb", 9)));
    let large = part("MIG-GPU-p/1/0", "A100 MIG 3g.40gb", 40_192, "3g.40gb", 1);
    assert_eq!(found[2], with(42, large));
    assert_eq!(found[1].key(), "MIG-one");
}

#[test]
fn a_divided_device_without_parts_cannot_be_used_and_says_why() {
    let fake = Fake::with("device\ndevice mig=on\ndevice mig=off\n");
    let nvml = Nvml::new(options(&fake));
    let found = nvml.find().devices;
    let health: Vec<Health> = found.iter().map(|device| device.health).collect();
    assert_eq!(health, [Health::Healthy, Health::Draining, Health::Healthy]);
    assert!(found[1].trouble.as_ref().unwrap().contains("no instances"), "{:?}", found[1]);
    // Whoever looks again sees the same.
    let seen = nvml.observe(&found);
    assert_eq!(seen[1].as_ref().unwrap().health, Health::Draining);
    assert_eq!(seen[2].as_ref().unwrap().health, Health::Healthy);
}

#[test]
fn two_lost_devices_of_eight_are_named_by_the_kernel_and_spoil_no_other() {
    let places = Places::new();
    let mut script = String::new();
    for bus in 1..=8 {
        let pci = format!("0000:0{bus}:00.0");
        script += &format!("device pci=0000{pci}\n");
        places.say(&pci, "vendor", "0x10de");
        places.say(&pci, "class", "0x030200");
    }
    // Of the same maker, and none that computes; and somebody else's.
    places.say("0000:01:00.1", "vendor", "0x10de");
    places.say("0000:01:00.1", "class", "0x040300");
    places.say("0000:00:02.0", "vendor", "0x8086");
    places.say("0000:00:02.0", "class", "0x030000");
    let fake = Fake::with(&format!("{script}lost 2\nlost 5\n"));
    let nvml = Nvml::new(NvmlOptions { sysfs: places.root(), ..options(&fake) });
    let found = nvml.find();
    assert_eq!((found.devices.len(), found.absences.len()), (8, 0), "{found:?}");
    for (at, device) in found.devices.iter().enumerate() {
        assert_eq!(device.index, at as u32);
        assert_eq!(device.key(), format!("0000:0{}:00.0", at + 1));
        let expected = if at == 2 || at == 5 { Health::Failed } else { Health::Healthy };
        assert_eq!(device.health, expected);
        assert_eq!(device.trouble.is_some(), expected == Health::Failed, "{device:?}");
    }
    let seen = nvml.observe(&found.devices);
    let failed = |at: &usize| seen[*at].as_ref().unwrap().health == Health::Failed;
    assert_eq!((0..8).filter(failed).collect::<Vec<_>>(), [2, 5]);
}

#[test]
fn a_device_that_nothing_identifies_is_missing_in_words() {
    let fake = Fake::with("device\ndevice\ndevice\nfail GetHandleByIndex 1 NO_PERMISSION\n");
    let found = find(&fake);
    assert_eq!((found.devices.len(), found.absences.len()), (2, 1), "{found:?}");
    let words = found.absences[0].to_string();
    assert!(words.contains("number 1") && words.contains("permission"), "{words}");
}

#[test]
fn a_device_that_others_may_use_is_not_said_to_have_failed() {
    let places = Places::new();
    for pci in ["0000:01:00.0", "0000:02:00.0"] {
        places.say(pci, "vendor", "0x10de");
        places.say(pci, "class", "0x030000");
    }
    let fake = Fake::with(
        "device pci=00000000:01:00.0\ndevice pci=00000000:02:00.0\n\
         fail GetHandleByIndex 0 NO_PERMISSION\n",
    );
    let nvml = Nvml::new(NvmlOptions { sysfs: places.root(), ..options(&fake) });
    let found = nvml.find().devices;
    assert_eq!((found[0].health, found[1].health), (Health::Draining, Health::Healthy));
    assert!(found[0].trouble.as_ref().unwrap().contains("permission"), "{:?}", found[0]);
}

#[test]
fn a_device_that_is_lost_while_it_is_asked_is_listed_as_failed() {
    let fake =
        Fake::with("device uuid=GPU-a\ndevice uuid=GPU-b\nfail GetMemoryInfo 1 GPU_IS_LOST\n");
    let found = devices(&fake);
    assert_eq!((found[0].health, found[1].health), (Health::Healthy, Health::Failed));
    assert_eq!(found[1].uuid.as_deref(), Some("GPU-b"));
    assert!(found[1].trouble.as_ref().unwrap().contains("lost"), "{:?}", found[1]);
}

#[test]
fn a_device_without_an_address_is_known_by_its_uuid_and_one_without_a_uuid_by_its_address() {
    let fake = Fake::with(
        "device uuid=GPU-a\ndevice uuid=GPU-b\n\
         fail GetPciInfo 0 UNKNOWN\nfail GetUUID 1 NOT_SUPPORTED\n",
    );
    let nvml = Nvml::new(options(&fake));
    let found = nvml.find().devices;
    assert_eq!((found[0].uuid.as_deref(), found[0].pci.is_some()), (None, true));
    assert_eq!((found[1].uuid.as_deref(), found[1].pci.is_some()), (Some("GPU-a"), false));
    assert!(nvml.observe(&found).iter().all(|seen| seen.as_ref().unwrap().busy.is_some()));
}

#[test]
fn a_device_whose_mode_prohibits_computing_cannot_be_used() {
    let fake = Fake::with("device mode=exclusive\ndevice mode=prohibited\n");
    let nvml = Nvml::new(options(&fake));
    let found = nvml.find().devices;
    assert_eq!((found[0].health, found[1].health), (Health::Healthy, Health::Draining));
    assert!(found[1].trouble.as_ref().unwrap().contains("prohibited"), "{:?}", found[1]);
    let seen = nvml.observe(&found);
    assert_eq!(seen[1].as_ref().unwrap().trouble, found[1].trouble);
}

#[test]
fn parts_that_cannot_be_reached_are_left_out() {
    let script = "device mig=on\nmig 0 0 uuid=MIG-a\nmig 0 1 uuid=MIG-b\n";
    let fake = Fake::with(&format!("{script}fail GetUUID 0/0 UNKNOWN\n"));
    let found = devices(&fake);
    assert_eq!((found.len(), found[0].uuid.as_deref()), (1, Some("MIG-b")));
    fake.script(&format!("{script}fail GetMigDeviceHandleByIndex NO_PERMISSION\n"));
    let found = devices(&fake);
    assert_eq!((found.len(), found[0].health), (1, Health::Draining));
    fake.script(&format!("{script}fail GetMigDeviceHandleByIndex GPU_IS_LOST\n"));
    assert_eq!(devices(&fake)[0].health, Health::Failed);
}

#[test]
fn devices_of_others_are_none_of_its_business() {
    let fake = Fake::with("device\n");
    let others = [GpuDevice::new(Vendor::Amd, 0, "x"), GpuDevice::new(Vendor::Nvidia, 7, "y")];
    let nvml = Nvml::new(options(&fake));
    assert_eq!(nvml.observe(&others), [None, None]);
    assert_eq!(nvml.faults(&others, std::time::Duration::ZERO), []);
    assert_eq!(fake.calls(), [""; 0]);
}
