//! A log whose entries are made from a few bytes each. Most entries are valid, so that the table
//! has leases and a queue; the others are damaged copies of these.

use ternlease::sim_api::entry::{LogEntry, What};
use ternlease::sim_api::keys::END;
use ternlease::sim_api::shape::Shape;
use ternlease::table::codec::{self, Decode, Encode};
use ternlease::table::command::*;
use ternlease::table::*;

use super::choices::Choices;
use super::replicas::Replicas;

/// So many bytes decide about one step.
pub const STEP: usize = 10;

const SESSIONS: [i64; 4] = [7, 8, -1, i64::MIN];
const NAMES: [&str; 4] = ["gpu0", "gpu1", "x", "a-device-with-a-rather-long-name-of-its-own"];
const HOLDERS: [&str; 3] = ["ann", "bob", "cleo"];
const DELAYS: [Time; 8] = [0, 1, 1, 2, 5, 50, 1 << 40, FOREVER];

/// More than the entries between two hashes of a replica.
const MANY: usize = 260;

/// Bits of the second byte of an input.
pub const SMALL: u8 = 1;
pub const BREAK_DEADLOCKS: u8 = 2;
pub const IMPLIED_WANTS: u8 = 4;
/// The lower one of two bits for the time 0 of the table.
pub const EPOCH: u8 = 8;

pub fn shape(bits: u8) -> Shape {
    let limits = match bits & SMALL {
        0 => Limits { leases: 8, tickets: 8, resources: 8, history: 8 },
        _ => Limits { leases: 2, tickets: 3, resources: 3, history: 1 },
    };
    let deadlocks = match bits & BREAK_DEADLOCKS {
        0 => DeadlockPolicy::Report,
        _ => DeadlockPolicy::Break,
    };
    let implied_wants = bits & IMPLIED_WANTS != 0;
    let settings = Settings { limits, deadlocks, implied_wants, ..Settings::default() };
    let epochs = [0, u64::MAX, 1_700_000_000_000_000, 1 << 60];
    let epoch = epochs[usize::from(bits / EPOCH % 4)];
    Shape { epoch, ..Shape::new(settings) }
}

pub struct Steps {
    shape: Shape,
    replicas: Replicas,
    /// The last entry that was made.
    last: Vec<u8>,
}

/// Kinds of steps, by the remainder of the first byte. Those below [`JOIN`] are commands, the last
/// ones are foreign snapshots.
const STEP_KINDS: u8 = 32;
pub const JOIN: u8 = 20;
pub const END_SESSION: u8 = 22;
pub const DAMAGE: u8 = 23;
pub const REBUILD: u8 = 27;
pub const MANY_ENTRIES: u8 = 28;

impl Steps {
    pub fn new(bits: u8) -> Steps {
        let shape = shape(bits);
        Steps { shape, replicas: Replicas::new(shape), last: Vec::new() }
    }

    pub fn take(&mut self, step: &[u8]) {
        let mut choices = Choices::new(step);
        let kind = choices.byte() % STEP_KINDS;
        match kind {
            ..JOIN => {
                let session = choices.one_of(&SESSIONS);
                let message = message(&self.replicas, session, kind, &mut choices);
                self.append(session, What::Commands(vec![message]), &mut choices);
            }
            JOIN..END_SESSION => {
                let session = choices.one_of(&SESSIONS);
                let principal = choices.below(3) as u32;
                let previous = choices.below(8);
                let previous = SESSIONS.get(previous).copied();
                self.append(session, What::Join { principal, previous }, &mut choices);
            }
            END_SESSION => {
                let session = choices.one_of(&SESSIONS);
                let reason = choices.one_of(Reason::ALL);
                self.append(session, What::End { reason }, &mut choices);
            }
            DAMAGE..REBUILD => {
                let bytes = damaged(self.last.clone(), &mut choices);
                self.replicas.apply(&bytes);
            }
            REBUILD => self.replicas.rebuild(),
            MANY_ENTRIES => {
                for _ in 0..MANY {
                    self.replicas.apply(&[]);
                }
            }
            _ => self.load(damaged(self.replicas.first.encode_snapshot(), &mut choices)),
        }
        self.replicas.compare();
    }

