//! Faults that devices report of their own accord.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nvml_wrapper::bitmasks::event::EventTypes;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{EventSet, Nvml};

use super::NvmlOptions;
use super::library::{is_plain_no, words};
use super::raw::{self, Event, Handle};
use super::worker::Worker;
use crate::inventory::{Fault, PciAddress, Why};

/// A device or a part of one, as somebody asks about it.
pub(super) struct Asked {
    /// Its index in the question.
    pub device: usize,
    pub pci: PciAddress,
    /// If it is a part.
    pub gpu_instance: Option<u32>,
}

/// Something happened to a device, as the driver tells it.
pub(super) struct Heard {
    /// `None`: the driver did not say which, so any of them.
    place: Option<PciAddress>,
    gpu_instance: Option<u32>,
    xid: Option<u64>,
    what: String,
}

impl Heard {
    /// The faults that it is: one for the device, or one for each part that it may have happened to.
    pub fn faults(self, asked: &[Asked]) -> Vec<Fault> {
        let Heard { place, gpu_instance, xid, what } = self;
        let fault = |device| Fault { device, xid, what: what.clone() };
        let Some(place) = place else { return vec![fault(None)] };
        let there: Vec<&Asked> = asked.iter().filter(|one| one.pci == place).collect();
        let is_it = |one: &&&Asked| one.gpu_instance.is_some() && one.gpu_instance == gpu_instance;
        let exactly: Vec<&Asked> = there.iter().filter(is_it).copied().collect();
        let meant = if exactly.is_empty() { there } else { exactly };
        meant.into_iter().map(|one| fault(Some(one.device))).collect()
    }
}

/// One who waits for events, and what it has heard. That is apart from the answer, which comes too late if the driver hangs: the driver
/// tells nothing twice.
pub(super) struct Waiter {
    worker: Worker<Events>,
    heard: Arc<Queue>,
}

/// With a lock of the standard library: parking_lot notes who waits in a list for the whole process, which a forked child may find
/// locked for ever.
#[derive(Default)]
struct Queue(Mutex<Vec<Heard>>);

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Vec<Heard>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiter {
    pub fn start() -> Result<Self, Why> {
        Ok(Waiter { worker: Worker::start("ternlease-xid")?, heard: Arc::default() })
    }

    /// Waits for something that is not benign. Comes back early if no device can report, or if the driver does.
    pub fn wait(
        &self,
        nvml: &'static Nvml,
        asked: &[Asked],
        options: &Arc<NvmlOptions>,
        patience: Duration,
    ) -> Vec<Heard> {
        let mut places: Vec<PciAddress> = asked.iter().map(|one| one.pci).collect();
        places.sort();
        places.dedup();
        let (heard, options) = (self.heard.clone(), options.clone());
        // A driver that hangs is for `observe` to tell.
        let _ = self.worker.ask(patience.saturating_add(options.deadline), move |events| {
            events.wait(nvml, places, patience, |one| {
                let is_fault = one.xid.is_none_or(|xid| !options.benign.contains(&xid));
                if is_fault {
                    heard.lock().push(one);
                }
                is_fault
            });
        });
        mem::take(&mut *self.heard.lock())
    }
}

/// What the thread that waits has.
#[derive(Default)]
struct Events {
    watched: Option<Watched>,
    /// Waiting failed the last time.
    failed: bool,
}

/// The driver keeps events for a set from the moment a device is registered with it, so that a set is kept from one wait to the next.
struct Watched {
    places: Vec<PciAddress>,
    /// `None` if no device can report.
    set: Option<EventSet<'static>>,
    handles: Vec<(Handle, PciAddress)>,
    /// When to try again with those that can report but were in trouble.
    again: Option<Instant>,
}

impl Watched {
    fn is_for(&self, places: &[PciAddress]) -> bool {
        self.places == places && self.again.is_none_or(|again| Instant::now() < again)
    }
}

