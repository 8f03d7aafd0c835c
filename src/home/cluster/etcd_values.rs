//! The corpus of the fuzz target `etcd_values`: each file is what the test below makes it.
//! `TERN_RECORD=1` writes the files anew.

#[path = "../../../fuzz/src/choices.rs"]
mod choices;
#[allow(dead_code)] // The fuzzer needs all of it.
#[path = "../../../fuzz/src/etcd_values/play.rs"]
mod play;
#[path = "../../../fuzz/src/etcd_values/replicas.rs"]
mod replicas;
#[path = "../../../fuzz/src/etcd_values/steps.rs"]
mod steps;
#[path = "../../../fuzz/src/etcd_values/values.rs"]
mod values;

use std::{env, fs};

use play::{LOG, STEPS, VALUE, play};
use steps::*;

use super::entry::{LogEntry, Malformed, RULES, What};
use super::replica::Replica;
use super::shape::Shape;
use super::vectors;
use crate::table::codec::Encode;
use crate::table::{Reason, Settings};

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/etcd_values");

const REGRESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/regressions/etcd_values");

/// No bit of the shape is set.
const LARGE: u8 = 0;
/// Two times 0 of `steps::shape`: the latest one that there is, and that of the vectors.
const LATE_EPOCH: u8 = EPOCH;
const RECENT_EPOCH: u8 = 2 * EPOCH;

/// Sessions, delays and kinds of damage, by the bytes that select them.
const ANN: u8 = 0;
const BOB: u8 = 1;
const SOON: u8 = 1;
const LATE: u8 = 6;
/// Bytes that select the next number of a session, and no hash.
const NEXT: u8 = 2;
const UNCHECKED: u8 = 3;

fn value(bytes: &[u8]) -> Vec<u8> {
    [&[VALUE, LARGE], bytes].concat()
}

fn log(shape: u8, entries: &[Vec<u8>]) -> Vec<u8> {
    let mut out = vec![LOG, shape];
    for entry in entries {
        out.extend((entry.len() as u16).to_le_bytes());
        out.extend(entry);
    }
    out
}

fn steps_of(shape: u8, steps: &[[u8; STEP]]) -> Vec<u8> {
    [&[STEPS, shape], steps.as_flattened()].concat()
}

/// A session joins that has not replaced another.
fn join(session: u8) -> [u8; STEP] {
    [JOIN, session, 0, 7, NEXT, SOON, UNCHECKED, 0, 0, 0]
}

fn end(session: u8, reason: Reason) -> [u8; STEP] {
    let reason = Reason::ALL.iter().position(|it| *it == reason).expect("it is one") as u8;
    [END_SESSION, session, reason, NEXT, SOON, UNCHECKED, 0, 0, 0, 0]
}

/// A command, by its kind and the bytes that its fields are made from.
fn command(kind: u8, session: u8, [place, span, flags]: [u8; 3]) -> [u8; STEP] {
    [kind, session, place, span, flags, NEXT, SOON, UNCHECKED, 0, 0]
}

/// Kinds of commands as `message` in `steps.rs` has them.
const CLAIM: u8 = 0;
const CLAIM_NOW: u8 = 1;
const CLAIM_CHILD: u8 = 3;
const RELEASE: u8 = 4;
const COLLECT: u8 = 6;
const RENEW: u8 = 7;
const REVOKE: u8 = 8;
const DECLARE: u8 = 9;
const LIST: u8 = 14;
const TRANSFER: u8 = 16;
const EXPIRE: u8 = 17;

fn entry(session: i64, number: u64, what: What) -> Vec<u8> {
    LogEntry { session, number, now: number, seen: (0, 0), check: None, what }.encode()
}

fn seeds_of_values() -> Vec<(&'static str, Vec<u8>)> {
    let shape = Shape { epoch: 1_700_000_000_000_000, ..Shape::new(Settings::default()) };
    let used = vectors::recorded().0;
    let empty = Replica::try_new(&steps::shape(LARGE)).expect("there is memory");
    vec![
        ("shape", value(&shape.encode())),
        ("join", value(&entry(7, 0, What::Join { principal: 9, previous: Some(-8) }))),
        ("end", value(&entry(7, u64::MAX, What::End { reason: Reason::HolderDied }))),
        ("commands", value(&entry(7, 1, What::Commands(vec![vec![1, 18], vec![]])))),
        ("snapshot_empty", value(&empty.encode_snapshot())),
        ("snapshot_used", value(&used.encode_snapshot())),
        ("key_of_entry", value(b"l/00000000000000aa/00000000000000bb")),
    ]
}

fn seeds_of_logs() -> Vec<(&'static str, Vec<u8>)> {
    let join = entry(7, 0, What::Join { principal: 9, previous: None });
    let again = |number| entry(7, number, What::Commands(vec![vec![1, 18]]));
    let mut other_rules = join.clone();
    other_rules[1] += 1;
    let refused = [join.clone(), again(2), again(2), again(1), vec![0xff; 9], other_rules];
    vec![
        ("log_recorded", log(RECENT_EPOCH, &vectors::recorded().1)),
        ("log_repeated_and_malformed", log(SMALL, &refused)),
    ]
}

