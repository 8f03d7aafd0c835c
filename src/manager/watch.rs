//! Telling a holder what happens to its lease, by a call from a thread of the library's own.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::Mutex;

use super::signal::Signal;
use super::{EventReader, LeaseManager};
use crate::home::lifecycle::Lifecycle;
use crate::home::{AnyHome, Home};
use crate::rt::{self, JoinHandle};
use crate::table::{Error, LeaseId, LeaseInfo, LeaseState, Reason, Time, What};

/// What happened to a lease that is watched, as [`LeaseManager::watch`] tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Notice {
    /// The lease.
    pub lease: LeaseId,
    /// [`LeaseState::Held`]: it will be revoked. Otherwise it is over; `None` if by now nothing else is remembered of it.
    pub state: Option<LeaseState>,
    /// Why.
    pub reason: Option<Reason>,
    /// When it will be, or was, over.
    pub at: Time,
}

type Callback = Box<dyn FnMut(&Notice) + Send>;

/// Makes a descriptor readable when something happens to a lease; and at the latest when nobody watches any more, so that no one waits in vain.
#[cfg(target_os = "linux")]
struct Bell {
    signal: Arc<crate::home::event_fd::EventFd>,
    over: bool,
}

#[cfg(target_os = "linux")]
impl Bell {
    fn ring(&mut self, notice: &Notice) {
        self.over = notice.state != Some(LeaseState::Held);
        self.signal.notify();
    }
}

#[cfg(target_os = "linux")]
impl Drop for Bell {
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

/// New watches on their way to the thread.
struct Inbox {
    new: Mutex<Vec<(LeaseId, Callback)>>,
    signal: Arc<Signal>,
    /// Locked while a callback runs, or is dropped.
    calling: Mutex<()>,
}

impl LeaseManager {
    /// Calls `callback` when the lease gets a notice of its revocation (again if that comes to end earlier), and when it is over, for
    /// whatever reason; then never again. The calls come from a thread of the library's own, one after the other, without any
    /// lock: they may use the manager, but must not keep a clone of it. A callback that takes long holds up those of other leases; one that
    /// panics does them no harm.
    ///
    /// # Errors
    ///
    /// [`Error::NotHeld`] if the lease is over already, with the reason; [`Error::UnknownLease`]; [`Error::System`] if no thread can be started.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    /// use ternlease::{LeaseManager, LeaseState, Reason};
    ///
    /// let manager = LeaseManager::open("process:")?;
    /// let lease = manager.acquire("gpu0", "trainer", Duration::from_secs(30))?;
    /// let (tell, told) = mpsc::channel();
    /// manager.watch(lease, move |notice| tell.send(*notice).unwrap())?;
    ///
    /// manager.revoke_with(lease, Reason::NodeDrain, "ops", Duration::from_secs(10))?;
    /// let notice = told.recv()?;
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

    /// A file descriptor that becomes readable when [`Self::watch`] would call: with notice of the lease's revocation, and with its end; and when
    /// the manager is closed, after which nothing more would be told. Read eight bytes from it to be told again; what has happened says
    /// [`lease`](Self::lease).
    ///
    /// # Errors
    ///
    /// As [`Self::watch`]; [`Error::System`] if the system gives no descriptor.
    #[cfg(target_os = "linux")]
    pub fn watch_fd(&self, lease: LeaseId) -> Result<std::os::fd::OwnedFd, Error> {
        let signal = crate::home::event_fd::EventFd::new()?;
        let fd = signal.share()?;
        let mut bell = Bell { signal, over: false };
        self.watch(lease, move |notice| bell.ring(notice))?;
        Ok(fd)
    }

    /// Can the lease be watched? Then nothing stands in the way of [`Self::add_watch`].
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
        let reader = self.events(u64::MAX).without_questions();
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
            // A panic of a callback does not come here: the table is half done.
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
    /// The home is closed: the thread ends. After this no callback runs, unless this is called by one.
    pub fn close(&self) {
        // Not with the lock: a callback may just be asking for it.
        let running = self.inner.lock().take();
        if let Some(running) = running
            && running.thread.thread().id() != rt::current().id()
        {
            // It catches the panics of callbacks; one of its own is not the closer's.
            let _ = running.thread.join();
        }
    }

    /// After this no callback runs that ran before, unless this is called by one.
    #[cfg(feature = "capi")]
    pub fn await_callback(&self) {
        // Not with the lock: a callback may just be asking for it.
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
    told: Option<Notice>,
}

/// What the thread has.
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
                self.watched.entry(lease).or_default().push(Watched { callback, told: None });
                self.look(lease);
            }
            let missed = self.reader.missed();
            while let Some(event) = self.reader.next() {
                if let What::Revoking { lease, .. } | What::Ended { lease, .. } = event.what {
                    self.look(lease);
                }
            }
            // What a session takes with it is no event of the table.
            let turns = self.home.session_turns();
            if self.reader.missed() != missed
                || std::mem::replace(&mut self.session_turns, turns) != turns
            {
                let all: Vec<LeaseId> = self.watched.keys().copied().collect();
                all.into_iter().for_each(|lease| self.look(lease));
            }
            // After a panic a private table changes no more. In a shared one, leases still end.
            let poisoned = self.home.lifecycle() == Lifecycle::Poisoned;
            if self.home.is_closed() || poisoned && !self.home.is_shared() {
                return;
            }
            self.inbox.signal.wait(self.home.look_by(None));
        }
    }

    /// Tells those who watch the lease what they have not been told yet.
    fn look(&mut self, lease: LeaseId) {
        let Some(watched) = self.watched.get_mut(&lease) else { return };
        // What may be undone is reported when it is known, with the events or with the session.
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
            if watched.told.replace(notice) != Some(notice) {
                let _calling = self.inbox.calling.lock();
                // A callback that panics takes down nobody else's.
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
