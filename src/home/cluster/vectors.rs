//! The bytes in `tests/vectors/cluster.txt`: a change of the format or of the rules makes a test
//! fail. `TERN_UPDATE=1` writes the file anew. A change of it means that `entry::RULES`,
//! `entry::VERSION` or the version of the shape, the snapshot or the messages must be raised.
//! `scripts/test-endian` runs the tests on machines of other byte order and word size.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::OnceLock;
use std::{env, fs};

use sha2::{Digest, Sha256};

use super::entry::{LogEntry, What, tests::entries};
use super::replica::Replica;
use super::shape::Shape;
use crate::table::codec::tests::{commands, replies};
use crate::table::codec::{self, AnyCommand, AnyReply};
use crate::table::command::*;
use crate::table::*;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors/cluster.txt");

const HEAD: &str = "\
# Made by src/home/cluster/vectors.rs (TERN_UPDATE=1). All bytes are hexadecimal.
#
# command BYTES
# reply BYTES
# entry BYTES
# shape BYTES       The last one is that of the log.
# log BYTES HASH    The entries of a log in their order, with the hash of a replica after each.
# snapshot SHA256   That of a snapshot after the last entry of the log.
";

const SECOND: Time = 1_000_000;

/// Sessions as etcd numbers them, and one that no etcd has made.
const ANN: i64 = 0x694d_9b1c_02f3_a801;
const BOB: i64 = 0x694d_9b1c_02f3_a80f;
const CLEO: i64 = 0x694d_9b1c_02f3_b277;
const DAN: i64 = -3;

fn shapes() -> [Shape; 2] {
    let limits = Limits { leases: 8, tickets: 8, resources: 8, history: 8 };
    let small = Settings { limits, deadlocks: DeadlockPolicy::Break, ..Settings::default() };
    let usual = Settings { implied_wants: true, ..Settings::default() };
    let epoch = 1_700_000_000_000_000;
    [usual, small].map(|settings| Shape { epoch, ..Shape::new(settings) })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn bytes(hex: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("two digits");
    (0..hex.len()).step_by(2).map(byte).collect()
}

fn digest(snapshot: &[u8]) -> String {
    hex(&Sha256::digest(snapshot))
}

/// A replica, and the log that it has applied.
struct Recorder {
    replica: Replica,
    log: Vec<Vec<u8>>,
    hashes: Vec<u64>,
    numbers: BTreeMap<i64, u64>,
    now: Time,
}

impl Recorder {
    fn append_bytes(&mut self, bytes: Vec<u8>) {
        self.replica.apply(100 + self.replica.position as i64, &bytes).expect("it is of our rules");
        self.hashes.push(self.replica.hash());
        self.log.push(bytes);
    }

    fn append(&mut self, session: i64, number: u64, what: What) {
        let check = Some((self.replica.position, self.replica.hash()));
        let check = check.filter(|(position, _)| position.is_multiple_of(5));
        let (now, seen) = (self.now, self.replica.seen());
        self.append_bytes(LogEntry { session, number, now, seen, check, what }.encode());
    }

    fn join(&mut self, session: i64, principal: u32, previous: Option<i64>) {
        self.numbers.insert(session, 0);
        self.append(session, 0, What::Join { principal, previous });
    }

    fn end(&mut self, session: i64, reason: Reason) {
        self.append(session, super::keys::END, What::End { reason });
    }

    /// Appends an entry of one session, and returns the replies.
    fn commands(&mut self, session: i64, commands: Vec<Vec<u8>>) -> Vec<AnyReply> {
        self.now += SECOND;
        let number = self.numbers.get_mut(&session).expect("it has joined");
        *number += 1;
        let number = *number;
        self.append(session, number, What::Commands(commands));
        self.replica.replies_to(session).to_vec()
    }

    fn run<C: Command>(&mut self, session: i64, command: &C) -> AnyReply {
        self.commands(session, vec![message(command)]).pop().expect("a reply")
    }

    /// For a command that is carried out.
    fn done<C: Command>(&mut self, session: i64, command: &C) -> C::Reply {
        self.run(session, command).to().expect("a reply to it").expect("it is not refused")
    }

    fn place(&mut self, session: i64, claim: &Claim<'_>) -> Outcome {
        self.done(session, &Place::<Picks>::new(claim)).outcome
    }

    fn granted(&mut self, session: i64, claim: &Claim<'_>) -> LeaseId {
        match self.place(session, claim) {
            Outcome::Granted(lease) => lease,
            waiting => panic!("{waiting:?}"),
        }
    }

    fn waiting(&mut self, session: i64, claim: &Claim<'_>) -> TicketId {
        match self.place(session, claim) {
            Outcome::Waiting(ticket) => ticket,
            granted => panic!("{granted:?}"),
        }
    }
}

fn message<C: Command>(command: &C) -> Vec<u8> {
    let mut out = Vec::new();
    codec::encode(command, &mut out);
    out
}

fn waits<'a>(holder: &'a str, resource: &'a [&'a str]) -> Claim<'a> {
    Claim { wait: FOREVER, ..Claim::one(holder, resource) }
}

