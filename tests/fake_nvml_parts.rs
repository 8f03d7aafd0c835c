//! The fake libnvidia-ml, as in `fake_nvml.rs`: parts of devices, links between them, how fast they are, and events.
#![cfg(target_os = "linux")]

#[path = "common/nvml.rs"]
mod nvml;

use std::thread;

use nvml::Fake;
use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::enum_wrappers::device::{Clock, P2pCapabilitiesIndex, P2pStatus, TopologyLevel};
use nvml_wrapper::enums::event::XidError;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, EventSet, Nvml};

fn load(fake: &Fake) -> Result<Nvml, NvmlError> {
    Nvml::builder().lib_path(fake.library().as_os_str()).init()
}

fn used(device: &Device) -> u64 {
    device.memory_info().unwrap().used >> 20
}

mod parts {
    use super::*;

    const SCRIPT: &str = "device mig=on mig_slots=4\n\
        mig 0 0 uuid=MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f profile=3g.40gb gi=2 ci=0 memory=40000 used=7\n\
        mig 0 2 uuid=MIG-GPU-00000000-0000-0000-0000-000000000000/9/1 profile=1c.2g.20gb gi=9 ci=1\n\
        process 0/2 pid=55\n";

    #[test]
    fn have_gaps_in_their_numbers() {
        let fake = Fake::with(SCRIPT);
        let nvml = load(&fake).unwrap();
        let device = nvml.device_by_index(0).unwrap();
        assert_eq!(device.mig_mode().unwrap().current, 1);
        assert_eq!(device.mig_device_count().unwrap(), 4);
        assert!(device.mig_device_by_index(0).is_ok());
        assert!(matches!(device.mig_device_by_index(1), Err(NvmlError::NotFound)));
        assert!(device.mig_device_by_index(2).is_ok());
        assert!(matches!(device.mig_device_by_index(3), Err(NvmlError::NotFound)));
        assert!(matches!(device.mig_device_by_index(4), Err(NvmlError::InvalidArg)));
    }

    #[test]
    fn are_devices_with_limits() {
        let fake = Fake::with(SCRIPT);
        let nvml = load(&fake).unwrap();
        let device = nvml.device_by_index(0).unwrap();
        let part = device.mig_device_by_index(0).unwrap();
        assert!(part.mig_is_mig_device_handle().unwrap());
        assert!(!device.mig_is_mig_device_handle().unwrap());
        assert_eq!(part.uuid().unwrap(), "MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f");
        assert_eq!(part.name().unwrap(), "NVIDIA A100-SXM4-80GB MIG 3g.40gb");
        assert_eq!(used(&part), 7);
        assert_eq!(part.mig_parent_device().unwrap().uuid().unwrap(), device.uuid().unwrap());
        let attributes = part.attributes().unwrap();
        assert_eq!((attributes.gpu_instance_slice_count, attributes.memory_size_mb), (3, 40_000));
        for sleeping in [&device, &part] {
            assert!(matches!(sleeping.utilization_rates(), Err(NvmlError::NotSupported)));
        }
        let old_name = nvml.device_by_index(0).unwrap().mig_device_by_index(2).unwrap();
        let by_uuid = nvml.device_by_uuid(old_name.uuid().unwrap()).unwrap();
        let attributes = by_uuid.attributes().unwrap();
        assert_eq!(attributes.compute_instance_slice_count, 1);
        let (mut gpu, mut compute) = (0, 0);
        let lib = nvml.lib();
        // SAFETY: The handle is a part's, and the library may write one number each time.
        unsafe {
            let handle = by_uuid.handle();
            assert_eq!(lib.nvmlDeviceGetGpuInstanceId.as_ref().unwrap()(handle, &mut gpu), 0);
            let function = lib.nvmlDeviceGetComputeInstanceId.as_ref().unwrap();
            assert_eq!(function(handle, &mut compute), 0);
            assert_eq!(function(device.handle(), &mut compute), 2);
        }
        assert_eq!((gpu, compute), (9, 1));
    }

    #[test]
    fn show_their_processes_to_their_device() {
        let fake = Fake::with(SCRIPT);
        let nvml = load(&fake).unwrap();
        let device = nvml.device_by_index(0).unwrap();
        let [first, last] = [0, 2].map(|at| device.mig_device_by_index(at).unwrap());
        assert!(first.running_compute_processes().unwrap().is_empty());
        for seen in [&last, &device] {
            let processes = seen.running_compute_processes().unwrap();
            assert_eq!((processes[0].pid, processes[0].gpu_instance_id), (55, Some(9)));
        }
        assert_eq!(fake.calls().iter().filter(|call| call.ends_with(" 0/2")).count(), 2);
    }

