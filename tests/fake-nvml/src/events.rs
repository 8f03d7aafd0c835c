//! What devices report of their own accord.

use std::ffi::{c_uint, c_ulonglong};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::answer::{Answer, Code, Error, Out, put};
use crate::call::{GLANCE, Target, answer, on_place};
use crate::script::{Pci, Place};
use crate::state::{self, Handle};

/// What the header calls a `nvmlEventSet_t`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct SetHandle(pub usize);

/// Who waits for what, and what it was told already.
#[derive(Debug, Default)]
pub struct EventSet {
    registered: Vec<(Pci, u64)>,
    told: Vec<(u64, Pci)>,
}

/// `nvmlEventData_t`.
#[repr(C)]
struct EventData {
    device: Handle,
    kind: c_ulonglong,
    data: c_ulonglong,
    gpu_instance: c_uint,
    compute_instance: c_uint,
}

/// Errors that ECC has corrected and has not, changes of the power state, Xids, changes of the clock.
const SUPPORTED: u64 = 1 | 2 | 4 | 8 | 16;

#[cfg_attr(not(feature = "bare"), unsafe(no_mangle))]
extern "C" fn nvmlDeviceGetSupportedEventTypes(device: Handle, types: Out<c_ulonglong>) -> Code {
    on_place("nvmlDeviceGetSupportedEventTypes", device, |_, place| {
        put(types, if place.part.is_none() { SUPPORTED } else { 0 })
    })
}

#[cfg_attr(not(feature = "bare"), unsafe(no_mangle))]
extern "C" fn nvmlEventSetCreate(set: Out<SetHandle>) -> Code {
    answer("nvmlEventSetCreate", Target::System, |_| put(set, state::lock().new_set()))
}

#[cfg_attr(not(feature = "bare"), unsafe(no_mangle))]
extern "C" fn nvmlEventSetFree(set: SetHandle) -> Code {
    answer("nvmlEventSetFree", Target::System, |_| {
        state::lock().sets.remove(&set).map(drop).ok_or(Error::INVALID_ARGUMENT)
    })
}

#[cfg_attr(not(feature = "bare"), unsafe(no_mangle))]
extern "C" fn nvmlDeviceRegisterEvents(device: Handle, types: c_ulonglong, set: SetHandle) -> Code {
    on_place("nvmlDeviceRegisterEvents", device, |call, place| {
        if place.part.is_some() || types & !SUPPORTED != 0 {
            return Err(Error::NOT_SUPPORTED);
        }
        let mut state = state::lock();
        let set = state.sets.get_mut(&set).ok_or(Error::INVALID_ARGUMENT)?;
        set.registered.push((call.script.gpus[place.gpu].pci, types));
        Ok(())
    })
}

#[cfg_attr(not(feature = "bare"), unsafe(no_mangle))]
extern "C" fn nvmlEventSetWait_v2(
    set: SetHandle,
    data: Out<EventData>,
    milliseconds: c_uint,
) -> Code {
    answer("nvmlEventSetWait_v2", Target::System, |_| {
        put(data, wait(set, Duration::from_millis(milliseconds.into()))?)
    })
}

fn wait(set: SetHandle, patience: Duration) -> Answer<EventData> {
    let start = Instant::now();
    loop {
        if let Some(event) = next(set)? {
            return Ok(event);
        }
        let left = patience.saturating_sub(start.elapsed());
        if left.is_zero() {
            return Err(Error::TIMEOUT);
        }
        sleep(left.min(GLANCE));
    }
}

/// The event with the lowest number that the set was not told.
fn next(set: SetHandle) -> Answer<Option<EventData>> {
    let mut state = state::lock();
    let script = state.script()?;
    let waiting = state.sets.get_mut(&set).ok_or(Error::INVALID_ARGUMENT)?;
    let pending = script.events.iter().filter(|event| {
        let pci = script.gpus[event.place.gpu].pci;
        let wanted =
            waiting.registered.iter().any(|(at, types)| *at == pci && types & event.kind != 0);
        wanted && !waiting.told.contains(&(event.serial, pci))
    });
    let Some(event) = pending.min_by_key(|event| event.serial) else { return Ok(None) };
    waiting.told.push((event.serial, script.gpus[event.place.gpu].pci));
    let part = script.part(event.place);
    Ok(Some(EventData {
        device: state.handle(&script, Place { part: None, ..event.place }),
        kind: event.kind,
        data: event.data,
        gpu_instance: part.map_or(c_uint::MAX, |part| part.gpu_instance),
        compute_instance: part.map_or(c_uint::MAX, |part| part.compute_instance),
    }))
}