/// Devices, and leases that come and go.
fn record_leases(log: &mut Recorder) {
    log.join(ANN, 1000, None);
    log.join(BOB, 1001, None);
    let node = log.done(ANN, &Declare { resource: "node1", slots: 1, memory: 0 });
    let first = DeviceListing {
        resource: "gpu0",
        slots: Some(4),
        memory: 81_920,
        island: Some(("nvlink", 0)),
        checked: false,
        evidence: Some(Health::Healthy),
    };
    let second = DeviceListing { resource: "gpu1", slots: None, checked: true, ..first };
    log.done(ANN, &ListDevices { devices: &[first, second][..], node: Some(node) });
    log.done(ANN, &SetNode { resource: "gpu0", node: Some("node2") });
    let take = Take::Amount { slots: 3, memory: 40_000 };
    let claim = Claim { take, ttl: 60 * SECOND, ..Claim::one("train", &["gpu0"]) };
    let lease = log.granted(ANN, &claim);
    let ticket = log.waiting(BOB, &Claim { holder: "eval", wait: FOREVER, ..claim });
    log.done(ANN, &Renew { lease, ttl: Some(90 * SECOND) });
    log.done(ANN, &RenewLate { lease, ttl: None, end: log.now + 91 * SECOND });
    log.join(CLEO, 1000, None);
    assert!(matches!(log.run(BOB, &Transfer { lease, to: 2 }), AnyReply::Refused(_)));
    log.done(ANN, &Transfer { lease, to: 3 });
    log.done(CLEO, &Expire { lease, at: log.now });
    assert!(!log.done(BOB, &Collect::<Picks>::new(ticket)).withdrawn);
    log.done(BOB, &Withdraw { ticket });
    let lease = log.granted(BOB, &Claim::one("check", &["gpu1"]));
    log.done(BOB, &Release { lease });
    let before = DeviceState { evidence: Health::Healthy, leased: false, cleaning: true };
    let (resource, health) = ("gpu1", Health::Healthy);
    log.done(ANN, &SetEvidence { resource, before, health, unused: true });
    log.done(ANN, &ClearCheck { resource });
}

/// Claims that wait, and leases that are taken away.
fn record_queue(log: &mut Recorder) {
    let spare = Claim { preemptible: true, grace: 2 * SECOND, ..Claim::one("low", &["gpu1"]) };
    let lease = log.granted(ANN, &spare);
    let urgent = Claim { priority: 5, preempt: true, ..waits("high", &["gpu1"]) };
    log.waiting(BOB, &urgent);
    log.granted(CLEO, &Claim { parent: Some(lease), ..Claim::one("part", &["gpu0"]) });
    // The notice ends the lease, and with it the child.
    log.now += 5 * SECOND;
    log.done(CLEO, &Advance);
    let lease = log.granted(ANN, &Claim::one("short", &["gpu0"]));
    let revoke = |notice| Revoke { lease, reason: Reason::Quota, by: "größe", notice };
    log.done(BOB, &revoke(9 * SECOND));
    log.done(BOB, &revoke(0));
    log.granted(ANN, &Claim::one("ann", &["x"]));
    log.granted(BOB, &Claim::one("bob", &["y"]));
    log.done(ANN, &Want { holder: "ann", resource: "y" });
    // A deadlock, which is broken.
    log.run(BOB, &Place::<Picks>::new(&waits("bob", &["x"])));
    log.run(ANN, &Unwant { holder: "ann", resource: "y" });
    log.done(CLEO, &SetHealth { resource: "gpu0", health: Health::Draining });
    log.done(CLEO, &Fail { resource: "gpu1", reason: Reason::DeviceFault, by: "" });
}

/// Entries that are refused in part or altogether, and ends of sessions.
fn record_ends(log: &mut Recorder) {
    let forged = [
        message(&ReapOwner { owner: 1, reason: Reason::HolderDied, limit: 9 }),
        message(&SetPrincipal { owner: 1 }),
        vec![1, 255],
        message(&Advance),
    ];
    let replies = log.commands(CLEO, forged.to_vec());
    assert!(matches!(&replies[..3], [AnyReply::Refused(_), AnyReply::Refused(_), _]));
    log.append(CLEO, log.numbers[&CLEO], What::Commands(vec![message(&Advance)]));
    log.append(DAN, 1, What::Commands(vec![message(&Advance)]));
    log.append_bytes(vec![0xff; 12]);
    log.append_bytes(Vec::new());
    log.granted(CLEO, &Claim::one("cleo", &["z"]));
    log.waiting(CLEO, &waits("cleo", &["x"]));
    log.end(CLEO, Reason::HolderDied);
    log.join(DAN, 1001, Some(BOB));
    log.granted(DAN, &Claim { count: 2, ..Claim::one("dan", &["y", "z"]) });
    log.end(ANN, Reason::Released);
    // Its clock is behind.
    log.now -= 30 * SECOND;
    log.granted(DAN, &Claim { ttl: SECOND, ..Claim::one("dan", &["x"]) });
}

