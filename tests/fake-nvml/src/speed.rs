//! How fast devices are. Parts do not tell.

use std::ffi::c_uint;

use crate::answer::{Code, Error, Out, put};
use crate::call::on_gpu;
use crate::script::Speed;
use crate::state::Handle;

/// Answers with a figure, if the script has it.
fn figure(
    function: &str,
    device: Handle,
    to: Out<c_uint>,
    choose: impl FnOnce(&Speed) -> Option<u32>,
) -> Code {
    on_gpu(function, device, |gpu| put(to, choose(&gpu.speed).ok_or(Error::NOT_SUPPORTED)?))
}

#[cfg(not(feature = "old"))]
#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetNumGpuCores(device: Handle, cores: Out<c_uint>) -> Code {
    figure("nvmlDeviceGetNumGpuCores", device, cores, |speed| speed.cores)
}

#[cfg(not(feature = "old"))]
#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMemoryBusWidth(device: Handle, bits: Out<c_uint>) -> Code {
    figure("nvmlDeviceGetMemoryBusWidth", device, bits, |speed| speed.memory_bits)
}

/// Of the clocks, 0 is that of graphics, 1 that of the multiprocessors, 2 the memory's and 3 that of video.
#[cfg(not(feature = "bare"))]
#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMaxClockInfo(device: Handle, clock: c_uint, mhz: Out<c_uint>) -> Code {
    on_gpu("nvmlDeviceGetMaxClockInfo", device, |gpu| {
        let highest = match clock {
            1 => gpu.speed.core_mhz,
            2 => gpu.speed.memory_mhz,
            0 | 3 => None,
            _ => return Err(Error::INVALID_ARGUMENT),
        };
        put(mhz, highest.ok_or(Error::NOT_SUPPORTED)?)
    })
}

#[cfg(not(feature = "bare"))]
#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMaxPcieLinkGeneration(device: Handle, generation: Out<c_uint>) -> Code {
    figure("nvmlDeviceGetMaxPcieLinkGeneration", device, generation, |speed| speed.pcie_generation)
}

#[cfg(not(feature = "bare"))]
#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMaxPcieLinkWidth(device: Handle, lanes: Out<c_uint>) -> Code {
    figure("nvmlDeviceGetMaxPcieLinkWidth", device, lanes, |speed| speed.pcie_lanes)
}
