//! [`PoolOptions`]: the options of a pool.

use std::time::Duration;

use super::PoolError;
use super::evidence::Rules;
use crate::inventory::{Declared, Host, Inventory};
use crate::table::DeadlockPolicy;

/// The options of a pool: which devices it has, and how they are shared and watched.
///
/// ```
/// use ternlease::{GpuPool, PoolOptions, inventory::Declared};
///
/// // Four jobs may share a device.
/// let options = PoolOptions::of(Declared::fake(2)).slots(4);
/// let pool = GpuPool::open_with("process:", options)?;
/// let jobs: Vec<_> = (0..8).map(|_| pool.claim().slots(1).try_now()).collect::<Result<_, _>>()?;
/// assert_eq!(jobs.len(), 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PoolOptions {
    pub(super) inventory: Box<dyn Inventory>,
    pub(super) slots: Option<u32>,
    pub(super) deadlocks: DeadlockPolicy,
    pub(super) check_use: bool,
    pub(super) poll: Duration,
    pub(super) rules: Rules,
    pub(super) node: Option<String>,
}

impl std::fmt::Debug for PoolOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PoolOptions").field("slots", &self.slots).finish_non_exhaustive()
    }
}

/// Without devices, until an inventory is named.
impl Default for PoolOptions {
    fn default() -> Self {
        Self::of(Declared::new(Vec::new()))
    }
}

impl PoolOptions {
    /// The devices that this inventory finds. Those of the machine are [`Host`]'s.
    ///
    /// ```
    /// use ternlease::{GpuPool, PoolOptions, inventory::Declared};
    ///
    /// let devices = Declared::parse("device vendor=amd index=0 name=MI300X memory=196608\n")?;
    /// let pool = GpuPool::open_with("process:", PoolOptions::of(devices))?;
    /// assert_eq!(pool.devices()[0].memory, Some(196_608));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(inventory: impl Inventory + 'static) -> Self {
        PoolOptions {
            inventory: Box::new(inventory),
            slots: None,
            deadlocks: DeadlockPolicy::default(),
            check_use: false,
            poll: Duration::from_secs(1),
            rules: Rules::default(),
            node: None,
        }
    }

    /// The devices that this text names: `host` for those of this machine, or as
    /// [`Declared::from_spec`] reads it: `fake:8`, `file:/etc/gpus`, `none`.
    ///
    /// # Errors
    ///
    /// [`PoolError::Declaration`] if it names nothing, or the file cannot be read.
    ///
    /// ```
    /// use ternlease::{GpuPool, PoolOptions};
    ///
    /// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:4")?)?;
    /// assert_eq!(pool.capacity(), 4);
    /// assert!(PoolOptions::from_spec("fake:many").is_err());
    /// # Ok::<(), ternlease::PoolError>(())
    /// ```
    pub fn from_spec(spec: &str) -> Result<Self, PoolError> {
        match spec {
            "host" => Ok(Self::of(Host::new())),
            declared => Ok(Self::of(Declared::from_spec(declared)?)),
        }
    }

    /// The devices that `TERNLEASE_DEVICES` names, as [`Self::from_spec`] reads it, else those of
    /// this machine. What [`GpuPool::open`](super::GpuPool::open) uses.
    ///
    /// # Errors
    ///
    /// As [`Self::from_spec`].
    pub fn from_env() -> Result<Self, PoolError> {
        // A value that is not text is an error, and does not count as unset.
        let spec = std::env::var_os("TERNLEASE_DEVICES");
        let spec = spec.as_ref().map(|spec| spec.to_string_lossy());
        Self::from_spec(spec.as_deref().unwrap_or("host"))
    }

    /// How many claims for one slot may share a device. By default as many as other processes of
    /// the table have set, else one.
    pub fn slots(self, slots: u32) -> Self {
        PoolOptions { slots: Some(slots), ..self }
    }

    /// The name of this machine in a pool of many machines; by default its host name. All processes
    /// of a machine must use the same name, and no two machines may. A pool of one machine ignores
    /// it.
    pub fn node(self, name: impl Into<String>) -> Self {
        PoolOptions { node: Some(name.into()), ..self }
    }

    /// What to do about deadlocks: report them when asked, which is the default, or break them as
    /// they arise. Only a holder that claims more while it holds some can be part of one.
    pub fn deadlocks(self, deadlocks: DeadlockPolicy) -> Self {
        PoolOptions { deadlocks, ..self }
    }

    /// Grant a device only after an observation that it is unused, and check it again after each
    /// lease.
    ///
    /// For pools whose leases are used by other processes, which end with their leases. Leave it
    /// off, which is the default, for a process that keeps its CUDA context after a lease: it would
    /// wait for itself.
    pub fn check_use(self, check_use: bool) -> Self {
        PoolOptions { check_use, ..self }
    }

    /// How often to observe the devices without other cause. A second by default, a millisecond at
    /// least. Faults that a driver reports are handled at once.
    pub fn poll(self, poll: Duration) -> Self {
        PoolOptions { poll, ..self }
    }

    /// The rules by which observations determine health: how much memory may be in use on a clean
    /// device, and how long to wait for one that is not clean, or that had a fault.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ternlease::{PoolOptions, Rules};
    ///
    /// let rules = Rules { recovery: Duration::from_secs(300), ..Rules::default() };
    /// let options = PoolOptions::from_spec("host")?.check_use(true).rules(rules);
    /// # Ok::<(), ternlease::PoolError>(())
    /// ```
    pub fn rules(self, rules: Rules) -> Self {
        PoolOptions { rules, ..self }
    }
}
