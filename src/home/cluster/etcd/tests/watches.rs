//! Watches of servers that are killed, stopped and compacted.

use super::*;

/// The changes of so many events, each with its revision, as `key=value@version` or `key-`.
fn changes(events: &Receiver<WatchEvent>, count: usize) -> Vec<(i64, String)> {
    let mut seen = Vec::new();
    while seen.len() < count {
        match next(events) {
            WatchEvent::Changed { revision, changes } => {
                let words = changes.iter().map(|change| {
                    assert_eq!(change.mod_revision, revision);
                    let key = String::from_utf8_lossy(&change.key).into_owned();
                    match &change.value {
                        Some(value) => {
                            format!("{key}={}@{}", String::from_utf8_lossy(value), change.version)
                        }
                        None => {
                            assert_eq!(change.version, 0);
                            format!("{key}-")
                        }
                    }
                });
                seen.push((revision, words.collect::<Vec<_>>().join(" ")));
            }
            other => panic!("{other:?}"),
        }
    }
    seen
}

fn write(engine: &Engine, ops: Vec<Op>) -> i64 {
    engine.txn(always(ops), LONG).unwrap().revision
}

#[test]
fn changes_are_reported_in_order_and_by_revision() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let begin = write(&engine, vec![put("w/a", "0")]);
    let (listener, events) = listening();
    let _watch = engine.watch(Keys::Prefix(b"w/".to_vec()), begin, listener).unwrap();
    let second = write(&engine, vec![put("w/a", "1"), put("w/b", "1"), put("x", "1")]);
    let third = write(&engine, vec![Op::Delete(Keys::Prefix(b"w/".to_vec()))]);
    let fourth = write(&engine, vec![put("w/a", "2")]);
    let expected = [
        (begin, "w/a=0@1".to_owned()),
        (second, "w/a=1@2 w/b=1@1".to_owned()),
        (third, "w/a- w/b-".to_owned()),
        (fourth, "w/a=2@1".to_owned()),
    ];
    assert_eq!(changes(&events, 4), expected);
}

#[test]
fn watch_of_deletions_reports_no_writes() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let begin = write(&engine, vec![put("w/a", "0")]);
    let (listener, events) = listening();
    let keys = || Keys::Prefix(b"w/".to_vec());
    let _watch = engine.watch_deletions(keys(), begin, listener).unwrap();
    write(&engine, vec![put("w/a", "1"), put("w/b", "1")]);
    let deleted = write(&engine, vec![Op::Delete(keys())]);
    assert_eq!(changes(&events, 1), [(deleted, "w/a- w/b-".to_owned())]);
}

#[test]
fn long_history_is_reported_in_order() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let begin = write(&engine, vec![put("w", "0")]) + 1;
    // More than fits into one message, and some revisions with several keys.
    let large = "x".repeat(300 << 10);
    let revisions: Vec<_> = (0..30)
        .map(|i| write(&engine, (0..=i % 4).map(|j| put(&format!("w/{j}"), &large)).collect()))
        .collect();
    let (listener, events) = listening();
    let _watch = engine.watch(Keys::Prefix(b"w/".to_vec()), begin, listener).unwrap();
    for (i, revision) in revisions.into_iter().enumerate() {
        let WatchEvent::Changed { revision: reported, changes } = next(&events) else { panic!() };
        assert_eq!((reported, changes.len()), (revision, i % 4 + 1));
    }
}

#[test]
fn nothing_is_missed_or_repeated_when_the_server_is_killed() {
    let Some(mut etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let (listener, events) = listening();
    let _watch = engine.watch(Keys::One(b"w".to_vec()), 1, listener).unwrap();
    for round in 0..3 {
        let value = |i: usize| format!("{round}.{i}");
        let written: Vec<_> = (0..5)
            .map(|i| {
                let revision = write(&engine, vec![put("w", value(i))]);
                (revision, format!("w={}@{}", value(i), round * 5 + i + 1))
            })
            .collect();
        assert_eq!(changes(&events, 5), written);
        etcd.kill(0);
        assert!(matches!(next(&events), WatchEvent::Lost { .. }));
        etcd.restart(0);
        assert_eq!(next(&events), WatchEvent::Back);
    }
}

#[test]
fn compaction_is_reported() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let revisions: Vec<_> =
        (0..10).map(|i| write(&engine, vec![put("w", format!("{i}"))])).collect();
    call(&engine, CompactionRequest { revision: revisions[6], physical: true }).unwrap();
    let (listener, events) = listening();
    let _watch = engine.watch(Keys::One(b"w".to_vec()), revisions[2], listener).unwrap();
    let WatchEvent::Compacted(from) = next(&events) else { panic!() };
    assert!(from > revisions[2] && from <= revisions[6] + 1);
    // Later changes follow.
    let rest: Vec<_> = (0..10)
        .filter(|&i| revisions[i] >= from)
        .map(|i| (revisions[i], format!("w={i}@{}", i + 1)))
        .collect();
    assert_eq!(changes(&events, rest.len()), rest);
    let new = write(&engine, vec![put("w", "new")]);
    assert_eq!(changes(&events, 1), [(new, "w=new@11".to_owned())]);
}

#[test]
fn watch_leaves_a_server_that_stops() {
    let Some(etcd) = Etcd::cluster(3) else { return };
    let mut config = config_of(&etcd);
    config.timeout = Duration::from_secs(2);
    let engine = Engine::connect(&config).unwrap();
    let (listener, events) = listening();
    let _watch = engine.watch(Keys::One(b"w".to_vec()), 1, listener).unwrap();
    let leader = etcd.leader();
    etcd.stop(leader);
    // With an engine of its own: the other one must find out by its watch alone.
    let writer = Engine::connect(&config_of(&etcd)).unwrap();
    let revision = until("a write is done", || {
        writer.txn(always(vec![put("w", "1")]), LONG).ok().map(|reply| reply.revision)
    });
    loop {
        match next(&events) {
            WatchEvent::Changed { revision: reported, .. } => {
                break assert!(reported <= revision);
            }
            WatchEvent::Lost { .. } | WatchEvent::Back => {}
            other => panic!("{other:?}"),
        }
    }
    etcd.cont(leader);
}
