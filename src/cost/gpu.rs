//! How fast a GPU is, worked out from what its driver says of it. Nothing is measured: a device that nobody has leased is not ours to use.

use super::rates::Rate;
use crate::inventory::{GpuDevice, Vendor};

/// How fast a device is by its figures: operations or bytes per second. What cannot be worked out is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GpuRates {
    /// Floating-point operations with 8-byte numbers.
    pub flop64: Option<u64>,
    /// Floating-point operations with 4-byte numbers.
    pub flop32: Option<u64>,
    /// Floating-point operations with 2-byte numbers, by the units made for matrices.
    pub flop16_matrix: Option<u64>,
    /// Bytes to and from its memory.
    pub memory: Option<u64>,
    /// Bytes between the machine's memory and its own.
    pub link: Option<u64>,
}

/// What a multiprocessor of this compute capability does in one cycle: multiply-adds with numbers of 8, 4 and, by the matrix units, 2 bytes.
/// `None` for those of which that is not known here: a guess could be wrong by thirty times.
const fn per_cycle(capability: (u32, u32)) -> Option<[u64; 3]> {
    Some(match capability {
        (7, 0) => [32, 64, 512],
        (7, 5) => [2, 64, 512],
        (8, 0) => [32, 64, 1024],
        (8, 6) | (8, 9) => [2, 128, 512],
        (9, 0) => [64, 128, 2048],
        _ => return None,
    })
}

/// Bytes per second of one PCIe lane, by generation from 1.
const LANE: [u64; 6] =
    [250_000_000, 500_000_000, 984_000_000, 1_969_000_000, 3_938_000_000, 7_563_000_000];

impl GpuRates {
    /// Of this device.
    ///
    /// ```
    /// use ternlease::cost::GpuRates;
    /// use ternlease::inventory::{Declared, Inventory};
    ///
    /// let a100 = &Declared::fake(1).find().devices[0];
    /// let rates = GpuRates::of(a100);
    /// assert_eq!(rates.memory, Some(2_039_040_000_000));
    /// assert_eq!(rates.flop64.unwrap() / 10_000_000_000, 974); // 9.74 TFLOPS
    /// ```
    pub fn of(device: &GpuDevice) -> Self {
        let speed = &device.speed;
        let product = |numbers: &[Option<u32>]| {
            numbers.iter().try_fold(1_u64, |product, number| {
                Some(product.saturating_mul(u64::from((*number)?)))
            })
        };
        let per_cycle = match (device.vendor, device.compute_capability) {
            (Vendor::Nvidia, Some(capability)) => per_cycle(capability),
            _ => None,
        };
        // A core does one multiply-add with 4-byte numbers in a cycle.
        let multiprocessors = speed
            .multiprocessors
            .map(u64::from)
            .or_else(|| Some(u64::from(speed.cores?) / per_cycle?[1]));
        let hertz = speed.core_mhz.map(|mhz| u64::from(mhz) * 1_000_000);
        let flops = |which: usize| {
            let operations = per_cycle?[which].saturating_mul(2);
            Some(operations.saturating_mul(multiprocessors?).saturating_mul(hertz?))
        };
        let bits = product(&[speed.memory_mhz, speed.memory_bits]);
        let lane = speed
            .pcie_generation
            .and_then(|generation| LANE.get((generation as usize).checked_sub(1)?).copied());
        GpuRates {
            flop64: flops(0),
            flop32: flops(1),
            flop16_matrix: flops(2),
            // Twice in each cycle.
            memory: bits.map(|bits| bits.saturating_mul(1_000_000 / 8 * 2)),
            link: lane.zip(speed.pcie_lanes).map(|(lane, lanes)| lane.saturating_mul(lanes.into())),
        }
    }
}

/// What programs reach of it, in thousandths: of arithmetic and memory, and of the link from memory that is not pinned.
pub(super) const REACHED: u64 = 800;
pub(super) const REACHED_OF_LINK: u64 = 400;

/// As a rate that nobody measured.
pub(super) fn reached(rate: Option<u64>, permille: u64) -> Option<Rate> {
    rate.map(|rate| Rate::estimated(super::time::scaled(rate, permille)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::GpuSpeed;

    fn device(capability: (u32, u32), cores: u32, mhz: [u32; 2], bits: u32) -> GpuDevice {
        GpuDevice {
            compute_capability: Some(capability),
            speed: GpuSpeed {
                cores: Some(cores),
                core_mhz: Some(mhz[0]),
                memory_mhz: Some(mhz[1]),
                memory_bits: Some(bits),
                pcie_generation: Some(4),
                pcie_lanes: Some(16),
                ..GpuSpeed::default()
            },
            ..GpuDevice::new(Vendor::Nvidia, 0, "")
        }
    }

    #[test]
    fn known_devices_are_as_fast_as_their_makers_say() {
        // Name, device, then TFLOPS with 8, 4 and 2 bytes, in hundredths, and GB/s.
        for (name, device, expected) in [
            ("V100", device((7, 0), 5120, [1530, 877], 4096), [783, 1566, 12533, 898]),
            ("T4", device((7, 5), 2560, [1590, 5001], 256), [25, 814, 6512, 320]),
            ("A100", device((8, 0), 6912, [1410, 1593], 5120), [974, 1949, 31186, 2039]),
            ("RTX 4090", device((8, 9), 16384, [2520, 10501], 384), [129, 8257, 33030, 1008]),
            ("H100", device((9, 0), 16896, [1980, 2619], 5120), [3345, 6690, 107053, 3352]),
        ] {
            let rates = GpuRates::of(&device);
            let hundredths = |rate: Option<u64>| rate.unwrap() / 10_000_000_000;
            let found = [
                hundredths(rates.flop64),
                hundredths(rates.flop32),
                hundredths(rates.flop16_matrix),
                rates.memory.unwrap() / 1_000_000_000,
            ];
            assert_eq!(found, expected, "{name}");
            assert_eq!(rates.link, Some(31_504_000_000));
        }
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        let unknown = device((10, 0), 20_000, [2000, 4000], 8192);
        let rates = GpuRates::of(&unknown);
        assert_eq!((rates.flop64, rates.flop32), (None, None));
        assert!(rates.memory.is_some());
        let bare = GpuDevice::new(Vendor::Amd, 0, "MI300X");
        let nothing =
            GpuRates { flop64: None, flop32: None, flop16_matrix: None, memory: None, link: None };
        assert_eq!(GpuRates::of(&bare), nothing);
        let mut absurd = device((9, 0), u32::MAX, [u32::MAX; 2], u32::MAX);
        absurd.speed.pcie_generation = Some(0);
        assert_eq!(GpuRates::of(&absurd).link, None);
    }

    #[test]
    fn a_part_counts_its_own_multiprocessors() {
        let mut part = device((8, 0), 0, [1410, 1593], 640);
        (part.speed.cores, part.speed.multiprocessors) = (None, Some(14));
        let rates = GpuRates::of(&part);
        assert_eq!(rates.flop32, Some(14 * 64 * 2 * 1_410_000_000));
        assert_eq!(rates.memory, Some(254_880_000_000));
    }
}
