//! [`ClaimBuilder`]: a claim for named resources.

use super::submit::ClaimOptions;
use super::{LeaseManager, Span, Ticket};
use crate::table::{Candidates, Claim, Error, LeaseId, Outcome, Placed, ResourceId, Take};

/// A claim that is not submitted yet. [`try_now`](Self::try_now), [`wait`](Self::wait),
/// [`wait_for`](Self::wait_for), [`enqueue`](Self::enqueue), [`submit`](Self::submit) and `.await`
/// submit it.
///
/// By default: one slot of one of the resources, without end, priority 0.
///
/// Claims of one holder count as one line of work: a holder that waits while it holds something may
/// be part of a deadlock. Give each independent job a name of its own.
///
/// | way to ask | if it is free | if it is not |
/// |---|---|---|
/// | [`try_now`](Self::try_now) | a lease | [`Error::Busy`] |
/// | [`wait`](Self::wait), [`wait_for`](Self::wait_for) | a lease | the thread sleeps |
/// | `.await` | a lease | the task sleeps; dropping the future withdraws the claim |
/// | [`enqueue`](Self::enqueue) | a [`Ticket`] that is granted | a [`Ticket`] that waits |
///
/// # Errors
///
/// All of them refuse an invalid claim at once and in the same way: [`Error::CountIsZero`],
/// [`Error::CountExceedsCandidates`], [`Error::DuplicateCandidate`], [`Error::ZeroAmount`],
/// [`Error::ZeroTtl`], [`Error::UnknownResource`], [`Error::ParentNotHeld`], [`Error::WrongClock`].
/// They also refuse a claim for more than exists ([`Error::Impossible`]): waiting would not help.
///
/// # Examples
///
/// ```
/// use ternlease::{LeaseManager, Options, Take};
///
/// let manager = LeaseManager::with(Options::ticks());
/// let lease = manager
///     .claim("trainer")
///     .of(&["gpu0", "gpu1", "gpu2", "gpu3"])
///     .count(2) // any two, both or none
///     .take(Take::Exclusive)
///     .ttl(60)
///     .try_now()?;
/// assert_eq!(manager.lease(lease).unwrap().takes.len(), 2);
/// # Ok::<(), ternlease::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
#[must_use = "a claim asks for nothing until it is tried, waited for, queued or awaited"]
pub struct ClaimBuilder<'a> {
    pub(super) manager: &'a LeaseManager,
    options: ClaimOptions<'a>,
}

impl<'a> ClaimBuilder<'a> {
    pub(super) fn new(manager: &'a LeaseManager, holder: &'a str) -> Self {
        ClaimBuilder { manager, options: ClaimOptions::new(Claim::one(holder, &[])) }
    }

    fn with(mut self, set: impl FnOnce(&mut ClaimOptions<'a>)) -> Self {
        set(&mut self.options);
        self
    }

    /// The candidates, the preferred ones first. A name that is not declared comes into being with
    /// one slot.
    ///
    /// ```
    /// # use ternlease::{LeaseManager, Options};
    /// # let manager = LeaseManager::with(Options::ticks());
    /// manager.acquire("gpu0", "bob", 9)?;
    /// let lease = manager.claim("me").of(&["gpu0", "gpu1"]).try_now()?;
    /// assert_eq!(manager.lease(lease).unwrap().takes[0].resource, "gpu1");
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn of(self, resources: &'a [&'a str]) -> Self {
        self.with(|options| options.claim.candidates = Candidates::Named(resources))
    }

    /// As [`of`](Self::of), by the ids that [`LeaseManager::declare`] returned: the names need not
    /// be looked up.
    ///
    /// ```
    /// # use ternlease::{LeaseManager, Options};
    /// # let manager = LeaseManager::with(Options::ticks());
    /// let gpus = [manager.declare("gpu0", 1, 0)?, manager.declare("gpu1", 1, 0)?];
    /// manager.claim("me").of_declared(&gpus).count(2).try_now()?;
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn of_declared(self, resources: &'a [ResourceId]) -> Self {
        self.with(|options| options.claim.candidates = Candidates::Declared(resources))
    }