impl Events {
    /// Waits until something happens that `tell` says it is worth it, and then only for what has happened already.
    fn wait(
        &mut self,
        nvml: &'static Nvml,
        places: Vec<PciAddress>,
        patience: Duration,
        tell: impl Fn(Heard) -> bool,
    ) {
        let watched = match self.watched.take() {
            Some(watched) if watched.is_for(&places) => watched,
            _ => watch(nvml, places),
        };
        let end = Instant::now() + patience;
        let mut told = 0;
        while let Some(set) = &watched.set {
            let left = if told == 0 { left_until(end) } else { 0 };
            match raw::wait(set, left) {
                Ok(event) => told += usize::from(hear(&event, &watched.handles).is_some_and(&tell)),
                Err(NvmlError::Timeout) => {
                    self.failed = false;
                    break;
                }
                // The set is of no use any more. That is told once: a driver that fails every time would keep everybody busy.
                Err(error) => {
                    if !mem::replace(&mut self.failed, true) {
                        let what = words(&error);
                        tell(Heard { place: None, gpu_instance: None, xid: None, what });
                    }
                    return;
                }
            }
            if told >= MANY || told == 0 && left_until(end) == 0 {
                break;
            }
        }
        self.watched = Some(watched);
    }
}

/// More than that at a time are left for the next time.
const MANY: usize = 64;

fn left_until(end: Instant) -> u32 {
    let left = end.saturating_duration_since(Instant::now()).as_millis();
    u32::try_from(left).unwrap_or(u32::MAX)
}

/// A set with all of these that can report. One that cannot is not sick; [`super::observe`] must do.
fn watch(nvml: &'static Nvml, places: Vec<PciAddress>) -> Watched {
    let mut unfit = Vec::new();
    loop {
        match try_watch(nvml, &places, &unfit) {
            Ok(Registered { set, handles, all }) => {
                let all = all && unfit.is_empty();
                let again = (!all).then(|| Instant::now() + RETRY);
                return Watched { places, set, handles, again };
            }
            Err(place) => unfit.push(place),
        }
    }
}

/// How long to do without devices that were in trouble when they were to be registered.
const RETRY: Duration = Duration::from_secs(5);

struct Registered {
    set: Option<EventSet<'static>>,
    handles: Vec<(Handle, PciAddress)>,
    /// All that can report.
    all: bool,
}

/// Fails with the device that spoilt the set.
fn try_watch(
    nvml: &'static Nvml,
    places: &[PciAddress],
    unfit: &[PciAddress],
) -> Result<Registered, PciAddress> {
    let wanted = EventTypes::CRITICAL_XID_ERROR | EventTypes::DOUBLE_BIT_ECC_ERROR;
    let set = match nvml.create_event_set() {
        Ok(set) => set,
        Err(error) => {
            let all = is_plain_no(&error);
            return Ok(Registered { set: None, handles: Vec::new(), all });
        }
    };
    let (mut handles, mut all) = (Vec::new(), true);
    for place in places.iter().filter(|place| !unfit.contains(place)) {
        let Ok(device) = nvml.device_by_pci_bus_id(place.to_string()) else {
            all = false;
            continue;
        };
        let events = device.supported_event_types().map_or(wanted, |offered| offered & wanted);
        match raw::register(&device, events.bits(), &set) {
            Ok(()) => handles.push((raw::handle(&device), *place)),
            // After this answer a set must not be used.
            Err(NvmlError::Unknown) => return Err(*place),
            Err(error) => all &= is_plain_no(&error),
        }
    }
    Ok(Registered { set: (!handles.is_empty()).then_some(set), handles, all })
}

/// `None` if it is of another kind.
fn hear(event: &Event, handles: &[(Handle, PciAddress)]) -> Option<Heard> {
    let (xid, what) = if event.types & EventTypes::CRITICAL_XID_ERROR.bits() != 0 {
        (known(event.data), describe(event.data))
    } else if event.types & EventTypes::DOUBLE_BIT_ECC_ERROR.bits() != 0 {
        (None, "a memory error that could not be corrected".to_owned())
    } else {
        return None;
    };
    let known = handles.iter().find(|(handle, _)| *handle == event.device);
    let place = known.map(|(_, place)| *place);
    Some(Heard { place, gpu_instance: Some(event.gpu_instance), xid, what })
}

/// The driver writes this one if it does not know.
fn known(xid: u64) -> Option<u64> {
    const UNKNOWN: u64 = 999;
    Some(xid).filter(|xid| *xid != UNKNOWN)
}

fn describe(xid: u64) -> String {
    let meaning = match xid {
        48 | 94 | 95 => "a memory error that could not be corrected",
        74 => "a link to another device failed",
        79 => "it fell off the bus",
        119 | 120 => "its own processor does not answer",
        _ => return format!("the driver logged Xid {xid}"),
    };
    format!("the driver logged Xid {xid}: {meaning}")
}
