//! Replicated tables: owners keep the ends of leases, and replicas that get the same commands have
//! the same state, also one that begins with a snapshot.
//!
//! `TERN_SEED=42` replays one random run.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::panic::catch_unwind;

use common::{granted, waiting};
use ternlease::memory::{Arrays, new_table};
use ternlease::table::codec::{self, AnyCommand, AnyReply, DecodeError};
use ternlease::table::command::*;
use ternlease::table::query::{LeaseById, Leases};
use ternlease::table::*;

const LIMITS: Limits = Limits { leases: 4, tickets: 6, resources: 8, history: 3 };

fn replicated(limits: Limits) -> Settings {
    Settings { limits, replicated: true, ..Settings::default() }
}

fn issuer(owner: u16, principal: u32) -> Issuer {
    Issuer::new(owner, Actor { principal, process: owner.into() })
}

/// An owner of the principal 7.
fn owner(number: u16) -> Issuer {
    issuer(number, 7)
}

fn table() -> Table<Arrays> {
    new_table(replicated(Limits { leases: 32, tickets: 32, resources: 32, history: 64 }))
}

fn place(t: &Table<Arrays>, by: Issuer, now: Time, claim: &Claim<'_>) -> Result<Outcome, Error> {
    t.apply(by, &Place::<()>::new(claim), now).map(|placed| placed.outcome)
}

fn claim<'a>(holder: &'a str, resource: &'a [&'a str], ttl: Time) -> Claim<'a> {
    Claim { ttl, ..Claim::one(holder, resource) }
}

#[test]
fn lease_has_no_end_until_its_owner_reports_it() {
    let t = table();
    let lease = granted(place(&t, owner(1), 1, &claim("a", &["x"], 100)));
    assert_eq!((t.lease(lease).unwrap().end, t.next_due()), (FOREVER, FOREVER));
    assert_eq!(t.lease(lease).unwrap().ttl, 100);
    t.apply(owner(1), &Advance, 5000).unwrap();
    assert_eq!(t.state(lease, 5000), Some(LeaseState::Held));
    let expire = Expire { lease, at: 101 };
    assert_eq!(t.apply(owner(2), &expire, 5000), Err(Error::OtherPrincipal));
    t.apply(owner(1), &expire, 5000).unwrap();
    let info = t.lease(lease).unwrap();
    assert_eq!((info.state, info.end), (LeaseState::Expired, 101));
    assert_eq!((info.reason, info.ended_by), (Some(Reason::TimedOut), None));
    let again = Err(Error::NotHeld(LeaseState::Expired, Reason::TimedOut));
    assert_eq!(t.apply(owner(1), &expire, 5000), again);
    t.verify().unwrap();
}

#[test]
fn reported_end_is_between_grant_and_report() {
    let t = table();
    for (at, end) in [(0, 10), (15, 15), (FOREVER, 20), (u64::MAX, 20)] {
        let t = new_table(replicated(LIMITS));
        let lease = granted(place(&t, owner(1), 10, &claim("a", &["x"], 5)));
        t.apply(owner(1), &Expire { lease, at }, 20).unwrap();
        assert_eq!(t.lease(lease).unwrap().end, end);
    }
    let unknown = Expire { lease: LeaseId(77), at: 0 };
    assert_eq!(t.apply(owner(1), &unknown, 0), Err(Error::UnknownLease));
}

#[test]
fn child_that_began_after_the_reported_end_was_held_for_no_time() {
    let t = table();
    let lease = granted(place(&t, owner(1), 0, &claim("a", &["x"], 10)));
    let child = Claim { parent: Some(lease), ..claim("b", &["y"], 10) };
    let child = granted(place(&t, owner(2), 15, &child));
    t.apply(owner(1), &Expire { lease, at: 10 }, 20).unwrap();
    assert_eq!([lease, child].map(|id| t.lease(id).unwrap().end), [10, 15]);
    t.verify().unwrap();
}

