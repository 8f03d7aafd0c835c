//! Submission of claims, the same for managers and pools: options, submit, wait, future.
//!
//! A builder holds [`ClaimOptions`], which become a [`Claim`] when it is submitted. A claim that is
//! not granted at once is a [`Ticket`]. A thread waits for it in [`LeaseManager::submit_and_wait`],
//! a task with a [`ClaimFuture`].

use std::future::IntoFuture;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::{ClaimBuilder, LeaseManager, Span, Ticket};
use crate::home::Home;
use crate::rt;
use crate::table::command::GrantDetail;
use crate::table::{Claim, Error, FOREVER, LeaseId, Outcome, Placed, TicketId, Time};

/// A claim whose times are not in the unit of a clock yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClaimOptions<'a> {
    /// Its times are set by [`Self::measure`].
    pub claim: Claim<'a>,
    pub ttl: Span,
    pub max_wait: Span,
    /// Of a spare or preemptible lease.
    pub notice: Span,
}

impl<'a> ClaimOptions<'a> {
    /// Options for a lease without end, after a wait without end.
    pub fn new(claim: Claim<'a>) -> Self {
        ClaimOptions { claim, ttl: Span::Forever, max_wait: Span::Forever, notice: Span::Zero }
    }

    /// The claim as the table takes it. Set in place, because a claim is a large value to copy.
    #[inline(always)]
    pub fn measure(&mut self, manager: &LeaseManager) -> Result<&Claim<'a>, Error> {
        self.claim.ttl = manager.measure(self.ttl)?;
        self.claim.wait = manager.measure(self.max_wait)?;
        self.claim.grace = manager.measure(self.notice)?;
        Ok(&self.claim)
    }
}

impl LeaseManager {
    #[inline(always)]
    pub(crate) fn submit<D: GrantDetail>(&self, claim: &Claim<'_>) -> Result<Placed<D>, Error> {
        self.home().claim(claim)
    }

    /// Submits a claim, and blocks the thread until it is resolved.
    #[inline(always)]
    pub(crate) fn submit_and_wait<D: GrantDetail>(
        &self,
        claim: &Claim<'_>,
    ) -> Result<(LeaseId, D), Error> {
        let Placed { outcome, detail } = self.submit(claim)?;
        match outcome {
            Outcome::Granted(lease) => Ok((lease, detail)),
            Outcome::Waiting(ticket) => self.wait_in_queue(ticket, claim.wait),
        }
    }

    #[cold]
    fn wait_in_queue<D: GrantDetail>(
        &self,
        ticket: TicketId,
        max_wait: Time,
    ) -> Result<(LeaseId, D), Error> {
        Ticket::waiting(self, ticket).wait_until(self.wait_bound(max_wait))
    }

    /// The time by which a claim that is submitted now is certainly resolved. The table resolves it
    /// earlier, unless other processes have damaged the table or its engine cannot be reached.
    fn wait_bound(&self, max_wait: Time) -> Option<Instant> {
        let late = Duration::from_micros(max_wait).saturating_add(Duration::from_secs(1));
        let bounded = self.is_shared() && max_wait != FOREVER;
        if bounded { rt::instant().checked_add(late) } else { None }
    }
}

/// A claim that a task waits for. Dropping it withdraws the claim.
#[derive(Debug, Default)]
pub(crate) struct ClaimFuture(Option<Ticket>);

impl ClaimFuture {
    /// Calls `submit` when it is polled first, then waits for the ticket.
    pub fn poll<D: GrantDetail, E: From<Error>>(
        &mut self,
        context: &mut Context<'_>,
        manager: &LeaseManager,
        submit: impl FnOnce() -> Result<Placed<D>, E>,
    ) -> Poll<Result<(LeaseId, D), E>> {
        let ticket = match &mut self.0 {
            Some(ticket) => ticket,
            empty => match submit()? {
                Placed { outcome: Outcome::Granted(lease), detail } => {
                    return Poll::Ready(Ok((lease, detail)));
                }
                Placed { outcome: Outcome::Waiting(id), .. } => {
                    empty.insert(Ticket::waiting(manager, id))
                }
            },
        };
        ticket.poll_for_detail(context).map_err(E::from)
    }
}

/// `manager.claim(…).of(…).await`, on any executor. Dropping the future withdraws the claim.
impl<'a> IntoFuture for ClaimBuilder<'a> {
    type Output = Result<LeaseId, Error>;
    type IntoFuture = Claiming<'a>;

    fn into_future(self) -> Self::IntoFuture {
        Claiming { claim: self, future: ClaimFuture::default() }
    }
}

/// A claim that is awaited. It is submitted when it is polled first, and withdrawn when it is
/// dropped.
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
    future: ClaimFuture,
}

impl Future for Claiming<'_> {
    type Output = Result<LeaseId, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let claim = self.claim;
        let submit = || claim.submit().map(|outcome| Placed { outcome, detail: () });
        let granted = self.future.poll(context, claim.manager, submit);
        granted.map_ok(|(lease, ())| lease)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_bound_of_private_table_is_none() {
        let manager = LeaseManager::open("process:").unwrap();
        assert_eq!(manager.wait_bound(5), None);
    }

    #[cfg(feature = "capi")]
    #[test]
    fn future_of_poisoned_manager_is_ready_with_an_error() {
        let manager = LeaseManager::open("process:").unwrap();
        manager.claim("ann").of(&["gpu"]).try_now().unwrap();
        let mut future = Box::pin(manager.claim("bob").of(&["gpu"]).into_future());
        let mut context = Context::from_waker(std::task::Waker::noop());
        assert!(future.as_mut().poll(&mut context).is_pending());
        manager.poison();
        assert_eq!(future.as_mut().poll(&mut context), Poll::Ready(Err(Error::Corrupt)));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn wait_bound_of_shared_table_is_second_after_wait() {
        let file = std::env::temp_dir().join(format!("ternlease-bound-{}", std::process::id()));
        let manager = LeaseManager::open(&format!("host:{}", file.display())).unwrap();
        let least = rt::instant() + Duration::from_secs(6);
        assert!(manager.wait_bound(5_000_000).is_some_and(|bound| bound >= least));
        assert_eq!(manager.wait_bound(FOREVER), None);
        drop(manager);
        std::fs::remove_file(file).unwrap();
    }
}
