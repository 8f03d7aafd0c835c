//! The records of a table and how many of each there are.
//!
//! Records are flat, of fixed size, and linked by `u32` indices; index 0 is never used, so that
//! zeroed memory is an empty table and 0 means "none". The same layout serves on the heap and in a mapped file.

use super::cell::{Cell32, Cell64};
use super::reason::Reason;
use super::slot::Slot;

/// How much fits into a table. Memory is touched as it is used, so generous limits cost little.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Leases held at the same time.
    pub leases: u32,
    /// Claims waiting at the same time.
    pub tickets: u32,
    /// Resources known at the same time.
    pub resources: u32,
    /// Ended leases, decided tickets and events that are remembered.
    pub history: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { leases: 65_536, tickets: 16_384, resources: 65_536, history: 1024 }
    }
}

impl Limits {
    /// The largest value of each limit.
    pub const MAX: u32 = 1 << 24;

    /// These limits, each brought between 1 and [`Limits::MAX`].
    pub fn clamped(self) -> Limits {
        let fit = |n: u32| n.clamp(1, Self::MAX);
        Limits {
            leases: fit(self.leases),
            tickets: fit(self.tickets),
            resources: fit(self.resources),
            history: fit(self.history),
        }
    }

    /// How many records of each kind that makes.
    pub fn sizes(self) -> Sizes {
        let Limits { leases, tickets, resources, history } = self.clamped();
        // One more than are held and remembered: a lease is remembered before the oldest is forgotten.
        let lease_records = leases + history + 2;
        let ticket_records = tickets + history + 2;
        let holders = leases + tickets + 2 * history + resources + 1;
        let names = holders + resources + leases + history;
        Sizes {
            leases: lease_records as usize,
            holds: 4 * lease_records as usize + resources as usize,
            tickets: ticket_records as usize,
            lines: tickets as usize + 1,
            members: 2 * tickets as usize + 8 * resources as usize + 1,
            resources: resources as usize + 1,
            holders: holders as usize,
            names: names as usize + 1,
            buckets: (names / 4).next_power_of_two() as usize,
            wants: (tickets + resources) as usize + 1,
            timers: (lease_records + ticket_records + NURSERY) as usize + 2,
            events: history.next_power_of_two() as usize,
            owners: OWNERS,
        }
    }
}

/// Timers that are not in order yet.
pub(crate) const NURSERY: u32 = 64;

/// Lengths of a table's arrays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Sizes {
    pub leases: usize,
    pub holds: usize,
    pub tickets: usize,
    pub lines: usize,
    pub members: usize,
    pub resources: usize,
    pub holders: usize,
    pub names: usize,
    pub buckets: usize,
    pub wants: usize,
    pub timers: usize,
    pub events: usize,
    pub owners: usize,
}

/// Owner numbers, 0 among them. Homes admit as many processes as there are numbers above 0.
pub(crate) const OWNERS: usize = 1025;

impl Sizes {
    /// Bits of an id that name a record: enough for leases and for tickets, so that ids of tables
    /// with other limits, made at other times, compare by time.
    pub fn id_bits(&self) -> u32 {
        usize::BITS - (self.leases | self.tickets).leading_zeros()
    }

    /// The low [`Self::id_bits`] bits.
    pub fn index_mask(&self) -> u64 {
        (1 << self.id_bits()) - 1
    }
}

/// Where free records of one array come from: first the freed ones, then fresh ones.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Arena {
    pub(crate) free: Cell32,
    pub(crate) fresh: Cell32,
    pub(crate) live: Cell32,
    pub(crate) spare: Cell32,
}

/// A first-in, first-out list of ended records.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Ended {
    pub(crate) head: Cell32,
    pub(crate) tail: Cell32,
    pub(crate) len: Cell32,
    pub(crate) spare: Cell32,
}

