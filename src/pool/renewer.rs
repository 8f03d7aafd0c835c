//! [`Renewer`]: a thread of the library that renews leases in time, for as long as their pool
//! lives.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::watcher::spawn;
use crate::manager::LeaseManager;
use crate::table::{Error, FOREVER, LeaseId, Time};

/// How often a lease is renewed within its ttl: one delay must not end it.
const RENEWALS_PER_TTL: u32 = 3;

/// The leases of one pool that are renewed.
#[derive(Debug, Default)]
pub(super) struct Renewer {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// When to renew which lease next, and the interval.
    schedule: Mutex<BTreeMap<(Instant, LeaseId), Duration>>,
    closed: AtomicBool,
}

impl Renewer {
    /// Renews the lease from now on.
    pub fn add(&self, manager: &LeaseManager, id: LeaseId, ttl: Time) -> Result<(), Error> {
        if ttl == FOREVER {
            return Ok(());
        }
        if !manager.has_real_time() {
            return Err(Error::WrongClock);
        }
        let interval = Duration::from_micros(ttl) / RENEWALS_PER_TTL;
        let thread = self.thread(manager)?;
        self.shared.schedule.lock().insert((Instant::now() + interval, id), interval);
        thread.unpark();
        Ok(())
    }

    /// Does not renew this lease any more, unless a renewal runs at this moment.
    pub fn remove(&self, id: LeaseId) {
        self.shared.schedule.lock().retain(|(_, renewed), _| *renewed != id);
    }

    #[cfg(test)]
    pub fn count(&self) -> usize {
        self.shared.schedule.lock().len()
    }

    /// The thread, which starts with the first lease.
    fn thread(&self, manager: &LeaseManager) -> Result<Thread, Error> {
        let mut running = self.thread.lock();
        if let Some(handle) = &*running {
            return Ok(handle.thread().clone());
        }
        let (shared, manager) = (self.shared.clone(), manager.clone());
        let handle = spawn("tern-renew", move || shared.renew_in_time(&manager))?;
        let thread = handle.thread().clone();
        *running = Some(handle);
        Ok(thread)
    }
}

impl Shared {
    fn renew_in_time(&self, manager: &LeaseManager) {
        while !self.closed.load(Ordering::Acquire) {
            let now = Instant::now();
            let mut schedule = self.schedule.lock();
            let Some((&(at, id), &interval)) = schedule.first_key_value() else {
                drop(schedule);
                std::thread::park();
                continue;
            };
            if at > now {
                drop(schedule);
                std::thread::park_timeout(at - now);
                continue;
            }
            schedule.pop_first();
            let next = (now + interval, id);
            schedule.insert(next, interval);
            // A renewal may wake waiters, and their code may call the renewer.
            drop(schedule);
            match manager.renew(id) {
                // The table cannot be reached now: the lease may outlast that.
                Ok(_) | Err(Error::Stuck(_) | Error::Unavailable | Error::System(_)) => {}
                // A lease that has ended is not renewed again.
                Err(_) => drop(self.schedule.lock().remove(&next)),
            }
        }
    }
}

impl Drop for Renewer {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Release);
        if let Some(handle) = self.thread.get_mut() {
            handle.thread().unpark();
        }
    }
}
