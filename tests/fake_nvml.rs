//! The fake libnvidia-ml behaves as the real one does, seen through nvml-wrapper: otherwise the tests that use it show nothing.
#![cfg(target_os = "linux")]

#[path = "common/nvml.rs"]
mod nvml;

use std::ffi::c_uint;
use std::sync::mpsc;
use std::thread;

use nvml::{Fake, PATIENCE};
use nvml_wrapper::enum_wrappers::device::{EccCounter, MemoryError};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};
use nvml_wrapper_sys::bindings as raw;

const MIB: u64 = 1 << 20;

fn load(fake: &Fake) -> Result<Nvml, NvmlError> {
    Nvml::builder().lib_path(fake.library().as_os_str()).init()
}

fn used(device: &Device) -> u64 {
    device.memory_info().unwrap().used / MIB
}

mod devices {
    use super::*;

    #[test]
    fn are_as_the_script_says() {
        let fake = Fake::with(
            "driver 535.129.03\n\
             device uuid=GPU-aa pci=00000000:07:00.0 minor=3 numa=1 name=\"NVIDIA H100 PCIe\" cc=9.0 busy=40\n\
             device # with what its position gives it\n\
             device numa=none mode=prohibited ecc=2\n",
        );
        let nvml = load(&fake).unwrap();
        assert_eq!(nvml.sys_driver_version().unwrap(), "535.129.03");
        assert_eq!(nvml.device_count().unwrap(), 3);
        let first = nvml.device_by_index(0).unwrap();
        assert_eq!(first.uuid().unwrap(), "GPU-aa");
        assert_eq!(first.name().unwrap(), "NVIDIA H100 PCIe");
        assert_eq!(first.pci_info().unwrap().bus_id, "00000000:07:00.0");
        assert_eq!((first.minor_number().unwrap(), first.numa_node_id().unwrap()), (3, 1));
        assert_eq!(first.utilization_rates().unwrap().gpu, 40);
        let capability = first.cuda_compute_capability().unwrap();
        assert_eq!((capability.major, capability.minor), (9, 0));

        let second = nvml.device_by_index(1).unwrap();
        assert_ne!(second.uuid().unwrap(), first.uuid().unwrap());
        assert_ne!(second.pci_info().unwrap().bus_id, first.pci_info().unwrap().bus_id);
        let third = nvml.device_by_index(2).unwrap();
        assert!(matches!(third.numa_node_id(), Err(NvmlError::NotSupported)));
        assert_eq!(format!("{:?}", third.compute_mode().unwrap()), "Prohibited");
        let errors = third.total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile);
        assert_eq!(errors.unwrap(), 2);

        assert_eq!(nvml.device_by_uuid("GPU-aa").unwrap().index().unwrap(), 0);
        assert_eq!(nvml.device_by_pci_bus_id("0000:07:00.0").unwrap().index().unwrap(), 0);
        assert!(matches!(nvml.device_by_pci_bus_id("nowhere"), Err(NvmlError::InvalidArg)));
        assert!(matches!(nvml.device_by_index(3), Err(NvmlError::InvalidArg)));
        assert!(matches!(nvml.device_by_uuid("GPU-bb"), Err(NvmlError::NotFound)));
    }

    #[test]
    fn keep_their_handles_when_their_order_changes() {
        let (a, b) = ("device uuid=GPU-a pci=0:1:0.0\n", "device uuid=GPU-b pci=0:2:0.0\n");
        let fake = Fake::with(&[a, b].concat());
        let nvml = load(&fake).unwrap();
        let device = nvml.device_by_index(0).unwrap();
        fake.script(&[b, a].concat());
        assert_eq!((device.uuid().unwrap(), device.index().unwrap()), ("GPU-a".into(), 1));
        assert_eq!(nvml.device_by_index(0).unwrap().uuid().unwrap(), "GPU-b");
        // A virtual machine that moves keeps the address and not the UUID.
        fake.script("device pci=0:2:0.0\ndevice pci=0:1:0.0 uuid=GPU-c\n");
        assert_eq!(device.uuid().unwrap(), "GPU-c");
        fake.script(b);
        assert_eq!(nvml.device_count().unwrap(), 1);
        assert!(matches!(device.uuid(), Err(NvmlError::GpuLost)));
    }

    #[test]
    fn that_are_lost_answer_nothing_else() {
        let fake = Fake::with("device\ndevice\n");
        let nvml = load(&fake).unwrap();
        let [first, second] = [0, 1].map(|index| nvml.device_by_index(index).unwrap());
        fake.script("device\ndevice\nlost 1\n");
        assert!(matches!(second.memory_info(), Err(NvmlError::GpuLost)));
        assert!(matches!(nvml.device_by_index(1), Err(NvmlError::GpuLost)));
        assert!(matches!(first.topology_common_ancestor(second), Err(NvmlError::GpuLost)));
        assert!(first.memory_info().is_ok());
        assert_eq!(nvml.device_count().unwrap(), 2);
    }
}

