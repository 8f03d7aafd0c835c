//! [`GpuLease`]: the devices that a claim was granted.

use super::{Env, GpuPool, PoolError};
use crate::home::{Dropped, Home};
use crate::inventory::{GpuDevice, Vendor};
use crate::manager::Notice;
use crate::table::query::PicksOf;
use crate::table::{Error, LeaseId, LeaseInfo, LeaseState, Picks, Reason, Time};

/// Devices, for as long as this lives. Dropping it gives them back, and the first claim in the
/// queue has them before the drop returns.
///
/// It can be revoked before: check [`state`](Self::state), or be notified by
/// [`on_change`](Self::on_change).
///
/// ```
/// use ternlease::{GpuPool, LeaseState, PoolOptions};
///
/// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:2")?)?;
/// let lease = pool.claim().devices(2).wait()?.expect("this pool has devices");
/// assert_eq!(lease.state(), Some(LeaseState::Held));
/// for gpu in lease.devices() {
///     println!("{} {} at {:?}", gpu.index, gpu.name, gpu.pci);
/// }
/// drop(lease);
/// assert_eq!(pool.manager().active_count(), 0);
/// # Ok::<(), ternlease::PoolError>(())
/// ```
#[derive(Debug)]
#[must_use = "dropping a lease gives the devices back"]
pub struct GpuLease {
    pool: GpuPool,
    id: LeaseId,
    /// The index of the first device in the pool.
    first: usize,
    /// The indices of the others.
    others: Vec<usize>,
    /// Dropping this gives the devices back.
    owned: bool,
    /// The renewer of the pool renews it.
    auto_renew: bool,
}

impl GpuLease {
    /// A lease that was just granted. It is given back if it cannot be described.
    #[inline]
    pub(super) fn granted(
        pool: &GpuPool,
        id: LeaseId,
        picks: &Picks,
        auto_renew: bool,
    ) -> Result<Self, Error> {
        Self::of(pool, id, picks, auto_renew).inspect_err(|_| {
            let _ = pool.inner.manager.home().give_back(Dropped::Lease(id));
        })
    }

    /// A lease on these resources, at least one of which is a device of this pool.
    #[inline]
    fn of(pool: &GpuPool, id: LeaseId, picks: &Picks, auto_renew: bool) -> Result<Self, Error> {
        let remembered;
        let picks = match picks.as_slice() {
            // The ticket that named them was forgotten.
            [] => {
                remembered = pool.inner.manager.home().query_known(&PicksOf { lease: id });
                &remembered
            }
            _ => picks,
        };
        let mut indices = picks.as_slice().iter().filter_map(|pick| pool.inner.index_of(*pick));
        let first = indices.next().ok_or(Error::UnknownLease)?;
        let others = indices.collect();
        Ok(GpuLease { pool: pool.clone(), id, first, others, owned: true, auto_renew })
    }

    /// A lease by its id.
    fn find(pool: &GpuPool, id: LeaseId) -> Result<Self, Error> {
        Self::of(pool, id, &Picks::default(), false)
    }

    fn stop_renewal(&self) {
        if self.auto_renew {
            self.pool.inner.local.renewer.remove(self.id);
        }
    }

    /// Its id, which is also the fencing token: pass it along with every write, and let the store
    /// refuse one that is smaller than the largest it has seen.
    pub fn id(&self) -> LeaseId {
        self.id
    }

    /// The first device: all there is, of a claim for one.
    pub fn device(&self) -> &GpuDevice {
        &self.pool.inner.devices[self.first]
    }

    /// All devices, in the order of the pool, or as the claim named them.
    pub fn devices(&self) -> impl Iterator<Item = &GpuDevice> + Clone {
        let indices = std::iter::once(&self.first).chain(&self.others);
        indices.map(|&index| &self.pool.inner.devices[index])
    }

    /// The number of the first device among those of its vendor.
    pub fn gpu_index(&self) -> u32 {
        self.device().index
    }

    /// The vendor of the devices.
    pub fn vendor(&self) -> Vendor {
        self.device().vendor
    }

    /// The machine of the first device, in a pool of many machines; of all devices, for a claim for
    /// [one node](super::GpuClaim::on_one_node). [`GpuDevice::node`] has that of each device.
    pub fn node(&self) -> Option<&str> {
        self.device().node.as_deref()
    }

    /// The state of the lease. Takes no lock, so that it can be checked often: before each batch,
    /// for example. `None` if it ended so long ago that the table has forgotten it.
    #[inline]
    pub fn state(&self) -> Option<LeaseState> {
        self.pool.inner.manager.state(self.id)
    }

