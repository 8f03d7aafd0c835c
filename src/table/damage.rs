//! Tests with memory in which a byte changes that no command has changed: each that commands write, one at a time. An error, or nothing at all; never a
//! panic, a hang, or a second holder.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::cell::{Cell, Touched};
use super::layout::*;
use super::*;
use crate::memory::Arrays;

/// Memory that others write to, too. As soon as so many values were written, they change one byte of the last.
struct Faulty {
    arrays: Arrays,
    /// Each value that was written, with its length in bytes.
    written: RefCell<Vec<(u64, usize)>>,
    damage: Option<Damage>,
}

#[derive(Debug, Clone, Copy)]
struct Damage {
    nth: usize,
    byte: usize,
    value: u8,
}

macro_rules! arrays {
    ($($name:ident: $type:ty,)*) => {
        impl Memory for Faulty {
            const UNTRUSTED: bool = true;
            fn header(&self) -> &Header {
                self.arrays.header()
            }
            fn index_mask(&self) -> u64 {
                self.arrays.index_mask()
            }
            fn set<C: Cell>(&self, cell: &C, value: C::Value) {
                cell.put(value);
                self.after_write(cell.touched());
            }
            $(fn $name(&self) -> &[$type] {
                self.arrays.$name()
            })*
        }
    };
}

arrays! {
    names: Name,
    buckets: cell::Cell32,
    resources: Resource,
    holders: Holder,
    leases: Lease,
    lease_extras: LeaseExtra,
    holds: Hold,
    tickets: Ticket,
    lines: Line,
    members: Member,
    wants: Want,
    timers: Timer,
    events: EventRecord,
    owners: cell::Cell32,
}

impl Faulty {
    fn after_write(&self, cell: Touched<'_>) {
        let (value, length) = match cell {
            Touched::Half(cell) => (cell.get().into(), 4),
            Touched::Word(cell) => (cell.get(), 8),
        };
        let mut written = self.written.borrow_mut();
        written.push((value, length));
        let Some(damage) = self.damage.filter(|damage| damage.nth == written.len()) else { return };
        let mut bytes = value.to_le_bytes();
        bytes[damage.byte] = damage.value;
        match cell {
            Touched::Half(cell) => cell.put(u64::from_le_bytes(bytes) as u32),
            Touched::Word(cell) => cell.put(u64::from_le_bytes(bytes)),
        }
    }
}

const LIMITS: Limits = Limits { leases: 4, tickets: 4, resources: 5, history: 2 };
const LONG: &str = "a-device-with-a-rather-long-name-of-its-own";

/// Users of a table, who know what they were told.
struct Users {
    table: Table<Faulty>,
    now: Time,
    granted: BTreeMap<LeaseId, Vec<&'static str>>,
    tickets: BTreeMap<TicketId, Vec<&'static str>>,
    /// Somebody was told that the memory makes no sense.
    noticed: bool,
}

impl Users {
    fn claim(&mut self, holder: &str, names: &[&'static str], claim: Claim<'_>) {
        let claim = Claim { holder, candidates: Candidates::Named(names), ..claim };
        let answer = self.table.claim(self.now, &claim);
        match answer {
            Ok(Outcome::Granted(id)) => drop(self.granted.insert(id, names.to_vec())),
            Ok(Outcome::Waiting(id)) => drop(self.tickets.insert(id, names.to_vec())),
            Err(_) => {}
        }
        self.look(answer);
    }

    fn take(&mut self, holder: &str, names: &[&'static str]) {
        self.claim(holder, names, Claim { count: names.len() as u32, ..Claim::one("", &[]) });
    }

    fn wait(&mut self, holder: &str, names: &[&'static str]) {
        let count = names.len() as u32;
        let ttl = if holder == "short" { 10 } else { FOREVER };
        self.claim(holder, names, Claim { count, ttl, wait: 50, ..Claim::one("", &[]) });
    }

    /// Gives back the oldest lease that they believe to have.
    fn release(&mut self) {
        if let Some((id, _)) = self.granted.pop_first() {
            self.look(self.table.release(self.now, id));
        }
    }

    fn advance(&mut self, time: Time) {
        self.now += time;
        self.look(self.table.advance(self.now));
    }

    /// No two of them have the same resource, as far as they are told. What was found out is undone, and nothing is told from then on.
    fn look<T>(&mut self, answer: Result<T, Error>) {
        self.noticed |= matches!(answer, Err(Error::Corrupt));
        if self.noticed {
            return;
        }
        for (ticket, names) in &self.tickets {
            if let Some(TicketState::Granted(lease)) = self.table.ticket(*ticket) {
                self.granted.insert(lease, names.clone());
            }
        }
        let mut holders = BTreeMap::new();
        for (&lease, names) in &self.granted {
            if self.table.state(lease, self.now) == Some(LeaseState::Held) {
                for name in names {
                    let other = holders.insert(name, lease);
                    assert_eq!(other, None, "{lease} has {name}, too: {:?}", self.damage());
                }
            }
        }
    }

    fn damage(&self) -> Option<Damage> {
        self.table.memory.damage
    }
}

/// Everything that is written, in order.
fn run(damage: Option<Damage>) -> Vec<(u64, usize)> {
    let settings = Settings { limits: LIMITS, ..Settings::default() };
    let arrays = Arrays::try_new(&LIMITS.sizes()).unwrap();
    let table = Table::try_new(Faulty { arrays, written: RefCell::default(), damage }, settings);
    let (granted, tickets) = Default::default();
    let mut users = Users { table: table.unwrap(), now: 1, granted, tickets, noticed: false };
    users.take("ann", &["gpu0"]);
    users.take("bob", &["gpu1", LONG]);
    users.wait("cleo", &["gpu0"]);
    users.wait("short", &["gpu1", "gpu0"]);
    users.take("dan", &["x"]);
    users.take("eve", &["gpu0"]);
    users.release();
    users.take("eve", &[LONG]);
    users.release();
    users.wait("ann", &["gpu1"]);
    users.advance(5);
    users.release();
    users.take("dan", &["y", "gpu0"]);
    users.advance(20);
    users.take("fay", &["gpu0"]);
    users.take("fay", &["gpu1"]);
    users.release();
    users.advance(40);
    users.take("guy", &["gpu0", "gpu1"]);
    let t = &users.table;
    let _ = (t.verify(), t.leases(), t.tickets(), t.resources(), t.find_deadlocks(users.now));
    t.memory.written.take()
}

#[test]
fn a_byte_that_changed_makes_no_second_holder() {
    for (before, (value, length)) in run(None).into_iter().enumerate() {
        for (byte, was) in value.to_le_bytes().into_iter().enumerate().take(length) {
            // Next to it, far from it, and none at all.
            for value in [was ^ 1, !was, 0] {
                if value != was {
                    run(Some(Damage { nth: before + 1, byte, value }));
                }
            }
        }
    }
}
