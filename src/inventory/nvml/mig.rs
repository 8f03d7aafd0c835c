//! The parts that a device is divided into.

use nvml_wrapper::Device;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::DeviceAttributes;

use super::library::Answers;
use super::scan::mebibytes;
use super::{raw, speed};
use crate::inventory::{GpuDevice, Mig};

/// Why a divided device cannot be used as a whole.
pub(super) const DIVIDED: &str = "MIG is on: only its instances can be used";

/// Why a divided device cannot be used at all.
pub(super) const NO_PARTS: &str =
    "MIG is on and there are no instances that can be used: make some, or turn it off";

pub(super) fn is_divided(device: &Device) -> bool {
    const ENABLED: u32 = 1;
    device.mig_mode().is_ok_and(|mode| mode.current == ENABLED)
}

/// The parts of a divided device, each as a device with its parent's number. There may be gaps in the numbers of parts, and the count
/// that the driver gives is the greatest possible, not the present one.
pub(super) fn parts(device: &Device, whole: &GpuDevice, answers: &mut Answers) -> Vec<GpuDevice> {
    let most = answers.take(device.mig_device_count()).unwrap_or(0);
    let part = |number| match device.mig_device_by_index(number) {
        Err(NvmlError::NotFound | NvmlError::InvalidArg) => None,
        found => describe(&answers.take(found)?, whole, answers),
    };
    (0..most).filter_map(part).collect()
}

/// A part without a name for ever could not be claimed, so that is the one thing that it needs.
fn describe(part: &Device, whole: &GpuDevice, answers: &mut Answers) -> Option<GpuDevice> {
    let uuid = answers.take(part.uuid())?;
    let name = answers.take(part.name()).unwrap_or_else(|| format!("{} MIG", whole.name));
    let (gpu_instance, compute_instance) = answers.take(raw::instance(part)).unwrap_or_default();
    let sizes = answers.take_aside(part.attributes());
    let profile = profile_in(&name).or_else(|| sizes.as_ref().map(profile_of)).unwrap_or_default();
    let memory = answers.take(raw::memory(part)).map(|memory| mebibytes(memory.total));
    Some(GpuDevice {
        name,
        uuid: Some(uuid),
        memory,
        speed: speed::of_part(whole, memory, sizes.as_ref()),
        island: None,
        mig: Some(Mig {
            parent: whole.uuid.clone().unwrap_or_default(),
            profile,
            gpu_instance,
            compute_instance,
        }),
        ..whole.clone()
    })
}

/// A part is called like its parent, then `MIG`, then its profile.
fn profile_in(name: &str) -> Option<String> {
    name.rsplit_once(" MIG ").map(|(_, profile)| profile.trim().to_owned())
}

/// The profile by its sizes, as NVIDIA makes the name of them.
fn profile_of(sizes: &DeviceAttributes) -> String {
    let (slices, computing) = (sizes.gpu_instance_slice_count, sizes.compute_instance_slice_count);
    let gigabytes = sizes.memory_size_mb.div_ceil(1024);
    match computing == slices {
        true => format!("{slices}g.{gigabytes}gb"),
        false => format!("{computing}c.{slices}g.{gigabytes}gb"),
    }
}
