//! Memory, and its errors.

use std::ffi::{c_uint, c_ulonglong};

use crate::answer::{Answer, Code, Error, Out, put};
use crate::call::{Call, on_gpu, on_place};
use crate::script::{Memory, Place};
use crate::state::Handle;

const MIB: u64 = 1 << 20;

/// `nvmlMemory_t`.
#[repr(C)]
struct MemoryInfo {
    total: c_ulonglong,
    free: c_ulonglong,
    used: c_ulonglong,
}

/// `nvmlMemory_v2_t`.
#[repr(C)]
struct MemoryInfo2 {
    version: c_uint,
    total: c_ulonglong,
    reserved: c_ulonglong,
    free: c_ulonglong,
    used: c_ulonglong,
}

fn memory(call: &Call, place: Place) -> Memory {
    call.script.part(place).map_or(call.script.gpus[place.gpu].memory, |part| part.memory)
}

fn free(memory: Memory) -> u64 {
    memory.total.saturating_sub(memory.used + memory.reserved)
}

/// Counts what is reserved as used, unlike the second version.
#[cfg(not(feature = "v2-memory-only"))]
#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMemoryInfo(device: Handle, info: Out<MemoryInfo>) -> Code {
    on_place("nvmlDeviceGetMemoryInfo", device, |call, place| {
        let memory = memory(call, place);
        put(
            info,
            MemoryInfo {
                total: memory.total * MIB,
                free: free(memory) * MIB,
                used: (memory.used + memory.reserved) * MIB,
            },
        )
    })
}

#[cfg(not(feature = "old"))]
#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMemoryInfo_v2(device: Handle, info: Option<&mut MemoryInfo2>) -> Code {
    on_place("nvmlDeviceGetMemoryInfo_v2", device, |call, place| {
        let info = info.ok_or(Error::INVALID_ARGUMENT)?;
        let version = size_of::<MemoryInfo2>() as c_uint | 2 << 24;
        if info.version != version {
            return Err(Error::ARGUMENT_VERSION_MISMATCH);
        }
        let memory = memory(call, place);
        *info = MemoryInfo2 {
            version,
            total: memory.total * MIB,
            reserved: memory.reserved * MIB,
            free: free(memory) * MIB,
            used: memory.used * MIB,
        };
        Ok(())
    })
}

/// The errors of one kind: 1 is uncorrected.
fn errors(uncorrected: u64, kind: c_uint) -> Answer<c_ulonglong> {
    match kind {
        0 => Ok(0),
        1 => Ok(uncorrected),
        _ => Err(Error::INVALID_ARGUMENT),
    }
}

/// Those since the driver was loaded are all there ever were.
#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetTotalEccErrors(
    device: Handle,
    kind: c_uint,
    _since: c_uint,
    count: Out<c_ulonglong>,
) -> Code {
    on_gpu("nvmlDeviceGetTotalEccErrors", device, |gpu| {
        put(count, errors(gpu.uncorrected_errors, kind)?)
    })
}

/// All errors are in the device's memory, which is location 2.
#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMemoryErrorCounter(
    device: Handle,
    kind: c_uint,
    _since: c_uint,
    location: c_uint,
    count: Out<c_ulonglong>,
) -> Code {
    on_gpu("nvmlDeviceGetMemoryErrorCounter", device, |gpu| {
        let all = errors(gpu.uncorrected_errors, kind)?;
        put(count, if location == 2 { all } else { 0 })
    })
}
