//! etcd is restored from an older backup: no id of a lease is issued twice.
#![cfg(all(target_os = "linux", feature = "cluster"))]

#[path = "common/etcd.rs"]
mod etcd;
#[path = "common/wires.rs"]
mod wires;

use std::collections::BTreeSet;
use std::sync::mpsc::channel;
use std::time::Duration;

use etcd::{Etcd, PATIENCE, until};
use ternlease::{Error, LeaseId, LeaseManager, LeaseState, Reason};
use wires::Wire;

/// Longer than each test, so that no lease expires by its own time limit.
const HOUR: Duration = Duration::from_secs(3600);

fn open(authority: &str) -> LeaseManager {
    // Sessions that last longer than the test: the backup has them, and etcd renews them after it
    // was restored.
    let url = format!("etcd://{authority}/restored?session_ttl=60&timeout=1&member=own");
    until("etcd lets the process in", || LeaseManager::open(&url).ok())
}

fn take(manager: &LeaseManager, names: &str) -> Vec<LeaseId> {
    let take = |number| {
        let name = format!("{names}{number}");
        until("etcd grants a lease", || manager.acquire(&name, "holder", HOUR).ok())
    };
    (0..20).map(take).collect()
}

fn is_refused(manager: &LeaseManager) -> Option<Error> {
    match manager.acquire("free", "holder", HOUR) {
        Err(error @ (Error::StoreWentBack { .. } | Error::OtherStore)) => Some(error),
        Err(_) => None,
        Ok(lease) => panic!("the restored table grants {lease}"),
    }
}

#[test]
fn restore_of_older_backup_is_refused_by_running_client_and_repeats_no_id() {
    let Some(mut etcd) = Etcd::start() else { return };
    let running = open(&etcd.authority());
    let first = running.acquire("kept", "holder", HOUR).unwrap();
    etcd.kill(0);
    etcd.back_up(0);
    etcd.launch(0);
    let issued = take(&running, "after");
    let (tell, notices) = channel();
    running.watch(first, move |notice| tell.send(*notice).unwrap()).unwrap();
    etcd.kill(0);
    etcd.restore(0);
    etcd.launch(0);
    // The client did not ask anything yet: it finds out by itself, when it has etcd again.
    let notice = notices.recv_timeout(PATIENCE).expect("a notice of the loss");
    assert_eq!((notice.lease, notice.reason), (first, Some(Reason::EngineLost)));
    let error = until("the client refuses the restored store", || is_refused(&running));
    let text = error.to_string();
    for words in ["older backup", "end all programs"] {
        assert!(text.contains(words), "{text}");
    }
    for lease in [&[first], issued.as_slice()].concat() {
        assert_eq!(running.state(lease), Some(LeaseState::Expired));
    }
    assert_eq!(running.session_left(), Some(Duration::ZERO));
    let new = open(&etcd.authority());
    let last = issued.iter().max().unwrap();
    let again = take(&new, "new");
    assert!(again.iter().all(|lease| lease > last), "{again:?} after {last}");
    assert!(is_refused(&running).is_some());
    new.verify().unwrap();
}

/// The client was cut off meanwhile, and the restored store has more revisions by now than the
/// client has ever seen.
#[test]
fn restored_store_that_moved_on_repeats_no_id() {
    let Some(mut etcd) = Etcd::start() else { return };
    let other = open(&etcd.authority());
    let before = other.acquire("before", "holder", HOUR).unwrap();
    etcd.kill(0);
    etcd.back_up(0);
    etcd.launch(0);
    until("etcd answers", || other.renew_for(before, HOUR).ok());
    let wire = Wire::to(etcd.client(0));
    let running = open(&wire.address.to_string());
    let issued = take(&running, "after");
    wire.cut();
    drop(other);
    etcd.kill(0);
    etcd.restore(0);
    etcd.launch(0);
    let new = open(&etcd.authority());
    let mut ids: BTreeSet<LeaseId> = issued.iter().copied().collect();
    let mut unique = |lease: LeaseId| assert!(ids.insert(lease), "{lease} is issued twice");
    take(&new, "new").into_iter().for_each(&mut unique);
    take(&new, "more").into_iter().for_each(&mut unique);
    wire.mend();
    let error = until("the client refuses the restored store", || {
        running
            .acquire("free", "holder", HOUR)
            .map_or_else(Some, |lease| {
                unique(lease);
                None
            })
            .filter(|error| !matches!(error, Error::Unavailable))
    });
    assert!(matches!(error, Error::StoreWentBack { .. } | Error::OtherStore), "{error:?}");
    new.verify().unwrap();
}

/// The table has fewer changes than the client has read, but other tables of the same etcd have moved its revision on.
#[test]
fn restored_table_is_refused_though_other_tables_moved_the_revision_on() {
    let Some(mut etcd) = Etcd::start() else { return };
    let other = open(&etcd.authority());
    let before = other.acquire("before", "holder", HOUR).unwrap();
    etcd.kill(0);
    etcd.back_up(0);
    etcd.launch(0);
    until("etcd answers", || other.renew_for(before, HOUR).ok());
    let wire = Wire::to(etcd.client(0));
    let running = open(&wire.address.to_string());
    let issued = take(&running, "after");
    wire.cut();
    drop(other);
    etcd.kill(0);
    etcd.restore(0);
    etcd.launch(0);
    let url = format!("etcd://{}/elsewhere?session_ttl=60&timeout=1&member=own", etcd.authority());
    let elsewhere = until("etcd lets the process in", || LeaseManager::open(&url).ok());
    take(&elsewhere, "one");
    take(&elsewhere, "two");
    wire.mend();
    let error = until("the client refuses the restored table", || is_refused(&running));
    assert!(matches!(error, Error::StoreWentBack { .. } | Error::OtherStore), "{error:?}");
    for lease in issued {
        assert_eq!(running.state(lease), Some(LeaseState::Expired));
    }
}

#[test]
fn other_cluster_is_refused_by_running_client() {
    let Some(mut etcd) = Etcd::start() else { return };
    let wire = Wire::to(etcd.client(0));
    let running = open(&wire.address.to_string());
    let lease = running.acquire("kept", "holder", HOUR).unwrap();
    wire.cut();
    etcd.kill(0);
    etcd.wipe(0);
    etcd.become_another();
    etcd.launch(0);
    // It has more revisions than the one before.
    let other = open(&etcd.authority());
    take(&other, "other");
    wire.mend();
    let error = until("the client refuses the other cluster", || is_refused(&running));
    assert_eq!(error, Error::OtherStore);
    assert_eq!(running.state(lease), Some(LeaseState::Expired));
    assert_eq!(running.lease(lease).unwrap().reason, Some(Reason::EngineLost));
    other.verify().unwrap();
}
