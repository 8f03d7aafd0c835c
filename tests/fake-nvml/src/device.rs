//! Finding devices, and what they are.

use std::ffi::{CStr, c_char, c_int, c_uint};

use crate::answer::{Answer, Buffer, Code, Error, Out, fixed, put};
use crate::call::{Target, answer, on_gpu, on_place};
use crate::script::{MigMode, Pci};
use crate::state::Handle;

/// `nvmlPciInfo_t`.
#[repr(C)]
pub struct PciInfo {
    bus_id_legacy: [c_char; 16],
    domain: c_uint,
    bus: c_uint,
    device: c_uint,
    pci_device_id: c_uint,
    pci_subsystem_id: c_uint,
    bus_id: [c_char; 32],
}

impl From<Pci> for PciInfo {
    fn from(pci: Pci) -> Self {
        let Pci { domain, bus, device } = pci;
        PciInfo {
            bus_id_legacy: fixed(&format!("{domain:04X}:{bus:02X}:{device:02X}.0")),
            domain,
            bus,
            device,
            pci_device_id: 0x20b2_10de,
            pci_subsystem_id: 0x1463_10de,
            bus_id: fixed(&pci.to_string()),
        }
    }
}

/// `nvmlUtilization_t`.
#[repr(C)]
struct Utilization {
    gpu: c_uint,
    memory: c_uint,
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetCount_v2(count: Out<c_uint>) -> Code {
    answer("nvmlDeviceGetCount_v2", Target::System, |call| {
        put(count, call.script.gpus.len() as c_uint)
    })
}

fn find(function: &str, target: Target, handle: Out<Handle>) -> Code {
    answer(function, target, |call| put(handle, call.handle(call.places[0])))
}

/// A text of the caller's; no text is no match for anything.
fn text<'a>(start: *const c_char) -> &'a str {
    if start.is_null() {
        return "";
    }
    // SAFETY: The caller says that it is a text that ends, and stays during the call.
    unsafe { CStr::from_ptr(start) }.to_str().unwrap_or("")
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetHandleByIndex_v2(index: c_uint, handle: Out<Handle>) -> Code {
    find("nvmlDeviceGetHandleByIndex_v2", Target::Index(index as usize), handle)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetHandleByUUID(uuid: *const c_char, handle: Out<Handle>) -> Code {
    find("nvmlDeviceGetHandleByUUID", Target::Uuid(text(uuid)), handle)
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(bus_id: *const c_char, handle: Out<Handle>) -> Code {
    find("nvmlDeviceGetHandleByPciBusId_v2", Target::BusId(text(bus_id)), handle)
}

/// Of a part: its MIG index.
#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetIndex(device: Handle, index: Out<c_uint>) -> Code {
    on_place("nvmlDeviceGetIndex", device, |_, place| {
        put(index, place.part.unwrap_or(place.gpu as c_uint))
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetUUID(device: Handle, start: *mut c_char, length: c_uint) -> Code {
    on_place("nvmlDeviceGetUUID", device, |call, place| {
        let part = call.script.part(place);
        Buffer { start, length }
            .put(part.map_or(&call.script.gpus[place.gpu].uuid, |part| &part.uuid))
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetName(device: Handle, start: *mut c_char, length: c_uint) -> Code {
    on_place("nvmlDeviceGetName", device, |call, place| {
        let name = &call.script.gpus[place.gpu].name;
        let buffer = Buffer { start, length };
        match call.script.part(place) {
            Some(part) => buffer.put(&format!("{name} MIG {}", part.profile)),
            None => buffer.put(name),
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetPciInfo_v3(device: Handle, info: Out<PciInfo>) -> Code {
    on_gpu("nvmlDeviceGetPciInfo_v3", device, |gpu| put(info, gpu.pci.into()))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMinorNumber(device: Handle, minor: Out<c_uint>) -> Code {
    on_gpu("nvmlDeviceGetMinorNumber", device, |gpu| put(minor, gpu.minor))
}

#[cfg(not(feature = "old"))]
#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetNumaNodeId(device: Handle, node: Out<c_uint>) -> Code {
    on_gpu("nvmlDeviceGetNumaNodeId", device, |gpu| {
        put(node, gpu.numa.ok_or(Error::NOT_SUPPORTED)?)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetCudaComputeCapability(
    device: Handle,
    major: Out<c_int>,
    minor: Out<c_int>,
) -> Code {
    on_place("nvmlDeviceGetCudaComputeCapability", device, |call, place| {
        let capability = call.script.gpus[place.gpu].compute_capability;
        put(major, capability.0)?;
        put(minor, capability.1)
    })
}

/// Neither parts nor devices that are in parts can tell.
#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetUtilizationRates(device: Handle, rates: Out<Utilization>) -> Code {
    on_gpu("nvmlDeviceGetUtilizationRates", device, |gpu| -> Answer {
        if gpu.mig == MigMode::On {
            return Err(Error::NOT_SUPPORTED);
        }
        put(rates, Utilization { gpu: gpu.busy, memory: gpu.busy / 2 })
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetComputeMode(device: Handle, mode: Out<c_uint>) -> Code {
    on_gpu("nvmlDeviceGetComputeMode", device, |gpu| put(mode, gpu.mode as c_uint))
}