#[test]
fn other_tables_expire_no_lease() {
    let t = new_table(Settings::default());
    let lease = granted(place(&t, owner(1), 0, &claim("a", &["x"], 5)));
    assert_eq!(t.apply(owner(1), &Expire { lease, at: 0 }, 1), Err(Error::WrongClock));
    assert_eq!(t.state(lease, 1), Some(LeaseState::Held));
}

#[test]
fn end_of_a_lease_serves_the_line() {
    let t = table();
    let lease = granted(place(&t, owner(1), 0, &claim("a", &["x"], 5)));
    let wait = Claim { wait: 50, ..claim("b", &["x"], 5) };
    let ticket = waiting(place(&t, owner(2), 0, &wait));
    assert_eq!(t.next_due(), 50, "waits end by themselves");
    t.apply(owner(1), &Expire { lease, at: 5 }, 6).unwrap();
    assert!(matches!(t.ticket(ticket), Some(TicketState::Granted(_))));
}

#[test]
fn renewal_by_the_owner_is_recorded_if_it_is_late_or_changes_the_ttl() {
    let t = table();
    let lease = granted(place(&t, owner(1), 0, &claim("a", &["x"], 100)));
    let renew = |ttl| Renew { lease, ttl };
    assert_eq!(t.apply(owner(1), &renew(Some(50)), 10), Ok(60));
    assert_eq!(t.lease(lease).unwrap().ttl, 50);
    let events = t.last_event();
    let late = |end| RenewLate { lease, ttl: None, end };
    assert_eq!(t.apply(owner(1), &renew(None), 50), Ok(100));
    assert_eq!(t.last_event(), events, "a renewal in time is not recorded");
    assert_eq!(t.apply(owner(2), &late(60), 55), Err(Error::OtherPrincipal));
    assert_eq!(t.apply(owner(1), &late(60), 55), Ok(105));
    assert_eq!(t.apply(owner(1), &late(FOREVER + 1), 55), Err(Error::TimeTooLarge));
    let mut found = Vec::new();
    t.events_since(events, &mut found);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].what, What::RenewedLate { lease, until: 105 });
    assert_eq!(t.apply(owner(1), &renew(Some(FOREVER)), 60), Ok(FOREVER));
    assert_eq!(t.apply(owner(1), &renew(Some(0)), 60), Err(Error::ZeroTtl));
    assert_eq!(t.lease(lease).unwrap().end, FOREVER);
}

#[test]
fn renewal_by_another_owner_takes_the_lease_over() {
    let t = table();
    for number in [1, 2] {
        t.apply(owner(number), &SetPrincipal { owner: number }, 0).unwrap();
    }
    let lease = granted(place(&t, owner(1), 0, &claim("a", &["x"], 100)));
    let events = t.last_event();
    let renew = Renew { lease, ttl: None };
    assert_eq!(t.apply(issuer(3, 8), &renew, 500), Err(Error::OtherPrincipal));
    assert_eq!(t.apply(owner(2), &renew, 500), Ok(600));
    assert_eq!((t.lease(lease).unwrap().owner, t.last_event()), (2, events));
    let expire = Expire { lease, at: 600 };
    assert_eq!(t.apply(owner(1), &expire, 600), Err(Error::OtherPrincipal));
    t.apply(owner(2), &expire, 600).unwrap();
}

#[test]
fn notice_ends_a_lease_without_its_owner() {
    let t = table();
    let lease = granted(place(&t, owner(1), 0, &claim("a", &["x"], 100)));
    let revoke = Revoke { lease, reason: Reason::Operator, by: "ops", notice: 40 };
    assert_eq!(t.apply(owner(2), &revoke, 1), Ok(Revoked::Notified(41)));
    assert_eq!((t.lease(lease).unwrap().end, t.next_due()), (41, 41));
    assert_eq!(t.apply(owner(1), &Renew { lease, ttl: None }, 30), Ok(41));
    assert_eq!(peek_state(t.memory(), lease, 40), Some(LeaseState::Held));
    let before = t.state_hash();
    assert_eq!(peek_state(t.memory(), lease, 41), Some(LeaseState::Revoked));
    assert_eq!(t.state_hash(), before, "it writes nothing");
    t.apply(owner(3), &Advance, 60).unwrap();
    let info = t.lease(lease).unwrap();
    assert_eq!((info.state, info.end), (LeaseState::Revoked, 41));
}

