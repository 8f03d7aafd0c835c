//! The counters as text for Prometheus.

use std::fmt::{Display, Write};

use super::LeaseManager;
use crate::home::Home;
use crate::table::{Memory, Query, Reason, Table};

impl LeaseManager {
    /// The counters in the text format of Prometheus, all of one instant: leases held, claims
    /// waiting, and how many were granted, revoked, or ended for each [`Reason`] so far. If machines
    /// share the table, also what this process has done with its log.
    ///
    /// ```
    /// let leases = ternlease::LeaseManager::new();
    /// leases.acquire("gpu0", "worker", 3)?;
    /// assert!(leases.metrics().contains("ternlease_leases_held 1\n"));
    /// # Ok::<(), ternlease::Error>(())
    /// ```
    pub fn metrics(&self) -> String {
        let mut text = self.home().query(&Metrics);
        let metrics = self.home().cluster().map_or_else(Vec::new, |cluster| cluster.metrics());
        for (kind, name, help, value) in metrics {
            put_metric(&mut text, kind, name, help, value);
        }
        text
    }
}

fn put_metric(text: &mut String, kind: &str, name: &str, help: &str, value: impl Display) {
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "# HELP ternlease_{name} {help}\n# TYPE ternlease_{name} {kind}\nternlease_{name} {value}\n"
    );
}

/// The text of [`LeaseManager::metrics`].
struct Metrics;

impl Query for Metrics {
    type Answer = String;

    fn answer<M: Memory>(&self, table: &Table<M>) -> String {
        let mut text = String::new();
        let mut line = |kind: &str, name: &str, help: &str, value: u64| {
            put_metric(&mut text, kind, name, help, value);
        };
        line("gauge", "leases_held", "Leases held now.", table.held().into());
        line("gauge", "claims_waiting", "Claims in line now.", table.waiting().into());
        line("counter", "granted_total", "Leases granted.", table.granted());
        line("counter", "revoked_total", "Leases revoked.", table.revocations());
        line(
            "counter",
            "revoked_by_others_total",
            "Leases revoked by another user than that of their owner.",
            table.foreign_revocations(),
        );
        line("counter", "events_total", "Events recorded.", table.last_event());
        text.push_str("# HELP ternlease_ended_total Leases ended, or claims refused, by reason.\n");
        text.push_str("# TYPE ternlease_ended_total counter\n");
        for &reason in Reason::ALL {
            let count = table.count(reason);
            let _ = writeln!(text, "ternlease_ended_total{{reason=\"{reason}\"}} {count}");
        }
        text
    }
}
