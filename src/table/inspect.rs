//! Looking at a table: everything is told in values that do not depend on the table any more.

use super::layout::{flag, resource_flag};
use super::lease::{priority_of, reason_of};
use super::memory::Memory;
use super::owner::owner_in;
use super::resource::{evidence, health};
use super::slot::Word;
use super::ticket::effective_priority;
use super::types::{Health, LeaseId, LeaseState, Take, TicketId, TicketState, Time, Traits};
use super::{Actor, Reason, Table};

/// Everything about one lease, as [`LeaseManager::lease`](crate::LeaseManager::lease) tells it. A copy, which does not change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseInfo {
    /// Its id, which is also its fencing token.
    pub id: LeaseId,
    /// What the table has recorded. By a clock that is ahead of the table it may be over already.
    pub state: LeaseState,
    /// Who holds or held it.
    pub holder: String,
    /// What it takes.
    pub takes: Vec<Taken>,
    /// Its own priority.
    pub priority: i16,
    /// How long it lasts without renewal.
    pub ttl: Time,
    /// When it was granted.
    pub granted_at: Time,
    /// While held: its end. Afterwards: when it ended.
    pub end: Time,
    /// Why it ended, or will end if a notice is running.
    pub reason: Option<Reason>,
    /// Who revoked it, as the caller that did so claimed. [`ended_by`](Self::ended_by) is what the
    /// home knows.
    pub revoker: Option<String>,
    /// The process that released, revoked or is revoking it. `None` if its owner did, or the table
    /// by itself.
    pub ended_by: Option<Actor>,
    /// It was revoked with notice, and its holder released it before the notice ended.
    pub acknowledged: bool,
    /// The holder has been told that it will be revoked.
    pub revoking: bool,
    /// It is spare capacity.
    pub spare: bool,
    /// It may be preempted.
    pub preemptible: bool,
    /// Other shared leases may be beside it.
    pub shared: bool,
    /// The lease it hangs on.
    pub parent: Option<LeaseId>,
    /// The process for which it is, see [`Claim::owner`](super::Claim::owner).
    pub owner: u16,
}

#[cfg(any(target_os = "linux", feature = "cluster"))]
impl LeaseInfo {
    /// The lease after its holder lost the store of the table, regardless of the state in the table.
    pub(crate) fn with_engine_lost(self, at: Time) -> LeaseInfo {
        LeaseInfo {
            state: LeaseState::Expired,
            reason: Some(Reason::EngineLost),
            end: at,
            revoking: false,
            revoker: None,
            ended_by: None,
            acknowledged: false,
            ..self
        }
    }
}

impl LeaseInfo {
    /// Gives a held lease the end that its owner keeps, if that is earlier.
    pub(crate) fn set_end(&mut self, end: &dyn Fn(LeaseId) -> Option<Time>) {
        if self.state == LeaseState::Held
            && let Some(end) = end(self.id)
        {
            self.end = self.end.min(end);
        }
    }
}

/// What a lease takes of one resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Name of the resource.
    pub resource: String,
    /// Slots of it.
    pub slots: u32,
    /// Memory of it in MiB.
    pub memory: u32,
}

/// Everything about one waiting claim, as [`LeaseManager::tickets`](crate::LeaseManager::tickets) tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketInfo {
    /// Its id.
    pub id: TicketId,
    /// Who waits.
    pub holder: String,
    /// Names of its candidates.
    pub candidates: Vec<String>,
    /// How many of them it needs.
    pub count: u32,
    /// It needs them of one node.
    pub together: bool,
    /// How much of each.
    pub take: Take,
    /// How long its lease will last without renewal.
    pub ttl: Time,
    /// Its effective priority.
    pub priority: i16,
    /// It wants only what nobody else waits for.
    pub spare: bool,
    /// It takes preemptible leases of lower priority rather than wait for their end.
    pub preempt: bool,
    /// Since when it waits.
    pub queued_at: Time,
    /// Its place in line, from 1.
    pub place: u32,
    /// The process for which it is, see [`Claim::owner`](super::Claim::owner).
    pub owner: u16,
}

/// Everything about one resource, as [`LeaseManager::resource`](crate::LeaseManager::resource) tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceInfo {
    /// Its name.
    pub name: String,
    /// How many slots it has.
    pub slots: u32,
    /// How much memory it has, in MiB.
    pub memory: u32,
    /// Slots that are taken.
    pub used_slots: u32,
    /// Memory that is taken.
    pub used_memory: u32,
    /// Shared leases on it.
    pub shared: u32,
    /// How it is.
    pub health: Health,
    /// Declared, not just used.
    pub declared: bool,
    /// What it is like.
    pub traits: Traits,
    /// It drains because its last lease ended, see [`Traits::checked`].
    pub cleaning: bool,
    /// How it is by what was seen alone; an operator may have said something worse.
    pub evidence: Health,
}