fn seeds_of_steps() -> Vec<(&'static str, Vec<u8>)> {
    let queue = [
        join(ANN),
        join(BOB),
        command(CLAIM, ANN, [0, 3, 0]),
        command(CLAIM, BOB, [16, 3, 0]),
        command(CLAIM_NOW, BOB, [16, 3, 0]),
        command(RENEW, ANN, [0, 3, 1]),
        command(EXPIRE, ANN, [0, 7, 0]),
        command(COLLECT, BOB, [0, 0, 0]),
        [REBUILD; STEP],
        command(TRANSFER, BOB, [0, 0, 1]),
        command(RELEASE, BOB, [0, 0, 0]),
    ];
    let ends = [
        join(ANN),
        join(BOB),
        command(CLAIM, ANN, [1, 4, 0]),
        command(CLAIM_CHILD, BOB, [4, 4, 0]),
        command(CLAIM, BOB, [17, 4, 0]),
        // The session of BOB joins again as ANN's successor.
        [JOIN, 2, 0, 0, NEXT, SOON, UNCHECKED, 0, 0, 0],
        end(BOB, Reason::HolderDied),
    ];
    let devices = [
        join(ANN),
        command(DECLARE, ANN, [2, 0, 1]),
        command(LIST, ANN, [4, 0, 0x3f]),
        command(CLAIM, ANN, [4, 4, 0b1001]),
        command(REVOKE, ANN, [0, 3, 0]),
        command(REVOKE, ANN, [0, 0, 0]),
    ];
    let hashes = [
        join(ANN),
        [MANY_ENTRIES; STEP],
        // The hash of the replica, then another one.
        [CLAIM, ANN, 0, 4, 0, NEXT, SOON, 1, 0, 0],
        [REBUILD; STEP],
        [MANY_ENTRIES; STEP],
        [CLAIM, ANN, 0, 4, 0, NEXT, SOON, 2, 0, 0],
    ];
    let late = [join(ANN), [CLAIM, ANN, 0, 3, 0, NEXT, LATE, UNCHECKED, 0, 0], [REBUILD; STEP]];
    let damage = [
        join(ANN),
        command(CLAIM, ANN, [0, 3, 0]),
        [DAMAGE, 0, 9, 0, 3, 0, 0, 0, 0, 0],
        [DAMAGE, 7, 5, 0, 3, 1, 4, 0, 0, 0],
        [MANY_ENTRIES + 1, 7, 8, 0, 0, 1, 4, 0, 0, 0],
        command(CLAIM, ANN, [1, 3, 0]),
    ];
    vec![
        ("steps_queue", steps_of(LARGE, &queue)),
        ("steps_full_table", steps_of(SMALL | BREAK_DEADLOCKS, &queue)),
        ("steps_ends_of_sessions", steps_of(IMPLIED_WANTS, &ends)),
        ("steps_devices", steps_of(LARGE, &devices)),
        ("steps_hashes", steps_of(LARGE, &hashes)),
        ("steps_late_epoch", steps_of(LATE_EPOCH, &late)),
        ("steps_damage", steps_of(LARGE, &damage)),
    ]
}

fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    [seeds_of_values(), seeds_of_logs(), seeds_of_steps()].concat()
}

#[test]
fn corpus_is_what_the_seeds_are() {
    let seeds = seeds();
    if env::var("TERN_RECORD").is_ok_and(|word| word == "1") {
        for (name, bytes) in &seeds {
            fs::write(format!("{CORPUS}/{name}"), bytes).expect("the corpus can be written");
        }
    }
    for (name, bytes) in &seeds {
        let file = fs::read(format!("{CORPUS}/{name}")).unwrap_or_default();
        assert!(file == *bytes, "{name} differs: run this test with TERN_RECORD=1");
    }
    assert_eq!(fs::read_dir(CORPUS).expect("it exists").count(), seeds.len());
}

#[test]
fn seeds_and_regressions_are_played() {
    seeds().iter().for_each(|(_, bytes)| play(bytes));
    for file in fs::read_dir(REGRESSIONS).expect("it exists") {
        play(&fs::read(file.expect("it is there").path()).expect("it can be read"));
    }
}

/// A snapshot of a table without leases, with the sessions and owner numbers that are given.
fn snapshot_of(sessions: &[(i64, u16)]) -> Vec<u8> {
    let empty = Replica::try_new(&steps::shape(LARGE)).expect("there is memory");
    let mut out = Vec::new();
    // The versions, position and revision, the hash of the last entry, and two counts.
    ((1u64, RULES), ((2u64, 2i64), (0u64, (0u64, 0u64)))).put(&mut out);
    (sessions.len() as u64).put(&mut out);
    for (session, owner) in sessions {
        ((*session, (*owner, 9u32)), (0u64, (2i64, 0u64))).put(&mut out);
    }
    empty.table.encode_snapshot(&mut out);
    out
}

#[test]
fn sessions_of_a_snapshot_are_in_order_and_have_owner_numbers_of_their_own() {
    let load = |sessions: &[(i64, u16)]| {
        let bytes = snapshot_of(sessions);
        let loaded = Replica::from_snapshot(&steps::shape(LARGE), &bytes);
        loaded.expect("there is memory").map(drop)
    };
    assert_eq!(load(&[(-1, 2), (7, 1), (8, 1024)]), Ok(()));
    let forged = [[(8, 1), (7, 2)], [(7, 1), (7, 2)], [(7, 1), (8, 1)], [(7, 1), (8, 0)]];
    for sessions in forged {
        assert_eq!(load(&sessions), Err(Malformed::State), "{sessions:?}");
    }
    assert_eq!(load(&[(7, 1025)]), Err(Malformed::State));
}

/// Damaged seeds: `play` checks that they are refused or applied equally. Of large seeds only some
/// bytes are changed, so that the test takes seconds.
#[test]
fn damaged_seeds_are_refused_or_played() {
    for (_, bytes) in seeds() {
        for at in (0..bytes.len()).step_by(1 + bytes.len() / 64) {
            for mask in [1, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= mask;
                play(&damaged);
            }
        }
    }
}
