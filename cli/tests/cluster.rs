//! The command on a pool that machines share.
#![cfg(feature = "cluster")]
#![allow(missing_docs)]

mod common;
#[path = "../../tests/common/etcd.rs"]
mod etcd;

use std::process::{Command, Stdio};

use common::{Started, errors, lives, text, wait_until};
use etcd::Etcd;
use ternlease::{LeaseInfo, LeaseManager};

fn command(url: &str, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ternlease"));
    command.env_remove("TERNLEASE_LEASE").env_remove("TERNLEASE_SLOTS");
    command.args(["--pool", url, "--devices", "fake:1"]).args(words).stdin(Stdio::null());
    command
}

/// How many devices are held. That a machine is there is a lease, too.
fn held(manager: &LeaseManager) -> usize {
    let leases = manager.leases();
    let of_devices = |lease: &&LeaseInfo| !lease.takes[0].resource.starts_with("node:");
    leases.iter().filter(of_devices).count()
}

#[test]
fn run_holds_its_device_until_all_that_it_started_is_gone() {
    let Some(etcd) = Etcd::start() else { return };
    let url = format!("etcd://{}/command?session_ttl=10", etcd.authority());
    let script = "sleep 1000 >/dev/null 2>&1 & echo $!; read line; exit 7";
    let mut first = command(&url, &["run", "--", "sh", "-c", script]);
    first.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut first = Started::new(first);
    let left_behind = first.number();
    let manager = LeaseManager::open(&url).unwrap();
    assert_eq!(held(&manager), 1);
    let status = command(&url, &["status"]).output().unwrap();
    assert!(status.status.success() && text(&status.stdout).contains("sh"), "{status:?}");
    assert!(!text(&status.stdout).contains("node:"), "{status:?}");

    let mut second = command(&url, &["run", "--quiet", "--", "echo", "mine"]);
    second.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut second = Started::new(second);
    wait_until("the second waits", || manager.pending_claimers() == 1);
    assert!(lives(left_behind));
    assert_eq!(first.end(), (Some(7), None));
    assert!(!lives(left_behind), "it would use a device that is not leased");
    assert_eq!(second.line(), "mine");
    assert_eq!(second.end(), (Some(0), None));
    wait_until("all is given back", || manager.active_count() == 0);
}

#[test]
fn what_cannot_outlive_its_process_is_refused() {
    let Some(etcd) = Etcd::start() else { return };
    let url = format!("etcd://{}/refused?session_ttl=10", etcd.authority());
    let refused = command(&url, &["claim"]).output().unwrap();
    assert!(!refused.status.success());
    assert!(errors(&refused).contains("ternlease run"), "{}", errors(&refused));
}

/// What a command prints.
fn printed(url: &str, words: &[&str]) -> String {
    let output = command(url, words).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    text(&output.stdout).to_owned()
}

#[test]
fn doctor_examines_etcd_and_the_log() {
    let Some(mut etcd) = Etcd::start() else { return };
    let url = format!("etcd://{}/doctor?session_ttl=60&timeout=2", etcd.authority());
    let manager = LeaseManager::open(&url).unwrap();
    let found = printed(&url, &["doctor"]);
    for words in ["etcd 3.", "MB of at most", "etcd keeps", "no difference between", "2 sessions"] {
        assert!(found.contains(words), "{words}: {found}");
    }
    assert!(!found.contains("lives in one process"), "{found}");
    drop(manager);
    etcd.kill(0);
    let output = command(&url, &["doctor"]).output().unwrap();
    assert!(!output.status.success());
    assert!(text(&output.stdout).contains("etcdctl endpoint health"), "{output:?}");
}

#[test]
fn metrics_describe_etcd_and_the_log() {
    let Some(etcd) = Etcd::start() else { return };
    let url = format!("etcd://{}/metrics?session_ttl=60", etcd.authority());
    let found = printed(&url, &["metrics"]);
    for line in [
        "ternlease_processes 1",
        "ternlease_etcd_problems 0",
        "ternlease_entries_malformed_total 0",
        "# TYPE ternlease_appends counter",
        "# TYPE ternlease_etcd_read_seconds gauge",
    ] {
        assert!(found.lines().any(|found| found == line), "{line}: {found}");
    }
    assert!(found.ends_with("# EOF\n"), "{found}");
}
