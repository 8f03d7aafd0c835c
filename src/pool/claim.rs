//! [`GpuClaim`]: a claim for devices.

use super::GpuPool;
use super::filter::{Filter, NodeFilter};
use super::submit::default_claim;
#[cfg(doc)]
use super::{GpuLease, PoolError};
use crate::inventory::Vendor;
use crate::manager::{ClaimOptions, Span};
use crate::table::{LeaseId, Take};

/// A claim for devices that is not submitted yet. [`try_now`](Self::try_now), [`wait`](Self::wait),
/// [`wait_for`](Self::wait_for), [`submit`](Self::submit) and `.await` submit it.
///
/// By default: any one device, alone, without end, priority 0. In a pool without devices each
/// method returns `None` at once.
///
/// Independent claims need no holder: each gets a name of its own. If one line of work claims more
/// while it holds some, give all its claims the same name, so that deadlocks are seen.
///
/// # Errors
///
/// A claim that can never be granted is refused at once by every method: [`PoolError::TooFew`] if
/// fewer devices fit than it wants, [`PoolError::UnknownDevice`] if it names one that the pool does
/// not have, and otherwise as [`ClaimBuilder`](crate::ClaimBuilder#errors) says, in
/// [`PoolError::Lease`].
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use ternlease::{GpuPool, PoolOptions};
///
/// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:8")?)?;
/// let claim = pool.claim().holder("train-42").devices(4).min_memory(40_000);
/// let Some(lease) = claim.wait_for(Duration::from_secs(60))? else {
///     return Ok(()); // this machine has no GPU: compute on the CPU
/// };
/// assert_eq!(lease.devices().count(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[must_use = "a claim asks for nothing until it is tried, waited for or awaited"]
pub struct GpuClaim<'a> {
    pub(super) pool: &'a GpuPool,
    pub(super) holder: Option<&'a str>,
    pub(super) filter: Filter<'a>,
    pub(super) keep_alive: bool,
    /// Without holder and candidates, which are known when the claim is submitted.
    pub(super) options: ClaimOptions<'a>,
}

impl<'a> GpuClaim<'a> {
    #[inline]
    pub(super) fn new(pool: &'a GpuPool) -> Self {
        let options = ClaimOptions::new(default_claim("", &[]));
        GpuClaim { pool, holder: None, filter: Filter::default(), keep_alive: false, options }
    }

    fn with(mut self, set: impl FnOnce(&mut ClaimOptions<'a>)) -> Self {
        set(&mut self.options);
        self
    }

    /// The holder: the name that others see, and under which one line of work claims more while it
    /// holds some. By default each claim has a name of its own, `claim-1`.
    ///
    /// ```
    /// # use ternlease::{GpuPool, PoolOptions};
    /// # let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?)?;
    /// let lease = pool.claim().holder("train-42").wait()?;
    /// assert_eq!(pool.snapshot_leases()[0].holders, ["train-42"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn holder(self, holder: &'a str) -> Self {
        GpuClaim { holder: Some(holder), ..self }
    }

    /// How many devices: all of these, or none; one by default. Linked ones if possible; whole ones
    /// of one vendor, unless they are [named](Self::named).
    ///
    /// ```
    /// # use ternlease::{GpuPool, PoolOptions};
    /// # let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:8")?)?;
    /// let single = pool.claim().wait()?; // breaks the island of 0 to 3
    /// let four = pool.claim().devices(4).wait()?.expect("this pool has devices");
    /// let indices: Vec<u32> = four.devices().map(|gpu| gpu.index).collect();
    /// assert_eq!(indices, [4, 5, 6, 7]); // which are linked to each other
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn devices(self, count: u32) -> Self {
        self.with(|options| options.claim.count = count)
    }

    /// All on one machine, in a pool of many machines: on the one with the least to spare. In a
    /// pool of one machine they are anyway.
    ///
    /// If no machine has so many, that is [`Error::Impossible`](crate::Error::Impossible) at once.
    pub fn on_one_node(self) -> Self {
        self.with(|options| options.claim.together = true)
    }