impl<M: Memory> Table<M> {
    /// What the state of a lease will be at `now` if nothing happens until then.
    pub fn state(&self, id: LeaseId, now: Time) -> Option<LeaseState> {
        let index = self.known_lease(id).ok()?;
        Word(self.lease_record(index).slot.word.get()).state(now)
    }

    /// Everything about a lease that is held or remembered.
    pub fn lease(&self, id: LeaseId) -> Option<LeaseInfo> {
        self.known_lease(id).ok().map(|index| self.lease_info(index))
    }

    fn lease_info(&self, index: u32) -> LeaseInfo {
        let record = self.lease_record(index);
        let word = Word(record.slot.word.get());
        let flags = record.flags.get();
        let takes = self.holds_of(index).map(|hold| {
            let record = self.hold_record(hold);
            Taken {
                resource: self.resource_name(record.resource.get()),
                slots: record.slots.get(),
                memory: record.memory.get(),
            }
        });
        let extra = (flags & flag::EXTRA != 0).then(|| self.extra_record(index));
        let revoker = extra.map_or(0, |extra| extra.revoker.get());
        let parent = extra.map_or(0, |extra| extra.parent_id.get());
        LeaseInfo {
            id: LeaseId(record.slot.id.get()),
            state: match (word.held(), word.revoked()) {
                (true, _) => LeaseState::Held,
                (false, true) => LeaseState::Revoked,
                (false, false) => LeaseState::Expired,
            },
            holder: self.holder_name(record.holder.get()),
            takes: takes.collect(),
            priority: priority_of(record),
            ttl: record.slot.ttl.get(),
            granted_at: record.granted_at.get(),
            end: if word.held() { self.end_of(index) } else { word.time() },
            reason: reason_of(record),
            revoker: (revoker != 0).then(|| self.name_text(revoker)),
            ended_by: Actor::unpacked(extra.map_or(0, |extra| extra.ender.get())),
            acknowledged: !word.held() && flags & flag::ACKNOWLEDGED != 0,
            revoking: word.held() && flags & flag::REVOKING != 0,
            spare: flags & flag::SPARE != 0,
            preemptible: flags & flag::PREEMPTIBLE != 0,
            shared: flags & flag::SHARED != 0,
            parent: (parent != 0).then_some(LeaseId(parent)),
            owner: owner_in(flags),
        }
    }

    pub(super) fn resource_name(&self, index: u32) -> String {
        self.name_text(self.resource_record(index).name.get())
    }

    /// All held leases, oldest first.
    pub fn leases(&self) -> Vec<LeaseInfo> {
        let mut found: Vec<LeaseInfo> = (1..=self.last_lease_record())
            .filter(|&index| {
                let slot = &self.lease_record(index).slot;
                slot.id.get() != 0 && Word(slot.word.get()).held()
            })
            .map(|index| self.lease_info(index))
            .collect();
        found.sort_by_key(|lease| lease.id);
        found
    }

    /// All waiting tickets, in order.
    pub fn tickets(&self) -> Vec<TicketInfo> {
        let ids: Vec<TicketId> =
            self.queue().map(|ticket| TicketId(self.ticket_record(ticket).id.get())).collect();
        ids.into_iter().filter_map(|id| self.waiting_ticket(id)).collect()
    }

    /// Everything about a ticket that waits.
    pub fn waiting_ticket(&self, id: TicketId) -> Option<TicketInfo> {
        if self.ticket(id)? != TicketState::Waiting {
            return None;
        }
        let record = self.ticket_record(self.ticket_index(id.0));
        let candidates = self.candidates_of(record.line.get());
        let flags = record.flags.get();
        Some(TicketInfo {
            id,
            holder: self.holder_name(record.holder.get()),
            candidates: candidates.map(|resource| self.resource_name(resource)).collect(),
            count: record.count.get(),
            together: flags & flag::TOGETHER != 0,
            take: match (flags & flag::EXCLUSIVE != 0, flags & flag::SHARED != 0) {
                (true, _) => Take::Exclusive,
                (_, true) => Take::Shared,
                _ => Take::Amount { slots: record.slots.get(), memory: record.memory.get() },
            },
            ttl: record.ttl.get(),
            priority: effective_priority(record),
            spare: flags & flag::SPARE != 0,
            preempt: flags & flag::PREEMPT != 0,
            queued_at: record.queued_at.get(),
            place: self.place(id)?,
            owner: owner_in(flags),
        })
    }

