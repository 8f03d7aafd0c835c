//! `ternlease metrics`: the pool's counters for a monitoring system.

use std::fmt::Write;
use std::process::ExitCode;

use ternlease::{GpuPool, ProcessLife};

use crate::exit::Failure;
use crate::place::Place;
use crate::text::line::clean;
use crate::text::put;
use crate::view::{Device, View};

/// Nothing is to be said: it is all of them, always.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Prints them in the text format of OpenMetrics, which Prometheus reads, too.
pub fn run(place: &Place, _args: &Args) -> Result<ExitCode, Failure> {
    let pool = place.open()?;
    let view = View::of(&pool, &place.url(), 0);
    let mut text = families_by_name(&pool.manager().metrics());
    about_devices(&mut text, &view);
    about_line_and_processes(&mut text, &view, &pool);
    about_cluster(&mut text, &pool);
    text.push_str("# EOF\n");
    put(text)?;
    Ok(ExitCode::SUCCESS)
}

/// In OpenMetrics a counter is described by its name alone; `_total` belongs to its value.
fn families_by_name(text: &str) -> String {
    let mut families = String::with_capacity(text.len());
    for line in text.lines() {
        let family = line.strip_prefix("# ").and_then(|line| line.split(' ').nth(1));
        match family.and_then(|name| name.strip_suffix("_total").map(|short| (name, short))) {
            Some((name, short)) => families.push_str(&line.replacen(name, short, 1)),
            None => families.push_str(line),
        }
        families.push('\n');
    }
    families
}

fn about_devices(text: &mut String, view: &View) {
    let mebibyte = 1_048_576.0;
    let mut each = |name: &str, help: &str, value: &dyn Fn(&Device) -> Option<f64>| {
        let values = view.devices.iter().filter_map(|device| Some((device, value(device)?)));
        let values = values.map(|(device, value)| {
            let labels = [("device", device.name.as_str()), ("key", device.key.as_str())];
            (label(&labels), value)
        });
        family(text, "gauge", name, help, values);
    };
    let flag = |flag: bool| if flag { 1.0 } else { 0.0 };
    each("device_health", "1 healthy, 0 draining, -1 failed.", &|device| {
        Some(f64::from(device.status.health as i8))
    });
    each("device_leased", "1 if anybody has a lease on it.", &|device| {
        Some(flag(!device.status.leases.is_empty()))
    });
    each("device_leases", "Leases on it now.", &|device| Some(device.status.leases.len() as f64));
    each("device_waiting", "Claims in line that it could serve.", &|device| {
        Some(device.waiting as f64)
    });
    each("device_slots", "Slots it has.", &|device| Some(device.status.slots.0.into()));
    each("device_slots_used", "Slots that leases have taken.", &|device| {
        Some(device.status.slots.1.into())
    });
    each("device_memory_bytes", "Memory it has.", &|device| {
        device.status.device.memory.map(|memory| f64::from(memory) * mebibyte)
    });
    each("device_memory_used_bytes", "Memory in use, where that can be seen.", &|device| {
        device.status.memory_used.map(|memory| f64::from(memory) * mebibyte)
    });
    each("device_busy_ratio", "How busy it was lately, where that can be seen.", &|device| {
        device.status.busy.map(|busy| f64::from(busy) / 100.0)
    });
    each("device_squatters", "Processes that use it without a lease.", &|device| {
        device.status.seen.map(|_| device.status.squatters.len() as f64)
    });
}

fn about_line_and_processes(text: &mut String, view: &View, pool: &GpuPool) {
    let oldest = view.line.iter().map(|waiting| view.since(waiting.info.queued_at)).max();
    let oldest = oldest.map_or(0.0, |wait| wait.as_secs_f64());
    let help = "How long the claim that waits longest has waited.";
    family(text, "gauge", "longest_wait_seconds", help, [(String::new(), oldest)]);
    let Some(host) = pool.manager().host() else { return };
    let live = |process: &&ternlease::ProcessInfo| process.life != ProcessLife::Gone;
    let live = host.processes.iter().filter(live).count() as f64;
    family(text, "gauge", "processes", "Processes that share the pool.", [(String::new(), live)]);
    for (name, help, value) in [
        ("process_deaths", "Processes that were found dead.", host.deaths),
        ("roll_backs", "Changes undone because their author died.", host.roll_backs),
    ] {
        family(text, "counter", name, help, [(String::new(), value as f64)]);
    }
}

/// The condition of etcd and of the log, if machines share the pool and etcd answers.
fn about_cluster(text: &mut String, pool: &GpuPool) {
    let Ok(info) = pool.manager().cluster_info() else { return };
    let quota = info.database_quota_bytes.map(|bytes| bytes as f64);
    for (name, help, value) in [
        ("processes", "Processes that share the pool.", Some(info.processes.into())),
        ("etcd_database_bytes", "Size of the database of etcd.", Some(info.database_bytes as f64)),
        ("etcd_quota_bytes", "Size at which etcd accepts no writes.", quota),
        ("etcd_revisions", "Revisions that etcd keeps.", Some(info.revisions as f64)),
        ("etcd_problems", "Alarms of etcd.", Some(info.etcd_problems.len() as f64)),
        ("etcd_read_seconds", "Time of one read.", Some(info.read_time.as_secs_f64())),
        (
            "clock_difference_seconds",
            "Least difference between the clocks of machines.",
            Some(info.clock_difference.as_secs_f64()),
        ),
        ("log_entries", "Entries of the log so far.", Some(info.entries as f64)),
        ("log_stored_entries", "Entries that etcd stores.", Some(info.stored_entries as f64)),
    ] {
        family(text, "gauge", name, help, value.map(|value| (String::new(), value)));
    }
}

/// One metric, for all that it is about. Nothing at all if it is about nothing.
fn family(
    text: &mut String,
    kind: &str,
    name: &str,
    help: &str,
    values: impl IntoIterator<Item = (String, f64)>,
) {
    let mut values = values.into_iter().peekable();
    if values.peek().is_none() {
        return;
    }
    // Writing to a string does not fail.
    let _ = write!(text, "# HELP ternlease_{name} {help}\n# TYPE ternlease_{name} {kind}\n");
    let total = if kind == "counter" { "_total" } else { "" };
    for (labels, value) in values {
        let _ = writeln!(text, "ternlease_{name}{total}{labels} {value}");
    }
}

/// `{device="nvidia:0",key="0000:07:00.0"}`.
fn label(pairs: &[(&str, &str)]) -> String {
    let escape = |value: &str| {
        // The format has an escape of its own for a line feed only; backslashes are doubled.
        let value: Vec<String> = value.split('\n').map(clean).collect();
        let value = value.iter().map(|part| part.replace('\\', "\\\\").replace('"', "\\\""));
        value.collect::<Vec<_>>().join("\\n")
    };
    let pairs: Vec<String> =
        pairs.iter().map(|(name, value)| format!("{name}=\"{}\"", escape(value))).collect();
    format!("{{{}}}", pairs.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_described_by_their_names_alone() {
        let text =
            "# HELP a_total b_total.\n# TYPE a_total counter\na_total 1\n# TYPE g gauge\ng 2\n";
        let families = "# HELP a b_total.\n# TYPE a counter\na_total 1\n# TYPE g gauge\ng 2\n";
        assert_eq!(families_by_name(text), families);
    }

    #[test]
    fn labels_cannot_break_out() {
        assert_eq!(label(&[("a", "x\"y\\z\nw\x1b")]), "{a=\"x\\\"y\\\\z\\nw\\\\u{1b}\"}");
    }
}
