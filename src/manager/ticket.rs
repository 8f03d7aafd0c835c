//! [`Ticket`]: a claim in the queue.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::{LeaseManager, Shared};
use crate::home::waiters::WakerKind;
use crate::home::{Dropped, Home};
use crate::rt;
use crate::table::command::GrantDetail;
use crate::table::query::PlaceInQueue;
use crate::table::{Cancelled, Error, LeaseId, Reason, TicketId, TicketState};

/// A claim in the queue. Wait for it as a thread ([`wait`](Self::wait)), as a task (it is a
/// future), with a file descriptor ([`fd`](Self::fd)) or with any [`Waker`]
/// ([`watch`](Self::watch)), or in several of these ways.
///
/// The first wait takes the lease. A ticket that is dropped before withdraws the claim, and gives
/// back what it was granted. So a ticket leaves nothing behind, whatever happens to its thread or
/// task.
///
/// As a future it is ready with the lease, or with [`Error::Refused`] and the reason. It wakes its
/// task once, when it is resolved.
///
/// ```
/// use ternlease::{LeaseManager, TicketState};
///
/// let manager = LeaseManager::open("process:")?;
/// let first = manager.claim("a").of(&["gpu0"]).try_now()?;
/// let ticket = manager.claim("b").of(&["gpu0"]).enqueue()?;
/// assert_eq!(ticket.state(), TicketState::Waiting);
/// assert_eq!(ticket.place(), Some(1));
///
/// manager.release(first)?;
/// let second = ticket.wait()?;
/// assert_eq!(manager.held_by("b"), [second]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "dropping a ticket withdraws the claim"]
pub struct Ticket {
    shared: Arc<Shared>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// In the queue, or resolved and not collected.
    Queued(TicketId),
    /// Granted without a wait, and not collected.
    Granted(LeaseId),
    /// The lease was collected, or the claim was refused.
    Collected,
}

impl Ticket {
    pub(crate) fn waiting(manager: &LeaseManager, id: TicketId) -> Self {
        Ticket { shared: manager.shared.clone(), kind: Kind::Queued(id) }
    }

    pub(super) fn granted(manager: &LeaseManager, lease: LeaseId) -> Self {
        Ticket { shared: manager.shared.clone(), kind: Kind::Granted(lease) }
    }

    /// Its id, if it was put in the queue; `None` if it was granted at once.
    /// [`LeaseManager::ticket`] returns more about it.
    pub fn id(&self) -> Option<TicketId> {
        match self.kind {
            Kind::Queued(id) => Some(id),
            _ => None,
        }
    }

    /// Its state. Does not take the lock, and does not collect the lease: [`wait`](Self::wait) does
    /// that.
    ///
    /// ```
    /// use ternlease::{LeaseManager, Options, TicketState};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// let first = manager.acquire("gpu0", "ann", 9)?;
    /// let ticket = manager.claim("bob").of(&["gpu0"]).enqueue()?;
    /// assert_eq!(ticket.state(), TicketState::Waiting);
    /// manager.release(first)?;
    /// assert!(matches!(ticket.state(), TicketState::Granted(_)));
    /// drop(ticket); // bob changed its mind
    /// assert_eq!(manager.active_count(), 0);
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn state(&self) -> TicketState {
        match self.kind {
            Kind::Queued(id) => self.shared.home.ticket(id).unwrap_or(WITHDRAWN),
            Kind::Granted(lease) => TicketState::Granted(lease),
            Kind::Collected => WITHDRAWN,
        }
    }

    /// Its place in the queue, from 1; `None` once it is resolved. Only earlier claims for some of
    /// the same resources count.
    pub fn place(&self) -> Option<u32> {
        self.shared.home.query(&PlaceInQueue { ticket: self.id()? })
    }

    /// Calls each waker that was given once the ticket is resolved, and returns the present state.
    /// If that is not [`TicketState::Waiting`], no waker is called.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use std::task::{Wake, Waker};
    /// use ternlease::{LeaseManager, Options, TicketState};
    ///
    /// #[derive(Default)]
    /// struct Flag(AtomicBool);
    /// impl Wake for Flag {
    ///     fn wake(self: Arc<Self>) {
    ///         self.0.store(true, Ordering::Release);
    ///     }
    /// }
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// let first = manager.acquire("gpu0", "ann", 9)?;
    /// let ticket = manager.claim("bob").of(&["gpu0"]).enqueue()?;
    /// let flag = Arc::new(Flag::default());
    /// assert_eq!(ticket.watch(&Waker::from(flag.clone())), TicketState::Waiting);
    /// manager.release(first)?;
    /// assert!(flag.0.load(Ordering::Acquire));
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn watch(&self, waker: &Waker) -> TicketState {
        self.watch_as(WakerKind::Observer, waker)
    }

