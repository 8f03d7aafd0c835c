//! What a home asks of the machine that it runs on: locks, threads that sleep, the time, chance. In tests a simulated machine can answer instead,
//! so that every run can be had again (`simulation/`); everything below that waits or differs from run to run must come from here.

#[cfg(all(test, feature = "cluster", unix))]
pub(crate) use super::simulation::world::*;

#[cfg(not(all(test, feature = "cluster", unix)))]
pub(crate) use real::*;

#[cfg_attr(all(test, feature = "cluster", unix), allow(unused_imports))] // Some are simulated whole.
pub(crate) mod real {
    use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

    #[cfg(feature = "cluster")]
    pub(crate) use parking_lot::Condvar;
    pub(crate) use parking_lot::{Mutex, MutexGuard};
    #[cfg(feature = "cluster")]
    pub(crate) use std::thread::sleep;
    pub(crate) use std::thread::{JoinHandle, Thread, current, park, park_timeout};

    pub(crate) use crate::home::thread::spawn;
    use crate::table::Time;

    #[inline(always)]
    pub(crate) fn instant() -> Instant {
        Instant::now()
    }

    /// By this machine's calendar.
    pub(crate) fn since_1970() -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
    }

    /// The name of this machine; empty if the system does not tell it.
    #[cfg(feature = "cluster")]
    pub(crate) fn node_name() -> String {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        name.trim_end().to_owned()
    }

    /// In microseconds, sleep of the machine included.
    #[inline(always)]
    pub(crate) fn since_boot() -> Time {
        crate::home::clock::microseconds_since_boot()
    }

    /// A number below `limit`, which is not 0.
    #[cfg(feature = "cluster")]
    pub(crate) fn below(limit: u64) -> u64 {
        use std::hash::{BuildHasher, Hasher, RandomState};
        // The keys of each hash table are new ones, and the first of them are from the system's own random numbers.
        RandomState::new().build_hasher().finish() % limit
    }
}