#[test]
fn child_is_given_the_notice_of_its_parent() {
    let t = table();
    let parent = granted(place(&t, owner(1), 0, &claim("a", &["x"], 100)));
    let revoke = Revoke { lease: parent, reason: Reason::Operator, by: "", notice: 40 };
    let child = |name| Claim { parent: Some(parent), ..claim("b", name, 5) };
    let before = granted(place(&t, owner(2), 0, &child(&["y"])));
    t.apply(owner(2), &revoke, 1).unwrap();
    let after = granted(place(&t, owner(2), 2, &child(&["z"])));
    assert_eq!([before, after].map(|id| t.lease(id).unwrap().end), [41, 41]);
    t.verify().unwrap();
}

/// Only the owner knows whether a grant was reported to a client.
#[test]
fn grant_to_other_owner_is_not_withdrawn() {
    let t = table();
    let held = granted(place(&t, owner(1), 1, &claim("one", &["x"], 100)));
    let wait = Claim { wait: FOREVER, ..claim("two", &["x"], 100) };
    let [foreign, own] = [2, 1].map(|number| waiting(place(&t, owner(number), 1, &wait)));
    let lease = |ticket| match t.ticket(ticket) {
        Some(TicketState::Granted(lease)) => lease,
        answer => panic!("{answer:?}"),
    };
    t.apply(owner(1), &Release { lease: held }, 2).unwrap();
    let first = lease(foreign);
    let withdraw = |ticket| t.apply(owner(1), &Withdraw { ticket }, 3);
    assert_eq!(withdraw(foreign), Ok(Cancelled::WasCollected(first)));
    t.apply(owner(1), &Release { lease: first }, 3).unwrap();
    let second = lease(own);
    assert_eq!(withdraw(own), Ok(Cancelled::WasGranted(second)));
    assert_eq!(t.held(), 0);
}

#[test]
fn answers_are_given_the_ends_that_owners_keep() {
    let t = table();
    let [first, second, ended] =
        [["x"], ["y"], ["z"]].map(|name| granted(place(&t, owner(1), 0, &claim("a", &name, 9))));
    t.apply(owner(1), &Release { lease: ended }, 1).unwrap();
    let revoke = Revoke { lease: second, reason: Reason::Operator, by: "", notice: 40 };
    t.apply(owner(1), &revoke, 1).unwrap();
    let ends = |id: LeaseId| (id != first).then_some(50).or(Some(9));
    let mut all = Leases {}.answer(&t);
    Leases::set_ends(&mut all, &ends);
    assert_eq!(
        all.iter().map(|info| (info.id, info.end)).collect::<Vec<_>>(),
        [(first, 9), (second, 41)]
    );
    for (lease, end) in [(first, 9), (second, 41), (ended, 1)] {
        let mut answer = LeaseById { lease }.answer(&t);
        LeaseById::set_ends(&mut answer, &ends);
        assert_eq!(answer.unwrap().end, end);
    }
}

/// Splitmix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }

    fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}

