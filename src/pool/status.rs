//! The leases on the devices of a pool, and the state of each device.

use std::time::Duration;

use super::GpuPool;
use super::evidence::squatters;
use super::nodes;
use crate::home::Home;
use crate::inventory::{GpuDevice, Process, Vendor};
use crate::table::{Health, LeaseId, LeaseInfo, Memory, Query, ResourceInfo, Table, Time};

/// The leases on a device, from [`GpuPool::snapshot_leases`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuLeaseEntry {
    /// Its number among the devices of its vendor.
    pub gpu_index: u32,
    /// Its vendor.
    pub vendor: Vendor,
    /// Its name.
    pub name: String,
    /// The machine that it is in, in a pool of many machines.
    pub node: Option<String>,
    /// Is a lease on it held?
    pub leased: bool,
    /// The leases on it, oldest first.
    pub leases: Vec<LeaseId>,
    /// Their holders.
    pub holders: Vec<String>,
}

/// The state of a device, and its users, from [`GpuPool::status`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceStatus {
    /// The device.
    pub device: GpuDevice,
    /// Its health now.
    pub health: Health,
    /// Why it is not healthy, in words.
    pub trouble: Option<String>,
    /// The leases on it, oldest first.
    pub leases: Vec<LeaseInfo>,
    /// Slots it has, and how many of them are taken.
    pub slots: (u32, u32),
    /// Memory that leases have taken, in MiB.
    pub leased_memory: u32,
    /// Memory that is in use, in MiB, if it can be observed.
    pub memory_used: Option<u32>,
    /// How busy it was lately, in percent, if that can be observed.
    pub busy: Option<u8>,
    /// Processes that compute on it although it has no lease.
    pub squatters: Vec<Process>,
    /// For how long it has been leased without being used.
    pub idle_for: Option<Duration>,
    /// The age of the observation. `None`: the device is not watched.
    pub seen: Option<Duration>,
}

impl GpuPool {
    /// The leases on each device, in the order of [`Self::devices`], all at one moment. In a pool
    /// that processes share, leases of other processes are included.
    ///
    /// ```
    /// use ternlease::{GpuPool, PoolOptions};
    ///
    /// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:2")?)?;
    /// let lease = pool.claim().holder("train-42").wait()?;
    /// let leased: Vec<bool> = pool.snapshot_leases().iter().map(|gpu| gpu.leased).collect();
    /// assert_eq!(leased, [true, false]);
    /// # Ok::<(), ternlease::PoolError>(())
    /// ```
    pub fn snapshot_leases(&self) -> Vec<GpuLeaseEntry> {
        let entry = |(device, InTable { leases, .. }): (&GpuDevice, InTable)| GpuLeaseEntry {
            gpu_index: device.index,
            vendor: device.vendor,
            name: device.name.clone(),
            node: device.node.clone(),
            leased: !leases.is_empty(),
            leases: leases.iter().map(|lease| lease.id).collect(),
            holders: leases.into_iter().map(|lease| lease.holder).collect(),
        };
        self.devices().iter().zip(self.in_the_table()).map(entry).collect()
    }

    /// The state of each device, in the order of [`Self::devices`]. The observations are as old as
    /// the answer says: no device is observed now.
    ///
    /// ```
    /// use ternlease::{GpuDevice, GpuPool, Health, Vendor};
    ///
    /// let good = GpuDevice::new(Vendor::Nvidia, 0, "A100");
    /// let trouble = Some("fan 2".to_owned());
    /// let bad = GpuDevice { index: 1, health: Health::Failed, trouble, ..good.clone() };
    /// let status = GpuPool::new(&[good, bad]).status();
    /// assert_eq!(status[0].health, Health::Healthy);
    /// assert_eq!(status[1].trouble.as_deref(), Some("fan 2"));
    /// ```
    pub fn status(&self) -> Vec<DeviceStatus> {
        let devices = self.devices().iter().zip(self.in_the_table()).enumerate();
        devices.map(|(place, (device, in_table))| self.status_of(place, device, in_table)).collect()
    }

    fn status_of(
        &self,
        place: usize,
        device: &GpuDevice,
        InTable { resource, leases, abandoned }: InTable,
    ) -> DeviceStatus {
        let seen = self.inner.local.watched.as_ref().and_then(|watched| watched.seen(place));
        let observation = seen.as_ref().and_then(|seen| seen.observation.as_ref());
        let (health, slots, leased_memory) = match resource {
            Some(info) => (info.health, (info.slots, info.used_slots), info.used_memory),
            None => (device.health, (0, 0), 0),
        };
        // The observation may be older than the end of the last lease.
        let leased = !leases.is_empty() || seen.as_ref().is_some_and(|seen| seen.leased);
        let idle_since = seen.as_ref().and_then(|seen| seen.memory.idle_since);
        // The observation may have missed the time between two leases.
        let first = leases.iter().map(|lease| lease.granted_at).min();
        let leased_for = first.map(|since| match self.manager().has_real_time() {
            true => Duration::from_micros(self.manager().tick_count().saturating_sub(since)),
            false => Duration::MAX,
        });
        let trouble = seen.as_ref().and_then(|seen| seen.trouble.clone());
        DeviceStatus {
            trouble: trouble
                .or_else(|| device.trouble.clone())
                .or_else(|| abandoned.then(|| "nobody is on its machine any more".to_owned()))
                .filter(|_| health != Health::Healthy),
            device: device.clone(),
            health,
            slots,
            leased_memory,
            memory_used: observation.and_then(|seen| seen.memory_used),
            busy: observation.and_then(|seen| seen.busy),
            squatters: observation.map_or_else(Vec::new, |seen| squatters(seen, leased)),
            idle_for: idle_since.zip(leased_for).map(|(since, most)| since.elapsed().min(most)),
            seen: seen.as_ref().map(|seen| seen.at.elapsed()),
            leases,
        }
    }

    /// The records of all devices in the table, all at one moment.
    fn in_the_table(&self) -> Vec<InTable> {
        let devices = DevicesInTable { keys: &self.inner.keys, devices: self.devices() };
        self.inner.manager.home().query(&devices)
    }
}

/// Asks for the records of devices; `keys` are their names in the table.
struct DevicesInTable<'a> {
    keys: &'a [String],
    devices: &'a [GpuDevice],
}

impl Query for DevicesInTable<'_> {
    type Answer = Vec<InTable>;

    fn answer<M: Memory>(&self, table: &Table<M>) -> Vec<InTable> {
        let in_table = |(key, device): (&String, &GpuDevice)| {
            let leases = table.leases_on(key).into_iter();
            let node = device.node.as_ref();
            InTable {
                resource: table.resource(key),
                leases: leases.filter_map(|id| table.lease(id)).collect(),
                abandoned: node.is_some_and(|node| table.leases_on(&nodes::key(node)).is_empty()),
            }
        };
        self.keys.iter().zip(self.devices).map(in_table).collect()
    }

    fn set_ends(answer: &mut Vec<InTable>, end: &dyn Fn(LeaseId) -> Option<Time>) {
        answer.iter_mut().flat_map(|device| &mut device.leases).for_each(|it| it.set_end(end));
    }
}

/// The record of a device in the table.
struct InTable {
    resource: Option<ResourceInfo>,
    leases: Vec<LeaseInfo>,
    /// No process is present on its machine.
    abandoned: bool,
}
