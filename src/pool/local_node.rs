//! [`LocalNode`]: the devices of this machine. It lists them in the table and watches them. In a
//! pool of many machines it also holds a presence lease, as long as a process of the pool is on the
//! machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::naming::claim_name;
use super::nodes;
use super::renewer::Renewer;
use super::watcher::{self, Stop, Watched, spawn};
use crate::home::{Dropped, Home};
use crate::inventory::GpuDevice;
use crate::manager::LeaseManager;
use crate::table::command::{ClearCheck, DeviceListing, ListDevices};
use crate::table::{Error, Health, LeaseId, LeaseState, ResourceId};

/// How often to check that the presence lease is held.
const PRESENCE_POLL: Duration = Duration::from_millis(500);

/// The devices of this machine.
#[derive(Debug)]
pub(super) struct LocalNode {
    manager: LeaseManager,
    /// The name of this machine, in a pool of many.
    pub name: Option<String>,
    pub devices: Vec<GpuDevice>,
    /// The names of the devices in the table, and their ids there.
    pub keys: Vec<String>,
    pub ids: Vec<ResourceId>,
    slots: Option<u32>,
    pub watched: Option<Arc<Watched>>,
    /// While it is held, the devices of this machine are available to the others.
    presence: Mutex<Option<LeaseId>>,
    /// How many claims were given a name of their own.
    claims: AtomicU64,
    pub renewer: Renewer,
}

impl LocalNode {
    /// Lists the devices: all of them, or none.
    pub fn list(
        manager: &LeaseManager,
        name: Option<String>,
        devices: Vec<GpuDevice>,
        keys: Vec<String>,
        slots: Option<u32>,
        watched: Option<Arc<Watched>>,
    ) -> Result<Self, Error> {
        let mut local = LocalNode {
            manager: manager.clone(),
            name,
            devices,
            keys,
            ids: Vec::new(),
            slots,
            watched,
            presence: Mutex::new(None),
            claims: AtomicU64::new(0),
            renewer: Renewer::default(),
        };
        local.ids = local.publish()?;
        Ok(local)
    }

    /// A name for the holder of a claim without one.
    #[inline]
    pub fn claim_name<'a>(&self, buffer: &'a mut [u8; 32]) -> &'a str {
        let number = self.claims.fetch_add(1, Ordering::Relaxed) + 1;
        claim_name(self.manager.owner(), number, buffer)
    }

    /// Lists the devices in the table. In a pool of many machines the registry of nodes and the
    /// presence lease come first: a device that is listed after them fails with the presence lease.
    fn publish(&self) -> Result<Vec<ResourceId>, Error> {
        let Some(name) = self.name.as_deref().filter(|_| !self.devices.is_empty()) else {
            return self.list_devices(None);
        };
        nodes::publish(&self.manager, name, &self.devices)?;
        let machine = self.manager.declare(&nodes::key(name), 1, 0)?;
        let presence = self.manager.claim_presence(machine, name)?;
        let listed = self.list_devices(Some(machine));
        match listed {
            Ok(_) => *self.presence.lock() = Some(presence),
            // If the table cannot be reached, the home gives it back later.
            Err(_) => drop(self.manager.home().give_back(Dropped::Lease(presence))),
        }
        listed
    }

    fn list_devices<'a>(&'a self, node: Option<ResourceId>) -> Result<Vec<ResourceId>, Error> {
        let listing = |(index, (device, resource)): (usize, (&GpuDevice, &'a String))| {
            let watched = self.watched.as_ref();
            // What was observed of a device that is watched is applied when the watcher starts.
            let has_evidence = !watched.is_some_and(|watched| watched.sees(index))
                || device.health != Health::Healthy;
            DeviceListing {
                resource: resource.as_str(),
                slots: self.slots,
                memory: device.memory.unwrap_or(0),
                island: device.island.map(|island| (device.vendor.name(), island)),
                checked: watched.is_some_and(|watched| watched.checks(index)),
                evidence: has_evidence.then_some(device.health),
            }
        };
        let devices: Vec<DeviceListing<&str>> =
            self.devices.iter().zip(&self.keys).enumerate().map(listing).collect();
        self.manager.home().execute(&ListDevices { devices: devices.as_slice(), node })
    }

    /// If the presence lease was lost although this process lives, lists everything again.
    fn restore_presence(&self) -> Result<(), Error> {
        let presence = *self.presence.lock();
        match presence.map(|id| self.manager.state(id)) {
            None | Some(Some(LeaseState::Held)) => return Ok(()),
            Some(_) => {}
        }
        self.publish()?;
        match &self.watched {
            Some(watched) => watched.reapply(&self.manager),
            None => Ok(()),
        }
    }

    /// Starts the threads that watch the devices and the presence lease.
    pub fn start(self: &Arc<Self>, poll: Duration) -> Result<Stop, Error> {
        let mut stop = Stop::default();
        if let Some(watched) = &self.watched {
            stop = watcher::start(&self.manager, watched, poll)?;
        }
        if self.presence.lock().is_some() {
            let (local, until) = (Arc::downgrade(self), stop.flag());
            spawn("tern-node", move || {
                while !until.load(Ordering::Acquire) {
                    std::thread::park_timeout(PRESENCE_POLL);
                    let Some(local) = local.upgrade() else { return };
                    // If it fails, the next poll tries again.
                    let _ = local.restore_presence();
                }
            })?;
        }
        Ok(stop)
    }
}

/// No watcher of this pool is left: a device that is given back from now on must not wait for a
/// check. Leases may outlive the pool, on the table of a manager.
impl Drop for LocalNode {
    fn drop(&mut self) {
        if let Some(presence) = self.presence.get_mut().take() {
            // If the table cannot be reached, the home gives it back later.
            let _ = self.manager.home().give_back(Dropped::Lease(presence));
        }
        // Other processes that share the table continue to watch the devices.
        if let Some(watched) = self.watched.as_ref().filter(|_| !self.manager.is_shared()) {
            for (_, key) in self.keys.iter().enumerate().filter(|(index, _)| watched.checks(*index))
            {
                // Fails only if the table is unusable.
                let _ = self.manager.home().execute(&ClearCheck { resource: key });
            }
        }
    }
}
