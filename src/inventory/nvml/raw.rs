//! Calls that the wrapper does not have, or makes in a way that does not work everywhere.

use std::mem;

use nvml_wrapper::error::{NvmlError, nvml_sym, nvml_try};
use nvml_wrapper::{Device, EventSet};
use nvml_wrapper_sys::bindings::{
    nvmlDevice_t, nvmlEventData_t, nvmlIntNvLinkDeviceType_enum_NVML_NVLINK_DEVICE_TYPE_SWITCH,
    nvmlIntNvLinkDeviceType_enum_NVML_NVLINK_DEVICE_TYPE_UNKNOWN, nvmlProcessInfo_t, nvmlReturn_t,
};

use super::library::is_broken;

/// Memory of a device, in bytes.
pub(super) struct Memory {
    pub total: u64,
    pub used: u64,
}

/// Old drivers have only the first version of this call, some new devices refuse one of the two, or both.
pub(super) fn memory(device: &Device) -> Result<Memory, NvmlError> {
    let memory = match device.memory_info() {
        Ok(info) => Ok(Memory { total: info.total, used: info.used }),
        Err(error) if is_broken(&error) => Err(error),
        Err(_) => memory_v1(device),
    }?;
    // A device without memory of its own may say zero, and mean that it does not know.
    if memory.total == 0 { Err(NvmlError::NoData) } else { Ok(memory) }
}

fn memory_v1(device: &Device) -> Result<Memory, NvmlError> {
    let call = nvml_sym(device.nvml().lib().nvmlDeviceGetMemoryInfo.as_ref())?;
    // SAFETY: all-zero is a value of this struct of numbers.
    let mut info = unsafe { mem::zeroed() };
    // SAFETY: the handle is the library's own, the struct is of this call's type.
    nvml_try(unsafe { call(device.handle(), &mut info) })?;
    Ok(Memory { total: info.total, used: info.used })
}

/// The numbers of the GPU instance and the compute instance that a part of a device is.
pub(super) fn instance(part: &Device) -> Result<(u32, u32), NvmlError> {
    let lib = part.nvml().lib();
    let gpu = nvml_sym(lib.nvmlDeviceGetGpuInstanceId.as_ref())?;
    let compute = nvml_sym(lib.nvmlDeviceGetComputeInstanceId.as_ref())?;
    let (mut in_device, mut in_gpu) = (0, 0);
    // SAFETY: the handle is the library's own, the places are valid.
    unsafe {
        nvml_try(gpu(part.handle(), &mut in_device))?;
        nvml_try(compute(part.handle(), &mut in_gpu))?;
    }
    Ok((in_device, in_gpu))
}

/// What processes do on a device.
#[derive(Clone, Copy)]
pub(super) enum List {
    Compute,
    /// Computes, and shares the device by NVIDIA's own server.
    Shared,
    Graphics,
}

/// A process, and the bytes that it uses.
pub(super) struct Use {
    pub pid: u32,
    pub memory: Option<u64>,
}

type ListCall =
    unsafe extern "C" fn(nvmlDevice_t, *mut u32, *mut nvmlProcessInfo_t) -> nvmlReturn_t;

/// The third version of the call, else the second, which has the same layout.
///
/// The wrapper first asks how many there are, with no place for them, and takes success for none: some drivers mean something else.
pub(super) fn processes(device: &Device, list: List) -> Result<Vec<Use>, NvmlError> {
    let lib = device.nvml().lib();
    let (newer, older) = match list {
        List::Compute => (
            lib.nvmlDeviceGetComputeRunningProcesses_v3.as_ref(),
            lib.nvmlDeviceGetComputeRunningProcesses_v2.as_ref(),
        ),
        List::Shared => (
            lib.nvmlDeviceGetMPSComputeRunningProcesses_v3.as_ref(),
            lib.nvmlDeviceGetMPSComputeRunningProcesses_v2.as_ref(),
        ),
        List::Graphics => (
            lib.nvmlDeviceGetGraphicsRunningProcesses_v3.as_ref(),
            lib.nvmlDeviceGetGraphicsRunningProcesses_v2.as_ref(),
        ),
    };
    match nvml_sym(newer).and_then(|call| list_with(*call, device)) {
        Err(NvmlError::FailedToLoadSymbol(_) | NvmlError::FunctionNotFound) => {
            list_with(*nvml_sym(older)?, device)
        }
        other => other,
    }
}