    pub(super) fn find_resource(&self, name: &str) -> Option<u32> {
        match self.find_name(name) {
            0 => None,
            name => Some(self.name_record(name).resource.get()).filter(|&index| index != 0),
        }
    }

    /// Everything about a resource.
    pub fn resource(&self, name: &str) -> Option<ResourceInfo> {
        self.find_resource(name).map(|index| self.resource_info(index))
    }

    /// Everything about all resources, by name.
    pub fn resources(&self) -> Vec<ResourceInfo> {
        let mut found: Vec<ResourceInfo> = (1..=self.last_resource_record())
            // A name knows its resource; the record of one that is gone is known to none.
            .filter(|&index| {
                let name = self.resource_record(index).name.get();
                name != 0 && self.name_record(name).resource.get() == index
            })
            .map(|index| self.resource_info(index))
            .collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }

    /// The held leases on a resource, oldest first.
    pub fn leases_on(&self, name: &str) -> Vec<LeaseId> {
        let Some(index) = self.find_resource(name) else { return Vec::new() };
        let lease = |hold: u32| self.lease_record(self.hold_record(hold).lease.get()).slot.id.get();
        let mut ids: Vec<LeaseId> = self.holds_on(index).map(|hold| LeaseId(lease(hold))).collect();
        ids.sort();
        ids
    }

    fn resource_info(&self, index: u32) -> ResourceInfo {
        let record = self.resource_record(index);
        ResourceInfo {
            name: self.resource_name(index),
            slots: record.slots.get(),
            memory: record.memory.get(),
            used_slots: record.used_slots.get(),
            used_memory: record.used_memory.get(),
            shared: record.shared.get(),
            health: health(record),
            declared: record.flags.get() & resource_flag::DECLARED != 0,
            traits: Traits {
                island: record.island.get(),
                node: match record.node.get() {
                    0 => None,
                    node => Some(super::ResourceId(node)),
                },
                checked: record.flags.get() & resource_flag::CHECKED != 0,
            },
            cleaning: record.flags.get() & resource_flag::CLEANING != 0,
            evidence: evidence(record),
        }
    }

    /// The id of a declared resource.
    pub fn resource_id(&self, name: &str) -> Option<super::ResourceId> {
        let index = self.find_resource(name)?;
        self.declared_resource(super::ResourceId(index)).ok().map(super::ResourceId)
    }

    /// The leases a holder holds, oldest first.
    pub fn held_by(&self, holder: &str) -> Vec<LeaseId> {
        let index = self.find_holder(holder);
        if index == 0 {
            return Vec::new();
        }
        let mut ids = Vec::with_capacity(
            self.holder_record(index).holding.get().min(self.lease_limit) as usize,
        );
        ids.extend(
            self.leases_of(index).map(|lease| LeaseId(self.lease_record(lease).slot.id.get())),
        );
        // The list begins with the youngest.
        ids.reverse();
        ids
    }

    /// Tells what a lease that is held or remembered holds, in the claim's order.
    #[inline(always)]
    pub fn each_resource_of(&self, id: LeaseId, mut each: impl FnMut(super::ResourceId)) {
        if let Ok(index) = self.known_lease(id) {
            for hold in self.holds_of(index) {
                each(super::ResourceId(self.hold_record(hold).resource.get()));
            }
        }
    }

    /// How many claims wait for resources of which this is true.
    pub fn waiting_for(&self, is_one: impl Fn(super::ResourceId) -> bool) -> usize {
        let waits = |&ticket: &u32| {
            let line = self.ticket_record(ticket).line.get();
            self.candidates_of(line).any(|index| is_one(super::ResourceId(index)))
        };
        self.queue().filter(waits).count()
    }

    /// How many leases are held.
    pub fn held(&self) -> u32 {
        self.header().held.get()
    }

    /// How many claims wait.
    pub fn waiting(&self) -> u32 {
        self.header().waiting.get()
    }

    /// How many leases were ever granted.
    pub fn granted(&self) -> u64 {
        self.header().granted.get()
    }

    /// How many leases were ever revoked.
    pub fn revocations(&self) -> u64 {
        self.header().revocations.get()
    }

    /// How many leases ended, or claims were refused, for this reason.
    pub fn count(&self, reason: Reason) -> u64 {
        self.counter(reason).get()
    }
}
