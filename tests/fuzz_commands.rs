//! The corpus of the fuzz target `commands`: each file is what the test below makes it, and reaches
//! the table. `TERN_RECORD=1` writes the files anew.

#[path = "../fuzz/src/commands/play.rs"]
mod play;

use std::{env, fs};

use play::play;
use ternlease::table::codec::{self, AnyReply, DecodeError};
use ternlease::table::command::*;
use ternlease::table::{
    Candidates, Claim, Error, FOREVER, Health, LeaseId, Outcome, Picks, Placed, Reason, Take,
    TicketId,
};

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus/commands");

/// Settings of the table: bits as `play` reads them.
const LARGE: u8 = 0;
const SMALL: u8 = 1;
const BREAK_DEADLOCKS: u8 = 2;
const REPLICATED: u8 = 8;

/// A log that grows while its commands run, so that they can name the leases of earlier ones.
struct Log {
    bytes: Vec<u8>,
}

impl Log {
    fn new(settings: u8) -> Self {
        Log { bytes: vec![settings] }
    }

    /// Appends a command of an owner, and returns the reply to it.
    fn then<C: Command>(&mut self, later: u8, owner: u8, command: &C) -> AnyReply {
        let mut message = Vec::new();
        codec::encode(command, &mut message);
        self.bytes.extend([later, owner]);
        self.bytes.extend((message.len() as u16).to_le_bytes());
        self.bytes.extend(message);
        play(&self.bytes).pop().expect("the last entry is a command")
    }

    fn place(&mut self, owner: u8, claim: &Claim<'_>) -> Outcome {
        match self.then(1, owner, &Place::<()>::new(claim)).to::<Placed<Picks>>() {
            Some(Ok(placed)) => placed.outcome,
            reply => panic!("{reply:?}"),
        }
    }

    fn granted(&mut self, owner: u8, claim: &Claim<'_>) -> LeaseId {
        match self.place(owner, claim) {
            Outcome::Granted(lease) => lease,
            waits => panic!("{waits:?}"),
        }
    }

    fn waiting(&mut self, owner: u8, claim: &Claim<'_>) -> TicketId {
        match self.place(owner, claim) {
            Outcome::Waiting(ticket) => ticket,
            granted => panic!("{granted:?}"),
        }
    }
}

fn waits<'a>(holder: &'a str, resource: &'a [&'a str]) -> Claim<'a> {
    Claim { wait: FOREVER, ..Claim::one(holder, resource) }
}

fn seed(settings: u8, fill: impl FnOnce(&mut Log)) -> Vec<u8> {
    let mut log = Log::new(settings);
    fill(&mut log);
    log.bytes
}

fn declare<S>(resource: S, slots: u32) -> Declare<S> {
    Declare { resource, slots, memory: 100 }
}

/// Leases that come and go.
fn seeds_of_leases() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        (
            "claim_and_release",
            seed(LARGE, |log| {
                let lease = log.granted(1, &Claim::one("a", &["x"]));
                log.then(1, 1, &Release { lease });
            }),
        ),
        (
            "renew_and_expire",
            seed(LARGE, |log| {
                let lease = log.granted(1, &Claim { ttl: 5, ..Claim::one("a", &["x"]) });
                log.then(2, 1, &Renew { lease, ttl: None });
                log.then(2, 1, &Renew { lease, ttl: Some(9) });
                log.then(15, 2, &Advance);
                log.then(0, 1, &Renew { lease, ttl: None });
            }),
        ),
        (
            "revoke_with_notice",
            seed(LARGE, |log| {
                let lease = log.granted(1, &Claim::one("a", &["x"]));
                let revoke = |notice| Revoke { lease, reason: Reason::Quota, by: "root", notice };
                log.then(0, 2, &revoke(9));
                log.then(0, 2, &revoke(20));
                log.then(10, 2, &Advance);
                log.then(0, 2, &revoke(0));
            }),
        ),
        (
            "transfer_and_reap",
            seed(LARGE, |log| {
                // The upper five bits are the principal.
                let (first, second) = (1 | 8, 2 | 16);
                log.then(0, first, &SetPrincipal { owner: 1 });
                log.then(0, second, &SetPrincipal { owner: 2 });
                let lease = log.granted(first, &Claim::one("a", &["x"]));
                log.place(second, &waits("b", &["x"]));
                log.then(1, second, &Transfer { lease, to: 2 });
                log.then(1, first, &Transfer { lease, to: 2 });
                let reap = |limit| ReapOwner { owner: 2, reason: Reason::HolderDied, limit };
                log.then(1, 3, &reap(1));
                log.then(1, 3, &reap(100));
            }),
        ),
        (
            "replicated_expire",
            seed(REPLICATED, |log| {
                let lease = log.granted(1, &Claim { ttl: 5, ..Claim::one("a", &["x"]) });
                log.place(2, &waits("b", &["x"]));
                // The table itself ends no lease in time, and only the owner may.
                log.then(9, 2, &Advance);
                log.then(0, 2, &Expire { lease, at: 6 });
                log.then(0, 1, &Expire { lease, at: 6 });
                log.then(1, 1, &Renew { lease, ttl: None });
                let kept = log.granted(1, &Claim { ttl: 5, ..Claim::one("a", &["y"]) });
                log.then(1, 1, &RenewLate { lease: kept, ttl: None, end: 5 });
            }),
        ),
        (
            "children_end_with_their_parent",
            seed(LARGE, |log| {
                let lease = log.granted(1, &Claim { ttl: 9, ..Claim::one("a", &["x"]) });
                let child = Claim { parent: Some(lease), ..waits("b", &["y"]) };
                log.place(1, &child);
                log.place(2, &Claim { holder: "c", ..child });
                log.then(1, 1, &Release { lease });
            }),
        ),
        (
            "amounts",
            seed(LARGE, |log| {
                log.then(0, 0, &declare("gpu", 8));
                let take = |slots| Take::Amount { slots, memory: 40 };
                let claim = Claim::one("a", &["gpu"]);
                log.place(1, &Claim { take: take(5), ..claim });
                log.place(2, &Claim { take: take(3), ..claim });
                log.place(3, &Claim { take: Take::Shared, ..waits("c", &["gpu"]) });
                log.then(1, 3, &Place::<()>::new(&Claim { take: Take::Exclusive, ..claim }));
            }),
        ),
    ]
}

