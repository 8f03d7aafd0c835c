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

/// What happened to a lease or a claim that concerns its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Effect {
    /// The owner was granted a lease.
    Granted { lease: LeaseId, owner: u16 },
    /// A notice was given.
    Revoking { lease: LeaseId, owner: u16 },
    /// A lease ended.
    Ended { lease: LeaseId, owner: u16 },
    /// A claim was refused.
    Refused { ticket: TicketId, owner: u16 },
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

    /// What the events after number `event` did to leases and claims, with their present owners.
    /// False if that is not known of all: some events were overwritten, or what they are about was
    /// forgotten.
    #[cfg_attr(not(feature = "cluster"), allow(dead_code))]
    pub(crate) fn effects_since(&self, event: u64, mut each: impl FnMut(Effect)) -> bool {
        let ring = self.memory.events();
        let newest = self.last_event();
        let start = event.max(newest.saturating_sub(ring.len() as u64));
        let mut all = start == event;
        for index in start..newest {
            let record = &ring[index as usize & (ring.len() - 1)];
            let (lease, ticket) = (LeaseId(record.subject.get()), TicketId(record.subject.get()));
            let kind = record.what.get() & 0xff;
            let effect = match kind {
                kind::GRANTED | kind::REVOKING | kind::ENDED => {
                    self.owner_of_lease(lease).map(|owner| match kind {
                        kind::GRANTED => Effect::Granted { lease, owner },
                        kind::REVOKING => Effect::Revoking { lease, owner },
                        _ => Effect::Ended { lease, owner },
                    })
                }
                kind::REFUSED => {
                    let known = self.known_ticket(ticket).ok();
                    known
                        .map(|index| self.owner_of_ticket(index))
                        .map(|owner| Effect::Refused { ticket, owner })
                }
                _ => continue,
            };
            match effect {
                Some(effect) => each(effect),
                None => all = false,
            }
        }
        all
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

#[cfg(test)]
mod tests {
    use super::super::{Claim, Limits, Outcome, Settings};
    use super::*;
    use crate::memory::{Arrays, new_table};

    fn table(history: u32) -> Table<Arrays> {
        let limits = Limits { history, ..Limits::default() };
        new_table(Settings { limits, ..Settings::default() })
    }

    fn take(table: &Table<Arrays>, owner: u16, name: &str, parent: Option<LeaseId>) -> LeaseId {
        match table.claim(0, &Claim { owner, parent, ..Claim::one("a", &[name]) }) {
            Ok(Outcome::Granted(lease)) => lease,
            answer => panic!("{answer:?}"),
        }
    }

    /// The effects after an event, and whether those are all.
    fn effects(table: &Table<Arrays>, event: u64) -> (Vec<Effect>, bool) {
        let mut found = Vec::new();
        let all = table.effects_since(event, |effect| found.push(effect));
        (found, all)
    }

    #[test]
    fn effects_name_the_owners_of_leases_and_claims() {
        let t = table(4);
        let [first, second] = [7, 8].map(|owner| take(&t, owner, &owner.to_string(), None));
        let wait = Claim { owner: 9, wait: 5, ..Claim::one("b", &["7"]) };
        let Ok(Outcome::Waiting(ticket)) = t.claim(0, &wait) else { panic!("it is held") };
        let granted = [(first, 7), (second, 8)];
        let granted = granted.map(|(lease, owner)| Effect::Granted { lease, owner });
        assert_eq!(effects(&t, 0), (granted.to_vec(), true));
        t.advance(5).unwrap();
        let refused = Effect::Refused { ticket, owner: 9 };
        assert_eq!(effects(&t, 2), (vec![refused], true));
        t.revoke(5, second, Reason::Operator, "", 10).unwrap();
        let revoking = Effect::Revoking { lease: second, owner: 8 };
        assert_eq!(effects(&t, 4), (vec![revoking], true));
        t.release(6, first).unwrap();
        let ended = Effect::Ended { lease: first, owner: 7 };
        assert_eq!(effects(&t, 4), (vec![revoking, ended], true));
        assert_eq!(effects(&t, 6), (vec![], true));
        assert_eq!(effects(&t, 1), (vec![refused, revoking, ended], false), "one is overwritten");
        t.give_to(6, second, 3).unwrap();
        assert_eq!(t.owner_of_lease(second), Some(3));
        assert_eq!(effects(&t, 4).0[0], Effect::Revoking { lease: second, owner: 3 });
    }

    #[test]
    fn effects_on_forgotten_leases_are_unknown() {
        // Four events are remembered then, and three leases that ended.
        let t = table(3);
        let parent = take(&t, 1, "x", None);
        let [first, second, third] =
            [(2, "a"), (3, "b"), (4, "c")].map(|(owner, name)| take(&t, owner, name, Some(parent)));
        t.release(0, parent).unwrap();
        let ended = [(second, 3), (first, 2), (parent, 1)];
        let ended = ended.map(|(lease, owner)| Effect::Ended { lease, owner });
        assert_eq!(effects(&t, 5), (ended.to_vec(), true));
        assert_eq!(effects(&t, 4), (ended.to_vec(), false));
        assert_eq!([first, third].map(|lease| t.owner_of_lease(lease)), [Some(2), None]);
    }

    #[test]
    fn numbers_are_above_the_floor() {
        let t = table(3);
        let number = |lease: LeaseId| lease.0 >> t.id_bits;
        t.raise_sequence(1000);
        assert_eq!(number(take(&t, 1, "a", None)), 1001);
        t.raise_sequence(500);
        assert_eq!(number(take(&t, 1, "b", None)), 1002);
    }
}