mod calls {
    use super::*;

    #[test]
    fn need_a_driver() {
        let fake = Fake::new();
        assert!(matches!(load(&fake), Err(NvmlError::DriverNotLoaded)));
        fake.script("");
        assert_eq!(load(&fake).unwrap().device_count().unwrap(), 0);
        fake.unload_driver();
        assert!(matches!(load(&fake), Err(NvmlError::DriverNotLoaded)));
    }

    #[test]
    fn are_counted_and_named() {
        let fake = Fake::with("device\ndevice\n");
        let nvml = load(&fake).unwrap();
        let device = nvml.device_by_index(1).unwrap();
        device.memory_info().unwrap();
        device.memory_info().unwrap();
        assert_eq!(fake.count("GetMemoryInfo"), 2);
        assert_eq!(fake.count("GetMemoryInfo_v2"), 2);
        assert_eq!(fake.count("GetMemoryInfo_v1"), 0);
        assert_eq!(fake.count("Init"), 1);
        assert_eq!(fake.calls().last().unwrap(), "nvmlDeviceGetMemoryInfo_v2 1");
    }

    #[test]
    fn fail_as_often_as_the_script_says() {
        let fake = Fake::with("fail Init DRIVER_NOT_LOADED times=1\n");
        assert!(matches!(load(&fake), Err(NvmlError::DriverNotLoaded)));
        let nvml = load(&fake).unwrap();
        fake.script("device\ndevice\nfail GetName 1 UNKNOWN times=2\nfail GetUUID NO_PERMISSION\n");
        let [first, second] = [0, 1].map(|index| nvml.device_by_index(index).unwrap());
        assert!(first.name().is_ok());
        assert!(matches!(second.name(), Err(NvmlError::Unknown)));
        assert!(matches!(second.name(), Err(NvmlError::Unknown)));
        assert!(second.name().is_ok());
        for _ in 0..3 {
            assert!(matches!(first.uuid(), Err(NvmlError::NoPermission)));
        }
    }

    #[test]
    fn hang_until_the_script_lets_them_go() {
        let fake = Fake::with("device\ndevice\nhang GetName 1\n");
        let nvml = load(&fake).unwrap();
        let (tell, told) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| tell.send(nvml.device_by_index(1).unwrap().name()).unwrap());
            fake.wait_for("GetName", 1);
            // Others go on.
            nvml.device_by_index(0).unwrap().name().unwrap();
            assert!(told.try_recv().is_err());
            fake.script("device\ndevice name=B\n");
            assert_eq!(told.recv_timeout(PATIENCE).unwrap().unwrap(), "B");
        });
    }

    #[test]
    fn take_as_long_as_the_script_says() {
        let fake = Fake::with("device\ndelay GetCount 30\n");
        let nvml = load(&fake).unwrap();
        let start = std::time::Instant::now();
        nvml.device_count().unwrap();
        assert!(start.elapsed().as_millis() >= 30);
    }

    #[test]
    fn say_so_if_the_script_makes_no_sense() {
        let fake = Fake::new();
        for bad in [
            "devise",
            "device memory=much",
            "device colour=red",
            "device cores=many",
            "device \"",
            "device pci=0:9:0.0\ndevice pci=0:9:0.0",
            "lost 0",
            "fail GetNames UNKNOWN",
            "fail GetName STRANGE",
            "device\nmig 0 0 uuid=MIG-a",
            "device\nevent 1 0",
            "driver 1 2",
        ] {
            fake.script(bad);
            assert!(matches!(load(&fake), Err(NvmlError::Unknown)), "{bad}");
            let line = bad.lines().last().unwrap();
            let noted = |call: &String| call.starts_with("bad line") && call.ends_with(line);
            assert!(fake.calls().iter().any(noted), "{bad}");
        }
        fake.script("device\n");
        load(&fake).unwrap();
    }

    #[test]
    fn need_as_many_ends_as_beginnings() {
        let fake = Fake::with("device\n");
        let (first, second) = (load(&fake).unwrap(), load(&fake).unwrap());
        first.shutdown().unwrap();
        assert_eq!(second.device_count().unwrap(), 1);
        let mut count = 0;
        // SAFETY: It may write one number. After the last shutdown nothing else is asked.
        unsafe {
            assert_eq!(second.lib().nvmlShutdown.as_ref().unwrap()(), 0);
            assert_eq!(second.lib().nvmlDeviceGetCount_v2.as_ref().unwrap()(&mut count), 1);
        }
    }

    /// A child that comes from a fork has to begin anew; and the handles of its parent mean nothing to it.
    #[test]
    fn in_a_forked_child_need_a_new_beginning() {
        let fake = Fake::with("device\n");
        let nvml = load(&fake).unwrap();
        // SAFETY: The handle is used only to see that it is refused.
        let handle = unsafe { nvml.device_by_index(0).unwrap().handle() };
        let lib = nvml.lib();
        let init = lib.nvmlInit_v2.as_ref().unwrap();
        let count = lib.nvmlDeviceGetCount_v2.as_ref().unwrap();
        let by_index = lib.nvmlDeviceGetHandleByIndex_v2.as_ref().unwrap();
        let index = lib.nvmlDeviceGetIndex.as_ref().unwrap();
        let mut own = std::ptr::null_mut();
        let mut number = 0;
        // SAFETY: The child only calls the library, which is made for that, and ends without running anything of its parent's.
        let child = unsafe {
            match libc::fork() {
                0 => {
                    let before = count(&mut number) == 1 && index(handle, &mut number) == 1;
                    let after = init() == 0 && count(&mut number) == 0 && number == 1;
                    let stranger = by_index(0, &mut own) == 0 && index(handle, &mut number) == 2;
                    libc::_exit(if before && after && stranger { 7 } else { 8 });
                }
                child => child,
            }
        };
        let mut status = 0;
        // SAFETY: It may write one number.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(libc::WEXITSTATUS(status), 7);
        assert_eq!(nvml.device_count().unwrap(), 1);
    }
}

