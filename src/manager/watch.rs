//! Watches of leases: a thread of the library reports revocations and ends to callbacks.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::Mutex;

use super::signal::Signal;
use super::{EventReader, LeaseManager};
use crate::home::{AnyHome, Home};
use crate::rt::{self, JoinHandle};
use crate::table::{Error, LeaseId, LeaseInfo, LeaseState, Reason, Time, What};

/// A change of a lease that is watched by [`LeaseManager::watch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notice {
    /// The lease.
    pub lease: LeaseId,
    /// [`LeaseState::Held`]: it will be revoked. Otherwise it is over; `None` if the table has
    /// forgotten it.
    pub state: Option<LeaseState>,
    /// Why it ends.
    pub reason: Option<Reason>,
    /// When it ends or ended.
    pub at: Time,
}

type Callback = Box<dyn FnMut(&Notice) + Send>;

/// Makes a descriptor readable when its lease changes, and at the latest when it is dropped, so
/// that no waiter is left.
#[cfg(target_os = "linux")]
struct FdCallback {
    signal: Arc<crate::home::event_fd::EventFd>,
    over: bool,
}

#[cfg(target_os = "linux")]
impl FdCallback {
    fn notify(&mut self, notice: &Notice) {
        self.over = notice.state != Some(LeaseState::Held);
        self.signal.notify();
    }
}

#[cfg(target_os = "linux")]
impl Drop for FdCallback {
    fn drop(&mut self) {
        if !self.over {
            self.signal.notify();
        }
    }
}

/// The watches of one manager.
#[derive(Default)]
pub(super) struct Watches {
    inner: Mutex<Option<Running>>,
}

struct Running {
    inbox: Arc<Inbox>,
    thread: JoinHandle<()>,
}

/// New watches, which the thread takes over.
struct Inbox {
    new: Mutex<Vec<(LeaseId, Callback)>>,
    signal: Arc<Signal>,
    /// Locked while a callback runs, or is dropped.
    calling: Mutex<()>,
}

impl LeaseManager {
    /// Calls `callback` when the lease gets notice of its revocation, again if the notice comes to
    /// end earlier, and when the lease is over; then never again. A thread of the library makes the
    /// calls, one after the other, without any lock. A callback may use the manager, but must not
    /// keep a clone of it. A callback that takes long delays those of other leases; one that panics
    /// does not affect them.
    ///
    /// # Errors
    ///
    /// [`Error::NotHeld`] if the lease is over, with the reason; [`Error::UnknownLease`];
    /// [`Error::System`] if no thread can be started.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    /// use ternlease::{LeaseManager, LeaseState, Reason};
    ///
    /// let manager = LeaseManager::open("process:")?;
    /// let lease = manager.acquire("gpu0", "trainer", Duration::from_secs(30))?;
    /// let (sender, receiver) = mpsc::channel();
    /// manager.watch(lease, move |notice| sender.send(*notice).unwrap())?;
    ///
    /// manager.revoke_with(lease, Reason::NodeDrain, "ops", Duration::from_secs(10))?;
    /// let notice = receiver.recv()?;
    /// assert_eq!(notice.state, Some(LeaseState::Held)); // still, for ten seconds
    /// assert_eq!(notice.reason, Some(Reason::NodeDrain));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn watch(
        &self,
        lease: LeaseId,
        callback: impl FnMut(&Notice) + Send + 'static,
    ) -> Result<(), Error> {
        self.prepare_watch(lease)?;
        self.add_watch(lease, callback);
        Ok(())
    }

    /// A file descriptor that becomes readable when [`Self::watch`] would call, and when the
    /// manager is closed. Read eight bytes to wait for the next change; [`lease`](Self::lease)
    /// returns the state.
    ///
    /// # Errors
    ///
    /// As [`Self::watch`]; [`Error::System`] if the system provides no descriptor.
    #[cfg(target_os = "linux")]
    pub fn watch_fd(&self, lease: LeaseId) -> Result<std::os::fd::OwnedFd, Error> {
        let signal = crate::home::event_fd::EventFd::new()?;
        let fd = signal.share()?;
        let mut callback = FdCallback { signal, over: false };
        self.watch(lease, move |notice| callback.notify(notice))?;
        Ok(fd)
    }

    /// Checks that the lease is held, and starts the thread. [`Self::add_watch`] cannot fail after
    /// this.
    pub(crate) fn prepare_watch(&self, lease: LeaseId) -> Result<(), Error> {
        match self.lease(lease) {
            None => return Err(Error::UnknownLease),
            Some(LeaseInfo { state: LeaseState::Held, .. }) => {}
            Some(over) => {
                let reason = over.reason.ok_or(Error::Corrupt)?;
                return Err(Error::NotHeld(over.state, reason));
            }
        }
        let mut inner = self.shared.watches.inner.lock();
        if inner.is_none() {
            *inner = Some(self.start_watching()?);
        }
        Ok(())
    }

    pub(crate) fn add_watch(&self, lease: LeaseId, callback: impl FnMut(&Notice) + Send + 'static) {
        if let Some(running) = &*self.shared.watches.inner.lock() {
            running.inbox.new.lock().push((lease, Box::new(callback)));
            running.inbox.signal.raise();
        }
    }

    fn start_watching(&self) -> Result<Running, Error> {
        // A notice must not wait for an unreachable engine.
        let reader = self.events(u64::MAX).local_only();
        let inbox = Arc::new(Inbox {
            new: Mutex::default(),
            signal: reader.signal(),
            calling: Mutex::default(),
        });
        let watcher = Watcher {
            home: self.home().clone(),
            reader,
            session_turns: self.home().session_turns(),
            inbox: inbox.clone(),
            watched: HashMap::new(),
        };
        let watch = move || {
            let home = watcher.home.clone();
            // The panic of a callback is caught earlier: this one left the table inconsistent.
            if catch_unwind(AssertUnwindSafe(|| watcher.run())).is_err() {
                home.poison();
            }
        };
        let thread = rt::spawn("ternlease-watch", watch)
            .map_err(|error| Error::System(error.raw_os_error().unwrap_or(0)))?;
        Ok(Running { inbox, thread })
    }
}