    /// Everything about it, if the table has not forgotten it.
    pub fn info(&self) -> Option<LeaseInfo> {
        self.pool.inner.manager.lease(self.id)
    }

    /// Moves its end to now + its ttl; the new end, by the clock of the pool's manager. A claim
    /// with [`keep_alive`](super::GpuClaim::keep_alive) needs no such call.
    ///
    /// # Errors
    ///
    /// [`Error::NotHeld`] if it has ended, with the reason: stop using the devices.
    pub fn renew(&self) -> Result<Time, Error> {
        self.pool.inner.manager.renew(self.id)
    }

    /// Calls `callback` when the lease gets notice of its revocation, and when it ends; see
    /// [`LeaseManager::watch`](crate::LeaseManager::watch).
    ///
    /// # Errors
    ///
    /// [`Error::NotHeld`] if it has ended, with the reason; [`Error::System`] if no thread can be
    /// started.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    /// use ternlease::{GpuPool, LeaseState, PoolOptions, Reason};
    ///
    /// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?)?;
    /// let lease = pool.claim().wait()?.expect("this pool has a device");
    /// let (sender, receiver) = mpsc::channel();
    /// lease.on_change(move |notice| sender.send(*notice).unwrap())?;
    ///
    /// let minute = Duration::from_secs(60);
    /// pool.manager().revoke_with(lease.id(), Reason::NodeDrain, "ops", minute)?;
    /// let notice = receiver.recv()?; // save the work, then drop the lease
    /// let revoking = (Some(LeaseState::Held), Some(Reason::NodeDrain));
    /// assert_eq!((notice.state, notice.reason), revoking);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_change(&self, callback: impl FnMut(&Notice) + Send + 'static) -> Result<(), Error> {
        self.pool.inner.manager.watch(self.id, callback)
    }

    /// A file descriptor that becomes readable when [`Self::on_change`] would call, for event
    /// loops.
    ///
    /// # Errors
    ///
    /// As [`Self::on_change`]; [`Error::System`] if the system provides no descriptor.
    #[cfg(target_os = "linux")]
    pub fn fd(&self) -> Result<std::os::fd::OwnedFd, Error> {
        self.pool.inner.manager.watch_fd(self.id)
    }

    /// The environment in which a child sees these devices and no others. Devices of NVIDIA are
    /// named by number, in the order of PCI addresses.
    ///
    /// For children only: in a process that has begun to use CUDA, the variables have no effect.
    ///
    /// # Errors
    ///
    /// [`PoolError::Elsewhere`] if a device is in another machine, where no child of this process
    /// can use it: see [`env_on`](Self::env_on).
    pub fn env(&self) -> Result<Env, PoolError> {
        self.local_env(false)
    }

    /// As [`Self::env`], with UUIDs if the devices have them. Some programs do not accept UUIDs.
    ///
    /// # Errors
    ///
    /// As [`Self::env`].
    ///
    /// ```
    /// use ternlease::{GpuPool, PoolOptions};
    ///
    /// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?)?;
    /// let lease = pool.claim().wait()?.expect("this pool has a device");
    /// assert_eq!(lease.env()?.set[1], ("CUDA_VISIBLE_DEVICES", "0".to_owned()));
    /// assert!(lease.env_by_uuid()?.set[1].1.starts_with("GPU-"));
    /// # Ok::<(), ternlease::PoolError>(())
    /// ```
    pub fn env_by_uuid(&self) -> Result<Env, PoolError> {
        self.local_env(true)
    }

    fn local_env(&self, by_uuid: bool) -> Result<Env, PoolError> {
        let local = self.pool.node();
        match self.devices().find(|device| device.node.as_deref() != local) {
            Some(device) => Err(PoolError::Elsewhere(device.node.clone().unwrap_or_default())),
            None => Ok(self.env_in(local, by_uuid)),
        }
    }

    /// The environment for a program on another machine of the pool, in which it sees the devices
    /// of this lease there and no others.
    pub fn env_on(&self, node: &str) -> Env {
        self.env_in(Some(node), false)
    }

    fn env_in(&self, node: Option<&str>, by_uuid: bool) -> Env {
        let there = |device: &&GpuDevice| device.node.as_deref() == node;
        let all = self.pool.devices().iter().filter(there);
        Env::of(self.devices().filter(there), all, by_uuid)
    }

    /// Gives the devices back, as dropping it does, and reports whether they were still held.
    ///
    /// # Errors
    ///
    /// [`Error::NotHeld`] if the lease had ended before, with the reason.
    ///
    /// ```
    /// use ternlease::{Error, GpuPool, LeaseState, PoolOptions, Reason};
    ///
    /// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?)?;
    /// let lease = pool.claim().wait()?.expect("this pool has a device");
    /// pool.manager().revoke(lease.id())?;
    /// let taken = Error::NotHeld(LeaseState::Revoked, Reason::Operator);
    /// assert_eq!(lease.release(), Err(taken));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn release(mut self) -> Result<(), Error> {
        self.owned = false;
        self.stop_renewal();
        self.pool.inner.manager.home().give_back(Dropped::Lease(self.id))
    }

    /// The lease of this id, for reading: dropping it gives nothing back.
    #[cfg(feature = "capi")]
    pub(crate) fn view(pool: &GpuPool, id: LeaseId) -> Result<Self, Error> {
        let mut lease = Self::find(pool, id)?;
        lease.owned = false;
        Ok(lease)
    }

    /// The indices of its devices in the pool.
    #[cfg(feature = "capi")]
    pub(crate) fn places(&self) -> Vec<usize> {
        std::iter::once(self.first).chain(self.others.iter().copied()).collect()
    }

    /// Returns the id, and gives nothing back: from now on only
    /// [`LeaseManager::release`](crate::LeaseManager::release) gives the devices back, and the
    /// lease is no longer renewed. [`GpuPool::take_up`] is the reverse.
    pub fn into_id(mut self) -> LeaseId {
        self.owned = false;
        self.stop_renewal();
        self.id
    }
}

