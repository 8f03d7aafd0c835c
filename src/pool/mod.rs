//! [`GpuPool`]: devices, claimed in order.

mod claim;
mod env;
mod error;
mod evidence;
mod filter;
mod forecast;
mod lease;
mod local_node;
mod naming;
mod nodes;
mod options;
mod renewer;
mod status;
mod submit;
mod watcher;

use std::sync::Arc;

pub use claim::GpuClaim;
pub use env::Env;
pub use error::PoolError;
pub use evidence::Rules;
pub use forecast::ExpectedWait;
pub use lease::GpuLease;
pub use options::PoolOptions;
pub use status::{DeviceStatus, GpuLeaseEntry};
pub use submit::GpuClaiming;

use crate::home::Home;
use crate::inventory::{Absence, Found, GpuDevice, Why};
use crate::manager::{LeaseManager, OpenError, Options};
use crate::table::query::WaitingFor;
use crate::table::{Error, LeaseId, ResourceId};
use local_node::LocalNode;
use naming::distinct_keys;
use nodes::RemoteNodes;
use watcher::{Stop, Watched};

/// Devices, claimed in order and given back by dropping the lease.
///
/// A pool is a view on the table of a [`LeaseManager`]: each device is a resource there, each claim
/// a lease. Clones are the same pool.
///
/// Threads of the library observe the devices, never while a claim is decided. A device that fails
/// is not granted, and leases on it are revoked
/// ([`Reason::DeviceFault`](crate::Reason::DeviceFault)). [`status`](Self::status) reports the
/// state of each device.
///
/// # Examples
///
/// ```
/// use ternlease::{GpuDevice, GpuPool, Vendor};
///
/// let pool = GpuPool::new(&[GpuDevice::new(Vendor::Nvidia, 0, "A100")]);
/// let lease = pool.claim().wait()?.expect("this pool has a device");
/// assert_eq!(lease.gpu_index(), 0);
/// assert!(pool.try_claim()?.is_none(), "it is taken");
/// drop(lease);
/// assert!(pool.try_claim()?.is_some());
///
/// // A machine without GPUs is no special case: a claim returns `None` at once.
/// assert!(GpuPool::new(&[]).claim().wait()?.is_none());
/// # Ok::<(), ternlease::PoolError>(())
/// ```
#[derive(Debug, Clone)]
pub struct GpuPool {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    manager: LeaseManager,
    /// In the order of preference, which is the order of discovery; those of this machine first.
    devices: Vec<GpuDevice>,
    /// Their names in the table, and their ids there.
    keys: Vec<String>,
    ids: Vec<ResourceId>,
    /// The candidates of a claim for several without conditions: whole devices of one vendor.
    homogeneous: Vec<ResourceId>,
    /// By the id of a device: its index in the lists above, or `u32::MAX`.
    index_of: Vec<u32>,
    found: Found,
    local: Arc<LocalNode>,
    /// Ends the threads of the watcher when the last of these pools is dropped.
    stop: Arc<Stop>,
}

impl GpuPool {
    /// A pool of these devices, in this process. Without devices every claim returns `None` at
    /// once. The devices are not watched.
    pub fn new(devices: &[GpuDevice]) -> Self {
        let options = Options::real().resources_at_least(devices.len() as u32);
        let manager = LeaseManager::with(options);
        Self::on(&manager, devices).unwrap_or_else(|error| {
            unreachable!("a new table takes the devices that it was made for: {error}")
        })
    }

