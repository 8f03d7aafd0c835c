//! Submission of claims for devices. The path of a claim is in `manager/submit.rs`; this adds the
//! choice of candidates, names for holders, and the lease as an object.

use std::borrow::Cow;
use std::future::IntoFuture;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::{GpuClaim, GpuLease, GpuPool, PoolError};
use crate::manager::{ClaimFuture, LeaseManager, Span};
use crate::table::command::GrantDetail;
use crate::table::{Candidates, Claim, Error, LeaseId, Outcome, Picks, ResourceId, Take};

/// The ways to submit a claim.
impl GpuClaim<'_> {
    /// A lease now, or not at all; `None` if the pool has no devices. It does not overtake claims
    /// that wait.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`], in [`PoolError::Lease`], if it is not free; for invalid claims see
    /// [above](Self#errors).
    ///
    /// ```
    /// # use ternlease::{GpuPool, PoolOptions};
    /// # let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?)?;
    /// use ternlease::{Error, PoolError};
    ///
    /// let lease = pool.claim().try_now()?;
    /// assert_eq!(pool.claim().try_now().unwrap_err(), PoolError::Lease(Error::Busy));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn try_now(self) -> Result<Option<GpuLease>, PoolError> {
        self.patience(Span::Zero).wait()
    }

    /// A lease, however long it takes, or as long as [`patience`](Self::patience) allows; `None` if
    /// the pool has no devices. Blocks the thread.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`], in [`PoolError::Lease`], if the claim ended without a lease; for invalid
    /// claims see [above](Self#errors).
    pub fn wait(self) -> Result<Option<GpuLease>, PoolError> {
        match self.submit_and_wait()? {
            Some((id, picks)) => self.lease(id, &picks).map(Some),
            None => Ok(None),
        }
    }

    /// A lease within this time; `None` if the pool has no devices. Blocks the thread.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`], in [`PoolError::Lease`], when the time is over, or
    /// [`Error::Unavailable`] if the engine of a table that machines share cannot be reached then;
    /// [`Error::Busy`] if it is zero; otherwise as [`wait`](Self::wait).
    pub fn wait_for(self, patience: impl Into<Span>) -> Result<Option<GpuLease>, PoolError> {
        self.patience(patience).wait()
    }

    /// As [`Self::wait`], by the id of the lease.
    #[cfg(feature = "capi")]
    pub(crate) fn wait_for_id(self) -> Result<Option<LeaseId>, PoolError> {
        let Some((id, ())) = self.submit_and_wait()? else { return Ok(None) };
        if let Err(error) = self.renew_if_wanted(id) {
            // Fails if it has ended already.
            let _ = self.pool.inner.manager.release(id);
            return Err(error.into());
        }
        Ok(Some(id))
    }

    /// `None` if the pool has no devices.
    #[inline]
    fn submit_and_wait<D: GrantDetail>(&self) -> Result<Option<(LeaseId, D)>, PoolError> {
        if self.pool.capacity() == 0 {
            return Ok(None);
        }
        self.with_claim(|manager, claim| manager.submit_and_wait(claim)).map(Some)
    }

    /// Puts the claim in the queue if it cannot be granted now, for a program that cannot keep a
    /// [`GpuLease`] or a ticket: the pool's [manager](GpuPool::manager) knows the claim by its id.
    /// `None` if the pool has no devices. Only calls with these ids withdraw the claim, give the
    /// devices back or keep the lease alive; see [`GpuPool::keep_alive`].
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait), but not of the wait itself.
    ///
    /// ```
    /// use ternlease::{GpuPool, Outcome, PoolOptions};
    ///
    /// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?)?;
    /// let Some(Outcome::Granted(lease)) = pool.claim().submit()? else { panic!("it is free") };
    /// let Some(Outcome::Waiting(ticket)) = pool.claim().submit()? else { panic!("it is taken") };
    /// assert_eq!(pool.manager().ticket_place(ticket), Some(1));
    /// pool.manager().release(lease)?;
    /// assert!(pool.manager().ticket_place(ticket).is_none(), "it has the device");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn submit(self) -> Result<Option<Outcome>, PoolError> {
        if self.pool.capacity() == 0 {
            return Ok(None);
        }
        let placed = self.with_claim(|manager, claim| manager.submit::<()>(claim))?;
        Ok(Some(placed.outcome))
    }

    /// Calls `submit` with the claim as the table takes it.
    #[inline(always)]
    fn with_claim<T>(
        &self,
        submit: impl FnOnce(&LeaseManager, &Claim<'_>) -> Result<T, Error>,
    ) -> Result<T, PoolError> {
        let inner = &*self.pool.inner;
        let candidates = self.candidates()?;
        let mut buffer = [0; 32];
        let holder = self.holder.unwrap_or_else(|| inner.local.claim_name(&mut buffer));
        let claim = self.build(holder, &candidates)?;
        Ok(submit(&inner.manager, &claim)?)
    }

    /// The candidates, in the order of preference.
    #[inline]
    pub(super) fn candidates(&self) -> Result<Cow<'_, [ResourceId]>, PoolError> {
        let inner = &*self.pool.inner;
        Ok(match self.device_count() {
            1 if self.filter.is_empty() => Cow::Borrowed(&inner.ids),
            n if self.filter.is_empty() && n as usize <= inner.homogeneous.len() => {
                Cow::Borrowed(&inner.homogeneous)
            }
            n => Cow::Owned(inner.candidates(&self.filter, n)?),
        })
    }

    /// The claim as the table takes it.
    #[inline(always)]
    pub(super) fn build<'c>(
        &'c self,
        holder: &'c str,
        devices: &'c [ResourceId],
    ) -> Result<Claim<'c>, Error> {
        let mut options = self.options;
        let claim = options.measure(&self.pool.inner.manager)?;
        Ok(Claim { holder, candidates: Candidates::Declared(devices), ..*claim })
    }

    #[inline]
    fn lease(&self, id: LeaseId, picks: &Picks) -> Result<GpuLease, PoolError> {
        let lease = GpuLease::granted(self.pool, id, picks, self.keep_alive)?;
        self.renew_if_wanted(id)?;
        Ok(lease)
    }

    #[inline]
    fn renew_if_wanted(&self, id: LeaseId) -> Result<(), Error> {
        let inner = &*self.pool.inner;
        if !self.keep_alive {
            return Ok(());
        }
        inner.local.renewer.add(&inner.manager, id, inner.manager.measure(self.options.ttl)?)
    }
}

