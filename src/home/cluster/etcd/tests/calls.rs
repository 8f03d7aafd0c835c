//! Transactions and reads of one healthy server, and what becomes of calls when the engine goes.

use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

fn compare(key: &str, mod_revision: i64) -> Compare {
    Compare { key: key.into(), mod_revision }
}

#[test]
fn a_transaction_is_done_only_if_everything_is_as_it_has_to_be() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let fresh = Txn {
        compares: vec![compare("a", 0)],
        then: vec![put("a", "1"), put("b", "1")],
        otherwise: vec![Op::Range(Keys::One("a".into()))],
    };
    let first = engine.txn(fresh.clone(), LONG).unwrap();
    assert!(first.succeeded);
    assert_eq!(first.answers, [OpAnswer::Put, OpAnswer::Put]);

    let second = engine.txn(fresh, LONG).unwrap();
    assert!(!second.succeeded);
    assert_eq!(second.revision, first.revision);
    let [OpAnswer::Range(found)] = &second.answers[..] else { panic!("{second:?}") };
    assert_eq!((found[0].value.as_slice(), found[0].mod_revision), (&b"1"[..], first.revision));
    assert_eq!((found[0].version, found[0].create_revision), (1, first.revision));

    for (revision, holds) in [(first.revision, true), (first.revision - 1, false), (0, false)] {
        let txn = Txn { compares: vec![compare("a", revision)], ..Txn::default() };
        assert_eq!(engine.txn(txn, LONG).unwrap().succeeded, holds, "{revision}");
    }

    let gone = engine.txn(always(vec![Op::Delete(Keys::Prefix(vec![]))]), LONG).unwrap();
    assert_eq!(gone.answers, [OpAnswer::Deleted(2)]);
    assert_eq!(get(&engine, "a"), None);
}

#[test]
fn what_a_server_does_not_take_is_refused() {
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
    let unknown_lease = Op::Put { key: b"a".to_vec(), value: vec![], lease: 12345 };
    refused(always(vec![put("b", ""), unknown_lease]), "lease not found");
    assert_eq!((get(&engine, "a"), get(&engine, "b")), (None, None));
}

#[test]
fn many_keys_are_read_in_pages_as_they_were_at_one_moment() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let name = |i: usize| format!("/many/{i:03}");
    for i in 0..100 {
        engine.txn(always(vec![put(&name(i), vec![b'0'; 64 << 10])]), LONG).unwrap();
    }
    engine.txn(always(vec![put("/manz", "beyond")]), LONG).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // The first and the last always change together, while they are read on different pages.
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
            let read = engine.range(Keys::Prefix(b"/many/".to_vec()), LONG).unwrap();
            assert_eq!(read.keys.len(), 100);
            assert!(read.keys.iter().map(|kv| kv.value.len()).sum::<usize>() > 4 << 20);
            assert!(read.keys.is_sorted_by(|a, b| a.key < b.key));
            assert_eq!(read.keys[0].value, read.keys[99].value);
            assert!(read.keys.iter().all(|kv| kv.mod_revision <= read.revision));
            assert!(read.revision >= last);
            last = read.revision;
        }
        done.store(true, Ordering::Relaxed);
    });
    let names = engine.range_keys(Keys::Prefix(b"/many/".to_vec()), LONG).unwrap();
    assert_eq!(names.keys.len(), 100);
    assert!(names.keys.iter().all(|kv| kv.value.is_empty()));
}

#[test]
fn an_answer_can_go_to_a_callback_which_cannot_wait_for_the_engine() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = std::sync::Arc::new(engine_of(&etcd));
    let (tell, told) = listening();
    let again = engine.clone();
    engine
        .txn_then(always(vec![put("a", "1")]), LONG, move |answer| {
            let inner = again.txn(Txn::default(), LONG);
            tell((answer, inner));
        })
        .unwrap();
    let (answer, inner) = next(&told);
    assert!(answer.unwrap().succeeded);
    assert!(matches!(inner, Err(EngineError::Refused(_))));
}

#[test]
fn a_closed_engine_answers_everybody() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let session = engine.session(Duration::from_secs(60), |_| {}).unwrap();
    etcd.stop(0);
    let (tell, told) = listening();
    engine.txn_then(always(vec![put("a", "1")]), LONG, tell).unwrap();
    engine.close();
    assert!(matches!(next(&told), Err(EngineError::Unknown(_))));
    assert_eq!(engine.txn(Txn::default(), LONG), Err(EngineError::Closed));
    assert_eq!(session.revoke(), Err(EngineError::Closed));
    assert!(matches!(engine.watch(Keys::One(vec![1]), 1, |_| {}), Err(EngineError::Closed)));
}

#[test]
fn a_forked_child_touches_nothing() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let session = engine.session(Duration::from_secs(60), |_| {}).unwrap();
    let watch = engine.watch(Keys::One(b"a".to_vec()), 1, |_| {}).unwrap();
    // SAFETY: the child only asks the engine, which is what is tested, and ends without going back to the test.
    match unsafe { libc::fork() } {
        -1 => panic!("cannot fork"),
        0 => {
            // SAFETY: an alarm that is not handled ends the child, so that one that hangs fails.
            unsafe { libc::alarm(PATIENCE.as_secs() as u32) };
            let forked = engine.txn(Txn::default(), LONG) == Err(EngineError::Forked)
                && engine.range(Keys::One(vec![1]), LONG) == Err(EngineError::Forked)
                && session.revoke() == Err(EngineError::Forked);
            drop(watch);
            drop(engine);
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(if forked { 0 } else { 1 }) }
        }
        child => {
            let mut status = 0;
            // SAFETY: waits for a child of ours, and the place is valid.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "{status}");
        }
    }
    engine.txn(always(vec![put("a", "1")]), LONG).unwrap();
    session.revoke().unwrap();
}

#[test]
#[ignore = "a measurement"]
fn how_long_a_transaction_takes() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let mut revision = 0;
    let mut times: Vec<_> = (0..2000)
        .map(|_| {
            let txn = Txn {
                compares: vec![compare("a", revision)],
                then: vec![put("a", [7; 100])],
                otherwise: vec![],
            };
            let begun = Instant::now();
            let answer = engine.txn(txn, LONG).unwrap();
            let time = begun.elapsed();
            assert!(answer.succeeded);
            revision = answer.revision;
            time
        })
        .collect();
    times.sort();
    println!("p50 {:?}, p99 {:?}", times[1000], times[1980]);
}
