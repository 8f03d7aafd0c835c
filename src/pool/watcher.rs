//! The watcher of the devices of a pool. One thread observes them, when a device was given back and
//! at intervals. One waits for faults that the inventory reports. While a thread asks the inventory
//! it holds no lock but `observing`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::evidence::{Judgement, Memory, Rules, shows_use};
use crate::home::Home;
use crate::inventory::{GpuDevice, Inventory, Observation};
use crate::manager::{EventReader, LeaseManager, WeakManager};
use crate::rt::thread;
use crate::table::command::DeviceState;
use crate::table::query::DeviceStates;
use crate::table::{Error, Health, Reason, What};

/// The revoker of leases on devices that failed.
const WATCHER: &str = "device watch";

/// How often to observe a device that is to become clean.
const DRAIN_POLL: Duration = Duration::from_millis(50);

/// The longest wait, after which a thread checks that its pool lives.
const WAIT_MAX: Duration = Duration::from_millis(500);

/// The shortest interval of observations, whatever the options say.
const POLL_MIN: Duration = Duration::from_millis(1);

/// The devices of a pool, with an inventory that can observe them.
pub(super) struct Watched {
    inventory: Box<dyn Inventory>,
    devices: Vec<GpuDevice>,
    keys: Vec<String>,
    /// Which devices are granted only after an observation that they are unused.
    checks: Vec<bool>,
    rules: Rules,
    seen: Mutex<Vec<Seen>>,
    /// Held by the thread that observes. If two observed at a time, the one that began before a
    /// lease could clear the device after it.
    observing: Mutex<()>,
}

/// What is known of one device.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub memory: Memory,
    pub observation: Option<Observation>,
    /// Whether it had a lease when that was observed.
    pub leased: bool,
    pub trouble: Option<String>,
    pub at: Instant,
}

impl Seen {
    /// The health at discovery. Later observations replace it, if the inventory observes this
    /// device.
    fn first(device: &GpuDevice, observation: Option<Observation>, at: Instant) -> Self {
        let mut memory = Memory::default();
        let mut trouble = None;
        if device.health != Health::Healthy && observation.is_some() {
            let what = device.trouble.as_deref().unwrap_or("it was found so");
            if device.health == Health::Failed {
                memory.note_fault(what, at);
            }
            trouble = Some(what.to_owned());
        }
        Seen { memory, observation, leased: false, trouble, at }
    }
}

impl std::fmt::Debug for Watched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watched").field("keys", &self.keys).finish_non_exhaustive()
    }
}

/// Ends the threads of a pool when it is dropped.
#[derive(Debug, Default)]
pub(super) struct Stop(Option<Arc<AtomicBool>>);

impl Stop {
    /// The flag, which is true after the drop.
    pub fn flag(&mut self) -> Arc<AtomicBool> {
        self.0.get_or_insert_default().clone()
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        if let Some(stop) = &self.0 {
            stop.store(true, Ordering::Release);
        }
    }
}

impl Watched {
    /// Observes the devices for the first time. `None` if this inventory cannot observe them.
    pub fn new(
        devices: &[GpuDevice],
        keys: &[String],
        inventory: Box<dyn Inventory>,
        check_use: bool,
        rules: Rules,
    ) -> Option<Arc<Self>> {
        if devices.is_empty() || !inventory.watches() {
            return None;
        }
        let at = Instant::now();
        let observed = inventory.observe(devices);
        let checks = observed.iter().map(|seen| check_use && seen.is_some()).collect();
        let seen = devices.iter().zip(observed);
        let seen = seen.map(|(device, observation)| Seen::first(device, observation, at)).collect();
        Some(Arc::new(Watched {
            inventory,
            devices: devices.to_vec(),
            keys: keys.to_vec(),
            checks,
            rules,
            seen: Mutex::new(seen),
            observing: Mutex::new(()),
        }))
    }

    /// Is this device granted only after an observation that it is unused?
    pub fn checks(&self, place: usize) -> bool {
        self.checks.get(place) == Some(&true)
    }

    /// Does the inventory observe this device?
    pub fn sees(&self, place: usize) -> bool {
        self.seen.lock().get(place).is_some_and(|seen| seen.observation.is_some())
    }