mod memory {
    use super::*;

    fn first_version(device: &Device) -> Option<raw::nvmlMemory_t> {
        let function = device.nvml().lib().nvmlDeviceGetMemoryInfo.as_ref().ok()?;
        let mut info = raw::nvmlMemory_t { total: 0, free: 0, used: 0 };
        // SAFETY: The handle is a device's, and the library may write to `info`.
        let code = unsafe { function(device.handle(), &mut info) };
        (code == 0).then_some(info)
    }

    #[test]
    fn is_told_in_two_ways() {
        let fake = Fake::with("device memory=1000 used=300 reserved=50\n");
        let nvml = load(&fake).unwrap();
        let device = nvml.device_by_index(0).unwrap();
        let new = device.memory_info().unwrap();
        assert_eq!((new.total, new.reserved), (1000 * MIB, 50 * MIB));
        assert_eq!((new.used, new.free), (300 * MIB, 650 * MIB));
        let old = first_version(&device).unwrap();
        assert_eq!((old.total, old.used, old.free), (1000 * MIB, 350 * MIB, 650 * MIB));
    }

    #[test]
    fn is_told_only_by_a_struct_of_the_right_version() {
        let fake = Fake::with("device\n");
        let nvml = load(&fake).unwrap();
        let device = nvml.device_by_index(0).unwrap();
        let mut info = raw::nvmlMemory_v2_t { version: 2, total: 0, reserved: 0, free: 0, used: 0 };
        let function = nvml.lib().nvmlDeviceGetMemoryInfo_v2.as_ref().unwrap();
        // SAFETY: The handle is a device's, and the library may write to `info`.
        assert_eq!(unsafe { function(device.handle(), &mut info) }, 25);
    }

    #[test]
    fn is_left_out_by_drivers_of_another_age() {
        let old = Fake::variant("old");
        old.script("device used=5\n");
        let nvml = load(&old).unwrap();
        let device = nvml.device_by_index(0).unwrap();
        assert!(matches!(device.memory_info(), Err(NvmlError::FailedToLoadSymbol(_))));
        assert_eq!(first_version(&device).unwrap().used, 5 * MIB);
        assert!(matches!(device.numa_node_id(), Err(NvmlError::FailedToLoadSymbol(_))));

        let new = Fake::variant("v2-memory-only");
        new.script("device used=5\nfail GetMemoryInfo NOT_SUPPORTED times=1\n");
        let nvml = load(&new).unwrap();
        let device = nvml.device_by_index(0).unwrap();
        assert!(first_version(&device).is_none());
        assert!(matches!(device.memory_info(), Err(NvmlError::NotSupported)));
        assert_eq!(used(&device), 5);
    }

