//! Speed: how fast the devices of a pool are.
//!
//! Nothing is measured: a device that nobody has leased is not ours to use. The driver tells some figures, and what follows from them is
//! worked out. What is not known is zero.
//!
//!     tern_device_speed_t speed = tern_device_speed_init();
//!     if (tern_pool_device_speed(pool, 0, &speed, &err) == TERN_OK && speed.memory != 0)
//!         printf("%" PRIu64 " GB/s\n", speed.memory / 1000000000);

use super::boundary::with;
use super::device::{beyond, flag};
use super::error::tern_error_t;
use super::pool::tern_pool_t;
use super::sized::{self, Plain};
use super::status::tern_status_t::{self, *};
use crate::cost::GpuRates;
use crate::{GpuDevice, GpuPool};

/// How fast a device is. Make it with tern_device_speed_init().
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_device_speed_t {
    /// sizeof(tern_device_speed_t)
    pub struct_size: usize,
    /// Floating-point operations with 8-byte numbers per second; 0: unknown, as for the four below.
    pub flop64: u64,
    /// Floating-point operations with 4-byte numbers.
    pub flop32: u64,
    /// Floating-point operations with 2-byte numbers, by the units made for matrices.
    pub flop16_matrix: u64,
    /// Bytes to and from its memory.
    pub memory: u64,
    /// Bytes between the machine's memory and its own.
    pub link: u64,
    /// Which of the numbers below are known: TERN_SPEED_…
    pub known: u32,
    /// The CUDA cores of a whole device. Not told of a part.
    pub cores: u32,
    /// The multiprocessors of a part. Not told of a whole device.
    pub multiprocessors: u32,
    /// The highest clock of the cores, in MHz.
    pub core_mhz: u32,
    /// The highest clock of the memory, in MHz.
    pub memory_mhz: u32,
    /// How wide the way to the memory is, in bits. Of a part: its share, in eighths of the whole, as its memory is.
    pub memory_bits: u32,
    /// The highest PCIe generation: the present one drops when the device is idle.
    pub pcie_generation: u32,
    /// The highest number of PCIe lanes.
    pub pcie_lanes: u32,
}

// SAFETY: integers only; 6 times 8 and 8 times 4 bytes have no padding.
unsafe impl Plain for tern_device_speed_t {}

/// `cores` is known.
pub const TERN_SPEED_CORES: u32 = 1;
/// `multiprocessors` is known.
pub const TERN_SPEED_MULTIPROCESSORS: u32 = 2;
/// `core_mhz` is known.
pub const TERN_SPEED_CORE_MHZ: u32 = 4;
/// `memory_mhz` is known.
pub const TERN_SPEED_MEMORY_MHZ: u32 = 8;
/// `memory_bits` is known.
pub const TERN_SPEED_MEMORY_BITS: u32 = 16;
/// `pcie_generation` is known.
pub const TERN_SPEED_PCIE_GENERATION: u32 = 32;
/// `pcie_lanes` is known.
pub const TERN_SPEED_PCIE_LANES: u32 = 64;

fn speed(device: &GpuDevice) -> tern_device_speed_t {
    let rates = GpuRates::of(device);
    let speed = &device.speed;
    tern_device_speed_t {
        struct_size: 0,
        flop64: rates.flop64.unwrap_or(0),
        flop32: rates.flop32.unwrap_or(0),
        flop16_matrix: rates.flop16_matrix.unwrap_or(0),
        memory: rates.memory.unwrap_or(0),
        link: rates.link.unwrap_or(0),
        known: flag(speed.cores.is_some(), TERN_SPEED_CORES)
            | flag(speed.multiprocessors.is_some(), TERN_SPEED_MULTIPROCESSORS)
            | flag(speed.core_mhz.is_some(), TERN_SPEED_CORE_MHZ)
            | flag(speed.memory_mhz.is_some(), TERN_SPEED_MEMORY_MHZ)
            | flag(speed.memory_bits.is_some(), TERN_SPEED_MEMORY_BITS)
            | flag(speed.pcie_generation.is_some(), TERN_SPEED_PCIE_GENERATION)
            | flag(speed.pcie_lanes.is_some(), TERN_SPEED_PCIE_LANES),
        cores: speed.cores.unwrap_or(0),
        multiprocessors: speed.multiprocessors.unwrap_or(0),
        core_mhz: speed.core_mhz.unwrap_or(0),
        memory_mhz: speed.memory_mhz.unwrap_or(0),
        memory_bits: speed.memory_bits.unwrap_or(0),
        pcie_generation: speed.pcie_generation.unwrap_or(0),
        pcie_lanes: speed.pcie_lanes.unwrap_or(0),
    }
}

/// How fast the device in this place is, by what its driver tells. Places as in tern_pool_device().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_pool_device_speed(
    pool: *const tern_pool_t,
    place: usize,
    speed: *mut tern_device_speed_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(pool, err, |pool: &GpuPool| {
            let size = sized::room(speed, "speed")?;
            let found = pool.devices().get(place).ok_or_else(beyond)?;
            sized::store(speed, size, &self::speed(found));
            Ok(TERN_OK)
        })
    }
}