    /// What is known of a device.
    pub fn seen(&self, place: usize) -> Option<Seen> {
        self.seen.lock().get(place).cloned()
    }

    /// Observes all devices and applies the observations. Returns whether a device is about to
    /// become clean.
    fn observe(&self, manager: &LeaseManager) -> Result<bool, Error> {
        let _alone = self.observing.lock();
        let before = self.states(manager);
        let observed = self.inventory.observe(&self.devices);
        self.apply(manager, &before, observed)
    }

    fn states(&self, manager: &LeaseManager) -> Vec<Option<DeviceState>> {
        manager.home().query(&DeviceStates { names: &self.keys })
    }

    /// Applies observations that were made when the devices were in these states.
    fn apply(
        &self,
        manager: &LeaseManager,
        before: &[Option<DeviceState>],
        observed: Vec<Option<Observation>>,
    ) -> Result<bool, Error> {
        let now = Instant::now();
        let mut draining = false;
        for (place, observation) in observed.into_iter().enumerate() {
            let (Some(observation), Some(Some(state))) = (observation, before.get(place)) else {
                continue;
            };
            // The check may be that of another pool on the table, which may be gone.
            let checks = self.checks(place) || state.cleaning;
            // A device that its driver keeps out of use may stay so for days.
            let soon_clean = checks && observation.health == Health::Healthy;
            let moved = self.replaced_device(place, &observation);
            let mut seen = self.seen.lock();
            let Some(one) = seen.get_mut(place) else { continue };
            // A check of another pool is cleared only if the use of the device is visible.
            let may_clear = self.checks(place) || shows_use(&observation);
            let judgement = match &moved {
                Some(what) => one.memory.note_fault(what, now),
                None => one.memory.judge(&observation, state.leased, checks, &self.rules, now),
            };
            one.observation = Some(observation);
            one.leased = state.leased;
            one.at = now;
            let faults = one.memory.faults;
            // Without the lock: the manager wakes waiters, which may ask for the status.
            drop(seen);
            draining |= soon_clean && judgement.health == Health::Draining;
            if judgement.fault {
                let reason =
                    if moved.is_some() { Reason::Reconfigured } else { Reason::DeviceFault };
                self.fail(manager, place, reason, judgement)?;
                continue;
            }
            let unused =
                checks && may_clear && !state.leased && judgement.health == Health::Healthy;
            if !manager.set_evidence_if(&self.keys[place], *state, judgement.health, unused)? {
                continue;
            }
            self.explain(place, judgement.trouble);
            // A fault that was reported meanwhile replaces this earlier observation.
            if let Some(one) = self.seen(place).filter(|one| one.memory.faults != faults) {
                self.report(manager, place, one.memory.last_fault().unwrap_or_default())?;
            }
        }
        Ok(draining)
    }

    /// Applies the last observations again: the table has lost them.
    pub fn reapply(&self, manager: &LeaseManager) -> Result<(), Error> {
        let _alone = self.observing.lock();
        let last = self.seen.lock().iter().map(|seen| seen.observation.clone()).collect();
        self.apply(manager, &self.states(manager), last).map(drop)
    }

    fn replaced_device(&self, place: usize, seen: &Observation) -> Option<String> {
        let (before, now) = (self.devices[place].uuid.as_ref()?, seen.uuid.as_ref()?);
        let text = || format!("{now} is where {before} was; open the pool again to use it");
        (before != now).then(text)
    }

    /// The device reported a fault.
    fn report(&self, manager: &LeaseManager, place: usize, what: &str) -> Result<(), Error> {
        let judgement = match self.seen.lock().get_mut(place) {
            Some(seen) => seen.memory.note_fault(what, Instant::now()),
            None => return Ok(()),
        };
        self.fail(manager, place, Reason::DeviceFault, judgement)
    }

    fn fail(
        &self,
        manager: &LeaseManager,
        place: usize,
        reason: Reason,
        judgement: Judgement,
    ) -> Result<(), Error> {
        // First, so that a holder that is notified finds the reason.
        self.explain(place, judgement.trouble);
        let key = &self.keys[place];
        match manager.fail(key, reason, WATCHER) {
            // Without the name of the revoker if the table has no room for it: the leases must be
            // revoked.
            Err(Error::Full(_)) => manager.fail(key, reason, ""),
            done => done,
        }
    }