    fn load(&mut self, bytes: Vec<u8>) {
        if let Some(replicas) = Replicas::load(self.shape, &bytes) {
            self.replicas = replicas;
        }
    }

    fn append(&mut self, session: i64, what: What, choices: &mut Choices<'_>) {
        let replica = &self.replicas.first;
        let last = replica.last_of(session).map_or(0, |(last, _)| last);
        let number = match choices.byte() % 16 {
            0 => last,
            1 => END,
            _ => last.saturating_add(1),
        };
        let delay = choices.one_of(&DELAYS);
        let now = replica.table.now().saturating_add(delay).min(FOREVER - 1);
        let check = match choices.byte() % 16 {
            0 => Some((replica.position, replica.hash())),
            1 => replica.check(),
            2 => replica.check().map(|(position, hash)| (position, hash ^ 1)),
            _ => None,
        };
        self.last = LogEntry { session, number, now, seen: replica.seen(), check, what }.encode();
        self.replicas.apply(&self.last);
    }
}

/// A command, most often one that means something now.
fn message(replicas: &Replicas, session: i64, kind: u8, choices: &mut Choices<'_>) -> Vec<u8> {
    let (replica, table) = (&replicas.first, &replicas.first.table);
    let [place, span, flags] = [(); 3].map(|()| choices.byte());
    let place = usize::from(place);
    let names = [NAMES[place % NAMES.len()], NAMES[(place / 4) % NAMES.len()]];
    let resource = names[0];
    let holder = HOLDERS[place / 16 % HOLDERS.len()];
    let span = [0, 1, 7, 40, FOREVER, u64::MAX, 1 << 60, 3][usize::from(span % 8)];
    let leases = table.leases();
    let lease = leases.get(place % leases.len().max(1)).map_or(LeaseId(span), |lease| lease.id);
    let tickets = table.tickets();
    let ticket = tickets.get(place % tickets.len().max(1));
    let ticket = ticket.map_or(TicketId(span), |ticket| ticket.id);
    let owner = replica.owner_of(session).unwrap_or(span as u16);
    let is = |bit: u32| flags >> bit & 1 == 1;
    let health = [Health::Healthy, Health::Draining, Health::Failed][usize::from(flags % 3)];
    let reason = if is(7) { Reason::ALL[place % Reason::ALL.len()] } else { Reason::Operator };
    let mut out = Vec::new();
    macro_rules! put {
        ($command:expr) => {
            codec::encode(&$command, &mut out)
        };
    }
    match kind {
        0..4 => {
            let count = 1 + u32::from(is(0));
            let take = match (is(1), is(2)) {
                (false, _) => Take::ONE_SLOT,
                (true, false) => Take::Shared,
                (true, true) => Take::Amount { slots: 2, memory: 40 },
            };
            let parent = (kind == 3).then_some(lease);
            let claim = Claim {
                holder,
                candidates: Candidates::Named(&names[..count as usize]),
                count: 1 + u32::from(is(0) && is(3)),
                together: is(3),
                take,
                ttl: span.max(1),
                wait: if kind == 1 { 0 } else { FOREVER },
                priority: i16::from(flags >> 4 & 3),
                spare: is(4),
                preemptible: is(5),
                preempt: is(6),
                grace: 5 * Time::from(is(7)),
                parent,
                ..Claim::one("", &[])
            };
            put!(Place::<Picks>::new(&claim));
        }
        4 => put!(Release { lease }),
        5 => put!(Withdraw { ticket }),
        6 => put!(Collect::<Picks>::new(ticket)),
        7 => put!(Renew { lease, ttl: is(0).then_some(span) }),
        8 => put!(Revoke { lease, reason, by: holder, notice: span }),
        9 => put!(Declare { resource, slots: u32::from(flags % 9), memory: 100 }),
        10 => put!(SetNode { resource, node: is(0).then_some(names[1]) }),
        11 => put!(SetHealth { resource, health }),
        12 => {
            let before = table.resource(resource).map(DeviceState::from);
            let none = DeviceState { evidence: health, leased: is(3), cleaning: is(4) };
            let before = before.unwrap_or(none);
            put!(SetEvidence { resource, before, health, unused: is(5) });
        }
        13 => put!(Fail { resource, reason, by: holder }),
        14 => {
            let first = DeviceListing {
                resource,
                slots: is(0).then_some(4),
                memory: 100,
                island: is(1).then_some(("nvlink", 1)),
                checked: is(2),
                evidence: is(3).then_some(Health::Healthy),
            };
            let second = DeviceListing { resource: names[1], ..first };
            let node = is(4).then(|| table.resource_id("x")).flatten();
            put!(ListDevices { devices: &[first, second][..1 + usize::from(is(5))], node });
        }
        15 if is(0) => put!(Unwant { holder, resource }),
        15 => put!(Want { holder, resource }),
        16 => put!(Transfer { lease, to: if is(0) { owner } else { u16::from(flags) } }),
        17 if is(1) => put!(RenewLate { lease, ttl: is(0).then_some(span), end: span }),
        17 => put!(Expire { lease, at: span }),
        18 if is(0) => put!(ClearCheck { resource }),
        18 => put!(Advance),
        // Both are for the replica alone, which refuses them in an entry.
        _ if is(0) => put!(ReapOwner { owner, reason: Reason::HolderDied, limit: u32::MAX }),
        _ => put!(SetPrincipal { owner }),
    }
    out
}