    /// The devices of this machine that this process may see, in the home that the URL names.
    /// `host:`, or an empty URL, is the pool that all processes of the machine share. `etcd://` is
    /// a pool of many machines, with the devices of all of them. `process:` is a private pool of
    /// this process: it does not know which devices other programs use.
    ///
    /// `TERNLEASE_DEVICES` in the environment names other devices: `fake:8`, `file:/etc/gpus`,
    /// `none`; see [`PoolOptions::from_spec`].
    ///
    /// # Errors
    ///
    /// [`PoolError::Open`] if the home cannot be opened, [`PoolError::Declaration`] if
    /// `TERNLEASE_DEVICES` is malformed, and [`PoolError::NoAnswer`] if no device was found and a
    /// driver hangs or fails: the machine may have devices. A machine without GPUs is no error.
    ///
    /// ```no_run
    /// use ternlease::GpuPool;
    ///
    /// let pool = GpuPool::open("host:")?; // in order with all other processes of this machine
    /// match pool.claim().wait()? {
    ///     Some(lease) => println!("{}", lease.device().name),
    ///     None => println!("no GPU: {:?}", pool.found().absences),
    /// }
    /// # Ok::<(), ternlease::PoolError>(())
    /// ```
    pub fn open(url: &str) -> Result<Self, PoolError> {
        Self::open_with(url, PoolOptions::from_env()?)
    }

    /// As [`Self::open`], with options: other devices, several claims per device, devices that are
    /// checked to be clean before use.
    ///
    /// # Errors
    ///
    /// As [`Self::open`].
    ///
    /// ```
    /// use ternlease::{GpuPool, PoolOptions};
    ///
    /// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:4")?.slots(2))?;
    /// assert_eq!(pool.capacity(), 4);
    /// # Ok::<(), ternlease::PoolError>(())
    /// ```
    pub fn open_with(url: &str, options: PoolOptions) -> Result<Self, PoolError> {
        let found = options.inventory.find();
        let table = Options::real().deadlocks(options.deadlocks);
        let table = table.resources_at_least(found.devices.len() as u32);
        Self::build(&LeaseManager::open_with(url, table)?, found, options)
    }