/// A replicated table and an owner that keeps its ends answer as a table that keeps them itself.
/// No two kinds of deadline are at the same time: commands and leases end at multiples of 4, waits
/// one later, and notices two later.
#[test]
fn table_with_an_owner_that_keeps_ends_equals_any_other() {
    for seed in 0..60 {
        let plain = new_table(Settings { replicated: false, ..replicated(Limits::default()) });
        let replica = new_table(replicated(Limits::default()));
        let (mut ends, mut known) = (BTreeMap::<LeaseId, Time>::new(), Vec::new());
        let (by, mut random, mut now) = (owner(1), Random(seed), 0);
        for step in 0..200 {
            let later = now + random.pick(&[0, 0, 4, 8, 20]);
            while let Some((end, lease)) = ends
                .iter()
                .map(|(lease, end)| (*end, *lease))
                .min()
                .filter(|(end, _)| *end <= later)
            {
                plain.apply(by, &Advance, end).unwrap();
                let _ = replica.apply(by, &Expire { lease, at: end }, end);
                ends.remove(&lease);
                find_granted(&replica, &mut ends, &mut known);
            }
            now = later;
            for table in [&replica, &plain] {
                table.apply(by, &Advance, now).unwrap();
            }
            find_granted(&replica, &mut ends, &mut known);
            let names = ["a", "b", "c"];
            let (holder, resource) = (random.pick(&names), [random.pick(&names)]);
            let lease = if known.is_empty() { LeaseId(1) } else { random.pick(&known) };
            match random.below(6) {
                0..=2 => {
                    let wait = random.pick(&[0, 5, 29, FOREVER]);
                    let ttl = random.pick(&[4, 8, 40, FOREVER]);
                    let claim = Claim { wait, ..claim(holder, &resource, ttl) };
                    let [told, expected] =
                        [&replica, &plain].map(|table| place(table, by, now, &claim));
                    assert_eq!(told, expected, "seed {seed}, step {step}");
                }
                3 => {
                    let renew = Renew { lease, ttl: None };
                    let expected = plain.apply(by, &renew, now);
                    let info = replica.lease(lease);
                    let end = ends.get(&lease).copied().unwrap_or(FOREVER);
                    let renew = RenewLate { lease, ttl: None, end };
                    let told = match info.filter(|info| info.state == LeaseState::Held) {
                        Some(info) if (info.end.min(end) - now) * 4 >= info.ttl => {
                            Ok((now + info.ttl).min(FOREVER).min(info.end))
                        }
                        Some(info) if info.ttl == FOREVER => Ok(info.end),
                        _ => replica.apply(by, &renew, now),
                    };
                    assert_eq!(told, expected, "seed {seed}, step {step}");
                    if let Some(end) = ends.get_mut(&lease) {
                        let ttl = replica.lease(lease).unwrap().ttl;
                        *end = if told.is_ok() { (now + ttl).min(FOREVER) } else { *end };
                    }
                }
                4 => {
                    let release = Release { lease };
                    let [told, expected] =
                        [&replica, &plain].map(|table| table.apply(by, &release, now));
                    assert_eq!(told, expected, "seed {seed}, step {step}");
                }
                _ => {
                    let notice = random.pick(&[0, 6, 22]);
                    let revoke = Revoke { lease, reason: Reason::Operator, by: "ops", notice };
                    let [told, expected] =
                        [&replica, &plain].map(|table| table.apply(by, &revoke, now));
                    assert_eq!(told, expected, "seed {seed}, step {step}");
                }
            }
            find_granted(&replica, &mut ends, &mut known);
            let mut leases = Leases {}.answer(&replica);
            Leases::set_ends(&mut leases, &|id| ends.get(&id).copied());
            assert_eq!(leases, plain.leases(), "seed {seed}, step {step}");
            assert_eq!(replica.tickets(), plain.tickets(), "seed {seed}, step {step}");
            let [events, expected] = [&replica, &plain].map(|table| {
                let mut events = Vec::new();
                table.events_since(0, &mut events);
                events
            });
            assert_eq!(events, expected, "seed {seed}, step {step}");
            replica.verify().unwrap();
        }
    }
}

/// The owner begins to keep the ends of new leases, and stops to keep those of ended ones.
fn find_granted(
    table: &Table<Arrays>,
    ends: &mut BTreeMap<LeaseId, Time>,
    known: &mut Vec<LeaseId>,
) {
    for info in table.leases() {
        if !known.contains(&info.id) {
            known.push(info.id);
            ends.insert(info.id, (info.granted_at + info.ttl).min(FOREVER));
        }
    }
    ends.retain(|lease, _| table.lease(*lease).is_some_and(|it| it.state == LeaseState::Held));
}

