//! The condition of a table on etcd, and what its members count.
#![cfg(all(target_os = "linux", feature = "cluster"))]

#[path = "common/etcd.rs"]
mod etcd;

use std::time::Duration;

use etcd::{Etcd, until};
use ternlease::{ClusterInfo, Error, LeaseManager};

const MINUTE: Duration = Duration::from_secs(60);

fn open(etcd: &Etcd, name: &str) -> LeaseManager {
    let url = format!("etcd://{}/{name}?session_ttl=60&member=own", etcd.authority());
    LeaseManager::open(&url).unwrap_or_else(|error| panic!("{error}"))
}

/// The value of a metric.
fn metric(manager: &LeaseManager, name: &str) -> f64 {
    let text = manager.metrics();
    let value = |line: &str| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
    text.lines().find_map(value).unwrap_or_else(|| panic!("{name}: {text}"))
}

fn acquire_and_release(manager: &LeaseManager, times: u32) {
    for _ in 0..times {
        let lease = manager.acquire("gpu0", "one", MINUTE).unwrap();
        manager.release(lease).unwrap();
    }
}

#[test]
fn info_describes_etcd_and_the_log() {
    let Some(etcd) = Etcd::start() else { return };
    let (one, _other) = (open(&etcd, "info"), open(&etcd, "info"));
    acquire_and_release(&one, 5);
    let info = one.cluster_info().unwrap();
    // Two joins and ten commands.
    assert_eq!((info.processes, info.entries, info.stored_entries), (2, 12, 12), "{info:?}");
    assert_eq!(info.entries_since_snapshot, 12);
    assert!(info.etcd_version.starts_with("3."), "{info:?}");
    assert_eq!(info.etcd_problems, [""; 0]);
    assert!((1..=info.database_bytes).contains(&info.database_used_bytes), "{info:?}");
    assert!(info.read_time > Duration::ZERO);
    assert!(info.clock_difference < MINUTE);
    assert_eq!(info.revisions, etcd.revision() as u64);
}

/// Compacts all revisions before this one.
fn compact(etcd: &Etcd, revision: i64) {
    let body = format!(r#"{{"revision":"{revision}"}}"#);
    etcd::gateway::call(etcd.client(0), "kv/compaction", &body);
}

#[test]
fn revisions_are_counted_from_the_last_compaction() {
    let Some(etcd) = Etcd::start() else { return };
    let manager = open(&etcd, "compacted");
    acquire_and_release(&manager, 20);
    let revision = etcd.revision();
    for kept in [30, 7, 1] {
        compact(&etcd, revision - kept + 1);
        assert_eq!(manager.cluster_info().unwrap().revisions, kept as u64);
    }
}

#[test]
fn alarm_is_reported() {
    let Some(etcd) = Etcd::start() else { return };
    let manager = open(&etcd, "alarm");
    let alarm = r#"{"action":"ACTIVATE","memberID":"1","alarm":"NOSPACE"}"#;
    etcd::gateway::call(etcd.client(0), "maintenance/alarm", alarm);
    let ClusterInfo { etcd_problems, .. } = manager.cluster_info().unwrap();
    assert!(etcd_problems.iter().any(|it| it.contains("NOSPACE")), "{etcd_problems:?}");
}

#[test]
fn table_of_one_process_has_no_cluster() {
    assert_eq!(LeaseManager::new().cluster_info(), Err(Error::NotShared));
    assert!(!LeaseManager::new().metrics().contains("appends"));
}

#[test]
fn members_count_appends_snapshots_and_resyncs() {
    let Some(etcd) = Etcd::start() else { return };
    let (one, late) = (open(&etcd, "counted"), open(&etcd, "counted"));
    acquire_and_release(&one, 200);
    assert_eq!(metric(&one, "ternlease_appends_total"), 400.0);
    assert_eq!(metric(&one, "ternlease_append_commands_total"), 400.0);
    assert!(metric(&one, "ternlease_append_seconds_total") > 0.0);
    until("the log is truncated", || {
        let info = one.cluster_info().unwrap();
        (info.stored_entries < info.entries / 2).then_some(())
    });
    assert!(metric(&one, "ternlease_snapshots_written_total") >= 1.0);
    assert_eq!(late.active_count(), 0);
    assert!(metric(&late, "ternlease_snapshots_loaded_total") >= 1.0);
    assert_eq!(metric(&late, "ternlease_entries_malformed_total"), 0.0);

    // A waiter follows the log.
    let lease = one.acquire("gpu0", "one", MINUTE).unwrap();
    assert_eq!(metric(&late, "ternlease_follows_log"), 0.0);
    let ticket = late.claim("late").of(&["gpu0"]).ttl(MINUTE).enqueue().unwrap();
    until("it follows", || (metric(&late, "ternlease_follows_log") == 1.0).then_some(()));
    let applied = metric(&late, "ternlease_entries_applied_total");
    one.release(lease).unwrap();
    ticket.wait().unwrap();
    assert!(metric(&late, "ternlease_entries_applied_total") > applied);
}
