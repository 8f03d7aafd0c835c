//! Putting a claim together.

use std::future::IntoFuture;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::{LeaseManager, Span, Ticket};
use crate::table::{Candidates, Claim, Error, FOREVER, LeaseId, Outcome, ResourceId, Take, Time};

/// A claim in the making. It asks for nothing until [`try_now`](Self::try_now), [`wait`](Self::wait),
/// [`wait_for`](Self::wait_for), [`enqueue`](Self::enqueue) or `.await`.
///
/// Unless told otherwise: one slot of one of the resources, without end, priority 0.
///
/// Claims of one holder are taken to be one line of work: a holder that waits while it holds something may be part of a deadlock.
/// Give each independent job a name of its own.
#[derive(Debug, Clone, Copy)]
#[must_use = "a claim asks for nothing until it is tried, waited for, queued or awaited"]
pub struct ClaimBuilder<'a> {
    manager: &'a LeaseManager,
    holder: &'a str,
    candidates: Candidates<'a>,
    count: u32,
    take: Take,
    ttl: Span,
    wait: Span,
    priority: i16,
    spare: bool,
    preemptible: bool,
    preempt: bool,
    grace: Span,
    parent: Option<LeaseId>,
}

impl<'a> ClaimBuilder<'a> {
    pub(super) fn new(manager: &'a LeaseManager, holder: &'a str) -> Self {
        ClaimBuilder {
            manager,
            holder,
            candidates: Candidates::Named(&[]),
            count: 1,
            take: Take::ONE_SLOT,
            ttl: Span::Forever,
            wait: Span::Forever,
            priority: 0,
            spare: false,
            preemptible: false,
            preempt: false,
            grace: Span::Zero,
            parent: None,
        }
    }

    /// The resources it may be served from, the preferred ones first.
    pub fn of(self, resources: &'a [&'a str]) -> Self {
        ClaimBuilder { candidates: Candidates::Named(resources), ..self }
    }

    /// As [`of`](Self::of), by the ids that [`LeaseManager::declare`] gave: spares looking up the names.
    pub fn of_declared(self, resources: &'a [ResourceId]) -> Self {
        ClaimBuilder { candidates: Candidates::Declared(resources), ..self }
    }

    /// How many of them it needs. All of these, or none.
    pub fn count(self, count: u32) -> Self {
        ClaimBuilder { count, ..self }
    }

    /// How much of each: [`Take::Exclusive`], [`Take::Shared`] or an amount.
    pub fn take(self, take: Take) -> Self {
        ClaimBuilder { take, ..self }
    }

    /// How long the lease lasts without renewal.
    pub fn ttl(self, ttl: impl Into<Span>) -> Self {
        ClaimBuilder { ttl: ttl.into(), ..self }
    }

    /// Higher goes first.
    pub fn priority(self, priority: i16) -> Self {
        ClaimBuilder { priority, ..self }
    }

    /// Take only what nobody else waits for; when somebody does, give it back after this notice.
    pub fn spare(self, notice: impl Into<Span>) -> Self {
        ClaimBuilder { spare: true, grace: notice.into(), ..self }
    }

    /// A claim of higher priority that asks to preempt may take the lease after this notice.
    pub fn preemptible(self, notice: impl Into<Span>) -> Self {
        ClaimBuilder { preemptible: true, grace: notice.into(), ..self }
    }

    /// Take preemptible leases of lower priority rather than wait for their end.
    pub fn preempt(self) -> Self {
        ClaimBuilder { preempt: true, ..self }
    }

    /// The lease ends with its parent, and never later.
    pub fn child_of(self, parent: LeaseId) -> Self {
        ClaimBuilder { parent: Some(parent), ..self }
    }

    /// For how long the claim stays in line once it is queued or awaited. Without end if not said.
    pub fn patience(self, wait: impl Into<Span>) -> Self {
        ClaimBuilder { wait: wait.into(), ..self }
    }

    /// A lease now, or [`Error::Busy`]. Overtakes nobody who waits.
    pub fn try_now(self) -> Result<LeaseId, Error> {
        match self.patience(Span::Zero).ask()? {
            Outcome::Granted(lease) => Ok(lease),
            // A claim that does not wait is never put in line.
            Outcome::Waiting(_) => Err(Error::Busy),
        }
    }

    /// A lease, however long it takes. Blocks the thread.
    pub fn wait(self) -> Result<LeaseId, Error> {
        let wait = self.manager.home().clock().measure(self.wait)?;
        self.manager.granted(self.ask()?, wait)
    }

    /// A lease within this time, or [`Error::Refused`]. Blocks the thread.
    pub fn wait_for(self, patience: impl Into<Span>) -> Result<LeaseId, Error> {
        match patience.into() {
            Span::Zero => self.try_now(),
            patience => self.patience(patience).wait(),
        }
    }

    /// Takes a place in line and returns at once. Dropping the ticket withdraws the claim.
    pub fn enqueue(self) -> Result<Ticket, Error> {
        Ok(match self.ask()? {
            Outcome::Granted(lease) => Ticket::granted(self.manager, lease),
            Outcome::Waiting(id) => Ticket::waiting(self.manager, id),
        })
    }

    /// As [`enqueue`](Self::enqueue), for those who cannot keep a [`Ticket`]: what becomes of the claim is asked by its id, and
    /// nobody withdraws it but [`LeaseManager::cancel_ticket`].
    #[inline]
    pub fn submit(self) -> Result<Outcome, Error> {
        self.ask()
    }

    #[inline(always)]
    fn ask(&self) -> Result<Outcome, Error> {
        let clock = self.manager.home().clock();
        let claim = Claim {
            holder: self.holder,
            candidates: self.candidates,
            count: self.count,
            take: self.take,
            ttl: clock.measure(self.ttl)?,
            wait: clock.measure(self.wait)?,
            priority: self.priority,
            spare: self.spare,
            preemptible: self.preemptible,
            preempt: self.preempt,
            grace: clock.measure(self.grace)?,
            parent: self.parent,
            owner: 0,
        };
        self.manager.ask(&claim)
    }
}

impl LeaseManager {
    #[inline(always)]
    pub(crate) fn ask(&self, claim: &Claim<'_>) -> Result<Outcome, Error> {
        self.home().claim(*claim)
    }

    /// The lease that a claim was granted, or will be.
    #[inline(always)]
    fn granted(&self, outcome: Outcome, wait: Time) -> Result<LeaseId, Error> {
        match outcome {
            Outcome::Granted(lease) => Ok(lease),
            Outcome::Waiting(id) => Ticket::waiting(self, id).wait_until(self.latest(wait)),
        }
    }

    /// When a claim that waits so long has been answered for certain, unless the memory that others share is damaged.
    fn latest(&self, wait: Time) -> Option<Instant> {
        let late = Duration::from_micros(wait).saturating_add(Duration::from_secs(1));
        let limited = self.home().is_shared() && wait != FOREVER;
        if limited { Instant::now().checked_add(late) } else { None }
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

/// A claim that is awaited. It asks when it is polled first.
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
