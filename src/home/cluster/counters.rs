//! What a member counts of its work since it was opened, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::home::Metric;
use crate::table::Time;

#[derive(Debug, Default)]
pub(super) struct Counters {
    appends: AtomicU64,
    append_micros: AtomicU64,
    commands: AtomicU64,
    /// Entries that were applied.
    pub applied: AtomicU64,
    pub snapshots_written: AtomicU64,
    pub snapshots_loaded: AtomicU64,
}

/// Counters do not order other memory.
pub(super) fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

impl Counters {
    /// An append of some commands has ended after this time.
    pub fn note_append(&self, commands: usize, time: Time) {
        add(&self.appends, 1);
        add(&self.append_micros, time);
        add(&self.commands, commands as u64);
    }

    pub fn metrics(&self, malformed: u64, is_following: bool) -> Vec<Metric> {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
        let counter = |name, help, value| ("counter", name, help, value);
        let (written, loaded) = (get(&self.snapshots_written), get(&self.snapshots_loaded));
        vec![
            counter("appends_total", "Entries that this process appended.", get(&self.appends)),
            counter("append_seconds_total", "Time of appends.", get(&self.append_micros) / 1e6),
            counter("append_commands_total", "Commands in these entries.", get(&self.commands)),
            counter("entries_applied_total", "Entries applied.", get(&self.applied)),
            counter("entries_malformed_total", "Malformed entries of the log.", malformed as f64),
            counter("snapshots_written_total", "Snapshots written.", written),
            counter("snapshots_loaded_total", "Snapshots loaded to catch up.", loaded),
            ("gauge", "follows_log", "1 while the log is watched.", is_following.into()),
        ]
    }
}
