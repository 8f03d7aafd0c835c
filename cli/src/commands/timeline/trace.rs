//! The timeline as a trace for Perfetto and for Chrome: one thread for each device, one slice for each lease.

use serde_json::{Value, json};

use super::history::{Bar, History};
use crate::people::actor_value;
use crate::text::reasons;

/// Writes it. Times are microseconds since the machine started.
pub fn write(history: &History, pool: &str) -> String {
    let mut events = vec![named("process_name", 0, json!({ "name": format!("ternlease {pool}") }))];
    let mut thread = 0;
    for row in &history.rows {
        for (number, lane) in row.lanes.iter().enumerate() {
            thread += 1;
            // Slices of one thread must not overlap: leases that share a device have threads of their own.
            let name = match number {
                0 => row.name.clone(),
                number => format!("{} ({})", row.name, number + 1),
            };
            events.push(named("thread_name", thread, json!({ "name": name })));
            events.push(named("thread_sort_index", thread, json!({ "sort_index": thread })));
            events.extend(lane.iter().map(|bar| slice(history, bar, thread, &row.name)));
        }
    }
    let trace = json!({ "displayTimeUnit": "ms", "traceEvents": events });
    crate::view::json::line(&trace) + "\n"
}

fn named(what: &str, thread: u32, args: Value) -> Value {
    json!({ "ph": "M", "pid": 1, "tid": thread, "name": what, "args": args })
}

fn slice(history: &History, bar: &Bar, thread: u32, device: &str) -> Value {
    json!({
        "ph": "X",
        "pid": 1,
        "tid": thread,
        "ts": bar.from,
        "dur": bar.to.saturating_sub(bar.from),
        "name": bar.holder,
        "cat": "lease",
        "args": {
            // Viewers are written in a language whose numbers are too short for it.
            "lease": bar.lease.to_string(),
            "device": device,
            "state": bar.fate.name(),
            "held": bar.fate.goes_on(),
            "reason": bar.reason.map(|reason| reason.name()),
            "reason_words": bar.reason.map(reasons::words),
            "ended_by": actor_value(bar.ended_by, bar.in_cluster),
            "revoker": bar.revoker,
            "acknowledged": bar.acknowledged,
            "granted_at": history.clock.iso(bar.from),
        },
    })
}
