//! Putting a claim before the table, and waiting for the answer: as a thread, or as a task.

use std::future::IntoFuture;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::{ClaimBuilder, LeaseManager, Ticket};
use crate::home::Home;
use crate::rt;
use crate::table::{Claim, Error, FOREVER, LeaseId, Outcome, Time};

impl LeaseManager {
    #[inline(always)]
    pub(crate) fn ask(&self, claim: &Claim<'_>) -> Result<Outcome, Error> {
        Ok(self.home().claim::<()>(claim)?.outcome)
    }

    /// The lease that a claim was granted, or will be.
    #[inline(always)]
    pub(super) fn granted(&self, outcome: Outcome, wait: Time) -> Result<LeaseId, Error> {
        match outcome {
            Outcome::Granted(lease) => Ok(lease),
            Outcome::Waiting(id) => Ticket::waiting(self, id).wait_until(self.latest(wait)),
        }
    }

    /// When a claim that waits so long has been answered for certain, unless the memory that others share is damaged.
    fn latest(&self, wait: Time) -> Option<Instant> {
        let late = Duration::from_micros(wait).saturating_add(Duration::from_secs(1));
        let limited = self.home().is_shared() && wait != FOREVER;
        if limited { rt::instant().checked_add(late) } else { None }
    }

    /// Asks as a claim of the C boundary does, and blocks the thread as long as it says.
    #[cfg(feature = "capi")]
    #[inline(always)]
    pub(crate) fn ask_and_wait(&self, claim: &Claim<'_>) -> Result<LeaseId, Error> {
        self.granted(self.ask(claim)?, claim.wait)
    }
}

/// `manager.claim(…).of(…).await`, on any executor. Dropping the future withdraws the claim.
impl<'a> IntoFuture for ClaimBuilder<'a> {
    type Output = Result<LeaseId, Error>;
    type IntoFuture = Claiming<'a>;

    fn into_future(self) -> Self::IntoFuture {
        Claiming { claim: self, ticket: None }
    }
}

/// A claim that is awaited. It asks when it is polled first, and a place in line is given up when it is dropped.
///
/// ```
/// use std::future::IntoFuture;
/// use std::task::{Context, Poll, Waker};
/// use ternlease::{LeaseManager, Options};
///
/// let manager = LeaseManager::with(Options::ticks());
/// let first = manager.acquire("gpu0", "ann", 9)?;
/// // What an executor does with `manager.claim("bob").of(&["gpu0"]).await`:
/// let mut future = Box::pin(manager.claim("bob").of(&["gpu0"]).into_future());
/// let mut context = Context::from_waker(Waker::noop());
/// assert!(future.as_mut().poll(&mut context).is_pending());
/// manager.release(first)?; // wakes the task
/// assert!(matches!(future.as_mut().poll(&mut context), Poll::Ready(Ok(_))));
/// # Ok::<(), ternlease::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "a future asks for nothing until it is awaited"]
pub struct Claiming<'a> {
    claim: ClaimBuilder<'a>,
    ticket: Option<Ticket>,
}

impl Future for Claiming<'_> {
    type Output = Result<LeaseId, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.ticket.is_none() {
            match self.claim.ask() {
                Ok(Outcome::Granted(lease)) => return Poll::Ready(Ok(lease)),
                Ok(Outcome::Waiting(id)) => {
                    self.ticket = Some(Ticket::waiting(self.claim.manager, id));
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        match &mut self.ticket {
            Some(ticket) => Pin::new(ticket).poll(context),
            None => Poll::Pending,
        }
    }
}
