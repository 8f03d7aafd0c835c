//! The contract of the cluster home's store (`store.rs`), with real etcd.

use super::*;
use crate::home::cluster::connect;
use crate::home::cluster::store::{
    Change, Compare, Entry, Op, Range, Read, Store, StoreError, Txn, TxnReply, WatchEvent,
};
use crate::table::Error;

fn store_of(etcd: &Etcd) -> Box<dyn Store> {
    connect(&config_of(etcd)).unwrap()
}

fn all() -> Range {
    Range { from: "a".to_owned(), to: "z".to_owned() }
}

fn put(key: &str, value: &str, session: Option<i64>) -> Op {
    Op::Put { key: key.to_owned(), value: value.into(), session }
}

fn swap(key: &str, value: &str) -> Op {
    Op::Swap { key: key.to_owned(), value: value.into() }
}

fn done(store: &dyn Store, then: Vec<Op>) -> (i64, Vec<Option<Entry>>) {
    match store.txn(&Txn { then, ..Txn::default() }) {
        Ok(TxnReply::Done { revision, replaced }) => (revision, replaced),
        other => panic!("{other:?}"),
    }
}

fn entry(key: &str, value: &str, [created, modified, version]: [i64; 3]) -> Entry {
    Entry { key: key.to_owned(), value: value.into(), created, modified, version }
}

fn change(key: &str, value: Option<&str>, version: i64) -> Change {
    Change { key: key.to_owned(), value: value.map(Into::into), version }
}

/// The same as the test of the store in memory, `tests/sim/src/memory_store.rs`.
#[test]
fn store_keeps_its_contract() {
    let Some(etcd) = Etcd::start() else { return };
    let store = &*store_of(&etcd);
    let (first, replaced) = done(store, vec![put("b", "1", None), swap("a", "1")]);
    assert_eq!(replaced, [None]);
    let (second, replaced) = done(store, vec![put("b", "2", None), swap("a", "2")]);
    assert_eq!(replaced, [Some(entry("a", "1", [first, first, 1]))]);
    let delete = || vec![Op::Delete(Range::only("b".to_owned()))];
    let (third, _) = done(store, delete());
    assert_eq!(third, second + 1);
    // A transaction that changes nothing has no revision of its own.
    assert_eq!(done(store, delete()).0, third);
    let (fourth, _) = done(store, vec![put("b", "3", None)]);

    let late = Read { after: second, ..Read::all(all()) };
    let names = Read { keys_only: true, ..Read::all(all()) };
    let b = entry("b", "3", [fourth, fourth, 1]);
    let b_name = Entry { value: vec![], ..b.clone() };
    let a_name = entry("a", "", [first, second, 2]);
    let expected = vec![vec![b.clone()], vec![a_name, b_name]];
    let reads = [late, names];
    assert_eq!(store.read(&reads), Ok((expected.clone(), fourth)));

    for (compare, holds) in [
        (Compare::Created("a".to_owned(), first), true),
        (Compare::Created("a".to_owned(), second), false),
        (Compare::Modified("a".to_owned(), second), true),
        (Compare::Modified("a".to_owned(), first), false),
        (Compare::Created("c".to_owned(), 0), true),
        (Compare::Modified("b".to_owned(), 0), false),
    ] {
        let txn = Txn { compare: vec![compare.clone()], then: vec![], otherwise: reads.to_vec() };
        let done = TxnReply::Done { revision: fourth, replaced: vec![] };
        let failed = TxnReply::Failed(expected.clone());
        assert_eq!(store.txn(&txn), Ok(if holds { done } else { failed }), "{compare:?}");
    }

    let (listener, events) = listening();
    let _watch = store.watch(all(), first, Box::new(listener)).unwrap();
    let session = store.session(Duration::from_secs(60), Box::new(|_| ())).unwrap();
    let held = || vec![put("c", "held", Some(session.id()))];
    let (fifth, _) = done(store, held());
    let ended = Txn { then: held(), ..Txn::default() };
    session.revoke().unwrap();
    for (revision, changes) in [
        (second, vec![change("b", Some("2"), 2), change("a", Some("2"), 2)]),
        (third, vec![change("b", None, 0)]),
        (fourth, vec![change("b", Some("3"), 1)]),
        (fifth, vec![change("c", Some("held"), 1)]),
        (fifth + 1, vec![change("c", None, 0)]),
    ] {
        assert_eq!(next(&events), WatchEvent::Changed { revision, changes });
    }
    assert!(matches!(store.txn(&ended), Err(StoreError::Unavailable(_))));
}

#[test]
fn watch_from_a_compacted_revision_reports_missed_changes() {
    let Some(etcd) = Etcd::start() else { return };
    let (engine, store) = (engine_of(&etcd), store_of(&etcd));
    let revisions: Vec<i64> = (0..5).map(|_| done(&*store, vec![swap("a", "")]).0).collect();
    call(&engine, CompactionRequest { revision: revisions[4], physical: true }).unwrap();
    let (listener, events) = listening();
    let _watch = store.watch(all(), revisions[0], Box::new(listener)).unwrap();
    assert_eq!(next(&events), WatchEvent::Missed);
    let (new, _) = done(&*store, vec![swap("a", "new")]);
    loop {
        let WatchEvent::Changed { revision, changes } = next(&events) else { panic!() };
        if revision == new {
            break assert_eq!(changes, [change("a", Some("new"), 6)]);
        }
    }
}

#[test]
fn failed_read_is_unavailable_and_transaction_without_reply_is_unknown() {
    let Some(etcd) = Etcd::start() else { return };
    let connect = || {
        let url = format!("etcd://{}/test?timeout=1", etcd.authority());
        connect(&Config::of(&url)).unwrap()
    };
    let (reader, writer) = (connect(), connect());
    etcd.stop(0);
    let read = reader.read(&[Read::all(all()), Read::key("b".to_owned())]);
    assert!(matches!(read, Err(StoreError::Unavailable(_))), "{read:?}");
    let written = writer.txn(&Txn { then: vec![swap("a", "")], ..Txn::default() });
    assert!(matches!(written, Err(StoreError::Unknown(_))), "{written:?}");
    etcd.cont(0);
}

/// After a restore, the revisions behind the backup are used again, with other changes: a watch
/// must not report those as the continuation of what it has reported.
#[test]
fn watch_reports_no_change_of_a_restored_cluster() {
    let Some(mut etcd) = Etcd::start() else { return };
    let store = store_of(&etcd);
    done(&*store, vec![swap("a", "before")]);
    etcd.kill(0);
    etcd.back_up(0);
    etcd.restart(0);
    let (listener, events) = listening();
    let _watch = store.watch(all(), 0, Box::new(listener)).unwrap();
    let mut last = 0;
    for _ in 0..3 {
        last = until("a transaction is done", || {
            let txn = Txn { then: vec![swap("a", "lost")], ..Txn::default() };
            match store.txn(&txn).ok()? {
                TxnReply::Done { revision, .. } => Some(revision),
                failed => panic!("{failed:?}"),
            }
        });
    }
    while !matches!(next(&events), WatchEvent::Changed { revision, .. } if revision == last) {}
    etcd.kill(0);
    etcd.restore(0);
    etcd.restart(0);
    assert_eq!(next(&events), WatchEvent::Missed);
    assert!(matches!(store.refusal(), Some(Error::StoreWentBack { .. })));
    let other = store_of(&etcd);
    for _ in 0..10 {
        done(&*other, vec![swap("a", "other")]);
    }
    assert!(events.recv_timeout(Duration::from_secs(2)).is_err());
    assert!(store.read(&[Read::all(all())]).is_err());
}
