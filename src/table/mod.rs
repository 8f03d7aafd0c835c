//! The lease table: a pure state machine.
//!
//! `issuer + command + now -> reply + events`. It has no clock, lock, thread, I/O or randomness,
//! and it allocates nothing once it is built, except the lists that queries return. [The
//! rules](crate::guide::rules) say what it decides.
//!
//! A table works on memory that a *home* provides ([`Memory`]) and changes it only through
//! [`Memory::before_write`]. The home runs one command at a time. Methods take `&self` because all
//! cells are atomic; a `Table` is not `Sync`, so two commands cannot run on it at once.

mod actor;
mod arena;
mod candidates;
pub mod cell;
mod chain;
mod choose;
mod claim;
pub mod codec;
pub mod command;
#[cfg(test)]
mod damage;
mod deadlock;
mod event;
mod hold;
mod inspect;
pub mod layout;
mod lease;
mod line;
mod list;
pub mod memory;
mod names;
mod node;
mod owner;
mod priority;
pub mod query;
mod queue;
mod reason;
mod reduce;
mod resource;
mod revoke;
pub(crate) mod scratch;
mod settle;
pub(crate) mod slot;
mod snapshot;
mod takeback;
#[cfg(test)]
mod tests;
mod ticket;
mod timers;
mod types;
mod verify;
mod want;
mod worker;

use std::cell::Cell as PlainCell;

pub use actor::{Actor, Issuer};
pub use command::{Command, Picks, Placed};
pub use deadlock::{Deadlock, Wait};
pub use event::{Effect, Event, What};
pub use inspect::{LeaseInfo, ResourceInfo, Taken, TicketInfo};
pub use layout::{Limits, Sizes};
pub use memory::Memory;
pub use owner::Reaped;
pub use query::Query;
pub use reason::{Reason, ReasonClass};
pub use ticket::ticket_state;
pub(crate) use ticket::wait_end;
pub use types::*;

use cell::Cell;
use layout::*;
use scratch::Scratch;

/// The settings of a new table.
#[derive(Debug, Clone, Copy, Default)]
pub struct Settings {
    /// Its capacity.
    pub limits: Limits,
    /// Ids start above this. A home with a clock derives it from the wall clock
    /// ([`first_sequence`]), so that ids keep growing when a table is made anew.
    pub first_sequence: u64,
    /// The source of the numbers in ids, if other tables must not use the same; otherwise they are
    /// consecutive.
    pub numbers: Option<Numbers>,
    /// Every holder is taken to want the resource that bears its own name.
    pub implied_wants: bool,
    /// What to do about deadlocks.
    pub deadlocks: DeadlockPolicy,
    /// The table is a replica of a log of commands. It changes by commands only, without
    /// [`renew_quickly`] and [`lease_state`]. Owners keep the ends of their leases, and report them
    /// by [`Expire`](command::Expire).
    pub replicated: bool,
}

/// Returns numbers that no other table gets, always higher than those before. Ids are these
/// numbers, shifted left by `bits`.
pub type Numbers = fn(bits: u32) -> std::ops::Range<u64>;

/// The lease table over some memory.
#[derive(Debug)]
pub struct Table<M: Memory> {
    memory: M,
    /// Low bits of an id that name its record.
    id_bits: u32,
    index_mask: u64,
    lease_limit: u32,
    ticket_limit: u32,
    history: u32,
    numbers: Option<Numbers>,
    /// The end of the numbers that this table got.
    numbers_end: PlainCell<u64>,
    /// A bound on the length of every list.
    longest: u32,
    // Behind pointers, so that the compiler knows that the table itself does not change.
    corrupt: Box<PlainCell<bool>>,
    /// The memory is damaged: lists end at once, so that a command on it ends soon.
    broken: Box<PlainCell<bool>>,
    /// The process that issued the command that runs.
    issuer: Box<PlainCell<Issuer>>,
    scratch: Box<Scratch>,
}

impl<M: Memory> Table<M> {
    /// Uses memory that is zeroed, or that a table of the same limits has left. `None` if the
    /// system does not provide the other memory that a table needs.
    pub fn try_new(memory: M, settings: Settings) -> Option<Self> {
        let table = Self::try_attach(memory, settings)?;
        table.prepare(settings);
        Some(table)
    }

    /// Makes zeroed memory an empty table. An existing table is not changed.
    pub(crate) fn prepare(&self, settings: Settings) {
        let header = self.header();
        if header.sequence.get() == 0 {
            let mut flags = 0;
            if settings.implied_wants {
                flags |= setting::IMPLIED_WANTS;
            }
            if settings.deadlocks == DeadlockPolicy::Break {
                flags |= setting::BREAK_DEADLOCKS;
            }
            if settings.replicated {
                flags |= setting::REPLICATED;
            }
            self.set(&header.settings, flags);
            self.set(&header.next_due, FOREVER);
            self.set(&header.sequence, settings.first_sequence.max(1));
        }
    }