fn snapshot(table: &Table<Arrays>) -> Vec<u8> {
    let mut out = Vec::new();
    table.encode_snapshot(&mut out);
    out
}

fn loaded(settings: Settings, mut bytes: &[u8]) -> Result<Table<Arrays>, DecodeError> {
    let table = new_table(settings);
    table.load_snapshot(&mut bytes)?;
    if bytes.is_empty() { Ok(table) } else { Err(DecodeError::TrailingBytes) }
}

fn encoded<C: Command>(command: &C) -> Vec<u8> {
    let mut bytes = Vec::new();
    codec::encode(command, &mut bytes);
    bytes
}

/// What random commands are about.
#[derive(Default)]
struct Known {
    leases: Vec<LeaseId>,
    tickets: Vec<TicketId>,
}

impl Known {
    fn note(&mut self, table: &Table<Arrays>, reply: &AnyReply) {
        match reply {
            AnyReply::Placed(Placed { outcome: Outcome::Granted(id), .. }) => self.leases.push(*id),
            AnyReply::Placed(Placed { outcome: Outcome::Waiting(id), .. }) => {
                self.tickets.push(*id)
            }
            _ => {}
        }
        let last = table.leases().last().map(|info| info.id);
        self.leases.extend(last.filter(|id| self.leases.last() != Some(id)));
        let excess = |len: usize| len.saturating_sub(5);
        self.leases.drain(..excess(self.leases.len()));
        self.tickets.drain(..excess(self.tickets.len()));
    }
}

fn random_command(random: &mut Random, known: &Known) -> Vec<u8> {
    let long = "a name that needs more than one record and more than two of them: 0123456789";
    let names = ["a", "b", "c", "d", "e", "n1", "n2", long];
    let [holder, resource, other] = [0; 3].map(|_| random.pick(&names));
    let lease = if known.leases.is_empty() { LeaseId(0) } else { random.pick(&known.leases) };
    let ticket = if known.tickets.is_empty() { TicketId(0) } else { random.pick(&known.tickets) };
    let owner = 1 + random.below(4) as u16;
    match random.below(34) {
        0 => encoded(&Declare {
            resource,
            slots: 1 + random.below(3) as u32,
            memory: random.below(3) as u32,
        }),
        1 => {
            let health = random.pick(&[Health::Healthy, Health::Healthy, Health::Draining]);
            encoded(&SetHealth { resource, health })
        }
        2 | 3 => encoded(&Release { lease }),
        4 => encoded(&Withdraw { ticket }),
        5 | 6 => encoded(&Collect::<Picks>::new(ticket)),
        7 => encoded(&Renew { lease, ttl: None }),
        8 => encoded(&RenewLate { lease, ttl: Some(1 + random.below(30)), end: 0 }),
        9 | 10 => {
            let reason = random.pick(&[Reason::Operator, Reason::DeadlockVictim]);
            encoded(&Revoke { lease, reason, by: other, notice: random.below(8) })
        }
        11 => encoded(&Want { holder, resource }),
        12 => encoded(&Unwant { holder, resource }),
        13 => {
            let reason = random.pick(&[Reason::HolderDied, Reason::Released, Reason::EngineLost]);
            encoded(&ReapOwner { owner, reason, limit: 1 + random.below(3) as u32 })
        }
        14 => encoded(&Advance),
        15 => encoded(&SetPrincipal { owner }),
        16 => {
            let node = random.pick(&[None, Some("n1"), Some("n2")]);
            encoded(&SetNode { resource, node })
        }
        17 => encoded(&ClearCheck { resource }),
        18 => encoded(&Transfer { lease, to: owner }),
        19 if random.percent(30) => {
            encoded(&Fail { resource, reason: Reason::DeviceFault, by: other })
        }
        20 => {
            let island = random.percent(50).then_some(("links", random.below(2) as u32));
            let checked = random.percent(30);
            let first =
                DeviceListing { resource, slots: None, memory: 0, island, checked, evidence: None };
            let devices = [first, DeviceListing { resource: other, ..first }];
            encoded(&ListDevices { devices: &devices[..], node: None })
        }
        21 => {
            let (leased, cleaning) = (random.percent(50), random.percent(50));
            let before = DeviceState { evidence: Health::Healthy, leased, cleaning };
            encoded(&SetEvidence { resource, before, health: Health::Healthy, unused: true })
        }
        22..=24 => encoded(&Expire { lease, at: random.below(600) }),
        _ => {
            let count = if random.percent(30) { 2 } else { 1 };
            let three = [resource, other, random.pick(&names)];
            let take = match random.below(4) {
                0 => Take::Exclusive,
                1 => Take::Shared,
                _ => Take::Amount { slots: 1, memory: random.below(2) as u32 },
            };
            encoded(&Place::<()>::new(&Claim {
                take,
                count,
                together: count == 2 && random.percent(30),
                ttl: 1 + random.below(20),
                wait: random.pick(&[0, 3, 20, FOREVER]),
                priority: random.below(3) as i16,
                spare: random.percent(20),
                preemptible: random.percent(40),
                preempt: random.percent(40),
                grace: random.below(4),
                parent: random.percent(15).then_some(lease),
                ..Claim::one(holder, &three[..1 + random.below(3) as usize])
            }))
        }
    }
}

