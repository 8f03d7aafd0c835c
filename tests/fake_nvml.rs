//! The fake libnvidia-ml behaves as the real one does, seen through nvml-wrapper: otherwise the tests that use it show nothing.
#![cfg(target_os = "linux")]

#[path = "common/nvml.rs"]
mod nvml;

use nvml::Fake;
use nvml_wrapper::Nvml;
use nvml_wrapper::error::NvmlError;

fn load(fake: &Fake) -> Result<Nvml, NvmlError> {
    Nvml::builder().lib_path(fake.library().as_os_str()).init()
}

const MIB: u64 = 1 << 20;

#[test]
fn devices_are_as_the_script_says() {
    let fake = Fake::with(
        "driver 535.129.03\n\
         device uuid=GPU-aa pci=00000000:07:00.0 minor=3 numa=1 name=\"NVIDIA H100 PCIe\" cc=9.0 memory=1000 used=300 reserved=50\n\
         device # with what its position gives it\n",
    );
    let nvml = load(&fake).unwrap();
    assert_eq!(nvml.sys_driver_version().unwrap(), "535.129.03");
    assert_eq!(nvml.device_count().unwrap(), 2);
    let first = nvml.device_by_index(0).unwrap();
    assert_eq!(first.uuid().unwrap(), "GPU-aa");
    assert_eq!(first.name().unwrap(), "NVIDIA H100 PCIe");
    assert_eq!(first.pci_info().unwrap().bus_id, "00000000:07:00.0");
    assert_eq!(first.minor_number().unwrap(), 3);
    assert_eq!(first.numa_node_id().unwrap(), 1);
    let capability = first.cuda_compute_capability().unwrap();
    assert_eq!((capability.major, capability.minor), (9, 0));
    let memory = first.memory_info().unwrap();
    assert_eq!((memory.total, memory.used), (1000 * MIB, 300 * MIB));
    assert_eq!((memory.reserved, memory.free), (50 * MIB, 650 * MIB));

    let second = nvml.device_by_index(1).unwrap();
    assert_ne!(second.uuid().unwrap(), first.uuid().unwrap());
    assert_ne!(second.pci_info().unwrap().bus_id, first.pci_info().unwrap().bus_id);
    assert_eq!(nvml.device_by_uuid("GPU-aa").unwrap().index().unwrap(), 0);
    assert_eq!(nvml.device_by_pci_bus_id("0000:07:00.0").unwrap().index().unwrap(), 0);
    assert!(matches!(nvml.device_by_index(2), Err(NvmlError::InvalidArg)));
    assert!(matches!(nvml.device_by_uuid("GPU-bb"), Err(NvmlError::NotFound)));
}

#[test]
fn without_a_script_there_is_no_driver() {
    let fake = Fake::new();
    assert!(matches!(load(&fake), Err(NvmlError::DriverNotLoaded)));
    fake.script("");
    assert_eq!(load(&fake).unwrap().device_count().unwrap(), 0);
    fake.unload_driver();
    assert!(matches!(load(&fake), Err(NvmlError::DriverNotLoaded)));
}

#[test]
fn calls_are_counted_and_named() {
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