    /// Uses memory that a table of the same limits has left, and changes nothing in it. `None` if
    /// the system does not provide the other memory that a table needs.
    pub(crate) fn try_attach(memory: M, settings: Settings) -> Option<Self> {
        let limits = settings.limits.clamped();
        let sizes = limits.sizes();
        Some(Table {
            id_bits: sizes.id_bits(),
            index_mask: sizes.index_mask(),
            lease_limit: limits.leases,
            ticket_limit: limits.tickets,
            history: limits.history,
            numbers: settings.numbers,
            numbers_end: PlainCell::new(0),
            longest: sizes.names.max(sizes.holds).max(sizes.members) as u32,
            corrupt: Box::new(PlainCell::new(false)),
            broken: Box::new(PlainCell::new(false)),
            issuer: Box::default(),
            scratch: Box::new(Scratch::try_new(&sizes)?),
            memory,
        })
    }

    /// The memory, for readers that do not take the lock.
    pub fn memory(&self) -> &M {
        &self.memory
    }

    /// The time of the last command.
    pub fn now(&self) -> Time {
        self.header().now.get()
    }

    /// The next deadline: nothing becomes due before it.
    pub fn next_due(&self) -> Time {
        self.header().next_due.get()
    }

    /// Runs what is due at `now`.
    pub fn advance(&self, now: Time) -> Result<(), Error> {
        self.enter(now)?;
        self.leave(())
    }

    /// Begins a command: sets the time and runs what is due.
    #[inline(always)]
    fn enter(&self, now: Time) -> Result<(), Error> {
        if now >= FOREVER {
            return Err(Error::TimeTooLarge);
        }
        let header = self.header();
        if self.corrupt.get() {
            return Err(Error::Corrupt);
        }
        if now < header.now.get() {
            return Err(Error::TimeBackwards);
        }
        self.set(&header.now, now);
        if now >= header.next_due.get() {
            self.run_timers(now, (now, u64::MAX));
        }
        Ok(())
    }

    /// Ends a command: returns its answer, or an error if the memory is damaged.
    #[inline(always)]
    fn leave<T>(&self, answer: T) -> Result<T, Error> {
        if self.corrupt.get() { Err(Error::Corrupt) } else { Ok(answer) }
    }

    #[inline(always)]
    fn header(&self) -> &Header {
        self.memory.header()
    }

    #[inline(always)]
    fn set<C: Cell>(&self, cell: &C, value: C::Value) {
        self.memory.set(cell, value);
    }

    #[inline(always)]
    fn add(&self, cell: &cell::Cell32, n: u32) {
        self.set(cell, cell.get().wrapping_add(n));
    }

    #[inline(always)]
    fn sub(&self, cell: &cell::Cell32, n: u32) {
        self.set(cell, cell.get().wrapping_sub(n));
    }

    #[inline(always)]
    fn increment(&self, cell: &cell::Cell64) {
        self.set(cell, cell.get().wrapping_add(1));
    }

    #[inline(always)]
    fn counter(&self, reason: Reason) -> &cell::Cell64 {
        let (class, number) = reason.place();
        &self.header().by_reason[class][number]
    }

    /// The next number for a claim or a lease.
    #[inline(always)]
    fn next_number(&self) -> u64 {
        let cell = &self.header().sequence;
        let mut next = cell.get().wrapping_add(1);
        if next >= self.numbers_end.get() {
            next = self.more_numbers(next);
        }
        self.set(cell, next);
        next
    }

    /// Numbers from now on are above `floor`.
    #[cfg_attr(not(feature = "cluster"), allow(dead_code))]
    pub(crate) fn raise_sequence(&self, floor: u64) {
        let cell = &self.header().sequence;
        if cell.get() < floor && !self.corrupt.get() {
            self.set(cell, floor);
        }
    }

    #[cold]
    fn more_numbers(&self, next: u64) -> u64 {
        let range = self.numbers.map_or(next..u64::MAX, |more| more(self.id_bits));
        self.numbers_end.set(range.end);
        next.max(range.start)
    }

    fn setting(&self, bit: u32) -> bool {
        self.header().settings.get() & bit != 0
    }

