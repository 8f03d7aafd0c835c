//! The etcd servers that other tests rely on: they come up, lead, stop, die and come back, and never outlive a test.
#![cfg(all(target_os = "linux", feature = "cluster"))]

#[path = "common/etcd.rs"]
mod etcd;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use etcd::{Etcd, until};

/// The processes whose command line has this in it.
fn processes_with(word: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let has = |path: &PathBuf| {
        let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(word)
    };
    entries.map(|entry| entry.path()).filter(has).collect()
}

#[test]
fn a_cluster_elects_anew_and_takes_the_old_leader_back() {
    let Some(mut etcd) = Etcd::cluster(3) else { return };
    assert_eq!(etcd.endpoints().len(), 3);
    let first = etcd.leader();
    etcd.stop(first);
    let second = until("another one leads", || Some(etcd.leader()).filter(|&now| now != first));
    etcd.cont(first);
    etcd.kill(second);
    assert_ne!(etcd.leader(), second);
    etcd.restart(second);
}

#[test]
fn nothing_stays_behind_when_a_test_panics() {
    let mut endpoint = String::new();
    let mut directory = PathBuf::new();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let Some(etcd) = Etcd::start() else { return };
        endpoint = etcd.endpoints().remove(0);
        directory = etcd.directory().to_owned();
        assert_eq!(processes_with(&endpoint).len(), 1);
        etcd.stop(0);
        panic!("as a failing test does");
    }));
    if !endpoint.is_empty() {
        assert!(outcome.is_err());
        assert_eq!(processes_with(&endpoint), Vec::<PathBuf>::new());
        assert!(directory.join("n0.log").exists() && !directory.join("n0").exists());
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
