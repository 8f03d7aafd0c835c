//! Putting a claim for devices before the table, and waiting for the answer: as a thread, or as a task.

use std::borrow::Cow;
use std::future::IntoFuture;
use std::pin::Pin;
use std::task::{Context, Poll};

#[cfg(doc)]
use super::GpuPool;
use super::naming::claim_name;
use super::{GpuClaim, GpuLease, PoolError};
use crate::home::Home;
use crate::manager::{Span, Ticket};
use crate::table::{Candidates, Claim, Error, LeaseId, Outcome, Picks, Placed, ResourceId, Time};

/// The ways to ask.
impl GpuClaim<'_> {
    /// A lease now, or not at all; `None` if the pool has no devices. Overtakes nobody who waits.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`], in [`PoolError::Lease`], if it is not free; for claims that make no sense see [above](Self#errors).
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
        match self.patience(Span::Zero).ask()? {
            Asked::NoDevices => Ok(None),
            Asked::Granted(lease) => Ok(Some(lease)),
            // A claim that does not wait is never put in line.
            Asked::Waiting(_) => Err(Error::Busy.into()),
        }
    }

    /// A lease, however long it takes, or as long as [`patience`](Self::patience) says; `None` if the pool has no devices. Blocks the thread.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`], in [`PoolError::Lease`], if the claim left the line without a lease; for claims that make no sense see
    /// [above](Self#errors).
    pub fn wait(self) -> Result<Option<GpuLease>, PoolError> {
        match self.ask()? {
            Asked::NoDevices => Ok(None),
            Asked::Granted(lease) => Ok(Some(lease)),
            Asked::Waiting(ticket) => {
                let (lease, picks) = ticket.wait_for_picks()?;
                self.lease(lease, &picks).map(Some)
            }
        }
    }

    /// A lease within this time; `None` if the pool has no devices. Blocks the thread.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`], in [`PoolError::Lease`], when the time is over, or [`Error::Unavailable`] if the engine of a table that machines share cannot be reached
    /// then; [`Error::Busy`] if it is zero; otherwise as [`wait`](Self::wait).
    pub fn wait_for(self, patience: impl Into<Span>) -> Result<Option<GpuLease>, PoolError> {
        match patience.into() {
            Span::Zero => self.try_now(),
            patience => self.patience(patience).wait(),
        }
    }

    /// Takes a place in line if need be, for those who cannot keep a [`GpuLease`] or a ticket: what becomes of the claim is asked of the pool's
    /// [manager](GpuPool::manager) by its id. `None` if the pool has no devices. Nobody withdraws the claim, gives the devices back or keeps the
    /// lease alive but those who know the ids; see [`GpuPool::keep_alive`].
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait), but for what becomes of it later.
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
        Ok(self.place()?.map(|placed| placed.outcome))
    }

    #[inline]
    fn ask(&self) -> Result<Asked, PoolError> {
        Ok(match self.place()? {
            None => Asked::NoDevices,
            Some(Placed { outcome: Outcome::Granted(id), detail: picks }) => {
                Asked::Granted(self.lease(id, &picks)?)
            }
            Some(Placed { outcome: Outcome::Waiting(id), .. }) => {
                Asked::Waiting(Ticket::waiting(&self.pool.inner.manager, id))
            }
        })
    }

    /// Puts the claim before the table; `None` if there are no devices.
    #[inline]
    fn place(&self) -> Result<Option<Placed<Picks>>, PoolError> {
        let inner = &*self.pool.inner;
        if inner.devices.is_empty() {
            return Ok(None);
        }
        let candidates = self.candidates()?;
        let mut buffer = [0; 32];
        let holder = match self.holder {
            Some(holder) => holder,
            None => claim_name(inner.manager.owner(), inner.here.next_claim(), &mut buffer),
        };
        let claim = self.for_candidates(holder, &candidates)?;
        Ok(Some(inner.manager.home().claim(&claim)?))
    }

    /// The devices that may serve it.
    #[inline]
    pub(super) fn candidates(&self) -> Result<Cow<'_, [ResourceId]>, PoolError> {
        let inner = &*self.pool.inner;
        Ok(match self.count {
            1 if self.filter.is_empty() => Cow::Borrowed(&inner.ids),
            n if self.filter.is_empty() && n as usize <= inner.team.len() => {
                Cow::Borrowed(&inner.team)
            }
            n => Cow::Owned(inner.candidates(&self.filter, n)?),
        })
    }

    /// As the table takes it.
    #[inline]
    pub(super) fn for_candidates<'c>(
        &self,
        holder: &'c str,
        candidates: &'c [ResourceId],
    ) -> Result<Claim<'c>, Error> {
        let manager = &self.pool.inner.manager;
        Ok(Claim {
            holder,
            candidates: Candidates::Declared(candidates),
            count: self.count,
            together: self.together,
            take: self.take,
            ttl: self.measured_ttl()?,
            wait: manager.measure(self.wait)?,
            priority: self.priority,
            spare: self.spare,
            preemptible: self.preemptible,
            preempt: self.preempt,
            grace: manager.measure(self.grace)?,
            parent: self.parent,
            owner: 0,
        })
    }

    fn measured_ttl(&self) -> Result<Time, Error> {
        self.pool.inner.manager.measure(self.ttl)
    }

    /// The lease that the claim was granted, renewed from now on if that is wanted.
    #[inline]
    fn lease(&self, id: LeaseId, picks: &Picks) -> Result<GpuLease, PoolError> {
        let mut lease = GpuLease::of(self.pool, id, picks)?;
        if self.keep_alive {
            lease.keep_alive(self.measured_ttl()?)?;
        }
        Ok(lease)
    }
}

/// What became of a claim.
enum Asked {
    NoDevices,
    Granted(GpuLease),
    Waiting(Ticket),
}

/// `pool.claim().await`, on any executor. Dropping the future withdraws the claim.
impl<'a> IntoFuture for GpuClaim<'a> {
    type Output = Result<Option<GpuLease>, PoolError>;
    type IntoFuture = GpuClaiming<'a>;

    fn into_future(self) -> Self::IntoFuture {
        GpuClaiming { claim: self, ticket: None }
    }
}

/// A claim for devices that is awaited. It asks when it is polled first, and a place in line is given up when it is dropped.
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
    ticket: Option<Ticket>,
}

impl Future for GpuClaiming<'_> {
    type Output = Result<Option<GpuLease>, PoolError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let claim = self.claim;
        let mut ticket = match self.ticket.take() {
            Some(ticket) => ticket,
            None => match claim.ask()? {
                Asked::NoDevices => return Poll::Ready(Ok(None)),
                Asked::Granted(lease) => return Poll::Ready(Ok(Some(lease))),
                Asked::Waiting(ticket) => ticket,
            },
        };
        match ticket.poll_for_detail(context) {
            Poll::Ready(granted) => {
                let (lease, picks) = granted?;
                Poll::Ready(claim.lease(lease, &picks).map(Some))
            }
            Poll::Pending => {
                self.ticket = Some(ticket);
                Poll::Pending
            }
        }
    }
}
