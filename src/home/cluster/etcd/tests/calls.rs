//! Transactions and reads of one healthy server, and calls of an engine that closes.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

fn created(key: &str, revision: i64) -> Compare {
    Compare::Created(key.into(), revision)
}

fn modified(key: &str, revision: i64) -> Compare {
    Compare::Modified(key.into(), revision)
}

fn holds(engine: &Engine, compare: Compare) -> bool {
    let txn = Txn { compares: vec![compare], ..Txn::default() };
    engine.txn(txn, LONG).unwrap().succeeded
}

#[test]
fn transaction_is_done_only_if_its_compares_hold() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let fresh = Txn {
        compares: vec![modified("a", 0)],
        then: vec![put("a", "1"), put("b", "1")],
        otherwise: vec![Op::Read(all(Keys::One("a".into())))],
    };
    let first = engine.txn(fresh.clone(), LONG).unwrap();
    assert!(first.succeeded);
    assert_eq!(first.replies, [OpReply::Put(None), OpReply::Put(None)]);

    let second = engine.txn(fresh, LONG).unwrap();
    assert!(!second.succeeded);
    assert_eq!(second.revision, first.revision);
    let [OpReply::Read(found)] = &second.replies[..] else { panic!("{second:?}") };
    assert_eq!((found[0].value.as_slice(), found[0].mod_revision), (&b"1"[..], first.revision));
    assert_eq!((found[0].version, found[0].create_revision), (1, first.revision));

    for (revision, expected) in [(first.revision, true), (first.revision - 1, false), (0, false)] {
        assert_eq!(holds(&engine, modified("a", revision)), expected, "{revision}");
    }

    let deleted = engine.txn(always(vec![Op::Delete(Keys::Prefix(vec![]))]), LONG).unwrap();
    assert_eq!(deleted.replies, [OpReply::Deleted(2)]);
    assert_eq!(get(&engine, "a"), None);
}

#[test]
fn create_revision_is_that_of_the_first_write() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let write = |value: &str| engine.txn(always(vec![put("a", value)]), LONG).unwrap().revision;
    assert!(holds(&engine, created("a", 0)));
    let (first, second) = (write("1"), write("2"));
    for (revision, expected) in [(0, false), (first, true), (second, false)] {
        assert_eq!(holds(&engine, created("a", revision)), expected, "{revision}");
    }
    assert!(holds(&engine, modified("a", second)) && !holds(&engine, modified("a", first)));
    engine.txn(always(vec![Op::Delete(Keys::One("a".into()))]), LONG).unwrap();
    assert!(holds(&engine, created("a", 0)));
    let third = write("3");
    assert!(holds(&engine, created("a", third)));
}

#[test]
fn put_replies_with_the_previous_value() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let swap = |value: &str| {
        let (key, value) = (b"a".to_vec(), value.into());
        let reply =
            engine.txn(always(vec![Op::Put { key, value, lease: 0, previous: true }]), LONG);
        let reply = reply.unwrap();
        let [OpReply::Put(previous)] = &reply.replies[..] else { panic!("{reply:?}") };
        (previous.clone(), reply.revision)
    };
    let (previous, first) = swap("1");
    assert_eq!(previous, None);
    let (previous, second) = swap("2");
    let previous = previous.unwrap();
    assert_eq!((previous.value.as_slice(), previous.version), (&b"1"[..], 1));
    assert_eq!((previous.create_revision, previous.mod_revision), (first, first));
    let (previous, _) = swap("3");
    let previous = previous.unwrap();
    assert_eq!((previous.value.as_slice(), previous.version), (&b"2"[..], 2));
    assert_eq!((previous.create_revision, previous.mod_revision), (first, second));
}

#[test]
fn ranges_are_limited_by_modification_and_read_at_one_revision() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let write = |i: usize| {
        let key = format!("k{i:02}");
        engine.txn(always(vec![put(&key, &key)]), LONG).unwrap().revision
    };
    let revisions: Vec<i64> = (0..40).map(write).collect();
    let keys = || Keys::Prefix(b"k".to_vec());
    let late = Read { min_mod_revision: revisions[20], ..all(keys()) };
    let names = Read { keys_only: true, ..late.clone() };
    let snapshot = engine.read(vec![late.clone(), all(keys()), names.clone()], LONG).unwrap();
    assert_eq!(snapshot.revision, revisions[39]);
    let [found, everything, without_values] = &snapshot.found[..] else { panic!() };
    // More than a page.
    assert_eq!((found.len(), everything.len()), (20, 40));
    assert_eq!((found[0].key.as_slice(), found[0].value.as_slice()), (&b"k20"[..], &b"k20"[..]));
    assert_eq!(without_values.len(), 20);
    assert!(without_values.iter().all(|kv| kv.value.is_empty() && kv.mod_revision > 0));

    let failed = Txn {
        compares: vec![created("k00", 0)],
        then: vec![],
        otherwise: vec![Op::Read(late), Op::Read(names)],
    };
    let reply = engine.txn(failed, LONG).unwrap();
    assert!(!reply.succeeded);
    let expected = [found, without_values].map(|found| OpReply::Read(found.clone()));
    assert_eq!(reply.replies, expected);
}

