//! What a pool does for the devices of its own machine: it lists them, watches them, and in a pool of many machines says that somebody is there.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::keeper::Keeper;
use super::nodes;
use super::watcher::{self, Stop, Watched};
use crate::home::{Dropped, Home};
use crate::inventory::GpuDevice;
use crate::manager::LeaseManager;
use crate::rt::thread;
use crate::table::command::{ClearCheck, DeviceListing, ListDevices};
use crate::table::{Error, Health, LeaseId, LeaseState, ResourceId};

/// How often to look whether the others still take this machine for present.
const LOOK: Duration = Duration::from_millis(500);

/// The devices of this machine.
#[derive(Debug)]
pub(super) struct Here {
    manager: LeaseManager,
    /// What this machine is called, in a pool of many.
    node: Option<String>,
    devices: Vec<GpuDevice>,
    listed: Vec<Listed>,
    ids: Vec<ResourceId>,
    pub watched: Option<Arc<Watched>>,
    /// By this lease the others know that somebody is on this machine.
    presence: Mutex<Option<LeaseId>>,
    /// Names claims that have no holder's name.
    claims: AtomicU64,
    pub keeper: Keeper,
}

/// A device of this machine, as [`ListDevices`] declares it.
#[derive(Debug, Clone)]
struct Listed {
    key: String,
    slots: Option<u32>,
    memory: u32,
    island: Option<(&'static str, u32)>,
    checked: bool,
    evidence: Option<Health>,
}

impl Listed {
    fn listing(&self) -> DeviceListing<&str> {
        let Listed { ref key, slots, memory, island, checked, evidence } = *self;
        DeviceListing { resource: key, slots, memory, island, checked, evidence }
    }
}

impl Here {
    /// Lists the devices, all of them or none of those that watch.
    pub fn list(
        manager: &LeaseManager,
        node: Option<String>,
        devices: Vec<GpuDevice>,
        keys: &[String],
        slots: Option<u32>,
        watched: Option<Arc<Watched>>,
    ) -> Result<Here, Error> {
        let listed = devices.iter().zip(keys).enumerate().map(|(place, (device, key))| {
            let watching = watched.as_ref().is_some_and(|watched| watched.sees(place));
            // One that is watched has been looked at, and that is taken in later.
            let told = !watching || device.health != Health::Healthy;
            Listed {
                key: key.clone(),
                slots,
                memory: device.memory.unwrap_or(0),
                island: device.island.map(|island| (device.vendor.name(), island)),
                checked: watched.as_ref().is_some_and(|watched| watched.checks(place)),
                evidence: told.then_some(device.health),
            }
        });
        let mut here = Here {
            manager: manager.clone(),
            listed: listed.collect(),
            node,
            devices,
            ids: Vec::new(),
            watched,
            presence: Mutex::new(None),
            claims: AtomicU64::new(0),
            keeper: Keeper::default(),
        };
        here.ids = here.publish()?;
        Ok(here)
    }

    pub fn node(&self) -> Option<&str> {
        self.node.as_deref()
    }

    pub fn devices(&self) -> &[GpuDevice] {
        &self.devices
    }

    pub fn keys(&self) -> impl Iterator<Item = &String> {
        self.listed.iter().map(|listed| &listed.key)
    }

    pub fn ids(&self) -> &[ResourceId] {
        &self.ids
    }

    pub fn next_claim(&self) -> u64 {
        self.claims.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Says what there is. In a pool of many machines first what others need to know of the devices, then that somebody is here: whatever is listed from
    /// then on goes with whoever is here.
    fn publish(&self) -> Result<Vec<ResourceId>, Error> {
        let Some(node) = self.node.as_deref().filter(|_| !self.listed.is_empty()) else {
            return self.list_devices(None);
        };
        nodes::publish(&self.manager, node, &self.devices)?;
        let machine = self.manager.declare(&nodes::key(node), 1, 0)?;
        let presence = self.manager.be_at(machine, node)?;
        let listed = self.list_devices(Some(machine));
        match listed {
            Ok(_) => *self.presence.lock() = Some(presence),
            // If that cannot happen now, it does later.
            Err(_) => drop(self.manager.home().give_back(Dropped::Lease(presence))),
        }
        listed
    }

    fn list_devices(&self, node: Option<ResourceId>) -> Result<Vec<ResourceId>, Error> {
        let devices: Vec<DeviceListing<&str>> = self.listed.iter().map(Listed::listing).collect();
        self.manager.home().execute(&ListDevices { devices: devices.as_slice(), node })
    }

    /// Has the machine been given up by the others, although this process is here? Then it comes back.
    fn come_back_if_lost(&self) -> Result<(), Error> {
        let presence = *self.presence.lock();
        match presence.map(|id| self.manager.state(id)) {
            None | Some(Some(LeaseState::Held)) => return Ok(()),
            Some(_) => {}
        }
        self.publish()?;
        match &self.watched {
            Some(watched) => watched.take_in_again(&self.manager),
            None => Ok(()),
        }
    }

    /// Starts what goes on beside: looking at the devices, and at whether this machine is still known to be there.
    pub fn start(self: &Arc<Self>, poll: Duration) -> Result<Stop, Error> {
        let mut stop = Stop::default();
        if let Some(watched) = &self.watched {
            stop = watcher::start(&self.manager, watched, poll)?;
        }
        if self.presence.lock().is_some() {
            let (here, until) = (Arc::downgrade(self), stop.flag());
            thread::spawn("tern-node", move || {
                while !until.load(Ordering::Acquire) {
                    std::thread::park_timeout(LOOK);
                    let Some(here) = here.upgrade() else { return };
                    // What fails now is tried again.
                    let _ = here.come_back_if_lost();
                }
            })
            .map_err(|error| Error::System(error.raw_os_error().unwrap_or(libc::EAGAIN)))?;
        }
        Ok(stop)
    }
}

/// Nobody looks any more: what is given back from now on must not wait for that. (Leases may go on by their ids, on the table of a manager.)
impl Drop for Here {
    fn drop(&mut self) {
        if let Some(presence) = self.presence.get_mut().take() {
            // If that cannot happen now, it does later.
            let _ = self.manager.home().give_back(Dropped::Lease(presence));
        }
        // Others who share the table look on.
        if let Some(watched) = self.watched.as_ref().filter(|_| !self.manager.is_shared()) {
            let listed = self.listed.iter().enumerate();
            for (_, device) in listed.filter(|(place, _)| watched.checks(*place)) {
                // Fails only if the table is of no use any more.
                let _ = self.manager.home().execute(&ClearCheck { resource: &device.key });
            }
        }
    }
}