impl Watches {
    /// Call after the home was closed. Ends the thread: no callback runs after this, unless this is
    /// called by one.
    pub fn close(&self) {
        // Without the lock: a callback may be waiting for it.
        let running = self.inner.lock().take();
        if let Some(running) = running
            && running.thread.thread().id() != rt::current().id()
        {
            // The thread has reported its own panic by `poison`.
            let _ = running.thread.join();
        }
    }

    /// Waits until a callback that runs now has returned, unless this is called by one.
    #[cfg(feature = "capi")]
    pub fn join_callback(&self) {
        // Without the lock: a callback may be waiting for it.
        let running = match &*self.inner.lock() {
            Some(running) if running.thread.thread().id() != rt::current().id() => {
                running.inbox.clone()
            }
            _ => return,
        };
        drop(running.calling.lock());
    }
}

impl std::fmt::Debug for Watches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watches")
    }
}

struct Watched {
    callback: Callback,
    reported: Option<Notice>,
}

/// The state of the thread.
struct Watcher {
    home: AnyHome,
    reader: EventReader,
    session_turns: u64,
    inbox: Arc<Inbox>,
    watched: HashMap<LeaseId, Vec<Watched>>,
}

impl Watcher {
    fn run(mut self) {
        loop {
            let new = std::mem::take(&mut *self.inbox.new.lock());
            for (lease, callback) in new {
                self.watched.entry(lease).or_default().push(Watched { callback, reported: None });
                self.report(lease);
            }
            let missed = self.reader.missed();
            while let Some(event) = self.reader.next() {
                if let What::Revoking { lease, .. } | What::Ended { lease, .. } = event.what {
                    self.report(lease);
                }
            }
            // The end of a session is no event of the table.
            let turns = self.home.session_turns();
            if self.reader.missed() != missed
                || std::mem::replace(&mut self.session_turns, turns) != turns
            {
                let all: Vec<LeaseId> = self.watched.keys().copied().collect();
                all.into_iter().for_each(|lease| self.report(lease));
            }
            // The callbacks are dropped, which makes their descriptors readable.
            if self.home.lifecycle().has_ended() {
                return;
            }
            self.inbox.signal.wait(self.home.poll_deadline(None));
        }
    }

    /// Reports the state of a lease to its callbacks, unless it was reported.
    fn report(&mut self, lease: LeaseId) {
        let Some(watched) = self.watched.get_mut(&lease) else { return };
        // An uncommitted change is reported when it is committed, with the events or with the
        // session.
        let Some(info) = self.home.known_lease(lease) else { return };
        let notice = match info {
            None => Notice { lease, state: None, reason: None, at: 0 },
            Some(LeaseInfo { state: LeaseState::Held, revoking: false, .. }) => return,
            Some(info) => {
                Notice { lease, state: Some(info.state), reason: info.reason, at: info.end }
            }
        };
        for watched in watched {
            // A callback may have closed the manager.
            if self.home.is_closed() {
                return;
            }
            if watched.reported.replace(notice) != Some(notice) {
                let _calling = self.inbox.calling.lock();
                // A panic of one callback does not affect the others.
                let _ = catch_unwind(AssertUnwindSafe(|| (watched.callback)(&notice)));
            }
        }
        if notice.state != Some(LeaseState::Held) {
            let done = self.watched.remove(&lease);
            let _calling = self.inbox.calling.lock();
            let _ = catch_unwind(AssertUnwindSafe(|| drop(done)));
        }
    }
}