    fn watch_as(&self, kind: WakerKind, waker: &Waker) -> TicketState {
        match self.kind {
            Kind::Queued(id) => self.shared.home.watch(id, kind, waker).unwrap_or(WITHDRAWN),
            _ => self.state(),
        }
    }

    /// A file descriptor that becomes readable once the ticket is resolved, for event loops. The
    /// caller closes it; the ticket stays.
    ///
    /// # Errors
    ///
    /// [`Error::System`] if the system provides no descriptor, or could not start the ticker.
    #[cfg(target_os = "linux")]
    pub fn fd(&self) -> Result<std::os::fd::OwnedFd, Error> {
        match self.kind {
            Kind::Queued(id) => self.shared.home.ticket_fd(id),
            _ => {
                let decided = crate::home::event_fd::EventFd::new()?;
                decided.notify();
                decided.share()
            }
        }
    }

    /// Blocks the thread until the ticket is resolved, and takes the lease, which is the caller's
    /// from then on. [`patience`](super::ClaimBuilder::patience) limits the wait.
    ///
    /// # Errors
    ///
    /// [`Error::Refused`] if the claim was refused, with the reason.
    ///
    /// ```
    /// use ternlease::{Error, LeaseManager, Options, Reason};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// manager.acquire("gpu0", "ann", 9)?;
    /// let ticket = manager.claim("bob").of(&["gpu0"]).patience(1).enqueue()?;
    /// manager.tick();
    /// assert_eq!(ticket.wait(), Err(Error::Refused(Reason::WaitTimedOut)));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn wait(self) -> Result<LeaseId, Error> {
        self.wait_until(None).map(|(lease, ())| lease)
    }

    /// As [`Self::wait`], with the detail of a claim that waited, and not beyond this time.
    pub(super) fn wait_until<D: GrantDetail>(
        mut self,
        until: Option<Instant>,
    ) -> Result<(LeaseId, D), Error> {
        let state = match self.kind {
            Kind::Queued(id) => {
                self.shared.home.wait_ticket(id, WakerKind::Primary, until)?.unwrap_or(WITHDRAWN)
            }
            _ => self.state(),
        };
        match state {
            TicketState::Waiting => Err(self.time_out()),
            decided => self.collect(decided),
        }
    }

    /// Withdraws the claim because the time of the wait is over. Returns why there is no lease.
    fn time_out(&mut self) -> Error {
        match self.withdraw() {
            // It may have been granted meanwhile: the home gives the lease back later.
            Err(Error::Unavailable) => Error::Unavailable,
            _ => Error::Refused(Reason::WaitTimedOut),
        }
    }

    /// Withdraws the claim, or gives back what it was granted. An error if it has ended already, or
    /// if the engine cannot be reached.
    fn withdraw(&mut self) -> Result<(), Error> {
        let home = &self.shared.home;
        match std::mem::replace(&mut self.kind, Kind::Collected) {
            Kind::Collected => Ok(()),
            Kind::Granted(lease) => home.give_back(Dropped::Lease(lease)),
            Kind::Queued(id) => home.give_back(Dropped::Ticket(id)),
        }
    }

    /// The lease, which is the caller's from now on, or why there is none. The detail is known for
    /// a claim that waited.
    fn collect<D: GrantDetail>(&mut self, mut state: TicketState) -> Result<(LeaseId, D), Error> {
        let mut detail = D::default();
        if let Kind::Queued(id) = std::mem::replace(&mut self.kind, Kind::Collected) {
            let collected = self.shared.home.collect(id);
            if collected.withdrawn {
                state = WITHDRAWN;
            }
            detail = collected.detail;
        }
        match state {
            TicketState::Granted(lease) => Ok((lease, detail)),
            TicketState::Refused(reason) => Err(Error::Refused(reason)),
            TicketState::Waiting => Err(Error::Busy),
        }
    }
}

/// The state of a ticket that was collected or withdrawn.
const WITHDRAWN: TicketState = TicketState::Refused(Reason::Cancelled);