/// Bytes of which a part is not what it was.
fn damaged(mut bytes: Vec<u8>, choices: &mut Choices<'_>) -> Vec<u8> {
    let kind = choices.byte() % 8;
    let place = usize::from(choices.half());
    let value = choices.byte();
    let byte = place % bytes.len().max(1);
    match kind {
        _ if bytes.is_empty() => bytes.push(value),
        0 => bytes[byte] ^= 1 << (value % 8),
        1 => bytes.truncate(byte),
        2 => bytes.extend([value; 3]),
        _ => return with_other_number(&bytes, place, choices),
    }
    bytes
}

/// Entries and snapshots consist of numbers, but for strings, which are kept if they are read as
/// numbers.
fn with_other_number(bytes: &[u8], place: usize, choices: &mut Choices<'_>) -> Vec<u8> {
    let mut rest = bytes;
    let mut numbers = Vec::new();
    while let Ok(number) = u64::take(&mut rest) {
        numbers.push(number);
    }
    let place = place % numbers.len().max(1);
    if let Some(old) = numbers.get(place).copied() {
        let new = number(choices, old);
        match numbers.get(place + 1).copied() {
            // A number in a run of zeros of a snapshot.
            Some(zeros @ 2..) if old == 0 => {
                let before = new % (zeros - 1);
                let inside = [0, before, new.max(1), 0, zeros - before - 2];
                numbers.splice(place..=place + 1, inside);
            }
            _ => numbers[place] = new,
        }
    }
    let mut out = Vec::new();
    numbers.iter().for_each(|number| number.put(&mut out));
    out.extend(rest);
    out
}

/// A number that means something, or one near it.
fn number(choices: &mut Choices<'_>, near: u64) -> u64 {
    let small = u64::from(choices.byte());
    match choices.byte() % 8 {
        0..3 => small % 16,
        3 => (1 << 31) + small % 32,
        4 => near.wrapping_add(small),
        5 => near.wrapping_sub(small),
        6 => u64::MAX - small % 4,
        _ => 1 << (small % 64),
    }
}