/// Claims that wait.
fn seeds_of_queues() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        (
            "wait_and_collect",
            seed(LARGE, |log| {
                let lease = log.granted(1, &Claim::one("a", &["x"]));
                let ticket = log.waiting(2, &waits("b", &["x"]));
                log.then(1, 1, &Release { lease });
                log.then(0, 2, &Collect::<Picks>::new(ticket));
                log.then(0, 2, &Withdraw { ticket });
            }),
        ),
        (
            "withdraw",
            seed(LARGE, |log| {
                log.place(1, &Claim::one("a", &["x"]));
                let ticket = log.waiting(2, &waits("b", &["x"]));
                log.place(3, &Claim { wait: 4, ..waits("c", &["x", "y"]) });
                log.then(1, 2, &Withdraw { ticket });
                log.then(0, 2, &Withdraw { ticket });
                log.then(9, 2, &Advance);
            }),
        ),
        (
            "all_or_nothing",
            seed(LARGE, |log| {
                log.place(1, &Claim { count: 2, ..Claim::one("a", &["x", "y", "z"]) });
                log.place(2, &Claim { count: 2, ..waits("b", &["y", "z", "w"]) });
                log.place(3, &Claim { priority: 5, ..waits("c", &["z", "x"]) });
                log.then(1, 3, &Place::<()>::new(&Claim { count: 4, ..waits("d", &["x", "y"]) }));
            }),
        ),
        (
            "preempt_and_reclaim",
            seed(LARGE, |log| {
                log.place(1, &Claim { preemptible: true, grace: 3, ..Claim::one("a", &["x"]) });
                log.place(1, &Claim { spare: true, ..Claim::one("b", &["y"]) });
                log.place(2, &Claim { preempt: true, priority: 1, ..waits("c", &["x"]) });
                log.place(2, &waits("d", &["y"]));
                log.then(5, 2, &Advance);
            }),
        ),
        (
            "deadlock",
            seed(BREAK_DEADLOCKS, |log| {
                log.place(1, &Claim::one("a", &["x"]));
                log.place(2, &Claim::one("b", &["y"]));
                log.place(1, &waits("a", &["y"]));
                log.then(1, 2, &Place::<Picks>::new(&waits("b", &["x"])));
            }),
        ),
        (
            "wants",
            seed(BREAK_DEADLOCKS, |log| {
                log.place(1, &Claim::one("a", &["x"]));
                log.place(2, &Claim::one("b", &["y"]));
                log.then(1, 1, &Want { holder: "a", resource: "y" });
                log.then(1, 2, &Want { holder: "b", resource: "x" });
                log.then(1, 1, &Unwant { holder: "a", resource: "y" });
            }),
        ),
        (
            "full_table",
            seed(SMALL, |log| {
                log.then(0, 0, &declare("gpu", 1));
                log.then(0, 0, &SetHealth { resource: "gpu", health: Health::Draining });
                let lease = log.granted(1, &Claim::one("a", &["x"]));
                log.place(1, &Claim::one("b", &["y"]));
                log.place(2, &waits("c", &["gpu"]));
                log.then(1, 0, &SetHealth { resource: "gpu", health: Health::Healthy });
                log.then(1, 1, &Release { lease });
            }),
        ),
    ]
}