    #[test]
    fn are_gone_when_the_mode_is_off() {
        let fake = Fake::with(SCRIPT);
        let nvml = load(&fake).unwrap();
        let device = nvml.device_by_index(0).unwrap();
        let part = device.mig_device_by_index(0).unwrap();
        fake.script(&SCRIPT.replace("mig=on", "mig=off"));
        assert_eq!(
            (device.mig_mode().unwrap().current, device.mig_device_count().unwrap()),
            (0, 0)
        );
        assert!(matches!(device.mig_device_by_index(0), Err(NvmlError::NotFound)));
        assert!(matches!(part.uuid(), Err(NvmlError::InvalidArg)));
        fake.script("device\n");
        assert!(matches!(device.mig_mode(), Err(NvmlError::NotSupported)));
    }
}

mod links {
    use super::*;

    fn linked(first: &Device, second: &Device) -> bool {
        first.p2p_status(second, P2pCapabilitiesIndex::NvLink).unwrap() == P2pStatus::Ok
    }

    /// The positions of those at the other ends of a device's lanes.
    fn neighbours(nvml: &Nvml, device: &Device) -> Vec<u32> {
        let lanes = (0..18).map(|lane| device.link_wrapper_for(lane));
        lanes
            .take_while(|lane| matches!(lane.is_active(), Ok(true)))
            .map(|lane| nvml.device_by_pci_bus_id(lane.remote_pci_info().unwrap().bus_id).unwrap())
            .map(|device| device.index().unwrap())
            .collect()
    }

    #[test]
    fn are_pairs_that_may_cross_numa_nodes() {
        let fake = Fake::with("device numa=0\ndevice numa=0\ndevice numa=1\nlink 0 2 2\n");
        let nvml = load(&fake).unwrap();
        let [a, b, c] = [0, 1, 2].map(|index| nvml.device_by_index(index).unwrap());
        assert_eq!((neighbours(&nvml, &a), neighbours(&nvml, &c)), (vec![2, 2], vec![0, 0]));
        assert!(linked(&a, &c) && linked(&c, &a) && !linked(&a, &b));
        let none = b.link_wrapper_for(0).is_active();
        assert!(matches!(none, Err(NvmlError::NotSupported)));
        assert!(matches!(a.link_wrapper_for(2).is_active(), Ok(false)));
        assert!(matches!(a.topology_common_ancestor(c), Ok(TopologyLevel::System)));
        assert!(matches!(a.topology_common_ancestor(b), Ok(TopologyLevel::Node)));
    }

    #[test]
    fn make_a_mesh() {
        let fake = Fake::with("device\ndevice\ndevice\nlink 0 1\nlink 0 2\nlink 1 2\n");
        let nvml = load(&fake).unwrap();
        let all = [0, 1, 2].map(|index| nvml.device_by_index(index).unwrap());
        assert_eq!(neighbours(&nvml, &all[1]), [0, 2]);
        assert!(linked(&all[0], &all[1]) && linked(&all[1], &all[2]) && linked(&all[2], &all[0]));
    }

    #[test]
    fn lead_to_a_switch_that_is_no_device() {
        let fake = Fake::with("device\ndevice\ndevice\nlink 0 switch 6\nlink 1 switch 6\n");
        let nvml = load(&fake).unwrap();
        let [a, b, c] = [0, 1, 2].map(|index| nvml.device_by_index(index).unwrap());
        let remote = a.link_wrapper_for(0).remote_pci_info().unwrap();
        assert!(matches!(nvml.device_by_pci_bus_id(remote.bus_id), Err(NvmlError::NotFound)));
        assert!(linked(&a, &b) && !linked(&a, &c));
    }
}

mod speed {
    use super::*;

    /// All that a device tells, in the order of the words of a script.
    fn told(device: &Device) -> [Result<u32, NvmlError>; 6] {
        [
            device.num_cores(),
            device.max_clock_info(Clock::SM),
            device.max_clock_info(Clock::Memory),
            device.memory_bus_width(),
            device.max_pcie_link_gen(),
            device.max_pcie_link_width(),
        ]
    }

    const SCRIPT: &str = "device cores=6912 core_mhz=1410 memory_mhz=1593 memory_bits=5120 \
                          pcie_generation=4 pcie_lanes=16 mig=on\nmig 0 0 uuid=MIG-a\n";

    #[test]
    fn is_as_the_script_says() {
        let fake = Fake::with(SCRIPT);
        let nvml = load(&fake).unwrap();
        let device = nvml.device_by_index(0).unwrap();
        assert_eq!(told(&device).map(Result::unwrap), [6912, 1410, 1593, 5120, 4, 16]);
        for other in [Clock::Graphics, Clock::Video] {
            assert!(matches!(device.max_clock_info(other), Err(NvmlError::NotSupported)));
        }
        assert_eq!(fake.count("GetMaxClockInfo"), 4);
        fake.script("device memory_bits=0\n");
        assert_eq!(device.memory_bus_width().unwrap(), 0);
    }