/// Everything of which a table has one.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Header {
    pub(crate) now: Cell64,
    /// No timer fires before this time.
    pub(crate) next_due: Cell64,
    /// The last number given to a claim or a lease.
    pub(crate) sequence: Cell64,
    pub(crate) event_count: Cell64,
    pub(crate) granted: Cell64,
    pub(crate) revocations: Cell64,
    /// Of them, those by another principal than that of the lease's owner.
    pub(crate) foreign_revocations: Cell64,
    pub(crate) by_reason: [[Cell64; Reason::PER_CLASS]; Reason::CLASSES],
    pub(crate) held: Cell32,
    pub(crate) waiting: Cell32,
    pub(crate) waiting_not_spare: Cell32,
    pub(crate) waiting_children: Cell32,
    /// Held leases that others may take back and that are not being revoked.
    pub(crate) takeable: Cell32,
    /// Workers that both hold and wait.
    pub(crate) entangled: Cell32,
    /// Tickets that may overtake.
    pub(crate) overtakers: Cell32,
    /// Tickets whose effective priority is not their own.
    pub(crate) raised: Cell32,
    /// Candidates that a line has in common with one made before it, and neighbours in a line that
    /// ask for different things. At 0 the order of the tickets makes no soft deadlock.
    pub(crate) crossings: Cell32,
    pub(crate) settings: Cell32,
    /// Resources that belong to an island.
    pub(crate) islanders: Cell32,
    pub(crate) timers: Cell32,
    /// The place in the nursery that was filled last.
    pub(crate) nursery: Cell32,
    pub(crate) queue_head: Cell32,
    pub(crate) queue_tail: Cell32,
    pub(crate) ended_leases: Ended,
    pub(crate) ended_tickets: Ended,
    pub(crate) names: Arena,
    pub(crate) resources: Arena,
    pub(crate) holders: Arena,
    pub(crate) leases: Arena,
    pub(crate) holds: Arena,
    pub(crate) tickets: Arena,
    pub(crate) lines: Arena,
    pub(crate) members: Arena,
    pub(crate) wants: Arena,
}

/// A name, or a further piece of a long one.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Name {
    pub(crate) next: Cell32,
    pub(crate) more: Cell32,
    pub(crate) hash: Cell32,
    pub(crate) len: Cell32,
    pub(crate) resource: Cell32,
    pub(crate) holder: Cell32,
    /// Ended leases that name this one as the revoker.
    pub(crate) revokers: Cell32,
    /// `resource` once more: if one is damaged, the name is not given a second one.
    pub(crate) resource_too: Cell32,
    pub(crate) text: [Cell64; 4],
}

/// A thing that can be leased.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Resource {
    pub(crate) name: Cell32,
    pub(crate) flags: Cell32,
    pub(crate) slots: Cell32,
    pub(crate) memory: Cell32,
    pub(crate) used_slots: Cell32,
    pub(crate) used_memory: Cell32,
    /// Shared leases on it.
    pub(crate) shared: Cell32,
    /// All holds on it.
    pub(crate) holds: Cell32,
    /// Lines that have it as a candidate.
    pub(crate) members: Cell32,
    pub(crate) wants: Cell32,
    pub(crate) refs: Cell32,
    pub(crate) next: Cell32,
    /// Resources with the same number have fast links to each other; 0: to none.
    pub(crate) island: Cell32,
    /// Tells whether `slots` and `memory` are what they were said to be.
    pub(crate) size_mark: Cell32,
    /// The resource that stands for the machine it is in; 0: none.
    pub(crate) node: Cell32,
}

/// A name under which leases are held.
#[derive(Debug, Default)]
#[repr(C, align(32))]
pub struct Holder {
    pub(crate) name: Cell32,
    pub(crate) leases: Cell32,
    pub(crate) wants: Cell32,
    pub(crate) refs: Cell32,
    /// Leases and tickets whose worker this is.
    pub(crate) holding: Cell32,
    pub(crate) waiting: Cell32,
    /// The age its next ticket takes over; 0: none.
    pub(crate) credit: Cell64,
}

