//! The runtime of the machine.

use std::thread::LocalKey;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[cfg(all(feature = "cluster", not(ternlease_sim)))]
pub(crate) use parking_lot::Condvar;
#[cfg(not(ternlease_sim))]
pub(crate) use parking_lot::{Mutex, MutexGuard};
#[cfg(feature = "cluster")]
pub(crate) use std::thread::sleep;
#[cfg(all(feature = "cluster", not(ternlease_sim)))]
pub(crate) use std::thread::yield_now;
pub(crate) use std::thread::{JoinHandle, Thread, current, park, park_timeout};

pub(crate) use super::thread::spawn;

/// Reads a thread-local. None: the thread is ending and has lost it.
#[inline(always)]
pub(crate) fn with_local<T, R>(key: &'static LocalKey<T>, read: impl FnOnce(&T) -> R) -> Option<R> {
    key.try_with(read).ok()
}

#[inline(always)]
pub(crate) fn instant() -> Instant {
    Instant::now()
}

/// The wall clock, as time since 1970.
pub(crate) fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The host name; empty if the system does not provide it.
#[cfg(feature = "cluster")]
pub(crate) fn node_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim_end().to_owned()
}

/// `CLOCK_BOOTTIME` in microseconds. Unlike `Instant` it counts the time for which the machine was
/// suspended, so that a lease ends on time although its holder slept.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[inline(always)]
#[allow(unsafe_code)]
pub(crate) fn since_boot() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes. The call cannot fail for this clock, and would leave
    // zeros.
    unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut time) };
    time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1_000
}

/// The monotonic clock in microseconds, from its first use in this process.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn since_boot() -> u64 {
    use std::sync::OnceLock;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_micros() as u64
}

/// A random number below `limit`, which is not 0.
#[cfg(feature = "cluster")]
pub(crate) fn below(limit: u64) -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    // Each hash table has keys of its own, which come from the random numbers of the system.
    RandomState::new().build_hasher().finish() % limit
}
