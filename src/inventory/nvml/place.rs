//! What the kernel says about the place that a device sits in. To read it wakes no device.

use std::fs;
use std::path::{Path, PathBuf};

use crate::inventory::PciAddress;

fn read(sysfs: &Path, pci: PciAddress, file: &str) -> Option<String> {
    let text = fs::read_to_string(devices(sysfs).join(pci.to_string()).join(file)).ok()?;
    Some(text.trim().to_owned())
}

fn devices(sysfs: &Path) -> PathBuf {
    sysfs.join("bus/pci/devices")
}

/// The NUMA node it is near to. The kernel writes -1 if it does not know.
pub(super) fn numa(sysfs: &Path, pci: PciAddress) -> Option<u32> {
    read(sysfs, pci, "numa_node")?.parse().ok()
}

/// Does it sleep? To ask NVML about it would wake it.
pub(super) fn is_suspended(sysfs: &Path, pci: PciAddress) -> bool {
    read(sysfs, pci, "power/runtime_status").is_some_and(|status| status == "suspended")
}

/// Where NVIDIA's devices sit that can compute, in their order.
pub(super) fn of_nvidia(sysfs: &Path) -> Vec<PciAddress> {
    let mut found: Vec<PciAddress> = fs::read_dir(devices(sysfs))
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pci| {
            read(sysfs, *pci, "vendor").is_some_and(|vendor| vendor == "0x10de")
                && read(sysfs, *pci, "class").is_some_and(|class| class.starts_with("0x03"))
        })
        .collect();
    found.sort();
    found
}
