//! The history: every change is one record in a bounded ring, numbered from 1.

use super::layout::EventRecord;
use super::memory::Memory;
use super::types::{Health, LeaseId, TicketId, Time};
use super::{Actor, Reason, Table};

/// One change of the table, as [`LeaseManager::events`](crate::LeaseManager::events) tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Grows by one with each event.
    pub number: u64,
    /// When it happened.
    pub at: Time,
    /// What happened.
    pub what: What,
    /// The process whose command did it; `None` if the table did it by itself: because time
    /// passed, because a process died, or because a claim in line was served.
    pub actor: Option<Actor>,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum What {
    /// A claim became a lease, after waiting in line if there is a ticket.
    Granted {
        /// The new lease.
        lease: LeaseId,
        /// The ticket it came from.
        ticket: Option<TicketId>,
    },
    /// A lease was renewed in the last quarter of its time.
    RenewedLate {
        /// The lease.
        lease: LeaseId,
        /// Its new end.
        until: Time,
    },
    /// A holder was told that its lease will be revoked.
    Revoking {
        /// The lease.
        lease: LeaseId,
        /// Why.
        reason: Reason,
        /// When.
        until: Time,
    },
    /// A lease ended.
    Ended {
        /// The lease.
        lease: LeaseId,
        /// Why.
        reason: Reason,
        /// How long it was held.
        held: Time,
        /// It was revoked with notice, and its holder released it before the notice ended.
        acknowledged: bool,
    },
    /// A claim took its place in line.
    Queued {
        /// The ticket.
        ticket: TicketId,
    },
    /// A claim left the line without a lease.
    Refused {
        /// The ticket.
        ticket: TicketId,
        /// Why.
        reason: Reason,
        /// How long it had waited.
        waited: Time,
    },
    /// A resource's health changed.
    Health {
        /// Its name.
        resource: String,
        /// How it is now.
        health: Health,
    },
    /// A process that shared the table was found dead, and what it had was given back.
    Died {
        /// Its number, as it saw it itself.
        process: u32,
        /// How many leases it held.
        leases: u32,
        /// How many claims of its waited.
        tickets: u32,
    },
    /// A process died in the middle of a change, which was undone.
    RolledBack {
        /// Its number, as it saw it itself.
        process: u32,
    },
}

pub(super) mod kind {
    pub const GRANTED: u64 = 1;
    pub const RENEWED_LATE: u64 = 2;
    pub const REVOKING: u64 = 3;
    pub const ENDED: u64 = 4;
    pub const QUEUED: u64 = 5;
    pub const REFUSED: u64 = 6;
    pub const HEALTH: u64 = 7;
    pub const DIED: u64 = 8;
    pub const ROLLED_BACK: u64 = 9;
    /// Beside [`ENDED`].
    pub const ACKNOWLEDGED: u64 = 1 << 8;
}

impl<M: Memory> Table<M> {
    #[inline(always)]
    pub(super) fn record_event(
        &self,
        kind: u64,
        at: Time,
        subject: u64,
        detail: u64,
        reason: Option<Reason>,
        actor: u64,
    ) {
        let reason = reason.map_or(0, |reason| reason.code() as u64);
        self.write_event(at, subject, detail, kind | reason << 16, actor);
    }

    pub(super) fn record_health(&self, at: Time, resource: u32, health: Health, actor: u64) {
        let what = kind::HEALTH | (resource as u64) << 32;
        self.write_event(at, 0, health as i8 as u64, what, actor);
    }

    #[inline(always)]
    fn write_event(&self, at: Time, subject: u64, detail: u64, what: u64, actor: u64) {
        let count = &self.header().event_count;
        let ring = self.memory.events();
        let record: &EventRecord = &ring[count.get() as usize & (ring.len() - 1)];
        self.set(&record.at, at);
        self.set(&record.subject, subject);
        self.set(&record.detail, detail);
        self.set(&record.what, what);
        self.set(&record.actor, actor);
        self.increment(count);
    }

    /// The number of the newest event.
    pub fn last_event(&self) -> u64 {
        self.header().event_count.get()
    }

    /// Appends the events after number `cursor` to `out`; how many of them were overwritten before they could be read.
    pub fn events_since(&self, cursor: u64, out: &mut Vec<Event>) -> u64 {
        let ring = self.memory.events();
        let newest = self.last_event();
        let oldest = newest.saturating_sub(ring.len() as u64);
        let start = cursor.max(oldest);
        for index in start..newest {
            let record = &ring[index as usize & (ring.len() - 1)];
            out.extend(self.read_event(index + 1, record));
        }
        start - cursor.min(start)
    }

    fn read_event(&self, number: u64, record: &EventRecord) -> Option<Event> {
        let (subject, detail) = (record.subject.get(), record.detail.get());
        let (lease, ticket) = (LeaseId(subject), TicketId(subject));
        let packed = record.what.get();
        let reason = Reason::from_code((packed >> 16) as u16);
        let what = match packed & 0xff {
            kind::GRANTED => {
                What::Granted { lease, ticket: (detail != 0).then_some(TicketId(detail)) }
            }
            kind::RENEWED_LATE => What::RenewedLate { lease, until: detail },
            kind::REVOKING => What::Revoking { lease, reason: reason?, until: detail },
            kind::ENDED => What::Ended {
                lease,
                reason: reason?,
                held: detail,
                acknowledged: packed & kind::ACKNOWLEDGED != 0,
            },
            kind::QUEUED => What::Queued { ticket },
            kind::REFUSED => What::Refused { ticket, reason: reason?, waited: detail },
            kind::HEALTH => What::Health {
                resource: self.resource_name((packed >> 32) as u32),
                health: match detail as i8 {
                    1 => Health::Healthy,
                    0 => Health::Draining,
                    _ => Health::Failed,
                },
            },
            kind::DIED => What::Died {
                process: subject as u32,
                leases: (detail >> 32) as u32,
                tickets: detail as u32,
            },
            kind::ROLLED_BACK => What::RolledBack { process: subject as u32 },
            _ => return None,
        };
        let actor = Actor::unpacked(record.actor.get());
        Some(Event { number, at: record.at.get(), what, actor })
    }
}