fn settings_of(seed: u64) -> Settings {
    let limits = match seed % 3 {
        0 => LIMITS,
        1 => Limits { leases: 2, tickets: 2, resources: 3, history: 1 },
        _ => Limits { leases: 12, tickets: 12, resources: 12, history: 16 },
    };
    Settings {
        deadlocks: [DeadlockPolicy::Report, DeadlockPolicy::Break][seed as usize / 3 % 2],
        implied_wants: seed.is_multiple_of(7),
        first_sequence: 1 + seed * 1000,
        ..replicated(limits)
    }
}

/// Two replicas get the same commands, and one of them is replaced by the snapshot of the other now
/// and then. Returns the last state, and what kinds of replies and events there were.
fn run(seed: u64, steps: usize) -> (Table<Arrays>, BTreeSet<String>) {
    let settings = settings_of(seed);
    let (random, mut known, mut seen) = (&mut Random(seed), Known::default(), BTreeSet::new());
    let first = new_table(settings);
    let mut second = new_table(settings);
    let mut now = 0;
    for step in 0..steps {
        now += random.below(3);
        let by = issuer(1 + random.below(4) as u16, 7 + random.below(2) as u32);
        let command = AnyCommand::decode(&random_command(random, &known)).expect("it is encoded");
        let events = first.last_event();
        let [reply, other] = [&first, &second].map(|table| {
            let reply = command.apply(table, by, now);
            let mut decided = Vec::new();
            table.take_decided(|place| decided.push(place));
            (reply, decided)
        });
        assert_eq!(reply, other, "step {step}: {command:?}");
        let bytes = snapshot(&first);
        assert!(bytes == snapshot(&second), "step {step}: {command:?}");
        assert_eq!(first.state_hash(), second.state_hash(), "step {step}: {command:?}");
        first.verify().and(second.verify()).unwrap_or_else(|why| panic!("step {step}: {why}"));
        known.note(&first, &reply.0);
        if random.percent(15) {
            second = loaded(settings, &bytes).expect("it is a snapshot");
            assert_eq!(second.verify(), Ok(()));
        }
        note_kinds(&first, events, &command, &reply.0, &mut seen);
    }
    (first, seen)
}

