//! Renewing leases in time, by a thread of the library's own that lives as long as the pool.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::manager::LeaseManager;
use crate::rt::thread;
use crate::table::{Error, FOREVER, LeaseId, Time};

/// The leases of one pool that are kept alive.
#[derive(Debug, Default)]
pub(super) struct Keeper {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// When to renew what next, and how often.
    due: Mutex<BTreeMap<(Instant, LeaseId), Duration>>,
    closed: AtomicBool,
}

impl Keeper {
    /// Renews the lease from now on, three times as often as its ttl asks for.
    pub fn keep(&self, manager: &LeaseManager, id: LeaseId, ttl: Time) -> Result<(), Error> {
        if ttl == FOREVER {
            return Ok(());
        }
        if !manager.has_real_time() {
            return Err(Error::WrongClock);
        }
        let every = Duration::from_micros(ttl) / 3;
        let thread = self.thread(manager)?;
        self.shared.due.lock().insert((Instant::now() + every, id), every);
        thread.unpark();
        Ok(())
    }

    /// Does not renew this lease any more, unless it is just doing so.
    pub fn forget(&self, id: LeaseId) {
        self.shared.due.lock().retain(|(_, kept), _| *kept != id);
    }

    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.shared.due.lock().len()
    }

    fn thread(&self, manager: &LeaseManager) -> Result<Thread, Error> {
        let mut running = self.thread.lock();
        if let Some(handle) = &*running {
            return Ok(handle.thread().clone());
        }
        let (shared, manager) = (self.shared.clone(), manager.clone());
        let handle = thread::spawn("tern-renew", move || shared.renew_in_time(&manager))
            .map_err(|error| Error::System(error.raw_os_error().unwrap_or(libc::EAGAIN)))?;
        let thread = handle.thread().clone();
        *running = Some(handle);
        Ok(thread)
    }
}

impl Shared {
    fn renew_in_time(&self, manager: &LeaseManager) {
        while !self.closed.load(Ordering::Acquire) {
            let now = Instant::now();
            let mut due = self.due.lock();
            let Some((&(at, id), &every)) = due.first_key_value() else {
                drop(due);
                std::thread::park();
                continue;
            };
            if at > now {
                drop(due);
                std::thread::park_timeout(at - now);
                continue;
            }
            due.pop_first();
            let next = (now + every, id);
            due.insert(next, every);
            // Renewing may wake others, and they may come here.
            drop(due);
            // One that is over needs no more of this.
            if manager.renew(id).is_err() {
                self.due.lock().remove(&next);
            }
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Release);
        if let Some(handle) = self.thread.get_mut() {
            handle.thread().unpark();
        }
    }
}