    /// How many of the candidates it needs: all of these, or none. Linked ones are preferred, if a
    /// pool has declared the links.
    ///
    /// A claim never holds a part of what it asks for. So two claims for several resources cannot
    /// block each other.
    ///
    /// ```
    /// # use ternlease::{LeaseManager, Options};
    /// # let manager = LeaseManager::with(Options::ticks());
    /// # use ternlease::Error;
    /// let gpus = ["gpu0", "gpu1", "gpu2"];
    /// manager.claim("ann").of(&gpus).count(2).try_now()?;
    /// assert_eq!(manager.claim("bob").of(&gpus).count(2).try_now(), Err(Error::Busy));
    /// assert!(manager.held_by("bob").is_empty());
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn count(self, count: u32) -> Self {
        self.with(|options| options.claim.count = count)
    }

    /// All of one node: of resources that are in one machine
    /// ([`set_node`](LeaseManager::set_node)). Those without a node count as one node. Of the nodes
    /// that have enough, the claim gets the one with the least to spare. If no node has so many,
    /// that is [`Error::Impossible`] at once.
    pub fn on_one_node(self) -> Self {
        self.with(|options| options.claim.together = true)
    }

    /// How much of each: [`Take::Exclusive`], [`Take::Shared`] or an amount. One slot by default.
    ///
    /// ```
    /// # use ternlease::{LeaseManager, Options};
    /// # let manager = LeaseManager::with(Options::ticks());
    /// # use ternlease::Take;
    /// manager.declare("gpu0", 4, 24_576)?;
    /// let part = Take::Amount { slots: 1, memory: 8_192 };
    /// manager.claim("ann").of(&["gpu0"]).take(part).try_now()?;
    /// manager.claim("bob").of(&["gpu0"]).take(part).try_now()?;
    /// assert_eq!(manager.resource("gpu0").unwrap().used_memory, 16_384);
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn take(self, take: Take) -> Self {
        self.with(|options| options.claim.take = take)
    }

    /// How long the lease lasts without renewal. By default it has no end: then only
    /// [`release`](LeaseManager::release), a revocation or, in a shared table, the death of the
    /// process ends it.
    ///
    /// ```
    /// # use ternlease::{LeaseManager, Options};
    /// # let manager = LeaseManager::with(Options::ticks());
    /// let lease = manager.claim("me").of(&["gpu0"]).ttl(30).try_now()?;
    /// assert_eq!(manager.lease(lease).unwrap().end, 30);
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn ttl(self, ttl: impl Into<Span>) -> Self {
        self.with(|options| options.ttl = ttl.into())
    }

    /// Higher goes first; 0 by default. It counts in the queue only: a lease that is held stays
    /// held, unless it is [preemptible](Self::preemptible).
    ///
    /// A holder that makes a claim of higher priority wait inherits that priority for its own
    /// claims.
    ///
    /// ```
    /// # use ternlease::{LeaseManager, Options};
    /// # let manager = LeaseManager::with(Options::ticks());
    /// manager.acquire("gpu0", "bob", 9)?;
    /// let usual = manager.claim("usual").of(&["gpu0"]).enqueue()?;
    /// let urgent = manager.claim("urgent").of(&["gpu0"]).priority(5).enqueue()?;
    /// assert_eq!((urgent.place(), usual.place()), (Some(1), Some(2)));
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn priority(self, priority: i16) -> Self {
        self.with(|options| options.claim.priority = priority)
    }

    /// Take only what no other claim waits for, and give it back after this notice when one does.
    /// For work that fills gaps: it ends with
    /// [`Reason::SpareReclaimed`](crate::Reason::SpareReclaimed).
    ///
    /// ```
    /// # use ternlease::{LeaseManager, Options};
    /// # let manager = LeaseManager::with(Options::ticks());
    /// # use ternlease::LeaseState;
    /// let filler = manager.claim("filler").of(&["gpu0"]).spare(0).try_now()?;
    /// let job = manager.claim("job").of(&["gpu0"]).wait()?; // does not wait: the filler goes
    /// assert_eq!(manager.state(filler), Some(LeaseState::Revoked));
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn spare(self, notice: impl Into<Span>) -> Self {
        self.with(|options| (options.claim.spare, options.notice) = (true, notice.into()))
    }

