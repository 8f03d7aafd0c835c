//! Watching the devices of a pool: one thread looks at them, when something was given back and from time to time, and one waits for faults that
//! they report. While one asks an inventory it holds no lock but the one that keeps the other from asking, too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::evidence::{Judgement, Memory, Rules, tells};
use crate::home::Home;
use crate::inventory::{GpuDevice, Inventory, Observation};
use crate::manager::{EventReader, LeaseManager, WeakManager};
use crate::rt::thread;
use crate::table::command::DeviceState;
use crate::table::query::DeviceStates;
use crate::table::{Error, Health, Reason, What};

/// Who revokes leases on devices that failed.
const WATCHER: &str = "device watch";

/// How often to look at a device that is to become clean.
const DRAIN_POLL: Duration = Duration::from_millis(50);

/// How long to wait at a time: so long may a thread outlive its pool.
const PATIENCE: Duration = Duration::from_millis(500);

/// Nobody looks more often than that, whatever is asked for.
const LEAST_POLL: Duration = Duration::from_millis(1);

/// The devices of a pool, seen by an inventory that can watch them.
pub(super) struct Watched {
    inventory: Box<dyn Inventory>,
    devices: Vec<GpuDevice>,
    keys: Vec<String>,
    /// Which are handed out only after having been seen unused.
    checks: Vec<bool>,
    rules: Rules,
    seen: Mutex<Vec<Seen>>,
    /// Held by the one who looks. Of two looks at a time, the one that began before a lease could clear the device after it.
    looking: Mutex<()>,
}

/// What is known of one device.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub memory: Memory,
    pub observation: Option<Observation>,
    /// It had a lease when that was observed.
    pub leased: bool,
    pub trouble: Option<String>,
    pub at: Instant,
}

