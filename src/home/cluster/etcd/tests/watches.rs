//! Watches of servers that die, stop and forget.

use super::*;

/// The changes in the news, each with its revision, as `key=value` or `key-`.
fn changes(told: &Receiver<WatchNews>, count: usize) -> Vec<(i64, String)> {
    let mut seen = Vec::new();
    while seen.len() < count {
        match next(told) {
            WatchNews::Changed { revision, changes } => {
                let words = changes.iter().map(|change| {
                    assert_eq!(change.mod_revision, revision);
                    let key = String::from_utf8_lossy(&change.key).into_owned();
                    match &change.value {
                        Some(value) => format!("{key}={}", String::from_utf8_lossy(value)),
                        None => format!("{key}-"),
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
fn changes_come_in_order_and_together() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let begin = write(&engine, vec![put("w/a", "0")]);
    let (tell, told) = listening();
    let _watch = engine.watch(Keys::Prefix(b"w/".to_vec()), begin, tell).unwrap();
    let second = write(&engine, vec![put("w/a", "1"), put("w/b", "1"), put("x", "1")]);
    let third = write(&engine, vec![Op::Delete(Keys::Prefix(b"w/".to_vec()))]);
    let expected = [
        (begin, "w/a=0".to_owned()),
        (second, "w/a=1 w/b=1".to_owned()),
        (third, "w/a- w/b-".to_owned()),
    ];
    assert_eq!(changes(&told, 3), expected);
}

#[test]
fn a_long_past_comes_in_pieces() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let begin = write(&engine, vec![put("w", "0")]) + 1;
    // More than fits into one message, and some revisions with several keys.
    let large = "x".repeat(300 << 10);
    let revisions: Vec<_> = (0..30)
        .map(|i| write(&engine, (0..=i % 4).map(|j| put(&format!("w/{j}"), &large)).collect()))
        .collect();
    let (tell, told) = listening();
    let _watch = engine.watch(Keys::Prefix(b"w/".to_vec()), begin, tell).unwrap();
    for (i, revision) in revisions.into_iter().enumerate() {
        let WatchNews::Changed { revision: told, changes } = next(&told) else { panic!() };
        assert_eq!((told, changes.len()), (revision, i % 4 + 1));
    }
}

#[test]
fn nothing_is_missed_or_told_twice_when_the_server_is_killed() {
    let Some(mut etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let (tell, told) = listening();
    let _watch = engine.watch(Keys::One(b"w".to_vec()), 1, tell).unwrap();
    for round in 0..3 {
        let value = |i: usize| format!("{round}.{i}");
        let written: Vec<_> = (0..5)
            .map(|i| (write(&engine, vec![put("w", value(i))]), format!("w={}", value(i))))
            .collect();
        assert_eq!(changes(&told, 5), written);
        etcd.kill(0);
        assert!(matches!(next(&told), WatchNews::Lost { .. }));
        etcd.restart(0);
        assert_eq!(next(&told), WatchNews::Back);
    }
}

#[test]
fn what_was_forgotten_is_said() {
    let Some(etcd) = Etcd::start() else { return };
    let engine = engine_of(&etcd);
    let revisions: Vec<_> =
        (0..10).map(|i| write(&engine, vec![put("w", format!("{i}"))])).collect();
    call(&engine, CompactionRequest { revision: revisions[6], physical: true }).unwrap();
    let (tell, told) = listening();
    let _watch = engine.watch(Keys::One(b"w".to_vec()), revisions[2], tell).unwrap();
    let WatchNews::Compacted(from) = next(&told) else { panic!() };
    assert!(from > revisions[2] && from <= revisions[6] + 1);
    // It goes on from there.
    let rest: Vec<_> = (0..10)
        .filter(|&i| revisions[i] >= from)
        .map(|i| (revisions[i], format!("w={i}")))
        .collect();
    assert_eq!(changes(&told, rest.len()), rest);
    let new = write(&engine, vec![put("w", "new")]);
    assert_eq!(changes(&told, 1), [(new, "w=new".to_owned())]);
}

#[test]
fn a_watch_turns_away_from_a_server_that_stops() {
    let Some(etcd) = Etcd::cluster(3) else { return };
    let mut config = config_of(&etcd);
    config.timeout = Duration::from_secs(2);
    let engine = Engine::connect(&config).unwrap();
    let (tell, told) = listening();
    let _watch = engine.watch(Keys::One(b"w".to_vec()), 1, tell).unwrap();
    let leader = etcd.leader();
    etcd.stop(leader);
    // By an engine of its own, as nothing may tell the other one that the server is gone.
    let writer = Engine::connect(&config_of(&etcd)).unwrap();
    let revision = until("a write is done", || {
        writer.txn(always(vec![put("w", "1")]), LONG).ok().map(|answer| answer.revision)
    });
    loop {
        match next(&told) {
            WatchNews::Changed { revision: told, .. } => break assert!(told <= revision),
            WatchNews::Lost { .. } | WatchNews::Back => {}
            other => panic!("{other:?}"),
        }
    }
    etcd.cont(leader);
}