    /// A claim of higher priority that asks to [preempt](Self::preempt) may take the lease after
    /// this notice. It ends with [`Reason::Preempted`](crate::Reason::Preempted).
    pub fn preemptible(self, notice: impl Into<Span>) -> Self {
        self.with(|options| (options.claim.preemptible, options.notice) = (true, notice.into()))
    }

    /// Take [preemptible](Self::preemptible) leases of lower priority instead of waiting for their
    /// end. The claim still waits for their notice.
    ///
    /// ```
    /// # use ternlease::{LeaseManager, Options};
    /// # let manager = LeaseManager::with(Options::ticks());
    /// # use ternlease::{Reason, TicketState};
    /// let low = manager.claim("low").of(&["gpu0"]).preemptible(2).try_now()?;
    /// let high = manager.claim("high").of(&["gpu0"]).priority(1).preempt().enqueue()?;
    /// assert_eq!(manager.lease(low).unwrap().reason, Some(Reason::Preempted));
    /// assert_eq!(high.state(), TicketState::Waiting); // for the notice of two ticks
    /// manager.tick();
    /// manager.tick();
    /// assert!(matches!(high.state(), TicketState::Granted(_)));
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn preempt(self) -> Self {
        self.with(|options| options.claim.preempt = true)
    }

    /// The lease ends with its parent, and never later. If the parent ends while the claim waits,
    /// it is refused ([`Reason::ParentEnded`](crate::Reason::ParentEnded)).
    ///
    /// ```
    /// # use ternlease::{LeaseManager, Options};
    /// # let manager = LeaseManager::with(Options::ticks());
    /// # use ternlease::Reason;
    /// let node = manager.acquire("node7", "job", 10)?;
    /// let gpu = manager.claim("step").of(&["node7/gpu0"]).child_of(node).try_now()?;
    /// manager.revoke(node)?;
    /// assert_eq!(manager.lease(gpu).unwrap().reason, Some(Reason::ParentRevoked));
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn child_of(self, parent: LeaseId) -> Self {
        self.with(|options| options.claim.parent = Some(parent))
    }

    /// How long the claim may wait in the queue, whichever method submits it. Without end by
    /// default; with zero it does not wait at all ([`Error::Busy`]).
    ///
    /// ```
    /// # use ternlease::{LeaseManager, Options};
    /// # let manager = LeaseManager::with(Options::ticks());
    /// # use ternlease::{Reason, TicketState};
    /// manager.acquire("gpu0", "bob", 9)?;
    /// let ticket = manager.claim("me").of(&["gpu0"]).patience(1).enqueue()?;
    /// manager.tick();
    /// assert_eq!(ticket.state(), TicketState::Refused(Reason::WaitTimedOut));
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn patience(self, wait: impl Into<Span>) -> Self {
        self.with(|options| options.max_wait = wait.into())
    }

    /// A lease now, or not at all. It does not overtake: a resource that is free but awaited by an
    /// earlier claim counts as taken.
    ///
    /// # Errors
    ///
    /// [`Error::Busy`]; for invalid claims see [above](Self#errors).
    ///
    /// ```
    /// # use ternlease::{LeaseManager, Options};
    /// # let manager = LeaseManager::with(Options::ticks());
    /// # use ternlease::Error;
    /// manager.claim("ann").of(&["gpu0"]).try_now()?;
    /// assert_eq!(manager.claim("bob").of(&["gpu0"]).try_now(), Err(Error::Busy));
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn try_now(mut self) -> Result<LeaseId, Error> {
        self.options.max_wait = Span::Zero;
        self.submit_and_wait()
    }

