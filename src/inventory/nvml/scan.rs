//! Which devices there are.

use std::path::Path;

use nvml_wrapper::enum_wrappers::device::ComputeMode;
use nvml_wrapper::struct_wrappers::device::PciInfo;
use nvml_wrapper::{Device, Nvml};

use super::library::{Answers, Library, unreached, why};
use super::observe::more_memory_errors;
use super::{links, mig, place, raw, speed};
use crate::inventory::{Absence, Found, GpuDevice, PciAddress, Vendor, Why};
use crate::table::Health;

pub(super) const SOURCE: &str = "nvml";

/// A device that something identifies.
struct Entry {
    device: GpuDevice,
    /// `None` if it cannot be reached.
    handle: Option<Device<'static>>,
}

/// All devices, in the order of their PCI addresses: the one that `CUDA_DEVICE_ORDER=PCI_BUS_ID` and `nvidia-smi` number them in.
/// Those that have parts are replaced by them.
pub(super) fn find(library: &mut Library, path: &Path, sysfs: &Path) -> Found {
    let mut found = Found::default();
    let mut missing = |why| found.absences.push(Absence { source: SOURCE, why });
    let entries = match library.open(path).and_then(|nvml| entries(nvml, sysfs, &mut missing)) {
        Ok(entries) => entries,
        Err(why) => {
            missing(why);
            return found;
        }
    };
    let islands = islands(&entries);
    for (index, (mut entry, island)) in entries.into_iter().zip(islands).enumerate() {
        entry.device.index = index as u32;
        entry.device.island = island;
        match entry.handle {
            Some(handle) => found.devices.extend(reached(library, &handle, entry.device, sysfs)),
            None => found.devices.push(entry.device),
        }
    }
    found
}

/// Every device that can be told from others, in order; what cannot is missing, in words.
fn entries(
    nvml: &'static Nvml,
    sysfs: &Path,
    missing: &mut impl FnMut(Why),
) -> Result<Vec<Entry>, Why> {
    let count = nvml.device_count().map_err(why)?;
    if count == 0 {
        return Err(Why::NoDevice);
    }
    let mut entries = Vec::new();
    let mut lost = Vec::new();
    for number in 0..count {
        match nvml.device_by_index(number) {
            Ok(handle) => {
                let mut answers = Answers::default();
                let pci = answers.take(handle.pci_info()).and_then(|info| address(&info));
                let uuid = answers.take(handle.uuid());
                match (pci, uuid) {
                    (None, None) => lost.push((number, answers.verdict())),
                    (pci, uuid) => {
                        let device = GpuDevice { pci, uuid, ..unnamed() };
                        entries.push(Entry { device, handle: Some(handle) });
                    }
                }
            }
            Err(error) => lost.push((number, unreached(&error))),
        }
    }
    let unseen = if lost.is_empty() { Vec::new() } else { unseen(&entries, sysfs) };
    if unseen.len() == lost.len() {
        for (pci, (_, (health, trouble))) in unseen.into_iter().zip(lost) {
            let (pci, trouble) = (Some(pci), Some(trouble));
            let device = GpuDevice { pci, health, trouble, ..unnamed() };
            entries.push(Entry { device, handle: None });
        }
    } else {
        for (number, (_, trouble)) in lost {
            missing(Why::Failed(format!("number {number} cannot be reached: {trouble}")));
        }
    }
    entries.sort_by_key(|entry| (entry.device.pci.is_none(), entry.device.pci));
    Ok(entries)
}

fn unnamed() -> GpuDevice {
    GpuDevice::new(Vendor::Nvidia, 0, "NVIDIA GPU")
}

/// Where the kernel sees devices and the driver does not reach them. In a container these may be other people's: then there are more
/// of them than the driver misses.
fn unseen(entries: &[Entry], sysfs: &Path) -> Vec<PciAddress> {
    let mut places = place::of_nvidia(sysfs);
    places.retain(|place| entries.iter().all(|entry| entry.device.pci != Some(*place)));
    places
}

/// Everything about a device that can be reached; or its parts.
fn reached(
    library: &mut Library,
    handle: &Device,
    mut device: GpuDevice,
    sysfs: &Path,
) -> Vec<GpuDevice> {
    let mut answers = Answers::default();
    if let Some(name) = answers.take(handle.name()) {
        device.name = name;
    }
    device.memory = answers.take(raw::memory(handle)).map(|memory| mebibytes(memory.total));
    device.compute_capability = answers
        .take(handle.cuda_compute_capability())
        .map(|version| (version.major as u32, version.minor as u32));
    device.numa = answers
        .take(handle.numa_node_id())
        .or_else(|| device.pci.and_then(|pci| place::numa(sysfs, pci)));
    // Those that it has now are none that it gets later.
    more_memory_errors(library, &mut answers, handle, &device);
    device.speed = speed::of_device(handle, &mut answers);
    if mig::is_divided(handle) {
        let parts = mig::parts(handle, &device, &mut answers);
        if !parts.is_empty() {
            return parts;
        }
        (device.health, device.trouble) = (Health::Draining, Some(mig::NO_PARTS.into()));
    } else if is_prohibited(handle) {
        (device.health, device.trouble) = (Health::Draining, Some(PROHIBITED.into()));
    }
    if let Some(trouble) = answers.broken.take() {
        (device.health, device.trouble) = (Health::Failed, Some(trouble));
    } else if let Some(trouble) = answers.silent() {
        (device.health, device.trouble) = (Health::Draining, Some(trouble));
    }
    vec![device]
}

/// Why nobody can compute on a device of which its owner wants just that.
pub(super) const PROHIBITED: &str = "its compute mode is set to prohibited";

pub(super) fn is_prohibited(handle: &Device) -> bool {
    matches!(handle.compute_mode(), Ok(ComputeMode::Prohibited))
}

/// Divided devices have no links that could be used.
fn islands(entries: &[Entry]) -> Vec<Option<u32>> {
    let known: Vec<PciAddress> = entries.iter().filter_map(|entry| entry.device.pci).collect();
    let read = |(at, entry): (usize, &Entry)| {
        let handle = entry.handle.as_ref().filter(|handle| !mig::is_divided(handle))?;
        Some((at, (entry.device.pci?, links::read(handle, &known))))
    };
    let (places, linked): (Vec<usize>, Vec<_>) =
        entries.iter().enumerate().filter_map(read).unzip();
    let mut islands = vec![None; entries.len()];
    for (at, island) in places.into_iter().zip(links::islands(&linked)) {
        islands[at] = island;
    }
    islands
}

/// NVML writes the domain with eight digits, old drivers with four, and some leave the text out.
pub(super) fn address(info: &PciInfo) -> Option<PciAddress> {
    let numbers = || {
        let (bus, device) = (u8::try_from(info.bus).ok()?, u8::try_from(info.device).ok()?);
        Some(PciAddress { domain: info.domain, bus, device, function: 0 })
    };
    info.bus_id.parse().ok().or_else(numbers)
}

pub(super) fn mebibytes(bytes: u64) -> u32 {
    u32::try_from(bytes >> 20).unwrap_or(u32::MAX)
}
