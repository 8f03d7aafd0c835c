//! Exports one function of its own, and nothing of ternlease.

use ternlease::{LeaseManager, Options};

/// How many leases are held after one was taken: 1.
#[unsafe(no_mangle)]
pub extern "C" fn downstream_leases() -> usize {
    let manager = LeaseManager::with(Options::ticks());
    let taken = manager.acquire("gpu0", "downstream", 1);
    taken.map_or(0, |_| manager.active_count())
}