impl Seen {
    /// What the inventory said when it found the device is taken back by what it says later, if it watches it.
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
    /// Is true when it is dropped.
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
    /// Looks at the devices for the first time. `None` if this inventory has nothing to say about devices it found.
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
            looking: Mutex::new(()),
        }))
    }

    /// Is this device handed out only after having been seen unused?
    pub fn checks(&self, place: usize) -> bool {
        self.checks.get(place) == Some(&true)
    }

    /// Does the inventory say anything about this device?
    pub fn sees(&self, place: usize) -> bool {
        self.seen.lock().get(place).is_some_and(|seen| seen.observation.is_some())
    }

    /// What is known of a device.
    pub fn seen(&self, place: usize) -> Option<Seen> {
        self.seen.lock().get(place).cloned()
    }

    /// Looks at all devices and does what follows; is one of them on its way to be clean?
    fn look(&self, manager: &LeaseManager) -> Result<bool, Error> {
        let _alone = self.looking.lock();
        let before = self.states(manager);
        let observed = self.inventory.observe(&self.devices);
        self.take_in(manager, &before, observed)
    }

    fn states(&self, manager: &LeaseManager) -> Vec<Option<DeviceState>> {
        manager.home().query(&DeviceStates { names: &self.keys })
    }

    /// What follows from what was seen when the devices were in these states.
    fn take_in(
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
            // Also if it is another pool on the table that wants it checked, which may be gone.
            let checks = self.checks(place) || state.cleaning;
            // One that its driver keeps from being used may stay so for days.
            let soon_clean = checks && observation.health == Health::Healthy;
            let moved = self.another_in_its_place(place, &observation);
            let mut seen = self.seen.lock();
            let Some(one) = seen.get_mut(place) else { continue };
            // For others it is cleared only by what was really seen.
            let may_clear = self.checks(place) || tells(&observation);
            let judgement = match &moved {
                Some(what) => one.memory.note_fault(what, now),
                None => one.memory.judge(&observation, state.leased, checks, &self.rules, now),
            };
            one.observation = Some(observation);
            one.leased = state.leased;
            one.at = now;
            let faults = one.memory.faults;
            // Not locked any more: the manager wakes whoever waited, and they may ask for the status.
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
            // A fault that was reported meanwhile counts, and not what was seen before it.
            if let Some(one) = self.seen(place).filter(|one| one.memory.faults != faults) {
                self.report(manager, place, one.memory.last_fault().unwrap_or_default())?;
            }
        }
        Ok(draining)
    }

    /// Tells once more what was seen last: the table has it no longer.
    pub fn take_in_again(&self, manager: &LeaseManager) -> Result<(), Error> {
        let _alone = self.looking.lock();
        let last = self.seen.lock().iter().map(|seen| seen.observation.clone()).collect();
        self.take_in(manager, &self.states(manager), last).map(drop)
    }

    fn another_in_its_place(&self, place: usize, seen: &Observation) -> Option<String> {
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
        // First, so that whoever is told of it finds out why.
        self.explain(place, judgement.trouble);
        let key = &self.keys[place];
        match manager.fail(key, reason, WATCHER) {
            // A table that is full of names has no room for this one. That is no reason to leave the leases.
            Err(Error::Full(_)) => manager.fail(key, reason, ""),
            done => done,
        }
    }

    /// Notes why the device is not healthy, or that it is.
    fn explain(&self, place: usize, trouble: Option<String>) {
        if let Some(seen) = self.seen.lock().get_mut(place) {
            seen.trouble = trouble;
        }
    }

    /// Looks at the devices whenever one was given back, and from time to time, until the pool or its manager is gone.
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
            let pause = if draining { DRAIN_POLL.min(poll) } else { poll }.max(LEAST_POLL);
            let left = pause.saturating_sub(last.elapsed()).min(PATIENCE);
            let Ok(given_back) = await_return(events.as_mut(), left) else { return };
            if stop.load(Ordering::Acquire) {
                return;
            }
            if !given_back && last.elapsed() < pause {
                continue;
            }
            let Some(manager) = manager.upgrade() else { return };
            match self.look(&manager) {
                Ok(some) => draining = some,
                // The others cannot be told now: next time.
                Err(Error::Unavailable) => {}
                Err(_) => return,
            }
            last = Instant::now();
        }
    }

    /// Waits for faults, until the pool or its manager is gone.
    fn await_faults(&self, manager: WeakManager, stop: &AtomicBool) {
        while !stop.load(Ordering::Acquire) {
            let began = Instant::now();
            let faults = self.inventory.faults(&self.devices, PATIENCE);
            let Some(manager) = manager.upgrade() else { return };
            for fault in &faults {
                let tell = || match fault.device {
                    Some(place) => self.report(&manager, place, &fault.what),
                    // It did not say which: looking finds out.
                    None => self.look(&manager).map(drop),
                };
                let mut done = tell();
                // The others cannot be told now: nobody reports a fault twice.
                while matches!(done, Err(Error::Unavailable)) && !stop.load(Ordering::Acquire) {
                    std::thread::park_timeout(PATIENCE);
                    done = tell();
                }
                if done.is_err() {
                    return;
                }
            }
            drop(manager);
            if faults.is_empty() {
                // For inventories that have nothing to wait for.
                std::thread::park_timeout(PATIENCE.saturating_sub(began.elapsed()));
            }
        }
    }
}

/// Waits, at most so long, until a device is given back that is to be looked at; is there one?
fn await_return(events: Option<&mut EventReader>, limit: Duration) -> Result<bool, Error> {
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
    // What was missed may have been just that.
    Ok(given_back || events.missed() != missed)
}

/// Takes in what was seen first, and starts the threads.
pub(super) fn start(
    manager: &LeaseManager,
    watched: &Arc<Watched>,
    poll: Duration,
) -> Result<Stop, Error> {
    watched.take_in_again(manager)?;
    let flag = Arc::new(AtomicBool::new(false));
    // From here on, whatever fails ends what was started.
    let stop = Stop(Some(flag.clone()));
    // Whoever reads events is woken by every claim: only where that is needed.
    let events = watched.checks.contains(&true).then(|| manager.events(u64::MAX));
    let (own, weak, until) = (watched.clone(), manager.downgrade(), flag.clone());
    spawn("tern-devices", move || own.watch(weak, events, poll, &until))?;
    let (own, weak) = (watched.clone(), manager.downgrade());
    spawn("tern-faults", move || own.await_faults(weak, &flag))?;
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