impl GpuPool {
    /// Makes a [`GpuLease`] of an id, as [`GpuClaim::submit`](super::GpuClaim::submit) and
    /// [`GpuLease::into_id`] return it: dropping it gives the devices back.
    ///
    /// # Errors
    ///
    /// [`Error::NotHeld`] if it has ended, with the reason; [`Error::UnknownLease`] if it is not
    /// known, or holds no device of this pool.
    ///
    /// ```
    /// use ternlease::{GpuPool, Outcome, PoolOptions};
    ///
    /// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?)?;
    /// let Some(Outcome::Granted(id)) = pool.claim().submit()? else { panic!("it is free") };
    /// let lease = pool.take_up(id)?;
    /// assert_eq!(lease.gpu_index(), 0);
    /// drop(lease);
    /// assert!(pool.take_up(id).is_err(), "it was given back");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn take_up(&self, id: LeaseId) -> Result<GpuLease, Error> {
        let info = self.inner.manager.lease(id).ok_or(Error::UnknownLease)?;
        match self.inner.manager.state(id) {
            Some(LeaseState::Held) => GpuLease::find(self, id),
            Some(over) => {
                // The table has not recorded yet that its ttl is over.
                Err(Error::NotHeld(over, info.reason.unwrap_or(Reason::TimedOut)))
            }
            None => Err(Error::UnknownLease),
        }
    }
}

impl Drop for GpuLease {
    #[inline]
    fn drop(&mut self) {
        if self.owned {
            self.stop_renewal();
            // Fails if it has ended already.
            let _ = self.pool.inner.manager.home().give_back(Dropped::Lease(self.id));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::{Error, GpuDevice, GpuPool, LeaseId, LeaseState, Reason, Vendor};

    #[test]
    fn held_lease_is_taken_up_by_its_id_and_ended_one_is_not() {
        let pool = GpuPool::new(&[GpuDevice::new(Vendor::Nvidia, 0, "A100")]);
        let id = pool.claim().try_now().unwrap().unwrap().into_id();
        let lease = pool.take_up(id).unwrap();
        assert_eq!((lease.id(), lease.gpu_index()), (id, 0));
        assert!(pool.try_claim().unwrap().is_none(), "it is still held");
        drop(lease);
        assert!(pool.try_claim().unwrap().is_some(), "and now it is not");
        let over = Error::NotHeld(LeaseState::Expired, Reason::Released);
        assert_eq!(pool.take_up(id).unwrap_err(), over);
        assert_eq!(pool.take_up(LeaseId(1)).unwrap_err(), Error::UnknownLease);
    }

    #[test]
    fn lease_that_is_given_back_is_no_longer_renewed() {
        let pool = GpuPool::new(&[GpuDevice::new(Vendor::Nvidia, 0, "A100")]);
        let claim = || {
            let claim = pool.claim().ttl(Duration::from_secs(24 * 3600)).keep_alive();
            claim.try_now().unwrap().unwrap()
        };
        let lease = claim();
        assert_eq!(pool.inner.local.renewer.count(), 1);
        drop(lease);
        assert_eq!(pool.inner.local.renewer.count(), 0);
        claim().release().unwrap();
        assert_eq!(pool.inner.local.renewer.count(), 0);
        let id = claim().into_id();
        assert_eq!(pool.inner.local.renewer.count(), 0);
        pool.manager().release(id).unwrap();
    }
}