    /// Only devices of this machine, in a pool of many machines. In a pool of one machine all are.
    ///
    /// ```
    /// # use ternlease::{GpuPool, PoolOptions};
    /// # let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?)?;
    /// assert!(pool.claim().on_this_node().try_now()?.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_this_node(mut self) -> Self {
        self.filter.node = NodeFilter::Local;
        self
    }

    /// Only devices of the machine of this name ([`PoolOptions::node`](super::PoolOptions::node)),
    /// in a pool of many machines. If it has too few, or is not known, that is
    /// [`PoolError::TooFew`].
    pub fn on_node(mut self, node: &'a str) -> Self {
        self.filter.node = NodeFilter::Named(node);
        self
    }

    /// So many slots of each device, together with other leases, instead of the whole device.
    /// [`PoolOptions::slots`](super::PoolOptions::slots) says how many a device has.
    ///
    /// ```
    /// use ternlease::{GpuPool, PoolOptions};
    ///
    /// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?.slots(2))?;
    /// let (a, b) = (pool.claim().slots(1).try_now()?, pool.claim().slots(1).try_now()?);
    /// assert_eq!(pool.status()[0].slots, (2, 2)); // both are taken
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn slots(self, slots: u32) -> Self {
        let memory = self.amount().1;
        self.with(|options| options.claim.take = Take::Amount { slots, memory })
    }

    /// So much memory of each device (MiB), together with other leases, instead of the whole
    /// device. Only the leases limit its use: a program can allocate more.
    ///
    /// ```
    /// # use ternlease::{GpuPool, PoolOptions};
    /// # let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?)?;
    /// let a = pool.claim().memory(40_000).try_now()?;
    /// let b = pool.claim().memory(40_000).try_now()?;
    /// assert_eq!(pool.status()[0].leased_memory, 80_000);
    /// assert!(pool.claim().memory(40_000).try_now().is_err(), "it has 81920");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn memory(self, memory: u32) -> Self {
        let slots = self.amount().0;
        self.with(|options| options.claim.take = Take::Amount { slots, memory })
    }

    fn amount(&self) -> (u32, u32) {
        match self.options.claim.take {
            Take::Amount { slots, memory } => (slots, memory),
            _ => (0, 0),
        }
    }

    /// Only devices with at least so much memory (MiB) in all. A device whose memory is not known
    /// does not count.
    ///
    /// ```
    /// use ternlease::{GpuDevice, GpuPool, PoolError, Vendor};
    ///
    /// let small = GpuDevice { memory: Some(16_384), ..GpuDevice::new(Vendor::Nvidia, 0, "T4") };
    /// let large = GpuDevice { memory: Some(81_920), ..GpuDevice::new(Vendor::Nvidia, 1, "A100") };
    /// let pool = GpuPool::new(&[small, large]);
    /// let lease = pool.claim().min_memory(40_000).wait()?.expect("this pool has devices");
    /// assert_eq!(lease.device().name, "A100");
    /// let error = pool.claim().min_memory(40_000).devices(2).wait().unwrap_err();
    /// assert!(matches!(error, PoolError::TooFew { wanted: 2, fitting: 1, .. }));
    /// # Ok::<(), PoolError>(())
    /// ```
    pub fn min_memory(mut self, memory: u32) -> Self {
        self.filter.min_memory = memory;
        self
    }

    /// Only devices of at least this compute capability, as NVIDIA counts it. A device whose
    /// capability is not known, such as one of another vendor, does not count.
    ///
    /// ```
    /// # use ternlease::{GpuPool, PoolOptions};
    /// # let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?)?;
    /// assert!(pool.claim().min_compute_capability(8, 0).try_now()?.is_some()); // an A100
    /// assert!(pool.claim().min_compute_capability(9, 0).try_now().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn min_compute_capability(mut self, major: u32, minor: u32) -> Self {
        self.filter.min_capability = Some((major, minor));
        self
    }

    /// Only devices of this vendor. Needed only if a machine has devices of several vendors, and a
    /// program can use those of one.
    ///
    /// ```
    /// use ternlease::{GpuDevice, GpuPool, Vendor};
    ///
    /// let nvidia = GpuDevice::new(Vendor::Nvidia, 0, "A100");
    /// let pool = GpuPool::new(&[nvidia, GpuDevice::new(Vendor::Amd, 0, "MI300X")]);
    /// let lease = pool.claim().vendor(Vendor::Amd).wait()?.expect("this pool has devices");
    /// assert_eq!(lease.vendor(), Vendor::Amd);
    /// # Ok::<(), ternlease::PoolError>(())
    /// ```
    pub fn vendor(mut self, vendor: Vendor) -> Self {
        self.filter.vendor = Some(vendor);
        self
    }

    /// Only these devices, the preferred ones first: by UUID (or how it begins), PCI address,
    /// vendor and number (`nvidia:0`), or number.
    ///
    /// A name that matches no device, or several, is [`PoolError::UnknownDevice`].
    ///
    /// ```
    /// # use ternlease::{GpuPool, PoolOptions};
    /// # let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:4")?)?;
    /// let lease = pool.claim().named(&["nvidia:3", "0000:01:00.0"]).wait()?;
    /// assert_eq!(lease.expect("this pool has devices").gpu_index(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn named(mut self, names: &'a [&'a str]) -> Self {
        self.filter.named = Some(names);
        self
    }

    /// How long the lease lasts without renewal. By default it has no end: then it ends when it is
    /// dropped, revoked or, in a pool that processes share, when its process dies.
    pub fn ttl(self, ttl: impl Into<Span>) -> Self {
        self.with(|options| options.ttl = ttl.into())
    }

    /// A thread of the library renews the lease in time, for as long as the [`GpuLease`] lives. If
    /// the process hangs as a whole, the lease ends. Without a [`ttl`](Self::ttl) there is nothing
    /// to renew.
    ///
    /// ```
    /// # use ternlease::{GpuPool, PoolOptions};
    /// # let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?)?;
    /// use std::time::Duration;
    ///
    /// let lease = pool.claim().ttl(Duration::from_secs(30)).keep_alive().wait()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keep_alive(self) -> Self {
        GpuClaim { keep_alive: true, ..self }
    }

    /// Higher goes first; 0 by default. As for [all claims](crate::ClaimBuilder::priority).
    pub fn priority(self, priority: i16) -> Self {
        self.with(|options| options.claim.priority = priority)
    }

    /// Take only what no other claim waits for, and give it back after this notice when one does.
    /// For work that fills gaps.
    ///
    /// ```
    /// # use ternlease::{GpuPool, PoolOptions};
    /// # let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?)?;
    /// use std::time::Duration;
    /// use ternlease::{LeaseState, Reason};
    ///
    /// let filler = pool.claim().spare(Duration::ZERO).wait()?.expect("this pool has a device");
    /// let job = pool.claim().wait()?; // does not wait: the filler goes
    /// assert_eq!(filler.state(), Some(LeaseState::Revoked));
    /// assert_eq!(filler.info().unwrap().reason, Some(Reason::SpareReclaimed));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spare(self, notice: impl Into<Span>) -> Self {
        self.with(|options| (options.claim.spare, options.notice) = (true, notice.into()))
    }

    /// A claim of higher priority that asks to [preempt](Self::preempt) may take the lease after
    /// this notice. [`GpuLease::on_change`] reports it to the holder.
    pub fn preemptible(self, notice: impl Into<Span>) -> Self {
        self.with(|options| (options.claim.preemptible, options.notice) = (true, notice.into()))
    }

    /// Take [preemptible](Self::preemptible) leases of lower priority instead of waiting for their
    /// end. The claim still waits for their notice.
    ///
    /// ```
    /// # use ternlease::{GpuPool, PoolOptions};
    /// # let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?)?;
    /// use std::time::Duration;
    ///
    /// let low = pool.claim().preemptible(Duration::ZERO).wait()?.expect("this pool has a device");
    /// let high = pool.claim().priority(1).preempt().wait()?;
    /// assert!(high.is_some() && low.renew().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn preempt(self) -> Self {
        self.with(|options| options.claim.preempt = true)
    }

    /// The lease ends with its parent, and never later. The parent is any lease of the pool's
    /// [manager](GpuPool::manager).
    ///
    /// ```
    /// # use ternlease::{GpuPool, PoolOptions};
    /// # let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?)?;
    /// use std::time::Duration;
    ///
    /// let job = pool.manager().acquire("job-7", "scheduler", Duration::from_secs(60))?;
    /// let gpu = pool.claim().child_of(job).wait()?.expect("this pool has a device");
    /// pool.manager().release(job)?;
    /// assert!(gpu.renew().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn child_of(self, parent: LeaseId) -> Self {
        self.with(|options| options.claim.parent = Some(parent))
    }

    /// How long the claim may wait in the queue, whichever method submits it. Without end by
    /// default; with zero it does not wait at all.
    pub fn patience(self, wait: impl Into<Span>) -> Self {
        self.with(|options| options.max_wait = wait.into())
    }
}