fn list_with(call: ListCall, device: &Device) -> Result<Vec<Use>, NvmlError> {
    const ENOUGH: usize = 64;
    const TOO_MANY: usize = 1 << 16;
    let mut room = ENOUGH;
    loop {
        // SAFETY: all-zero is a value of this struct of numbers.
        let mut infos: Vec<nvmlProcessInfo_t> = vec![unsafe { mem::zeroed() }; room];
        let mut count = room as u32;
        // SAFETY: the handle is the library's own, and there is room for as many as said.
        match nvml_try(unsafe { call(device.handle(), &mut count, infos.as_mut_ptr()) }) {
            Ok(()) => {
                infos.truncate(count as usize);
                return Ok(infos.iter().map(used_by).collect());
            }
            // More may come while we make room.
            Err(NvmlError::InsufficientSize(_)) if room < TOO_MANY => {
                room = (room * 2).max(count as usize + ENOUGH).min(TOO_MANY);
            }
            Err(error) => return Err(error),
        }
    }
}

fn used_by(info: &nvmlProcessInfo_t) -> Use {
    let unknown = info.usedGpuMemory == u64::MAX;
    Use { pid: info.pid, memory: (!unknown).then_some(info.usedGpuMemory) }
}

/// Does this link lead to a switch? If the driver does not know, it may.
pub(super) fn may_lead_to_a_switch(device: &Device, link: u32) -> bool {
    let Ok(call) = nvml_sym(device.nvml().lib().nvmlDeviceGetNvLinkRemoteDeviceType.as_ref())
    else {
        return true;
    };
    let mut kind = nvmlIntNvLinkDeviceType_enum_NVML_NVLINK_DEVICE_TYPE_UNKNOWN;
    // SAFETY: the handle is the library's own, the place is valid.
    let answer = nvml_try(unsafe { call(device.handle(), link, &mut kind) });
    answer.is_err()
        || kind == nvmlIntNvLinkDeviceType_enum_NVML_NVLINK_DEVICE_TYPE_SWITCH
        || kind == nvmlIntNvLinkDeviceType_enum_NVML_NVLINK_DEVICE_TYPE_UNKNOWN
}

/// Names a device in events.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Handle(usize);

pub(super) fn handle(device: &Device) -> Handle {
    // SAFETY: only compared, never used as a handle again.
    Handle(unsafe { device.handle() } as usize)
}

/// Has these events of the device reported to the set. Unlike the wrapper's, it leaves the set alone if that is refused.
pub(super) fn register(device: &Device, events: u64, set: &EventSet) -> Result<(), NvmlError> {
    let call = nvml_sym(device.nvml().lib().nvmlDeviceRegisterEvents.as_ref())?;
    // SAFETY: both handles are the library's own.
    nvml_try(unsafe { call(device.handle(), events, set.handle()) })
}

/// Something happened to a device.
pub(super) struct Event {
    pub device: Handle,
    pub types: u64,
    pub data: u64,
    /// The part of the device, if it happened to one. Some drivers have zero here for none, which is a part, too.
    pub gpu_instance: u32,
}

/// Waits for an event. Unlike the wrapper's, it tells which part of a device it happened to.
pub(super) fn wait(set: &EventSet, milliseconds: u32) -> Result<Event, NvmlError> {
    let call = nvml_sym(set.nvml.lib().nvmlEventSetWait_v2.as_ref())?;
    // SAFETY: all-zero is a value of this struct of numbers and a pointer.
    let mut data: nvmlEventData_t = unsafe { mem::zeroed() };
    // SAFETY: the set is the library's own, the place is valid.
    nvml_try(unsafe { call(set.handle(), &mut data, milliseconds) })?;
    Ok(Event {
        device: Handle(data.device as usize),
        types: data.eventType,
        data: data.eventData,
        gpu_instance: data.gpuInstanceId,
    })
}