/// A lease, held or ended: the part every lease uses.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Lease {
    pub(crate) slot: Slot,
    pub(crate) granted_at: Cell64,
    pub(crate) holder: Cell32,
    /// In the holder's list while held, in the list of ended leases afterwards.
    pub(crate) next: Cell32,
    pub(crate) prev: Cell32,
    pub(crate) holds: Cell32,
    pub(crate) timer: Cell32,
    /// Priority (low half) and reason (high half).
    pub(crate) priority_reason: Cell32,
    pub(crate) flags: Cell32,
    pub(crate) hold_count: Cell32,
}

/// A lease: the part that only some leases use, in an array of its own so that the others do not pay for it.
#[derive(Debug, Default)]
#[repr(C)]
pub struct LeaseExtra {
    pub(crate) parent: Cell32,
    pub(crate) children: Cell32,
    pub(crate) next_sibling: Cell32,
    pub(crate) prev_sibling: Cell32,
    pub(crate) worker: Cell32,
    pub(crate) depth: Cell32,
    pub(crate) revoker: Cell32,
    pub(crate) spare: Cell32,
    pub(crate) notice_end: Cell64,
    pub(crate) grace: Cell64,
    /// Age of the claim, if it was granted from the line.
    pub(crate) age: Cell64,
    pub(crate) parent_id: Cell64,
    /// The packed actor that ended or revokes it, unless that is its owner or the table.
    pub(crate) ender: Cell64,
}

/// What one lease takes of one resource.
#[derive(Debug, Default)]
#[repr(C, align(32))]
pub struct Hold {
    pub(crate) resource: Cell32,
    pub(crate) lease: Cell32,
    pub(crate) slots: Cell32,
    pub(crate) memory: Cell32,
    pub(crate) next: Cell32,
    pub(crate) prev: Cell32,
    pub(crate) next_of_lease: Cell32,
    pub(crate) spare: Cell32,
}

/// A claim in line, or one that was.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Ticket {
    pub(crate) id: Cell64,
    /// 0 while waiting, then the lease's id, or bit 63 and a reason.
    pub(crate) result: Cell64,
    pub(crate) age: Cell64,
    pub(crate) queued_at: Cell64,
    pub(crate) wait_end: Cell64,
    pub(crate) ttl: Cell64,
    pub(crate) grace: Cell64,
    pub(crate) parent: Cell64,
    pub(crate) holder: Cell32,
    pub(crate) worker: Cell32,
    pub(crate) line: Cell32,
    pub(crate) next_in_line: Cell32,
    pub(crate) prev_in_line: Cell32,
    /// In the table's queue while waiting, in the list of decided tickets afterwards.
    pub(crate) next: Cell32,
    pub(crate) prev: Cell32,
    pub(crate) timer: Cell32,
    pub(crate) count: Cell32,
    pub(crate) slots: Cell32,
    pub(crate) memory: Cell32,
    pub(crate) flags: Cell32,
    /// Own priority (low half) and effective priority (high half).
    pub(crate) priorities: Cell32,
    /// Whoever waited knows what became of it.
    pub(crate) collected: Cell32,
    /// Tells whether what it asks for is what was asked for.
    pub(crate) ask_mark: Cell32,
}

/// All tickets with the same candidates, in order.
#[derive(Debug, Default)]
#[repr(C, align(32))]
pub struct Line {
    pub(crate) head: Cell32,
    pub(crate) tail: Cell32,
    pub(crate) members: Cell32,
    pub(crate) last_member: Cell32,
    pub(crate) member_count: Cell32,
    pub(crate) next: Cell32,
}

/// A resource as a candidate of a line.
#[derive(Debug, Default)]
#[repr(C, align(32))]
pub struct Member {
    pub(crate) line: Cell32,
    pub(crate) resource: Cell32,
    pub(crate) next: Cell32,
    pub(crate) prev: Cell32,
    pub(crate) next_of_line: Cell32,
    /// `resource` once more.
    pub(crate) resource_too: Cell32,
}

