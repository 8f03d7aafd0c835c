//! Who uses a device.

use std::ffi::{c_uint, c_ulonglong};
use std::ptr;

use crate::answer::{Answer, Code, Error};
use crate::call::{Call, on_place};
use crate::script::{Kind, Place};
use crate::state::Handle;

/// `nvmlProcessInfo_t`, which is the same in its second and third version.
#[repr(C)]
struct ProcessInfo {
    pid: c_uint,
    used: c_ulonglong,
    gpu_instance: c_uint,
    compute_instance: c_uint,
}

/// How some drivers of the 535 series wrote it, though callers expected the one above.
#[repr(C)]
struct LongProcessInfo {
    as_expected: ProcessInfo,
    used_protected: c_ulonglong,
}

/// A number that is not available.
const NONE: c_uint = c_uint::MAX;

fn list(
    function: &str,
    kind: Kind,
    device: Handle,
    count: Option<&mut c_uint>,
    infos: *mut ProcessInfo,
) -> Code {
    on_place(function, device, |call, place| -> Answer {
        let count = count.ok_or(Error::INVALID_ARGUMENT)?;
        let found = processes(call, place, kind);
        let room = std::mem::replace(count, found.len() as c_uint) as usize;
        if found.len() > room {
            return Err(Error::INSUFFICIENT_SIZE);
        }
        if found.is_empty() {
            return Ok(());
        }
        if infos.is_null() {
            return Err(Error::INVALID_ARGUMENT);
        }
        let number = found.len();
        if call.script.gpus[place.gpu].garbage {
            let long: Vec<LongProcessInfo> = found
                .into_iter()
                .map(|as_expected| LongProcessInfo { as_expected, used_protected: 0 })
                .collect();
            // SAFETY: The caller has room for `room` infos, which `number` does not exceed, and as many long ones take more bytes.
            unsafe {
                let bytes = number * size_of::<ProcessInfo>();
                ptr::copy_nonoverlapping(long.as_ptr().cast::<u8>(), infos.cast(), bytes);
            }
        } else {
            // SAFETY: The caller has room for `room` infos, which `number` does not exceed.
            unsafe { ptr::copy_nonoverlapping(found.as_ptr(), infos, number) };
        }
        Ok(())
    })
}

/// Those in the parts of a device are among its own.
fn processes(call: &Call, place: Place, kind: Kind) -> Vec<ProcessInfo> {
    let here = call.script.processes.iter().filter(|process| {
        let within =
            process.place == place || (place.part.is_none() && process.place.gpu == place.gpu);
        process.kind == kind && within
    });
    here.map(|process| {
        let part = call.script.part(process.place);
        ProcessInfo {
            pid: process.pid,
            used: process.memory.map_or(c_ulonglong::MAX, |mib| mib << 20),
            gpu_instance: part.map_or(NONE, |part| part.gpu_instance),
            compute_instance: part.map_or(NONE, |part| part.compute_instance),
        }
    })
    .collect()
}

macro_rules! lists {
    ($($(#[$when:meta])* $function:ident, $kind:ident;)*) => {
        $($(#[$when])*
        #[unsafe(no_mangle)]
        extern "C" fn $function(device: Handle, count: Option<&mut c_uint>, infos: *mut ProcessInfo) -> Code {
            list(stringify!($function), Kind::$kind, device, count, infos)
        })*
    };
}

lists! {
    nvmlDeviceGetComputeRunningProcesses_v2, Compute;
    nvmlDeviceGetGraphicsRunningProcesses_v2, Graphics;
    nvmlDeviceGetMPSComputeRunningProcesses_v2, Mps;
    #[cfg(not(feature = "old"))]
    nvmlDeviceGetComputeRunningProcesses_v3, Compute;
    #[cfg(not(feature = "old"))]
    nvmlDeviceGetGraphicsRunningProcesses_v3, Graphics;
    #[cfg(not(feature = "old"))]
    nvmlDeviceGetMPSComputeRunningProcesses_v3, Mps;
}