    #[test]
    fn drains_as_the_script_changes() {
        let fake = Fake::with("device memory=100 used=100\nprocess 0 pid=7 memory=100\n");
        let nvml = load(&fake).unwrap();
        let device = nvml.device_by_index(0).unwrap();
        assert_eq!(device.memory_info().unwrap().free, 0);
        // The process is gone before its memory is.
        for left in [100, 60, 0] {
            fake.script(&format!("device memory=100 used={left}\n"));
            assert_eq!(used(&device), left);
            assert!(device.running_compute_processes().unwrap().is_empty());
        }
    }
}

mod processes {
    use super::*;

    const NONE: raw::nvmlProcessInfo_t =
        raw::nvmlProcessInfo_t { pid: 0, usedGpuMemory: 0, gpuInstanceId: 0, computeInstanceId: 0 };

    /// As programs ask that bring the room themselves.
    fn listed(device: &Device, room: usize) -> Result<Vec<raw::nvmlProcessInfo_t>, c_uint> {
        let lib = device.nvml().lib();
        let mut count = room as c_uint;
        let mut infos = vec![NONE; room];
        // SAFETY: The handle is a device's, and there is room for as many as `count` says.
        let code = unsafe {
            match lib.nvmlDeviceGetComputeRunningProcesses_v3.as_ref() {
                Ok(list) => list(device.handle(), &mut count, infos.as_mut_ptr()),
                Err(_) => {
                    let list = lib.nvmlDeviceGetComputeRunningProcesses_v2.as_ref().unwrap();
                    list(device.handle(), &mut count, infos.as_mut_ptr())
                }
            }
        };
        infos.truncate(count as usize);
        if code == 0 { Ok(infos) } else { Err(code) }
    }

    const SCRIPT: &str = "device\nprocess 0 pid=101 memory=5\nprocess 0 pid=102 memory=unknown\n\
                          process 0 pid=103 kind=graphics\nprocess 0 pid=104 kind=mps\n";

    #[test]
    fn are_listed_by_what_they_do() {
        let fake = Fake::with(SCRIPT);
        let nvml = load(&fake).unwrap();
        let device = nvml.device_by_index(0).unwrap();
        let compute = device.running_compute_processes().unwrap();
        let found: Vec<_> = compute.iter().map(|p| (p.pid, p.used_gpu_memory.clone())).collect();
        let expected = [(101, UsedGpuMemory::Used(5 * MIB)), (102, UsedGpuMemory::Unavailable)];
        assert_eq!(found, expected);
        assert_eq!(compute[0].gpu_instance_id, None);
        assert_eq!(device.running_graphics_processes().unwrap()[0].pid, 103);
        let lib = nvml.lib();
        let list = lib.nvmlDeviceGetMPSComputeRunningProcesses_v3.as_ref().unwrap();
        let (mut count, mut info) = (1, NONE);
        // SAFETY: The handle is a device's, and there is room for one.
        assert_eq!(unsafe { list(device.handle(), &mut count, &mut info) }, 0);
        assert_eq!((count, info.pid), (1, 104));
    }

    #[test]
    fn need_room() {
        let fake = Fake::with(SCRIPT);
        let nvml = load(&fake).unwrap();
        let device = nvml.device_by_index(0).unwrap();
        assert_eq!(listed(&device, 1).unwrap_err(), 7);
        assert_eq!(device.running_compute_processes_count().unwrap(), 2);
        assert_eq!(listed(&device, 2).unwrap().len(), 2);
    }

    #[test]
    fn are_listed_in_an_older_way_by_an_older_driver() {
        let fake = Fake::variant("old");
        fake.script(SCRIPT);
        let nvml = load(&fake).unwrap();
        let device = nvml.device_by_index(0).unwrap();
        let refused = device.running_compute_processes();
        assert!(matches!(refused, Err(NvmlError::FailedToLoadSymbol(_))));
        assert_eq!(listed(&device, 8).unwrap()[1].pid, 102);
    }

    #[test]
    fn come_shifted_from_some_drivers() {
        let fake = Fake::with(&[SCRIPT, "process_garbage 0\n"].concat());
        let nvml = load(&fake).unwrap();
        let list = listed(&nvml.device_by_index(0).unwrap(), 8).unwrap();
        assert_eq!((list[0].pid, list[1].pid), (101, 0));
        // What is taken for memory is the number of the process.
        assert_eq!(list[1].usedGpuMemory, 102);
    }
}