/// A declared want.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Want {
    pub(crate) holder: Cell32,
    pub(crate) resource: Cell32,
    pub(crate) next: Cell32,
    pub(crate) next_of_resource: Cell32,
}

/// A place in the heap of timers: when, and whose.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Timer {
    pub(crate) at: Cell64,
    pub(crate) owner: Cell64,
}

/// One record of the event ring.
#[derive(Debug, Default)]
#[repr(C)]
pub struct EventRecord {
    pub(crate) at: Cell64,
    pub(crate) subject: Cell64,
    pub(crate) detail: Cell64,
    /// Kind (8 bits), flags (8 bits), reason (16 bits from bit 16), resource (32 bits from bit 32).
    pub(crate) what: Cell64,
    /// The packed actor; 0: the table did it by itself.
    pub(crate) actor: Cell64,
}

/// Bits of `Resource::flags`. The health is kept so that zero means healthy.
pub(crate) mod resource_flag {
    pub const DECLARED: u32 = 1;
    /// By what an operator said.
    pub const DRAINING: u32 = 2;
    pub const FAILED: u32 = 4;
    pub const SAID: u32 = DRAINING | FAILED;
    /// Drains by itself when its last lease ends.
    pub const CHECKED: u32 = 8;
    /// Drains because its last lease ended.
    pub const CLEANING: u32 = 16;
    /// By what was seen.
    pub const SEEN_DRAINING: u32 = 32;
    pub const SEEN_FAILED: u32 = 64;
    pub const SEEN: u32 = SEEN_DRAINING | SEEN_FAILED;
    pub const UNHEALTHY: u32 = SAID | SEEN | CLEANING;
    /// Others name it as their node.
    pub const NODE: u32 = 128;
    /// Its last lease has ended, and what follows from that for those others is still to be done.
    pub const LOST: u32 = 256;
}

/// Bits of `Lease::flags` and `Ticket::flags`.
pub(crate) mod flag {
    pub const EXCLUSIVE: u32 = 1;
    pub const SHARED: u32 = 2;
    pub const SPARE: u32 = 4;
    pub const PREEMPTIBLE: u32 = 8;
    pub const PREEMPT: u32 = 16;
    pub const CHILD: u32 = 32;
    /// The record in `LeaseExtra` is in use.
    pub const EXTRA: u32 = 64;
    pub const REVOKING: u32 = 128;
    pub const OVERTAKE: u32 = 256;
    /// The lease has given its age to its holder's next ticket.
    pub const AGE_GIVEN: u32 = 512;
    /// All of one node.
    pub const TOGETHER: u32 = 1024;
    /// The holder released the lease during its notice.
    pub const ACKNOWLEDGED: u32 = 2048;
    /// From this bit on: the owner.
    pub const OWNER: u32 = 16;
}

/// Bits of `Header::settings`.
pub(crate) mod setting {
    pub const IMPLIED_WANTS: u32 = 1;
    pub const BREAK_DEADLOCKS: u32 = 2;
    /// A ticket could be served but for the room that the table has: every line is to be looked at again.
    pub const STARVED: u32 = 4;
    /// There are resources with [`resource_flag::LOST`](super::resource_flag::LOST).
    pub const NODE_LOST: u32 = 8;
    /// The table is a replica of a log of commands.
    pub const REPLICATED: u32 = 16;
}

#[cfg(not(loom))]
const _: () = {
    assert!(size_of::<Lease>() == 64);
    assert!(size_of::<LeaseExtra>() == 72);
    assert!(size_of::<Hold>() == 32);
    assert!(size_of::<Name>() == 64);
    assert!(size_of::<Resource>() == 64);
    assert!(size_of::<Holder>() == 32);
    assert!(size_of::<Ticket>() == 128);
    assert!(size_of::<EventRecord>() == 40);
    assert!(size_of::<Timer>() == 16);
};