    /// A substitute for a record that does not exist.
    #[cold]
    #[inline(never)]
    fn nothing<'a, T>(&self, array: &'a [T]) -> &'a T {
        self.mark_corrupt();
        &array[0]
    }

    /// From now on every command is [`Error::Corrupt`].
    #[cold]
    pub(crate) fn mark_corrupt(&self) {
        self.corrupt.set(true);
        self.broken.set(true);
    }

    /// Marks the table corrupt unless `holds`, which is always true in undamaged memory. Returns
    /// `holds`.
    #[inline(always)]
    fn check(&self, holds: bool) -> bool {
        if !holds {
            self.mark_corrupt();
        }
        holds
    }

    /// As [`Self::check`], for a condition that only memory with other writers can violate.
    #[inline(always)]
    fn check_untrusted(&self, holds: impl FnOnce() -> bool) -> bool {
        !M::UNTRUSTED || self.check(holds())
    }

    /// The last record of an array of `len` that was ever used.
    fn last_used(&self, arena: &Arena, len: usize) -> u32 {
        let last = arena.fresh.get();
        if self.check((last as usize) < len) { last } else { len as u32 - 1 }
    }

    /// Is the memory damaged?
    pub(crate) fn is_corrupt(&self) -> bool {
        self.corrupt.get()
    }

    /// Reads without the lock of the table. Another process may change it meanwhile, so apparent
    /// damage is ignored. Commands are refused, so that nothing is written.
    pub(crate) fn read_unlocked<T>(&self, read: impl FnOnce(&Self) -> T) -> T {
        struct Restore<'a>(&'a PlainCell<bool>, bool);
        // Also if the read panics.
        impl Drop for Restore<'_> {
            fn drop(&mut self) {
                self.0.set(self.1);
            }
        }
        let _corrupt = Restore(&self.corrupt, self.corrupt.replace(true));
        let _broken = Restore(&self.broken, self.broken.get());
        read(self)
    }
}

/// Records by index. An index outside its array can only come from damaged memory. It marks the
/// table corrupt and returns record 0, which no list contains, so that reads and writes of it are
/// harmless.
macro_rules! records {
    ($($name:ident, $array:ident: $type:ty;)*) => {
        impl<M: Memory> Table<M> {
            $(#[inline(always)]
            fn $name(&self, index: u32) -> &$type {
                let array = self.memory.$array();
                array.get(index as usize).unwrap_or_else(|| self.nothing(array))
            })*
        }
    };
}

records! {
    name_record, names: Name;
    resource_record, resources: Resource;
    holder_record, holders: Holder;
    lease_record, leases: Lease;
    extra_record, lease_extras: LeaseExtra;
    hold_record, holds: Hold;
    ticket_record, tickets: Ticket;
    line_record, lines: Line;
    member_record, members: Member;
    want_record, wants: Want;
    timer_record, timers: Timer;
}

/// The first id of a table that is made so long after 1970. It is far enough above the ids of an
/// earlier table with the same limits if that one granted fewer than `2^(31 - bits)` leases per
/// second on average (with the default limits: 16,384). Ids stay below 2^63 until the year 2106.
pub fn first_sequence(limits: Limits, since_1970: std::time::Duration) -> u64 {
    sequence_at(limits.sizes().id_bits(), since_1970)
}

/// As [`first_sequence`], for ids with so many bits for the index of the record.
pub(crate) fn sequence_at(bits: u32, since_1970: std::time::Duration) -> u64 {
    let scaled = since_1970.as_nanos() << (31 - bits.min(31));
    (scaled / 1_000_000_000) as u64
}

/// The state of a lease, read from a table's memory without its lock. The clock is read only if the
/// answer depends on it. A lease that was returned as over is never renewed afterwards, not even by
/// a process whose clock is behind.
#[inline(always)]
pub fn lease_state<M: Memory>(
    memory: &M,
    id: LeaseId,
    clock: impl FnOnce() -> Time,
) -> Option<LeaseState> {
    memory.leases().get((id.0 & memory.index_mask()) as usize)?.slot.state_by(id.0, clock)
}

/// The state of a lease at `now`, read from a table's memory without its lock. It writes nothing,
/// so a process whose clock is behind may still renew a lease that is over.
pub fn peek_state<M: Memory>(memory: &M, id: LeaseId, now: Time) -> Option<LeaseState> {
    memory.leases().get((id.0 & memory.index_mask()) as usize)?.slot.state(id.0, now)
}

/// Renews a plain lease without the table's lock. Returns its new end; `None` if a command must
/// decide.
#[inline(always)]
pub fn renew_quickly<M: Memory>(memory: &M, id: LeaseId, now: Time) -> Option<Time> {
    match memory.leases().get((id.0 & memory.index_mask()) as usize)?.slot.renew(id.0, now) {
        slot::QuickRenewal::Until(end) => Some(end),
        slot::QuickRenewal::AskTable => None,
    }
}

/// The number of leases that the table records as held, and the next deadline. Reads without the
/// lock.
#[inline(always)]
pub fn held_and_due<M: Memory>(memory: &M) -> (u32, Time) {
    let header = memory.header();
    // In this order: a lease granted in between can only make the answer look older than it is.
    let due = header.next_due.get();
    (header.held.get(), due)
}