    #[test]
    fn is_not_supported_if_the_script_does_not_say_and_by_parts() {
        let fake = Fake::with(&format!("{SCRIPT}device\n"));
        let nvml = load(&fake).unwrap();
        let part = nvml.device_by_uuid("MIG-a").unwrap();
        for silent in [part, nvml.device_by_index(1).unwrap()] {
            for answer in told(&silent) {
                assert!(matches!(answer, Err(NvmlError::NotSupported)), "{answer:?}");
            }
        }
    }

    #[test]
    fn is_left_out_by_older_drivers() {
        // Of the cores, the two clocks, the width of the bus and the two figures of the link.
        for (variant, has) in [("old", [0, 1, 1, 0, 1, 1]), ("bare", [0; 6])] {
            let fake = Fake::variant(variant);
            fake.script("device cores=1 core_mhz=1 memory_mhz=1 memory_bits=1 pcie_generation=1 pcie_lanes=1\n");
            let nvml = load(&fake).unwrap();
            let answers = told(&nvml.device_by_index(0).unwrap());
            for (answer, has) in answers.into_iter().zip(has) {
                match answer {
                    Err(NvmlError::FailedToLoadSymbol(_)) => assert_eq!(has, 0, "{variant}"),
                    answer => assert_eq!(answer.unwrap(), has, "{variant}"),
                }
            }
        }
    }
}

mod events {
    use super::*;

    fn listening<'a>(nvml: &'a Nvml, device: &Device<'a>) -> EventSet<'a> {
        let types = EventTypes::CRITICAL_XID_ERROR | EventTypes::DOUBLE_BIT_ECC_ERROR;
        device.register_events(types, nvml.create_event_set().unwrap()).unwrap()
    }

    #[test]
    fn come_once_to_everybody_who_listens() {
        let fake = Fake::with("device\ndevice\n");
        let nvml = load(&fake).unwrap();
        let [first, second] = [0, 1].map(|index| nvml.device_by_index(index).unwrap());
        let [here, there] = [&first, &second].map(|device| listening(&nvml, device));
        assert!(matches!(here.wait(0), Err(NvmlError::Timeout)));
        fake.script(
            "device\ndevice\nevent 2 0 ecc=double\nevent 1 0 xid=79\nevent 3 0 ecc=single\n",
        );
        let event = here.wait(60_000).unwrap();
        assert_eq!(event.device.uuid().unwrap(), first.uuid().unwrap());
        assert_eq!(event.event_data, Some(XidError::Value(79)));
        let event = here.wait(60_000).unwrap();
        assert_eq!(event.event_type, EventTypes::DOUBLE_BIT_ECC_ERROR);
        // It did not ask for the third.
        assert!(matches!(here.wait(5), Err(NvmlError::Timeout)));
        assert!(matches!(there.wait(5), Err(NvmlError::Timeout)));
    }

    #[test]
    fn wake_who_waits() {
        let fake = Fake::with("device\n");
        let nvml = load(&fake).unwrap();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let set = listening(&nvml, &nvml.device_by_index(0).unwrap());
                set.wait(60_000).map(|event| event.event_data)
            });
            fake.wait_for("EventSetWait", 1);
            fake.script("device\nevent 1 0 xid=13\n");
            assert_eq!(waiting.join().unwrap().unwrap(), Some(XidError::Value(13)));
        });
    }

    #[test]
    fn may_be_refused() {
        let fake = Fake::with(
            "device mig=on\nmig 0 0 uuid=MIG-a\nfail RegisterEvents NOT_SUPPORTED times=1\n",
        );
        let nvml = load(&fake).unwrap();
        let device = nvml.device_by_index(0).unwrap();
        let part = device.mig_device_by_index(0).unwrap();
        for deaf in [&device, &part] {
            let set = nvml.create_event_set().unwrap();
            let refused = deaf.register_events(EventTypes::CRITICAL_XID_ERROR, set).unwrap_err();
            assert!(matches!(refused.error, NvmlError::NotSupported));
        }
        listening(&nvml, &device);
    }

    #[test]
    fn do_not_tell_of_a_loss() {
        let fake = Fake::with("device\n");
        let nvml = load(&fake).unwrap();
        let device = nvml.device_by_index(0).unwrap();
        let set = listening(&nvml, &device);
        fake.script("device\nlost 0\n");
        assert!(matches!(set.wait(5), Err(NvmlError::Timeout)));
        assert!(matches!(device.uuid(), Err(NvmlError::GpuLost)));
    }

    #[test]
    fn are_left_out_by_a_bare_driver() {
        let fake = Fake::variant("bare");
        fake.script("device\n");
        let nvml = load(&fake).unwrap();
        let device = nvml.device_by_index(0).unwrap();
        assert!(matches!(nvml.create_event_set(), Err(NvmlError::FailedToLoadSymbol(_))));
        assert!(matches!(device.mig_mode(), Err(NvmlError::FailedToLoadSymbol(_))));
        let lane = device.link_wrapper_for(0).is_active();
        assert!(matches!(lane, Err(NvmlError::FailedToLoadSymbol(_))));
        assert!(device.uuid().is_ok());
    }
}
