//! A place in line.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::{LeaseManager, Shared};
use crate::home::wake::Role;
use crate::home::{Home, look, run};
use crate::table::{Cancelled, Error, LeaseId, Reason, TicketId, TicketState};

/// A claim in line. Wait for it as a thread ([`wait`](Self::wait)), as a task (it is a future), with a file descriptor
/// ([`fd`](Self::fd)) or with any [`Waker`] ([`watch`](Self::watch)); several at once if need be.
///
/// Whoever waits first takes the lease; a ticket that is dropped before withdraws the claim, and gives back what it was granted.
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
    /// In line, or decided and not collected.
    Queued(TicketId),
    /// Granted without standing in line, and not collected.
    Granted(LeaseId),
    /// The lease was collected, or there will be none.
    Collected,
}

impl Ticket {
    pub(crate) fn waiting(manager: &LeaseManager, id: TicketId) -> Self {
        Ticket { shared: manager.shared.clone(), kind: Kind::Queued(id) }
    }

    pub(super) fn granted(manager: &LeaseManager, lease: LeaseId) -> Self {
        Ticket { shared: manager.shared.clone(), kind: Kind::Granted(lease) }
    }

    /// Its id, if it had to stand in line.
    pub fn id(&self) -> Option<TicketId> {
        match self.kind {
            Kind::Queued(id) => Some(id),
            _ => None,
        }
    }

    /// What it is now. Does not take the lock.
    pub fn state(&self) -> TicketState {
        match self.kind {
            Kind::Queued(id) => self.shared.home.ticket(id).unwrap_or(FORGOTTEN),
            Kind::Granted(lease) => TicketState::Granted(lease),
            Kind::Collected => FORGOTTEN,
        }
    }

    /// Its place in line, from 1; `None` once it is decided.
    pub fn place(&self) -> Option<u32> {
        place(&self.shared.home, self.id()?)
    }

    /// Calls `waker` once the ticket is decided, each waker that was given; what it is now.
    pub fn watch(&self, waker: &Waker) -> TicketState {
        self.watch_as(Role::Watcher, waker)
    }

    fn watch_as(&self, role: Role, waker: &Waker) -> TicketState {
        match self.kind {
            Kind::Queued(id) => self.shared.home.watch(id, role, waker).unwrap_or(FORGOTTEN),
            _ => self.state(),
        }
    }

    /// A file descriptor that becomes readable once the ticket is decided.
    #[cfg(target_os = "linux")]
    pub fn fd(&self) -> Result<std::os::fd::OwnedFd, Error> {
        match self.kind {
            Kind::Queued(id) => self.shared.home.ticket_fd(id),
            _ => {
                let decided = crate::home::signal_fd::SignalFd::new()?;
                decided.raise();
                decided.share()
            }
        }
    }

    /// Blocks the thread until the ticket is decided.
    pub fn wait(self) -> Result<LeaseId, Error> {
        self.wait_until(None)
    }

    /// As [`Self::wait`], but not beyond this time, whatever the table says.
    pub(super) fn wait_until(mut self, until: Option<Instant>) -> Result<LeaseId, Error> {
        let state = match self.kind {
            Kind::Queued(id) => {
                self.shared.home.await_ticket(id, Role::Owner, until)?.unwrap_or(FORGOTTEN)
            }
            _ => self.state(),
        };
        match state {
            // It leaves the line as it goes.
            TicketState::Waiting => Err(Error::Refused(Reason::WaitTimedOut)),
            decided => self.collect(decided),
        }
    }

    /// The lease, which is the caller's from now on, or why there is none.
    fn collect(&mut self, mut state: TicketState) -> Result<LeaseId, Error> {
        if let Kind::Queued(id) = std::mem::replace(&mut self.kind, Kind::Collected)
            && !self.shared.home.collect(id)
        {
            state = FORGOTTEN;
        }
        match state {
            TicketState::Granted(lease) => Ok(lease),
            TicketState::Refused(reason) => Err(Error::Refused(reason)),
            TicketState::Waiting => Err(Error::Busy),
        }
    }
}

/// What a ticket is whose lease was collected already, or withdrawn.
const FORGOTTEN: TicketState = TicketState::Refused(Reason::Cancelled);

fn place(home: &Home, id: TicketId) -> Option<u32> {
    look!(home, |table| table.place(id))
}

/// Tickets by their ids, for those who cannot keep a [`Ticket`]: what
/// [`ClaimBuilder::submit`](super::ClaimBuilder::submit) put in line and nobody withdraws by itself.
impl LeaseManager {
    /// What became of a ticket; `None` if it is not remembered. Does not take the lock.
    #[inline]
    pub fn ticket_state(&self, id: TicketId) -> Option<TicketState> {
        self.home().ticket(id)
    }

    /// Blocks the thread until the ticket is decided, or for so long; what it is then. Once that is not
    /// [`TicketState::Waiting`], the lease is the caller's, and the ticket can be forgotten in its time.
    pub fn wait_for_ticket(
        &self,
        id: TicketId,
        timeout: Option<Duration>,
    ) -> Result<TicketState, Error> {
        // A time beyond all times is no limit.
        let until = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let state = self.home().await_ticket(id, Role::Watcher, until)?;
        // Somebody may have withdrawn it at this moment: then the lease is nobody's.
        let told =
            state.is_none_or(|state| state == TicketState::Waiting) || self.home().collect(id);
        if told { state.ok_or(Error::UnknownTicket) } else { Ok(FORGOTTEN) }
    }

    /// Withdraws a claim. A lease that it was granted is given back, unless
    /// [`wait_for_ticket`](Self::wait_for_ticket) has told of it.
    pub fn cancel_ticket(&self, id: TicketId) -> Result<Cancelled, Error> {
        run!(self.home(), |table, now| table.withdraw(now, id))
    }

    /// The place of a ticket in line, from 1; `None` once it is decided.
    pub fn ticket_place(&self, id: TicketId) -> Option<u32> {
        place(self.home(), id)
    }

    /// A file descriptor that becomes readable once the ticket is decided.
    #[cfg(target_os = "linux")]
    pub fn ticket_fd(&self, id: TicketId) -> Result<std::os::fd::OwnedFd, Error> {
        self.home().ticket_fd(id)
    }
}

impl Future for Ticket {
    type Output = Result<LeaseId, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.state();
        if state == TicketState::Waiting {
            state = self.watch_as(Role::Owner, context.waker());
        }
        match state {
            TicketState::Waiting => Poll::Pending,
            decided => Poll::Ready(self.collect(decided)),
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let home = &self.shared.home;
        match self.kind {
            Kind::Collected => {}
            // Either may have ended already: then there is nothing to give back.
            Kind::Granted(lease) => drop(run!(home, |table, now| table.release(now, lease))),
            Kind::Queued(id) => drop(run!(home, |table, now| table.withdraw(now, id))),
        }
    }
}
