//! Parts of devices.

use std::ffi::{c_uint, c_ulonglong};

use crate::answer::{Answer, Code, Error, Out, put};
use crate::call::{on_gpu, on_place};
use crate::script::{MigMode, Part, Place};
use crate::state::Handle;

/// `nvmlDeviceAttributes_t`.
#[repr(C)]
struct Attributes {
    multiprocessors: c_uint,
    copy_engines: c_uint,
    decoders: c_uint,
    encoders: c_uint,
    jpeg_engines: c_uint,
    ofa_engines: c_uint,
    gpu_instance_slices: c_uint,
    compute_instance_slices: c_uint,
    memory_mib: c_ulonglong,
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMigMode(
    device: Handle,
    current: Out<c_uint>,
    pending: Out<c_uint>,
) -> Code {
    on_gpu("nvmlDeviceGetMigMode", device, |gpu| {
        let mode = match gpu.mig {
            MigMode::None => return Err(Error::NOT_SUPPORTED),
            MigMode::Off => 0,
            MigMode::On => 1,
        };
        put(current, mode)?;
        put(pending, mode)
    })
}

/// How many there could be, not how many there are.
#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMaxMigDeviceCount(device: Handle, count: Out<c_uint>) -> Code {
    on_gpu("nvmlDeviceGetMaxMigDeviceCount", device, |gpu| {
        put(count, if gpu.mig == MigMode::On { gpu.mig_slots } else { 0 })
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetMigDeviceHandleByIndex(
    device: Handle,
    index: c_uint,
    part: Out<Handle>,
) -> Code {
    on_place("nvmlDeviceGetMigDeviceHandleByIndex", device, |call, parent| {
        let gpu = &call.script.gpus[parent.gpu];
        if gpu.mig == MigMode::None {
            return Err(Error::NOT_SUPPORTED);
        }
        if parent.part.is_some() || index >= gpu.mig_slots {
            return Err(Error::INVALID_ARGUMENT);
        }
        let place = Place { part: Some(index), ..parent };
        call.script.part(place).ok_or(Error::NOT_FOUND)?;
        put(part, call.handle(place))
    })
}

/// Answers a call that only makes sense for a part.
fn on_part(
    function: &str,
    device: Handle,
    otherwise: Error,
    body: impl FnOnce(&Part) -> Answer,
) -> Code {
    on_place(function, device, |call, place| body(call.script.part(place).ok_or(otherwise)?))
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetDeviceHandleFromMigDeviceHandle(
    device: Handle,
    parent: Out<Handle>,
) -> Code {
    on_place("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", device, |call, place| {
        if place.part.is_none() {
            return Err(Error::INVALID_ARGUMENT);
        }
        put(parent, call.handle(Place { part: None, ..place }))
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceIsMigDeviceHandle(device: Handle, is_part: Out<c_uint>) -> Code {
    on_place("nvmlDeviceIsMigDeviceHandle", device, |_, place| {
        put(is_part, place.part.is_some().into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetGpuInstanceId(device: Handle, id: Out<c_uint>) -> Code {
    on_part("nvmlDeviceGetGpuInstanceId", device, Error::INVALID_ARGUMENT, |part| {
        put(id, part.gpu_instance)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetComputeInstanceId(device: Handle, id: Out<c_uint>) -> Code {
    on_part("nvmlDeviceGetComputeInstanceId", device, Error::INVALID_ARGUMENT, |part| {
        put(id, part.compute_instance)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlDeviceGetAttributes_v2(device: Handle, attributes: Out<Attributes>) -> Code {
    on_part("nvmlDeviceGetAttributes_v2", device, Error::NOT_SUPPORTED, |part| {
        let (gpu, compute) = slices(&part.profile);
        put(
            attributes,
            Attributes {
                multiprocessors: 14 * compute,
                copy_engines: gpu,
                decoders: 0,
                encoders: 0,
                jpeg_engines: 0,
                ofa_engines: 0,
                gpu_instance_slices: gpu,
                compute_instance_slices: compute,
                memory_mib: part.memory.total,
            },
        )
    })
}

/// Of the GPU instance and of the compute instance: `3g.40gb` has 3 of each, `1c.3g.40gb` only 1 of the latter.
fn slices(profile: &str) -> (c_uint, c_uint) {
    let count = |letter| {
        let mut words = profile.split('.');
        words.find_map(|word| word.strip_suffix(letter)?.parse().ok())
    };
    let gpu = count('g').unwrap_or(1);
    (gpu, count('c').unwrap_or(gpu))
}