fn note_kinds(
    table: &Table<Arrays>,
    events: u64,
    command: &AnyCommand,
    reply: &AnyReply,
    seen: &mut BTreeSet<String>,
) {
    let word = |text: String| text.split([' ', '(', '{']).next().unwrap_or_default().to_owned();
    match reply {
        AnyReply::Refused(error) => seen.insert(format!("error {}", word(format!("{error:?}")))),
        _ => seen.insert(format!("done {}", word(format!("{command:?}")))),
    };
    let mut found = Vec::new();
    table.events_since(events, &mut found);
    for event in found {
        seen.insert(match event.what {
            What::Ended { reason, .. } => format!("ended {reason}"),
            What::Refused { reason, .. } => format!("refused {reason}"),
            what => word(format!("{what:?}")),
        });
    }
}

#[test]
fn replicas_that_get_the_same_commands_are_equal() {
    let given = env::var("TERN_SEED").ok().map(|text| text.parse::<u64>().expect("a number"));
    let mut seen = BTreeSet::new();
    for seed in given.map_or(0..120, |seed| seed..seed + 1) {
        match catch_unwind(|| run(seed, 400).1) {
            Ok(kinds) => seen.extend(kinds),
            Err(_) => panic!("TERN_SEED={seed}"),
        }
    }
    if given.is_none() {
        for kind in [
            "done Expire",
            "done Renew",
            "done ListDevices",
            "done Transfer",
            "error Busy",
            "error Full",
            "error OtherPrincipal",
            "error Impossible",
            "ended TIMED_OUT",
            "ended OPERATOR",
            "ended PREEMPTED",
            "ended SPARE_RECLAIMED",
            "ended DEADLOCK_VICTIM",
            "ended PARENT_REVOKED",
            "ended HOLDER_DIED",
            "refused WAIT_TIMED_OUT",
            "refused PARENT_ENDED",
            "RenewedLate",
            "Revoking",
        ] {
            assert!(seen.contains(kind), "{kind} is missing in {seen:?}");
        }
    }
}

#[test]
fn unused_records_take_no_room() {
    let limits = Limits { leases: 16_384, tickets: 16_384, resources: 16_384, history: 1024 };
    let t = new_table(replicated(limits));
    let empty = snapshot(&t).len();
    assert!(empty < 100, "{empty} bytes");
    for number in 0..10 {
        let name = format!("gpu{number}");
        granted(place(&t, owner(1), 1000, &claim("trainer", &[&name], 60_000_000)));
    }
    let bytes = snapshot(&t);
    assert!(bytes.len() < 1200, "{} bytes", bytes.len());
    let copy = loaded(replicated(limits), &bytes).unwrap();
    assert_eq!((copy.leases(), copy.state_hash()), (t.leases(), t.state_hash()));
}

/// A snapshot and a hash are the same on every machine. Both change with the records and with the
/// rules; then the version of snapshots, or that of the rules, must change too.
#[test]
fn form_is_stable() {
    let t = new_table(replicated(LIMITS));
    t.apply(owner(1), &SetPrincipal { owner: 1 }, 3).unwrap();
    granted(place(&t, owner(1), 5, &claim("trainer", &["gpu0"], 9)));
    waiting(place(&t, owner(2), 6, &Claim { wait: 70, ..claim("a long name", &["gpu0"], 9) }));
    let bytes = snapshot(&t);
    assert_eq!((bytes.len(), t.state_hash()), (289, 17_067_915_497_706_071_269));
}

#[test]
fn damaged_snapshots_are_refused_or_verified() {
    let (mut accepted, mut refused) = (0, 0);
    for seed in 0..6 {
        let settings = settings_of(seed);
        let bytes = snapshot(&run(seed, 60 + 20 * seed as usize).0);
        for len in 0..bytes.len() {
            assert!(loaded(settings, &bytes[..len]).is_err(), "seed {seed}, cut to {len}");
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                let Ok(table) = loaded(settings, &damaged) else {
                    refused += 1;
                    continue;
                };
                assert!(snapshot(&table) == damaged, "seed {seed}: two forms, bit {bit} of {at}");
                match table.verify() {
                    Ok(()) => accepted += 1,
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(accepted > 0 && refused > accepted, "{accepted} accepted, {refused} refused");
}