/// Devices, and what is refused.
fn seeds_of_devices() -> Vec<(&'static str, Vec<u8>)> {
    let listing = DeviceListing {
        resource: "gpu0",
        slots: None,
        memory: 100,
        island: Some(("nvlink", 1)),
        checked: true,
        evidence: Some(Health::Healthy),
    };
    vec![
        (
            "list_devices",
            seed(LARGE, |log| {
                let node = log.then(0, 0, &declare("node", 1)).to().expect("an id").expect("room");
                let devices = [listing, DeviceListing { resource: "gpu1", ..listing }];
                let list = ListDevices { devices: &devices[..], node: Some(node) };
                let ids = log.then(0, 0, &list).to::<Vec<_>>().expect("ids").expect("room");
                let candidates = Candidates::Declared(&ids);
                let claim = Claim { candidates, count: 2, together: true, ..waits("a", &[]) };
                let lease = log.granted(1, &claim);
                log.then(1, 1, &Release { lease });
                let before =
                    DeviceState { evidence: Health::Healthy, leased: false, cleaning: true };
                let (resource, health) = ("gpu0", Health::Healthy);
                log.then(1, 0, &SetEvidence { resource, before, health, unused: true });
                log.then(1, 0, &ClearCheck { resource });
            }),
        ),
        (
            "fail",
            seed(LARGE, |log| {
                log.then(0, 0, &declare("gpu", 2));
                log.place(1, &Claim::one("a", &["gpu"]));
                log.then(1, 0, &Fail { resource: "gpu", reason: Reason::DeviceFault, by: "x" });
                log.then(1, 0, &SetHealth { resource: "gpu", health: Health::Healthy });
            }),
        ),
        (
            "lose_node",
            seed(LARGE, |log| {
                log.then(0, 0, &declare("gpu", 1));
                log.then(0, 0, &SetNode { resource: "gpu", node: Some("node") });
                let lease = log.granted(1, &Claim::one("agent", &["node"]));
                log.place(2, &Claim::one("a", &["gpu"]));
                log.then(1, 1, &Release { lease });
                log.then(1, 0, &SetNode { resource: "gpu", node: None });
            }),
        ),
        (
            "refused",
            seed(LARGE, |log| {
                log.then(0, 0, &declare("x".repeat(300), 1));
                log.then(0, 0, &declare("", 1));
                log.then(0xff, 0, &Advance);
                log.then(1, 0, &Release { lease: LeaseId(u64::MAX) });
                log.then(1, 0, &Place::<()>::new(&Claim { ttl: 0, ..Claim::one("a", &["x"]) }));
            }),
        ),
    ]
}

fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    [seeds_of_leases(), seeds_of_queues(), seeds_of_devices()].concat()
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

/// Every kind of command is in a seed and is carried out there at least once.
#[test]
fn seeds_reach_the_table() {
    let mut carried_out = std::collections::BTreeSet::new();
    for (name, bytes) in seeds() {
        let replies = play(&bytes);
        let mut rest = &bytes[1..];
        for reply in replies {
            let len = usize::from(u16::from_le_bytes([rest[2], rest[3]]));
            if !matches!(reply, AnyReply::Refused(_)) {
                carried_out.insert(rest[5]);
            }
            rest = &rest[4 + len..];
        }
        assert!(rest.is_empty(), "{name}: every entry is a command");
    }
    assert_eq!(carried_out, (1..=21).collect());
}

/// Damaged seeds: nothing but an error or a sound table, which `play` checks.
#[test]
fn damaged_seeds_are_refused_or_played() {
    for (_, bytes) in seeds() {
        for at in 0..bytes.len() {
            for mask in [1, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] ^= mask;
                play(&damaged);
            }
        }
    }
}

#[test]
fn refusals_are_those_of_the_table() {
    let refused = seeds().into_iter().find(|(name, _)| *name == "refused").expect("it is a seed");
    let expected = [
        Error::NameTooLong,
        Error::EmptyName,
        Error::TimeTooLarge,
        Error::UnknownLease,
        Error::ZeroTtl,
    ];
    assert_eq!(play(&refused.1), expected.map(AnyReply::Refused));
    assert_eq!(codec::AnyCommand::decode(&[]).map(drop), Err(DecodeError::Truncated));
}
