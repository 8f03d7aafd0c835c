//! How devices are.

use nvml_wrapper::enum_wrappers::device::{EccCounter, MemoryError};
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device, Nvml};

use super::library::{Answers, Library, unreached};
use super::raw::{self, List, Use};
use super::{mig, scan};
use crate::inventory::people::People;
use crate::inventory::{GpuDevice, Observation, Process, ProcessKind};
use crate::table::Health;

/// Nothing can be told but this.
pub(super) fn without_evidence(health: Health, trouble: String) -> Observation {
    Observation {
        health,
        trouble: Some(trouble),
        memory_used: None,
        busy: None,
        processes: None,
        uuid: None,
    }
}

/// A device that sleeps: nobody uses it, and to ask more would wake it.
pub(super) fn asleep(device: &GpuDevice) -> Observation {
    Observation {
        health: Health::Healthy,
        trouble: None,
        memory_used: None,
        busy: Some(0),
        processes: Some(Vec::new()),
        uuid: device.uuid.clone(),
    }
}

/// Asks a device everything. One that answers nothing, and not because it cannot, is not known to be well.
pub(super) fn look(
    library: &mut Library,
    nvml: &'static Nvml,
    device: &GpuDevice,
    people: &People,
) -> Observation {
    let handle = match reach(nvml, device) {
        Ok(handle) => handle,
        Err(NvmlError::NotFound | NvmlError::InvalidArg) => {
            let trouble = "the driver knows no such device any more";
            return without_evidence(Health::Failed, trouble.into());
        }
        Err(error) => {
            let (health, trouble) = unreached(&error);
            return without_evidence(health, trouble);
        }
    };
    let mut answers = Answers::default();
    let memory = answers.take(raw::memory(&handle));
    let busy = answers.take(handle.utilization_rates()).map(|rates| rates.gpu.min(100) as u8);
    let total = memory.as_ref().map(|memory| memory.total);
    let processes = processes(&mut answers, &handle, total, people);
    let more_errors = more_memory_errors(library, &mut answers, &handle, device);
    // Known to the driver without asking the device: no answer in this sense.
    let uuid = handle.uuid().ok();
    let memory_used = memory.map(|memory| scan::mebibytes(memory.used.next_multiple_of(1 << 20)));
    let (health, trouble) = if let Some(trouble) = answers.broken.take() {
        (Health::Failed, Some(trouble))
    } else if let Some(count) = more_errors {
        let trouble = format!("{count} new memory errors that could not be corrected");
        (Health::Failed, Some(trouble))
    } else if device.mig.is_none() && mig::is_divided(&handle) {
        (Health::Draining, Some(mig::DIVIDED.into()))
    } else if scan::is_prohibited(&handle) {
        (Health::Draining, Some(scan::PROHIBITED.into()))
    } else {
        let trouble = answers.silent();
        (if trouble.is_some() { Health::Draining } else { Health::Healthy }, trouble)
    };
    Observation { health, trouble, memory_used, busy, processes, uuid }
}

/// By its place, so that another device in the same place is noticed; a part has no place of its own.
fn reach(nvml: &'static Nvml, device: &GpuDevice) -> Result<Device<'static>, NvmlError> {
    match (&device.mig, device.pci, &device.uuid) {
        (None, Some(pci), _) => nvml.device_by_pci_bus_id(pci.to_string()),
        (_, _, Some(uuid)) => nvml.device_by_uuid(uuid.as_str()),
        _ => Err(NvmlError::NotFound),
    }
}

/// How many memory errors that could not be corrected it has more than when it was first seen. After a reset they count from zero again.
pub(super) fn more_memory_errors(
    library: &mut Library,
    answers: &mut Answers,
    handle: &Device,
    device: &GpuDevice,
) -> Option<u64> {
    let errors = handle.total_ecc_errors(MemoryError::Uncorrected, EccCounter::Volatile);
    let now = answers.take(errors)?;
    let first = library.first_errors.entry(device.key()).or_insert(now);
    *first = now.min(*first);
    (now > *first).then(|| now - *first)
}

/// The processes on a device; `None` if the driver does not say, or says what cannot be.
fn processes(
    answers: &mut Answers,
    handle: &Device,
    total: Option<u64>,
    people: &People,
) -> Option<Vec<Process>> {
    let mut found: Vec<Process> = Vec::new();
    for (list, kind) in [
        (List::Compute, ProcessKind::Compute),
        (List::Shared, ProcessKind::Compute),
        (List::Graphics, ProcessKind::Graphics),
    ] {
        let uses = match (answers.take(raw::processes(handle, list)), list) {
            (Some(uses), _) => uses,
            (None, List::Compute) => return None,
            // Not every driver and device has these.
            (None, _) => continue,
        };
        if !uses.iter().all(|one| is_possible(one, total)) {
            return None;
        }
        for one in uses {
            // One that computes and draws is in both lists.
            if found.iter().all(|process| process.pid != one.pid) {
                let memory = one.memory.map(scan::mebibytes);
                let (user, command) = people.of(one.pid);
                found.push(Process { kind, pid: one.pid, memory, user, command });
            }
        }
    }
    Some(found)
}

/// Some drivers wrote this list in another layout without saying so. Then pids are what never was one, or memory is what no device has.
fn is_possible(one: &Use, total: Option<u64>) -> bool {
    const LARGEST_PID: u32 = 1 << 22;
    let fits = match (one.memory, total) {
        (Some(used), Some(total)) => used <= total,
        _ => true,
    };
    (1..=LARGEST_PID).contains(&one.pid) && fits
}
