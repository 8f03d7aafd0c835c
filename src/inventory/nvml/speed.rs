//! How fast devices and their parts are.

use nvml_wrapper::Device;
use nvml_wrapper::enum_wrappers::device::Clock;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::struct_wrappers::device::DeviceAttributes;

use super::library::Answers;
use crate::inventory::{GpuDevice, GpuSpeed};

/// What a whole device tells. Nobody needs it to use the device, so that one that is broken is left alone.
pub(super) fn of_device(device: &Device, answers: &mut Answers) -> GpuSpeed {
    let mut ask = |question: &dyn Fn() -> Result<u32, NvmlError>| match answers.broken {
        Some(_) => None,
        None => answers.take_aside(question()).and_then(known),
    };
    GpuSpeed {
        cores: ask(&|| device.num_cores()),
        multiprocessors: None,
        core_mhz: ask(&|| device.max_clock_info(Clock::SM)),
        memory_mhz: ask(&|| device.max_clock_info(Clock::Memory)),
        memory_bits: ask(&|| device.memory_bus_width()),
        pcie_generation: ask(&|| device.max_pcie_link_gen()),
        pcie_lanes: ask(&|| device.max_pcie_link_width()),
    }
}

/// What is known of a part with so much memory: it has the clocks and the link of the whole.
pub(super) fn of_part(
    whole: &GpuDevice,
    memory: Option<u32>,
    sizes: Option<&DeviceAttributes>,
) -> GpuSpeed {
    GpuSpeed {
        cores: None,
        multiprocessors: sizes.and_then(|sizes| known(sizes.multiprocessor_count)),
        memory_bits: share(whole.speed.memory_bits, whole.memory, memory),
        ..whole.speed
    }
}

/// Devices without memory of their own have a bus of no width, and -1 is how NVML writes that there is no value.
fn known(figure: u32) -> Option<u32> {
    Some(figure).filter(|figure| !matches!(*figure, 0 | u32::MAX))
}

/// Memory is divided in eighths, each with its own part of the bus. A part has a little less memory than its eighths: some is kept for
/// the driver. It has one at least, and what has more than the whole is no part of it.
fn share(bits: Option<u32>, whole: Option<u32>, part: Option<u32>) -> Option<u32> {
    const EIGHTHS: u64 = 8;
    let (bits, whole, part) = (u64::from(bits?), u64::from(whole?), u64::from(part?));
    if part > whole || whole == 0 {
        return None;
    }
    let eighths = ((part * EIGHTHS + whole / 2) / whole).max(1);
    u32::try_from(bits * eighths / EIGHTHS).ok().and_then(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_known_devices_have_the_eighths_that_nvidia_gives_them() {
        // Of sizes like those of A100 with 40 GB and 80 GB, A30, H100 and H200: a part has somewhat less than its eighths.
        for (bits, whole, part, eighths) in [
            (5120, 40_960, 4_864, 1),
            (5120, 40_960, 19_968, 4),
            (5120, 81_920, 9_728, 1),
            (5120, 81_920, 19_968, 2),
            (5120, 81_920, 40_192, 4),
            (5120, 81_920, 80_896, 8),
            (3072, 24_576, 5_952, 2),
            (3072, 24_576, 24_125, 8),
            (5120, 81_559, 9_984, 1),
            (6144, 143_771, 16_384, 1),
            (6144, 143_771, 33_280, 2),
        ] {
            let expected = Some(bits / 8 * eighths);
            assert_eq!(share(Some(bits), Some(whole), Some(part)), expected, "{part} of {whole}");
        }
    }

    #[test]
    fn a_share_of_what_is_not_known_or_cannot_be_is_not_known() {
        assert_eq!(share(None, Some(81_920), Some(9_728)), None);
        assert_eq!(share(Some(5120), None, Some(9_728)), None);
        assert_eq!(share(Some(5120), Some(81_920), None), None);
        assert_eq!(share(Some(5120), Some(0), Some(0)), None);
        assert_eq!(share(Some(5120), Some(9_728), Some(81_920)), None);
        assert_eq!(share(Some(7), Some(80), Some(10)), None, "less than a bit");
        assert_eq!(share(Some(5120), Some(u32::MAX), Some(1)), Some(640), "one at least");
        let most = u32::MAX - 1;
        assert_eq!(share(Some(most), Some(u32::MAX), Some(u32::MAX)), Some(most));
    }
}