/// Tickets by their ids, for programs that cannot keep a [`Ticket`]: what
/// [`ClaimBuilder::submit`](super::ClaimBuilder::submit) put in the queue.
impl LeaseManager {
    /// The state of a ticket; `None` if it is not known. Does not take the lock. The result is
    /// known until it was collected by [`wait_for_ticket`](Self::wait_for_ticket) and newer tickets
    /// have been resolved.
    ///
    /// ```
    /// use ternlease::{LeaseManager, Options, Outcome, TicketState};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// let first = manager.acquire("gpu0", "ann", 9)?;
    /// let claim = manager.claim("bob").of(&["gpu0"]);
    /// let Outcome::Waiting(id) = claim.submit()? else { panic!("it is taken") };
    /// assert_eq!(manager.ticket_state(id), Some(TicketState::Waiting));
    /// assert_eq!(manager.ticket_place(id), Some(1));
    /// manager.release(first)?;
    /// let state = manager.wait_for_ticket(id, None)?;
    /// assert!(matches!(state, TicketState::Granted(_)));
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    #[inline]
    pub fn ticket_state(&self, id: TicketId) -> Option<TicketState> {
        self.home().ticket(id)
    }

    /// Blocks the thread until the ticket is resolved, or for so long. Returns the state then. Once
    /// that is not [`TicketState::Waiting`], the lease is the caller's, and the table may forget
    /// the ticket.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownTicket`] if it is not known.
    pub fn wait_for_ticket(
        &self,
        id: TicketId,
        timeout: Option<Duration>,
    ) -> Result<TicketState, Error> {
        // A time that cannot be represented is no limit.
        let until = timeout.and_then(|timeout| rt::instant().checked_add(timeout));
        let state = self.home().wait_ticket(id, WakerKind::Observer, until)?;
        // If another thread has withdrawn it at this moment, the lease was given back.
        let decided = state.is_some_and(|state| state != TicketState::Waiting);
        if decided && self.home().collect::<()>(id).withdrawn {
            return Ok(WITHDRAWN);
        }
        state.ok_or(Error::UnknownTicket)
    }

    /// Withdraws a claim. A lease that it was granted is given back, unless
    /// [`wait_for_ticket`](Self::wait_for_ticket) has returned it.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownTicket`] if it is not known; [`Error::Unavailable`] if machines share the
    /// table and its engine cannot be reached: it is withdrawn as soon as the engine can be.
    ///
    /// ```
    /// use ternlease::{Cancelled, LeaseManager, Options, Outcome};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// manager.acquire("gpu0", "ann", 9)?;
    /// let claim = manager.claim("bob").of(&["gpu0"]);
    /// let Outcome::Waiting(id) = claim.submit()? else { panic!("it is taken") };
    /// assert_eq!(manager.cancel_ticket(id)?, Cancelled::Left);
    /// assert_eq!(manager.pending_claimers(), 0);
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn cancel_ticket(&self, id: TicketId) -> Result<Cancelled, Error> {
        self.home().withdraw(id)
    }

    /// The place of a ticket in the queue, from 1; `None` once it is resolved. As
    /// [`Ticket::place`].
    pub fn ticket_place(&self, id: TicketId) -> Option<u32> {
        self.home().query(&PlaceInQueue { ticket: id })
    }

    /// A file descriptor that becomes readable once the ticket is resolved. As [`Ticket::fd`].
    ///
    /// # Errors
    ///
    /// As [`Ticket::fd`]; [`Error::UnknownTicket`] if it is not known.
    #[cfg(target_os = "linux")]
    pub fn ticket_fd(&self, id: TicketId) -> Result<std::os::fd::OwnedFd, Error> {
        self.home().ticket_fd(id)
    }
}

impl Ticket {
    /// As [`Future::poll`], for a waiting claim, with the detail of its lease.
    pub(crate) fn poll_for_detail<D: GrantDetail>(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Result<(LeaseId, D), Error>> {
        let mut state = self.state();
        if state == TicketState::Waiting {
            state = self.watch_as(WakerKind::Primary, context.waker());
        }
        match state {
            // After the registration: a home that ends later wakes the task.
            TicketState::Waiting => match self.shared.home.lifecycle().check_open() {
                Ok(()) => Poll::Pending,
                Err(error) => Poll::Ready(Err(error)),
            },
            decided => Poll::Ready(self.collect(decided)),
        }
    }
}

impl Future for Ticket {
    type Output = Result<LeaseId, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.poll_for_detail::<()>(context).map_ok(|(lease, _)| lease)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // A drop cannot report an error.
        let _ = self.withdraw();
    }
}