    /// A lease, however long it takes, or as long as [`patience`](Self::patience) allows. Blocks
    /// the thread.
    ///
    /// With a manager that counts ticks, another thread has to tick or to release.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if the claim ended without a lease, with the reason: its patience or its
    /// parent ended. For invalid claims see [above](Self#errors).
    ///
    /// ```
    /// use std::time::Duration;
    /// use ternlease::LeaseManager;
    ///
    /// let manager = LeaseManager::open("process:")?;
    /// manager.acquire("gpu0", "ann", Duration::from_millis(5))?; // and is never renewed
    /// let lease = manager.claim("bob").of(&["gpu0"]).wait()?;
    /// assert_eq!(manager.held_by("bob"), [lease]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait(mut self) -> Result<LeaseId, Error> {
        self.submit_and_wait()
    }

    /// A lease within this time. Blocks the thread. As [`patience`](Self::patience), then
    /// [`wait`](Self::wait).
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] with [`Reason::WaitTimedOut`](crate::Reason::WaitTimedOut) when the time
    /// is over, or [`Error::Unavailable`] if the engine of a table that machines share cannot be
    /// reached then; [`Error::Busy`] at once if the time is zero; otherwise as
    /// [`wait`](Self::wait).
    ///
    /// ```
    /// use std::time::Duration;
    /// use ternlease::{Error, LeaseManager, Reason};
    ///
    /// let manager = LeaseManager::open("process:")?;
    /// manager.acquire("gpu0", "ann", Duration::from_secs(60))?;
    /// let answer = manager.claim("bob").of(&["gpu0"]).wait_for(Duration::from_millis(5));
    /// assert_eq!(answer, Err(Error::Refused(Reason::WaitTimedOut)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait_for(self, patience: impl Into<Span>) -> Result<LeaseId, Error> {
        self.patience(patience).wait()
    }

    /// Puts the claim in the queue and returns at once. Dropping the ticket withdraws the claim,
    /// and gives back what it was granted.
    ///
    /// # Errors
    ///
    /// As [`try_now`](Self::try_now); [`Error::Busy`] only if the [`patience`](Self::patience) is
    /// zero.
    ///
    /// ```
    /// # use ternlease::{LeaseManager, Options};
    /// # let manager = LeaseManager::with(Options::ticks());
    /// let first = manager.acquire("gpu0", "ann", 9)?;
    /// let ticket = manager.claim("bob").of(&["gpu0"]).enqueue()?;
    /// assert_eq!(ticket.place(), Some(1));
    /// manager.release(first)?;
    /// let lease = ticket.wait()?; // decided: does not block
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn enqueue(self) -> Result<Ticket, Error> {
        Ok(match self.submit()? {
            Outcome::Granted(lease) => Ticket::granted(self.manager, lease),
            Outcome::Waiting(id) => Ticket::waiting(self.manager, id),
        })
    }

    /// As [`enqueue`](Self::enqueue), for a program that cannot keep a [`Ticket`]: the claim is
    /// known by its id, and only [`LeaseManager::cancel_ticket`] withdraws it.
    ///
    /// # Errors
    ///
    /// As [`enqueue`](Self::enqueue).
    ///
    /// ```
    /// # use ternlease::{LeaseManager, Options};
    /// # let manager = LeaseManager::with(Options::ticks());
    /// # use ternlease::{Outcome, TicketState};
    /// let first = manager.acquire("gpu0", "ann", 9)?;
    /// let claim = manager.claim("bob").of(&["gpu0"]);
    /// let Outcome::Waiting(id) = claim.submit()? else { panic!("it is taken") };
    /// manager.release(first)?;
    /// assert!(matches!(manager.ticket_state(id), Some(TicketState::Granted(_))));
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    #[inline]
    pub fn submit(mut self) -> Result<Outcome, Error> {
        let claim = self.options.measure(self.manager)?;
        let Placed { outcome, detail: () } = self.manager.submit(claim)?;
        Ok(outcome)
    }

    #[inline(always)]
    fn submit_and_wait(&mut self) -> Result<LeaseId, Error> {
        let claim = self.options.measure(self.manager)?;
        self.manager.submit_and_wait(claim).map(|(lease, ())| lease)
    }
}