#[test]
fn several_ranges_are_read_at_one_revision_despite_writes_and_compaction() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let both = |value: &str| vec![put("first", value), put("last", value)];
    engine.txn(always(both("-")), LONG).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                let written = engine.txn(always(both(&round.to_string())), LONG).unwrap();
                let compaction = CompactionRequest { revision: written.revision, physical: false };
                call(&engine, compaction).unwrap();
            }
        });
        for _ in 0..100 {
            let reads = ["first", "last"].map(|key| all(Keys::One(key.into()))).to_vec();
            let found = engine.read(reads, LONG).unwrap().found;
            assert_eq!(found[0][0].value, found[1][0].value);
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn transaction_that_etcd_denies_is_refused() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let refused = |txn, word: &str| match engine.txn(txn, LONG) {
        Err(EngineError::Refused(why)) => assert!(why.contains(word), "{why}"),
        other => panic!("{other:?}"),
    };
    refused(always(vec![put("a", vec![0; 1_800_000])]), "too large");
    refused(always(vec![put("a", vec![0; 8_000_000])]), "larger than max");
    refused(always(vec![put("a", ""), put("a", "")]), "duplicate key");
    refused(always((0..200).map(|i| put(&format!("k{i}"), "")).collect()), "too many");
    let unknown_lease =
        Op::Put { key: b"a".to_vec(), value: vec![], lease: 12345, previous: false };
    refused(always(vec![put("b", ""), unknown_lease]), "lease not found");
    assert_eq!((get(&engine, "a"), get(&engine, "b")), (None, None));
}

#[test]
fn pages_are_read_at_one_revision() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let name = |i: usize| format!("/many/{i:03}");
    for i in 0..100 {
        engine.txn(always(vec![put(&name(i), vec![b'0'; 64 << 10])]), LONG).unwrap();
    }
    engine.txn(always(vec![put("/manz", "beyond")]), LONG).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // The first and the last change together, and are read on different pages.
        scope.spawn(|| {
            for round in 0.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                let value = format!("{round}");
                let both = vec![put(&name(0), &value), put(&name(99), &value)];
                engine.txn(always(both), LONG).unwrap();
            }
        });
        let mut last = 0;
        for _ in 0..5 {
            let (found, revision) = range(&engine, Keys::Prefix(b"/many/".to_vec()));
            assert_eq!(found.len(), 100);
            assert!(found.iter().map(|kv| kv.value.len()).sum::<usize>() > 4 << 20);
            assert!(found.is_sorted_by(|a, b| a.key < b.key));
            assert_eq!(found[0].value, found[99].value);
            assert!(found.iter().all(|kv| kv.mod_revision <= revision));
            assert!(revision >= last);
            last = revision;
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn listener_of_a_reply_cannot_wait_for_the_engine() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = std::sync::Arc::new(engine_of(&etcd));
    let (listener, events) = listening();
    let again = engine.clone();
    engine
        .txn_then(always(vec![put("a", "1")]), LONG, move |reply| {
            let inner = again.txn(Txn::default(), LONG);
            listener((reply, inner));
        })
        .unwrap();
    let (reply, inner) = next(&events);
    assert!(reply.unwrap().succeeded);
    assert!(matches!(inner, Err(EngineError::Refused(_))));
}

#[test]
fn closed_engine_replies_to_all_calls() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let session = engine.session(Duration::from_secs(60), |_| {}).unwrap();
    etcd.stop(0);
    let (listener, events) = listening();
    engine.txn_then(always(vec![put("a", "1")]), LONG, listener).unwrap();
    engine.close();
    assert!(matches!(next(&events), Err(EngineError::Unknown(_))));
    assert_eq!(engine.txn(Txn::default(), LONG), Err(EngineError::Closed));
    assert_eq!(session.revoke(), Err(EngineError::Closed));
    assert!(matches!(engine.watch(Keys::One(vec![1]), 1, |_| {}), Err(EngineError::Closed)));
}

#[test]
fn engine_refuses_calls_of_a_forked_child() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let session = engine.session(Duration::from_secs(60), |_| {}).unwrap();
    let watch = engine.watch(Keys::One(b"a".to_vec()), 1, |_| {}).unwrap();
    // SAFETY: the child only calls the engine, which is what is tested, and ends without returning to
    // the test.
    match unsafe { libc::fork() } {
        -1 => panic!("cannot fork"),
        0 => {
            // SAFETY: an alarm that is not handled ends the child: a child that hangs fails the test.
            unsafe { libc::alarm(PATIENCE.as_secs() as u32) };
            let forked = engine.txn(Txn::default(), LONG) == Err(EngineError::Forked)
                && engine.read(vec![all(Keys::One(vec![1]))], LONG) == Err(EngineError::Forked)
                && session.revoke() == Err(EngineError::Forked);
            drop(watch);
            drop(engine);
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(if forked { 0 } else { 1 }) }
        }
        child => {
            let mut status = 0;
            // SAFETY: waits for a child of this process; the pointer is valid.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "{status}");
        }
    }
    engine.txn(always(vec![put("a", "1")]), LONG).unwrap();
    session.revoke().unwrap();
}

#[test]
#[ignore = "a measurement"]
fn latency_of_a_transaction() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let mut revision = 0;
    let mut times: Vec<_> = (0..2000)
        .map(|_| {
            let txn = Txn {
                compares: vec![modified("a", revision)],
                then: vec![put("a", [7; 100])],
                otherwise: vec![],
            };
            let begun = Instant::now();
            let reply = engine.txn(txn, LONG).unwrap();
            let time = begun.elapsed();
            assert!(reply.succeeded);
            revision = reply.revision;
            time
        })
        .collect();
    times.sort();
    println!("p50 {:?}, p99 {:?}", times[1000], times[1980]);
}