    /// A pool of these devices on the table of a manager, so that deadlocks through devices and
    /// named resources together are found. The devices are not watched.
    ///
    /// # Errors
    ///
    /// [`PoolError::Lease`] if the table has no room for them, or has one in use in another size.
    ///
    /// ```
    /// use ternlease::{GpuDevice, GpuPool, LeaseManager, Vendor};
    ///
    /// let manager = LeaseManager::open("process:")?;
    /// let pool = GpuPool::on(&manager, &[GpuDevice::new(Vendor::Nvidia, 0, "A100")])?;
    /// let lease = pool.claim().holder("trainer").wait()?.expect("this pool has a device");
    /// assert_eq!(manager.held_by("trainer"), [lease.id()]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on(manager: &LeaseManager, devices: &[GpuDevice]) -> Result<Self, PoolError> {
        let found = Found { devices: devices.to_vec(), ..Found::default() };
        Self::build(manager, found, PoolOptions::default())
    }

    /// As [`Self::on`], with the devices that an inventory finds. The manager decides what is done
    /// about deadlocks, whatever the options say.
    ///
    /// # Errors
    ///
    /// As [`Self::on`]; [`PoolError::NoAnswer`] as in [`Self::open`].
    pub fn on_with(manager: &LeaseManager, options: PoolOptions) -> Result<Self, PoolError> {
        Self::build(manager, options.inventory.find(), options)
    }

    fn build(
        manager: &LeaseManager,
        mut found: Found,
        options: PoolOptions,
    ) -> Result<Self, PoolError> {
        let PoolOptions { inventory, slots, check_use, poll, rules, node, .. } = options;
        check_discovery(&found)?;
        let node = nodes::name(manager, node)?;
        let mut devices = std::mem::take(&mut found.devices);
        devices.iter_mut().for_each(|device| device.node.clone_from(&node));
        let keys = distinct_keys(&devices, node.as_deref());
        let watched = Watched::new(&devices, &keys, inventory, check_use, rules);
        let local = LocalNode::list(manager, node, devices, keys, slots, watched)?;
        let local = Arc::new(local);
        let stop = local.start(poll)?;
        Self::of(manager, found, local, Arc::new(stop))
    }

    /// A pool of the devices of this machine and those that other machines have published.
    fn of(
        manager: &LeaseManager,
        mut found: Found,
        local: Arc<LocalNode>,
        stop: Arc<Stop>,
    ) -> Result<Self, PoolError> {
        let remote = RemoteNodes::find(manager, local.name.as_deref())?;
        found.warnings.extend(remote.warnings);
        let devices = [&local.devices[..], &remote.devices].concat();
        let keys = [&local.keys[..], &remote.keys].concat();
        let ids = [&local.ids[..], &remote.ids].concat();
        let most = ids.iter().map(|id| id.0 as usize + 1).max().unwrap_or(0);
        let mut index_of = vec![u32::MAX; most];
        for (index, id) in ids.iter().enumerate() {
            index_of[id.0 as usize] = index as u32;
        }
        let mut homogeneous: Vec<usize> = (0..devices.len()).collect();
        filter::retain_homogeneous(&devices, &mut homogeneous);
        let homogeneous = homogeneous.into_iter().map(|index| ids[index]).collect();
        let manager = manager.clone();
        let inner =
            Inner { manager, devices, keys, ids, homogeneous, index_of, found, local, stop };
        Ok(GpuPool { inner: Arc::new(inner) })
    }

    /// The same pool with the devices of the machines that have joined since this one was opened. A
    /// pool of many machines has the devices that were published when it was opened, and always
    /// knows their state. A pool of one machine stays as it is.
    ///
    /// # Errors
    ///
    /// [`PoolError::Lease`] if the registry of nodes cannot be read.
    ///
    /// ```
    /// use ternlease::{GpuPool, PoolOptions};
    ///
    /// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:2")?)?;
    /// assert_eq!(pool.refreshed()?.capacity(), 2);
    /// # Ok::<(), ternlease::PoolError>(())
    /// ```
    pub fn refreshed(&self) -> Result<Self, PoolError> {
        let Inner { manager, found, local, stop, .. } = &*self.inner;
        Self::of(manager, found.clone(), local.clone(), stop.clone())
    }

    /// The name of this machine in a pool of many machines; `None` in a pool of one. Children of
    /// this process can use the devices with this [`node`](GpuDevice::node).
    pub fn node(&self) -> Option<&str> {
        self.inner.local.name.as_deref()
    }

    /// Begins a claim: by default for one device, alone, for as long as the lease lives.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ternlease::{GpuPool, PoolOptions, inventory::Declared};
    ///
    /// let pool = GpuPool::open_with("process:", PoolOptions::of(Declared::fake(8)))?;
    /// let lease = pool
    ///     .claim()
    ///     .holder("train-42")
    ///     .devices(4)
    ///     .min_memory(40_000)
    ///     .wait_for(Duration::from_secs(60))?
    ///     .expect("this pool has devices");
    /// assert_eq!(lease.devices().count(), 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn claim(&self) -> GpuClaim<'_> {
        GpuClaim::new(self)
    }

    /// One device, if one is free now and no claim waits for it; `None` if not, or if the pool has
    /// none. [`GpuClaim::try_now`] distinguishes these cases.
    ///
    /// # Errors
    ///
    /// Only errors that do not depend on which devices are held: a full table, for example.
    ///
    /// ```
    /// use ternlease::{GpuPool, PoolOptions};
    ///
    /// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?)?;
    /// let lease = pool.try_claim()?;
    /// assert!(lease.is_some() && pool.try_claim()?.is_none());
    /// # Ok::<(), ternlease::PoolError>(())
    /// ```
    #[inline]
    pub fn try_claim(&self) -> Result<Option<GpuLease>, PoolError> {
        match self.claim_default() {
            Ok(Some((id, picks))) => Ok(Some(GpuLease::granted(self, id, &picks, false)?)),
            Ok(None) | Err(Error::Busy) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// How many devices there are, healthy or not, leased or not. 0 on a machine without GPUs.
    pub fn capacity(&self) -> usize {
        self.inner.devices.len()
    }

    /// How many claims wait for devices of this pool. Claims of other processes that share it count
    /// too.
    pub fn pending_claimers(&self) -> usize {
        let inner = &self.inner;
        inner.manager.home().query(&WaitingFor(|id| inner.index_of(id).is_some()))
    }

    /// The devices, in the order of discovery, as they were then; [`status`](Self::status) has
    /// their present state.
    ///
    /// ```
    /// use ternlease::{GpuPool, PoolOptions};
    ///
    /// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:2")?)?;
    /// let names: Vec<&str> = pool.devices().iter().map(|gpu| gpu.name.as_str()).collect();
    /// assert_eq!(names, ["Fake GPU", "Fake GPU"]);
    /// assert_eq!(pool.key(0), Some("0000:01:00.0")); // where it sits
    /// # Ok::<(), ternlease::PoolError>(())
    /// ```
    pub fn devices(&self) -> &[GpuDevice] {
        &self.inner.devices
    }

    /// The name of a device in the table, by its index in [`Self::devices`], for
    /// [`LeaseManager::set_health`] or [`LeaseManager::leases_on`]. Usually [`GpuDevice::key`];
    /// `None` if there is no such index.
    pub fn key(&self, place: usize) -> Option<&str> {
        self.inner.keys.get(place).map(String::as_str)
    }

    /// Renews a lease in time from now on, by a thread of the library, while it is held and the
    /// pool lives. For leases that are known by their ids.
    ///
    /// # Errors
    ///
    /// [`Error::NotHeld`] if it has ended; [`Error::UnknownLease`]; [`Error::WrongClock`] on the
    /// table of a manager that counts ticks.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ternlease::{Error, GpuPool, Outcome, PoolOptions};
    ///
    /// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?)?;
    /// let claim = pool.claim().ttl(Duration::from_secs(60));
    /// let Some(Outcome::Granted(lease)) = claim.submit()? else { panic!("it is free") };
    /// pool.keep_alive(lease)?;
    /// pool.manager().release(lease)?;
    /// assert!(matches!(pool.keep_alive(lease), Err(Error::NotHeld(..))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keep_alive(&self, id: LeaseId) -> Result<(), Error> {
        let manager = &self.inner.manager;
        // An error if it has ended. If not, its whole ttl begins now.
        manager.renew(id)?;
        let ttl = manager.lease(id).ok_or(Error::UnknownLease)?.ttl;
        let renewer = &self.inner.local.renewer;
        renewer.remove(id);
        renewer.add(manager, id, ttl)
    }

    /// The result of the discovery beside the devices: which are hidden from this process, why
    /// there are none. Its own list of devices is empty: [`devices`](Self::devices) has them.
    ///
    /// ```
    /// use ternlease::{GpuPool, PoolOptions};
    ///
    /// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("none")?)?;
    /// assert_eq!(pool.found().absences[0].to_string(), "declared: no device is declared");
    /// # Ok::<(), ternlease::PoolError>(())
    /// ```
    pub fn found(&self) -> &Found {
        &self.inner.found
    }

    /// The manager of the table: events, reasons, deadlocks, leases by their ids.
    ///
    /// ```
    /// use ternlease::{GpuPool, Health, PoolOptions};
    ///
    /// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:2")?)?;
    /// pool.manager().set_health(pool.key(0).unwrap(), Health::Draining)?; // out of service
    /// assert_eq!(pool.claim().wait()?.expect("one is left").gpu_index(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn manager(&self) -> &LeaseManager {
        &self.inner.manager
    }
}

impl Inner {
    /// The index of a device of this pool in its lists.
    #[inline]
    fn index_of(&self, id: ResourceId) -> Option<usize> {
        let index = *self.index_of.get(id.0 as usize)?;
        (index != u32::MAX).then_some(index as usize)
    }
}

impl From<OpenError> for PoolError {
    fn from(error: OpenError) -> Self {
        PoolError::Open(error)
    }
}

/// A machine without devices is no error. One whose driver does not answer is: a program must not
/// take it for a machine without devices.
fn check_discovery(found: &Found) -> Result<(), PoolError> {
    let silent = |absence: &&Absence| matches!(absence.why, Why::Hung(_) | Why::Failed(_));
    match found.absences.iter().find(silent) {
        Some(absence) if found.devices.is_empty() => Err(PoolError::NoAnswer(absence.clone())),
        _ => Ok(()),
    }
}
