//! [`EventReader`]: the history, and waits for new events.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use super::LeaseManager;
use super::signal::Signal;
#[cfg(target_os = "linux")]
use crate::home::event_fd::EventFd;
use crate::home::lifecycle::Lifecycle;
use crate::home::waiters::Subscription;
use crate::home::{AnyHome, EventPosition, Home};
use crate::rt;
use crate::table::query::EventsSince;
use crate::table::{Error, Event};

/// Reads events in order, and can wait for more: as a thread ([`wait`](Self::wait)) or with a file
/// descriptor ([`fd`](Self::fd)). The iterator returns `None` when there is no event now, and
/// continues when there is.
///
/// A reader does not keep the manager open. One that falls behind by more than
/// [`Limits::history`](crate::Limits::history) events continues with the oldest there is;
/// [`missed`](Self::missed) counts the others.
///
/// When the session of this process with etcd ends while etcd is unreachable, the reader gets
/// [`What::Ended`](crate::What::Ended) with [`Reason::EngineLost`](crate::Reason::EngineLost) for
/// each lease of this process at once. The table records these ends later; this reader then skips
/// them, and their numbers. Until then such an event has the number of the event before it.
///
/// ```
/// use ternlease::{LeaseManager, What};
///
/// let manager = LeaseManager::open("process:")?;
/// let mut events = manager.events(0);
/// let lease = manager.acquire("gpu0", "trainer", std::time::Duration::from_secs(30))?;
/// assert!(events.wait(None)?);
/// assert!(matches!(events.next().unwrap().what, What::Granted { lease: id, .. } if id == lease));
/// assert!(events.next().is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct EventReader {
    home: AnyHome,
    position: EventPosition,
    /// Does a read ask the engine of a table that machines share for newer events?
    asks: bool,
    missed: u64,
    ahead: VecDeque<Event>,
    signal: Arc<Signal>,
    listener: Subscription,
    #[cfg(target_os = "linux")]
    fd: Option<(Arc<EventFd>, Subscription)>,
}

impl LeaseManager {
    /// The events after number `cursor` (0: all that are remembered), and how many were missed
    /// because the reader fell behind. The next cursor is the number of the last event.
    ///
    /// ```
    /// use ternlease::{LeaseManager, What};
    ///
    /// let leases = LeaseManager::new();
    /// let id = leases.acquire("gpu0", "worker", 3)?;
    /// leases.tick();
    /// leases.release(id)?;
    /// let (events, missed) = leases.events_since(0);
    /// assert_eq!(missed, 0);
    /// assert!(matches!(events[1].what, What::Ended { held: 1, .. }));
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn events_since(&self, cursor: u64) -> (Vec<Event>, u64) {
        self.home().query(&EventsSince { cursor })
    }

    /// Reads the events after number `cursor`; 0: from the oldest that is remembered, `u64::MAX`:
    /// from now on.
    ///
    /// ```
    /// use ternlease::{LeaseManager, Options, Reason, What};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// let lease = manager.acquire("gpu0", "trainer", 9)?;
    /// let mut reader = manager.events(u64::MAX);
    /// manager.revoke(lease)?;
    /// let what = reader.next().unwrap().what;
    /// assert!(matches!(what, What::Ended { lease: id, reason: Reason::Operator, .. } if id == lease));
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn events(&self, cursor: u64) -> EventReader {
        let position = self.home().event_position(cursor);
        let signal = Arc::new(Signal::default());
        let listener = self.home().subscribe(Waker::from(signal.clone()));
        EventReader {
            home: self.home().clone(),
            position,
            asks: true,
            missed: 0,
            ahead: VecDeque::new(),
            signal,
            listener,
            #[cfg(target_os = "linux")]
            fd: None,
        }
    }
}

impl EventReader {
    /// How many events were overwritten before this reader read them, so far. To miss fewer, give
    /// the table more [history](crate::Limits::history), or read more often.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// The number of the last event that was read. Another reader can start from there.
    ///
    /// ```
    /// use ternlease::{LeaseManager, Options};
    ///
    /// let manager = LeaseManager::with(Options::ticks());
    /// manager.acquire("gpu0", "ann", 9)?;
    /// manager.acquire("gpu1", "bob", 9)?;
    /// let mut first = manager.events(0);
    /// first.next();
    /// let second = manager.events(first.cursor());
    /// assert_eq!(second.count(), 1);
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn cursor(&self) -> u64 {
        self.ahead.front().map_or(self.position.cursor, |event| event.number - 1)
    }