    /// Stores why the device is not healthy, or that it is.
    fn explain(&self, place: usize, trouble: Option<String>) {
        if let Some(seen) = self.seen.lock().get_mut(place) {
            seen.trouble = trouble;
        }
    }

    /// Observes the devices when one was given back and at intervals, until the pool or its manager
    /// is gone.
    fn watch(
        &self,
        manager: WeakManager,
        mut events: Option<EventReader>,
        poll: Duration,
        stop: &AtomicBool,
    ) {
        let mut draining = true;
        let mut last = Instant::now();
        loop {
            let pause = if draining { DRAIN_POLL.min(poll) } else { poll }.max(POLL_MIN);
            let left = pause.saturating_sub(last.elapsed()).min(WAIT_MAX);
            let Ok(given_back) = wait_for_return(events.as_mut(), left) else { return };
            if stop.load(Ordering::Acquire) {
                return;
            }
            if !given_back && last.elapsed() < pause {
                continue;
            }
            let Some(manager) = manager.upgrade() else { return };
            match self.observe(&manager) {
                Ok(some) => draining = some,
                // The table cannot be reached now: the next poll tries again.
                Err(Error::Unavailable | Error::Stuck(_)) => {}
                Err(_) => return,
            }
            last = Instant::now();
        }
    }

    /// Waits for faults, until the pool or its manager is gone.
    fn run_faults(&self, manager: WeakManager, stop: &AtomicBool) {
        while !stop.load(Ordering::Acquire) {
            let began = Instant::now();
            let faults = self.inventory.faults(&self.devices, WAIT_MAX);
            let Some(manager) = manager.upgrade() else { return };
            for fault in &faults {
                let handle = || match fault.device {
                    Some(place) => self.report(&manager, place, &fault.what),
                    // The device is not known: an observation finds it.
                    None => self.observe(&manager).map(drop),
                };
                let mut done = handle();
                // The table cannot be reached now. The inventory does not report a fault twice.
                while matches!(done, Err(Error::Unavailable | Error::Stuck(_)))
                    && !stop.load(Ordering::Acquire)
                {
                    std::thread::park_timeout(WAIT_MAX);
                    done = handle();
                }
                if done.is_err() {
                    return;
                }
            }
            drop(manager);
            if faults.is_empty() {
                // For inventories that return at once.
                std::thread::park_timeout(WAIT_MAX.saturating_sub(began.elapsed()));
            }
        }
    }
}

/// Waits until a device is given back that must be checked, at most so long. Returns whether there
/// may be one.
fn wait_for_return(events: Option<&mut EventReader>, limit: Duration) -> Result<bool, Error> {
    let Some(events) = events else {
        std::thread::park_timeout(limit);
        return Ok(false);
    };
    let missed = events.missed();
    events.wait(Some(limit))?;
    let mut given_back = false;
    for event in events.by_ref() {
        given_back |= matches!(event.what, What::Health { health: Health::Draining, .. });
    }
    // A missed event may be such a return.
    Ok(given_back || events.missed() != missed)
}

/// Applies the first observations, and starts the threads.
pub(super) fn start(
    manager: &LeaseManager,
    watched: &Arc<Watched>,
    poll: Duration,
) -> Result<Stop, Error> {
    watched.reapply(manager)?;
    let flag = Arc::new(AtomicBool::new(false));
    // From here on a failure ends the threads that were started.
    let stop = Stop(Some(flag.clone()));
    // A reader of events is woken by every claim: only if a device is checked.
    let events = watched.checks.contains(&true).then(|| manager.events(u64::MAX));
    let (own, weak, until) = (watched.clone(), manager.downgrade(), flag.clone());
    spawn("tern-devices", move || own.watch(weak, events, poll, &until))?;
    let (own, weak) = (watched.clone(), manager.downgrade());
    spawn("tern-faults", move || own.run_faults(weak, &flag))?;
    Ok(stop)
}

/// Starts a thread of a pool.
pub(super) fn spawn(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, Error> {
    thread::spawn(name, work)
        .map_err(|error| Error::System(error.raw_os_error().unwrap_or(libc::EAGAIN)))
}