fn recorder() -> Recorder {
    let replica = Replica::try_new(&shapes()[1]).expect("there is memory");
    let mut log = Recorder {
        replica,
        log: Vec::new(),
        hashes: Vec::new(),
        numbers: BTreeMap::new(),
        now: SECOND,
    };
    record_leases(&mut log);
    record_queue(&mut log);
    record_ends(&mut log);
    log
}

/// A replica in use, and the log that leads to it.
pub fn recorded() -> (Replica, Vec<Vec<u8>>) {
    let recorder = recorder();
    (recorder.replica, recorder.log)
}

fn made() -> String {
    let mut out = HEAD.to_owned();
    let mut line = |kind: &str, bytes: &[u8]| out.extend([kind, " ", &hex(bytes), "\n"]);
    commands().iter().for_each(|command| line("command", command));
    for reply in replies() {
        let mut bytes = Vec::new();
        reply.encode(&mut bytes);
        line("reply", &bytes);
    }
    entries().iter().for_each(|entry| line("entry", &entry.encode()));
    shapes().iter().for_each(|shape| line("shape", &shape.encode()));
    let recorder = recorder();
    for (entry, hash) in recorder.log.iter().zip(&recorder.hashes) {
        let _ = writeln!(out, "log {} {hash:016x}", hex(entry));
    }
    let _ = writeln!(out, "snapshot {}", digest(&recorder.replica.encode_snapshot()));
    out
}

/// The recorded text, which the first test that needs it writes anew if that is wanted.
fn file() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        if env::var_os("TERN_UPDATE").is_some() {
            fs::write(FILE, made()).expect("the file can be written");
        }
        fs::read_to_string(FILE).unwrap_or_default()
    })
}

/// The words behind the kind of each line of one kind.
fn lines<'a>(file: &'a str, kind: &'a str) -> impl Iterator<Item = Vec<&'a str>> {
    let words = file.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    words.filter(move |words| words[0] == kind).map(|words| words[1..].to_vec())
}

#[test]
fn vectors_are_what_the_code_makes() {
    let made = made();
    let file = file();
    let differ = file.lines().zip(made.lines()).find(|(recorded, made)| recorded != made);
    assert!(file == made, "the format or the rules have changed: {differ:#?}");
}

#[test]
fn recorded_values_have_one_encoding() {
    let file = file();
    let one = |kind| lines(file, kind).map(|words| bytes(words[0]));
    for bytes in one("command") {
        let mut again = Vec::new();
        AnyCommand::decode(&bytes).expect("a command").encode(&mut again);
        assert_eq!(again, bytes);
    }
    for bytes in one("reply") {
        let mut again = Vec::new();
        AnyReply::decode(&bytes).expect("a reply").encode(&mut again);
        assert_eq!(again, bytes);
    }
    for bytes in one("entry") {
        assert_eq!(LogEntry::decode(&bytes).expect("an entry").encode(), bytes);
    }
    for bytes in one("shape") {
        assert_eq!(Shape::decode(&bytes).expect("a shape").encode(), bytes);
    }
}

/// Each replica begins with a snapshot after another part of the log.
#[test]
fn recorded_log_leads_to_the_recorded_hashes() {
    let file = file();
    let shape = lines(file, "shape").last().expect("a shape");
    let shape = Shape::decode(&bytes(shape[0])).expect("a shape");
    let log: Vec<_> = lines(file, "log").map(|words| (bytes(words[0]), words[1])).collect();
    assert!(!log.is_empty());
    for rebuilt_at in 0..log.len() {
        let mut replica = Replica::try_new(&shape).expect("there is memory");
        for (at, (entry, hash)) in log.iter().enumerate() {
            if at == rebuilt_at {
                let bytes = replica.encode_snapshot();
                let rebuilt = Replica::from_snapshot(&shape, &bytes).expect("there is memory");
                replica = rebuilt.expect("a snapshot");
            }
            replica.apply(100 + at as i64, entry).expect("it is of our rules");
            assert_eq!(format!("{:016x}", replica.hash()), **hash, "entry {at}");
            assert_eq!(replica.table.verify(), Ok(()));
        }
        let snapshot = lines(file, "snapshot").next().expect("a digest");
        assert_eq!(digest(&replica.encode_snapshot()), snapshot[0]);
    }
}

#[test]
fn recorded_log_has_every_command_in_use() {
    let mut tags: Vec<u8> = Vec::new();
    for entry in recorded().1 {
        if let Ok(LogEntry { what: What::Commands(commands), .. }) = LogEntry::decode(&entry) {
            tags.extend(commands.iter().map(|command| command[1]));
        }
    }
    tags.sort_unstable();
    tags.dedup();
    // The last one is no command.
    assert_eq!(tags, (1..=21).chain([255]).collect::<Vec<_>>());
}