    /// Blocks the thread until there is an event to read, or for this time. Without a time there is
    /// no limit. Returns whether there is an event.
    ///
    /// # Errors
    ///
    /// [`Error::Closed`] if the manager is gone and all events were read; [`Error::Corrupt`] if a
    /// panic has poisoned the table.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ternlease::{Error, LeaseManager};
    ///
    /// let manager = LeaseManager::open("process:")?;
    /// let mut events = manager.events(0);
    /// assert_eq!(events.wait(Some(Duration::from_millis(1))), Ok(false));
    /// drop(manager);
    /// assert_eq!(events.wait(None), Err(Error::Closed));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<bool, Error> {
        // A time that cannot be represented is no limit.
        let until = timeout.and_then(|timeout| rt::instant().checked_add(timeout));
        loop {
            if self.fetch() {
                return Ok(true);
            }
            match self.home.lifecycle() {
                Lifecycle::Poisoned => return Err(Error::Corrupt),
                Lifecycle::Closed | Lifecycle::Forked => return Err(Error::Closed),
                _ => {}
            }
            if !self.signal.wait(self.home.poll_deadline(until))
                && until.is_some_and(|until| rt::instant() >= until)
            {
                return Ok(self.fetch());
            }
        }
    }

    /// Is the manager gone? The events that are left can still be read.
    pub fn is_closed(&self) -> bool {
        self.home.is_closed()
    }

    #[cfg(feature = "capi")]
    pub(crate) fn is_poisoned(&self) -> bool {
        self.home.lifecycle() == Lifecycle::Poisoned
    }

    #[cfg(feature = "capi")]
    pub(crate) fn poison(&self) {
        self.home.poison();
    }

    /// Reads local data only: no read waits for an unreachable engine.
    pub(super) fn local_only(mut self) -> Self {
        self.asks = false;
        self
    }

    pub(super) fn signal(&self) -> Arc<Signal> {
        self.signal.clone()
    }

    /// A file descriptor that is readable while there may be an event to read: from an event until
    /// the iterator has returned `None`, and always once the manager is gone. It belongs to the
    /// reader.
    ///
    /// # Errors
    ///
    /// [`Error::System`] if the system provides no descriptor, or could not start the ticker.
    #[cfg(target_os = "linux")]
    pub fn fd(&mut self) -> Result<std::os::fd::BorrowedFd<'_>, Error> {
        use std::os::fd::AsFd;
        if self.fd.is_none() {
            self.home.check_ticker()?;
            let fd = EventFd::new()?;
            let listener = self.home.subscribe(Waker::from(fd.clone()));
            // Events before the subscription did not notify the descriptor.
            fd.notify();
            self.fd = Some((fd, listener));
        }
        self.fd.as_ref().map(|(fd, _)| fd.as_fd()).ok_or(Error::Corrupt)
    }

    /// Reads new events. Returns whether there is one to read.
    fn fetch(&mut self) -> bool {
        if !self.ahead.is_empty() || !self.position.local.is_empty() {
            return true;
        }
        #[cfg(target_os = "linux")]
        if let Some((fd, _)) = &self.fd {
            fd.drain();
        }
        let mut events = Vec::new();
        let ended = self.home.lifecycle().has_ended();
        self.missed += self.home.events_after(&mut self.position, self.asks, &mut events);
        self.ahead.extend(events);
        let is_empty = self.ahead.is_empty() && self.position.local.is_empty();
        #[cfg(target_os = "linux")]
        if let Some((fd, _)) = &self.fd
            && (!is_empty || ended)
        {
            // A caller that reads one event per wake-up must be woken for the next, and for the
            // end.
            fd.notify();
        }
        !is_empty
    }
}

impl Iterator for EventReader {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        self.fetch();
        self.ahead.pop_front().or_else(|| self.position.local.pop_front())
    }
}

impl Drop for EventReader {
    fn drop(&mut self) {
        self.home.unsubscribe(self.listener);
        #[cfg(target_os = "linux")]
        if let Some((_, listener)) = &self.fd {
            self.home.unsubscribe(*listener);
        }
    }
}