impl GpuPool {
    /// A lease on one device, without a wait; `None` if the pool has no devices.
    #[inline]
    pub(crate) fn claim_default<D: GrantDetail>(&self) -> Result<Option<(LeaseId, D)>, Error> {
        let inner = &*self.inner;
        if inner.devices.is_empty() {
            return Ok(None);
        }
        let mut buffer = [0; 32];
        let claim = default_claim(inner.local.claim_name(&mut buffer), &inner.ids);
        inner.manager.submit_and_wait(&claim).map(Some)
    }
}

/// A claim for all of one device, without end and without a wait.
#[inline(always)]
pub(super) fn default_claim<'a>(holder: &'a str, devices: &'a [ResourceId]) -> Claim<'a> {
    let candidates = Candidates::Declared(devices);
    Claim { candidates, take: Take::Exclusive, ..Claim::one(holder, &[]) }
}

/// `pool.claim().await`, on any executor. Dropping the future withdraws the claim.
impl<'a> IntoFuture for GpuClaim<'a> {
    type Output = Result<Option<GpuLease>, PoolError>;
    type IntoFuture = GpuClaiming<'a>;

    fn into_future(self) -> Self::IntoFuture {
        GpuClaiming { claim: self, future: ClaimFuture::default() }
    }
}

/// A claim for devices that is awaited. It is submitted when it is polled first, and withdrawn when
/// it is dropped.
///
/// ```
/// use std::future::IntoFuture;
/// use std::task::{Context, Poll, Waker};
/// use ternlease::{GpuPool, PoolOptions};
///
/// let pool = GpuPool::open_with("process:", PoolOptions::from_spec("fake:1")?)?;
/// let first = pool.try_claim()?;
/// // What an executor does with `pool.claim().await`:
/// let mut future = Box::pin(pool.claim().into_future());
/// let mut context = Context::from_waker(Waker::noop());
/// assert!(future.as_mut().poll(&mut context).is_pending());
/// drop(first); // wakes the task
/// assert!(matches!(future.as_mut().poll(&mut context), Poll::Ready(Ok(Some(_)))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "a future asks for nothing until it is awaited"]
pub struct GpuClaiming<'a> {
    claim: GpuClaim<'a>,
    future: ClaimFuture,
}

impl Future for GpuClaiming<'_> {
    type Output = Result<Option<GpuLease>, PoolError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let claim = self.claim;
        if claim.pool.capacity() == 0 {
            return Poll::Ready(Ok(None));
        }
        let submit = || claim.with_claim(|manager, claim| manager.submit(claim));
        let granted = self.future.poll(context, claim.pool.manager(), submit);
        granted.map(|granted| {
            let (id, picks) = granted?;
            claim.lease(id, &picks).map(Some)
        })
    }
}
