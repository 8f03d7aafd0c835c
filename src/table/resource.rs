//! Resources: what there is, what is taken of it, and what still fits.

use super::layout::{Resource, resource_flag};
use super::memory::Memory;
use super::names::check_name;
use super::types::{Error, Health, Part, ResourceId, Take, Time, Traits};
use super::{Reason, Table, flag};

/// What a claim takes of each resource, as stored in records.
#[derive(Debug, Clone, Copy)]
pub(super) struct Demand {
    pub exclusive: bool,
    pub shared: bool,
    pub slots: u32,
    pub memory: u32,
}

impl Demand {
    pub const ONE_SLOT: Demand = Demand { exclusive: false, shared: false, slots: 1, memory: 0 };

    #[inline(always)]
    pub fn new(take: Take) -> Self {
        match take {
            Take::Exclusive => Demand { exclusive: true, shared: false, slots: 0, memory: 0 },
            Take::Shared => Demand { exclusive: false, shared: true, slots: 0, memory: 0 },
            Take::Amount { slots, memory } => {
                Demand { exclusive: false, shared: false, slots, memory }
            }
        }
    }

    pub fn from_flags(flags: u32, slots: u32, memory: u32) -> Self {
        let (exclusive, shared) = (flags & flag::EXCLUSIVE != 0, flags & flag::SHARED != 0);
        Demand { exclusive, shared, slots, memory }
    }

    #[inline(always)]
    pub fn flags(&self) -> u32 {
        (if self.exclusive { flag::EXCLUSIVE } else { 0 })
            | (if self.shared { flag::SHARED } else { 0 })
    }
}

/// How much of a resource is taken: really, or in a sketch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub slots: u32,
    pub memory: u32,
    pub shared: u32,
}

impl Usage {
    /// Does the demand fit beside this usage? (Health is not asked here.)
    #[inline(always)]
    pub fn leaves_room(&self, resource: &Resource, demand: &Demand) -> bool {
        if demand.shared {
            return self.slots == 0 && self.memory == 0;
        }
        if self.shared != 0 {
            return false;
        }
        if demand.exclusive {
            return self.slots == 0 && self.memory == 0;
        }
        let fits =
            |taken: u32, more: u32, all: u32| taken.checked_add(more).is_some_and(|n| n <= all);
        fits(self.slots, demand.slots, resource.slots.get())
            && fits(self.memory, demand.memory, resource.memory.get())
    }

    /// What the demand takes of the resource.
    #[inline(always)]
    pub fn of(resource: &Resource, demand: &Demand) -> Usage {
        if demand.shared {
            Usage { slots: 0, memory: 0, shared: 1 }
        } else if demand.exclusive {
            Usage { slots: resource.slots.get(), memory: resource.memory.get(), shared: 0 }
        } else {
            Usage { slots: demand.slots, memory: demand.memory, shared: 0 }
        }
    }

    #[inline(always)]
    pub fn plus(self, other: Usage) -> Usage {
        Usage {
            slots: self.slots.saturating_add(other.slots),
            memory: self.memory.saturating_add(other.memory),
            shared: self.shared.saturating_add(other.shared),
        }
    }

    #[inline(always)]
    pub fn minus(self, other: Usage) -> Usage {
        Usage {
            slots: self.slots.saturating_sub(other.slots),
            memory: self.memory.saturating_sub(other.memory),
            shared: self.shared.saturating_sub(other.shared),
        }
    }
}

#[inline(always)]
pub(super) fn usage(resource: &Resource) -> Usage {
    Usage {
        slots: resource.used_slots.get(),
        memory: resource.used_memory.get(),
        shared: resource.shared.get(),
    }
}

/// Differs for sizes of which one byte differs.
#[inline(always)]
fn size_mark(slots: u32, memory: u32) -> u32 {
    !(slots ^ memory.rotate_left(16))
}

pub(super) fn health(resource: &Resource) -> Health {
    worst(resource.flags.get() & resource_flag::UNHEALTHY)
}

/// By what was seen of it alone.
pub(super) fn evidence(resource: &Resource) -> Health {
    worst(resource.flags.get() & resource_flag::SEEN)
}

fn worst(bits: u32) -> Health {
    match bits {
        0 => Health::Healthy,
        bits if bits & (resource_flag::FAILED | resource_flag::SEEN_FAILED) != 0 => Health::Failed,
        _ => Health::Draining,
    }
}

/// Could the demand be served if the resource were empty and healthy? One that is shared or exclusive has no amounts.
pub(super) fn possible(resource: &Resource, demand: &Demand) -> bool {
    demand.slots <= resource.slots.get() && demand.memory <= resource.memory.get()
}

/// Claims and leases depend on the size and the node of a resource.
fn check_unused(resource: &Resource) -> Result<(), Error> {
    match resource.holds.get() != 0 || resource.members.get() != 0 {
        true => Err(Error::InUse),
        false => Ok(()),
    }
}

impl<M: Memory> Table<M> {
    /// Makes a resource that stays, or gives an existing one this size.
    pub fn declare(
        &self,
        now: Time,
        name: &str,
        slots: u32,
        memory: u32,
    ) -> Result<ResourceId, Error> {
        check_name(name)?;
        if slots == 0 && memory == 0 {
            return Err(Error::ZeroAmount);
        }
        self.enter(now)?;
        let index = self.intern_resource(name)?;
        let record = self.resource_record(index);
        let same = record.slots.get() == slots && record.memory.get() == memory;
        if !same {
            check_unused(record)?;
        }
        self.set_size(record, slots, memory);
        self.set(&record.flags, record.flags.get() | resource_flag::DECLARED);
        self.mark_lines_of(index);
        self.settle(now);
        self.leave(ResourceId(index))
    }

    /// What an operator says about a resource. One that is not healthy gets no new leases; those it has are untouched.
    pub fn set_health(&self, now: Time, id: ResourceId, new: Health) -> Result<(), Error> {
        self.enter(now)?;
        let index = self.declared_resource(id)?;
        let bits = match new {
            Health::Healthy => 0,
            Health::Draining => resource_flag::DRAINING,
            Health::Failed => resource_flag::FAILED,
        };
        self.change_flags(now, index, resource_flag::SAID, bits, self.actor());
        self.settle(now);
        self.leave(())
    }

    /// What was seen of a resource. It counts beside what an operator says: the worse of both. `unused`: nobody uses it, so that it need not drain
    /// any more after its last lease.
    pub fn set_evidence(
        &self,
        now: Time,
        id: ResourceId,
        new: Health,
        unused: bool,
    ) -> Result<(), Error> {
        self.enter(now)?;
        let index = self.declared_resource(id)?;
        self.change_evidence(now, index, new, unused, self.actor());
        self.settle(now);
        self.leave(())
    }

    /// Refuses a device that cannot be declared so. It may still find the table full.
    pub(super) fn check_listing(
        &self,
        name: &str,
        (slots, memory): (u32, u32),
        node: Option<ResourceId>,
    ) -> Result<(), Error> {
        check_name(name)?;
        if slots == 0 && memory == 0 {
            return Err(Error::ZeroAmount);
        }
        let node = node.map_or(Ok(0), |node| self.declared_resource(node))?;
        let Some(known) = self.find_resource(name) else { return Ok(()) };
        let record = self.resource_record(known);
        let found = (record.slots.get(), record.memory.get(), record.node.get());
        if found == (slots, memory, node) { Ok(()) } else { check_unused(record) }
    }

    /// Refuses a resource whose node cannot change now.
    pub(super) fn check_can_move(&self, id: ResourceId) -> Result<(), Error> {
        check_unused(self.resource_record(self.declared_resource(id)?))
    }

    /// Says what a declared resource is like. Leases and tickets it has are untouched.
    pub fn set_traits(&self, now: Time, id: ResourceId, traits: Traits) -> Result<(), Error> {
        self.enter(now)?;
        let index = self.declared_resource(id)?;
        if traits.island as usize >= self.memory.resources().len() {
            return Err(Error::UnknownIsland);
        }
        let node = traits.node.map_or(Ok(0), |node| self.declared_resource(node))?;
        let record = self.resource_record(index);
        if node != record.node.get() {
            check_unused(record)?;
        }
        if node != 0 {
            let flags = &self.resource_record(node).flags;
            self.set(flags, flags.get() | resource_flag::NODE);
        }
        self.set(&record.node, node);
        match (record.island.get() != 0, traits.island != 0) {
            (false, true) => self.add(&self.header().islanders, 1),
            (true, false) => self.sub(&self.header().islanders, 1),
            _ => {}
        }
        self.set(&record.island, traits.island);
        let checked = if traits.checked { resource_flag::CHECKED } else { 0 };
        // Nobody will look any more at one that is not checked: it is not to wait for that.
        let cleaning = if traits.checked { 0 } else { resource_flag::CLEANING };
        let mask = resource_flag::CHECKED | cleaning;
        self.change_flags(now, index, mask, checked, self.actor());
        self.settle(now);
        self.leave(())
    }

    /// Takes a resource out of service: it has failed, and leases on it are revoked for this reason. `by` may be empty.
    pub fn fail(&self, now: Time, id: ResourceId, reason: Reason, by: &str) -> Result<(), Error> {
        self.check_revocation(reason, by)?;
        self.enter(now)?;
        let index = self.declared_resource(id)?;
        self.room_for_revoker(by)?;
        self.change_evidence(now, index, Health::Failed, false, self.actor());
        self.revoke_all_on(now, index, reason, by, self.actor());
        self.settle(now);
        self.leave(())
    }

    pub(super) fn change_evidence(
        &self,
        now: Time,
        index: u32,
        new: Health,
        unused: bool,
        actor: u64,
    ) {
        let bits = match new {
            Health::Healthy => 0,
            Health::Draining => resource_flag::SEEN_DRAINING,
            Health::Failed => resource_flag::SEEN_FAILED,
        };
        let cleaned = if unused { resource_flag::CLEANING } else { 0 };
        self.change_flags(now, index, resource_flag::SEEN | cleaned, bits, actor);
    }

    /// Gives these bits of the flags their values, and tells if that makes the resource's health another. Does not serve the line.
    pub(super) fn change_flags(&self, now: Time, index: u32, mask: u32, bits: u32, actor: u64) {
        let record = self.resource_record(index);
        let before = health(record);
        self.set(&record.flags, record.flags.get() & !mask | bits);
        let after = health(record);
        if before != after {
            self.record_health(now, index, after, actor);
        }
        // What was on its way back may be so no longer, without being less healthy.
        self.mark_lines_of(index);
    }

    pub(super) fn declared_resource(&self, id: ResourceId) -> Result<u32, Error> {
        let known = (id.0 as usize) < self.memory.resources().len();
        if id.0 == 0 || !known {
            return Err(Error::UnknownResource);
        }
        if self.resource_record(id.0).flags.get() & resource_flag::DECLARED == 0 {
            return Err(Error::UnknownResource);
        }
        Ok(id.0)
    }

    /// The resource of this name, made if need be, with one slot and no reference.
    #[inline(always)]
    pub(super) fn intern_resource(&self, name: &str) -> Result<u32, Error> {
        let mut named = self.find_name(name);
        if named != 0 {
            let record = self.name_record(named);
            let resource = record.resource.get();
            if !self.check_untrusted(|| record.resource_too.get() == resource) {
                return Err(Error::Corrupt);
            }
            if resource != 0 {
                let known =
                    self.check_untrusted(|| self.resource_record(resource).name.get() == named);
                return if known { Ok(resource) } else { Err(Error::Corrupt) };
            }
        }
        let len = self.memory.resources().len();
        if !self.has_room(&self.header().resources, len, 1) {
            return Err(Error::Full(Part::Resources));
        }
        if named == 0 {
            self.room_for_name(name)?;
            named = self.store_name(name);
        }
        let resource = self.take(&self.header().resources, len, |t, i| &t.resource_record(i).next);
        let record = self.resource_record(resource);
        self.set(&record.name, named);
        self.set(&record.flags, 0);
        self.set(&record.island, 0);
        self.set_size(record, 1, 0);
        self.name_resource(named, resource);
        Ok(resource)
    }

    fn name_resource(&self, named: u32, resource: u32) {
        let record = self.name_record(named);
        self.set(&record.resource, resource);
        self.set(&record.resource_too, resource);
    }

    fn set_size(&self, record: &Resource, slots: u32, memory: u32) {
        self.set(&record.slots, slots);
        self.set(&record.memory, memory);
        self.set(&record.size_mark, size_mark(slots, memory));
    }

    /// Does a resource of which something is about to be given out make sense: has it the size that it was said to have, and is so much of it taken as its leases
    /// take? Not all of many leases are asked.
    #[inline(always)]
    pub(super) fn is_sound(&self, index: u32, record: &Resource, demand: &Demand) -> bool {
        let counted = usage(record);
        let mark = size_mark(record.slots.get(), record.memory.get());
        let sized = record.size_mark.get() == mark;
        match record.holds.get() {
            0 => sized && counted == Usage::default(),
            _ => sized && self.adds_up(index, counted, demand),
        }
    }

    #[cold]
    fn adds_up(&self, index: u32, counted: Usage, demand: &Demand) -> bool {
        // Shared leases can be very many, and need only know that they are among themselves.
        let most = if demand.shared { 1 } else { 8 };
        let (mut sum, mut asked) = (Usage::default(), 0);
        for hold in self.holds_on(index) {
            if asked == most {
                let more = sum.slots > counted.slots || sum.memory > counted.memory;
                return !more && counted.shared >= sum.shared;
            }
            if self.hold_record(hold).resource.get() != index {
                return false;
            }
            sum = sum.plus(self.held_usage(hold));
            asked += 1;
        }
        sum == counted
    }

    /// Forgets a resource that was not declared and that nothing refers to.
    pub(super) fn drop_resource_if_unused(&self, index: u32) {
        let record = self.resource_record(index);
        let lists = [&record.holds, &record.members, &record.wants];
        if record.refs.get() == 0
            && record.flags.get() & resource_flag::DECLARED == 0
            && self.check_untrusted(|| lists.iter().all(|list| list.get() == 0))
        {
            let named = record.name.get();
            self.name_resource(named, 0);
            self.give(&self.header().resources, index, |t, i| &t.resource_record(i).next);
            self.drop_name_if_unused(named);
        }
    }

    #[inline(always)]
    pub(super) fn release_resource(&self, index: u32) {
        let record = self.resource_record(index);
        let refs = record.refs.get().wrapping_sub(1);
        self.set(&record.refs, refs);
        if refs == 0 {
            self.drop_resource_if_unused(index);
        }
    }

    /// Can the demand be served from this resource now?
    #[inline(always)]
    pub(super) fn fits(&self, index: u32, demand: &Demand) -> bool {
        let record = self.resource_record(index);
        record.flags.get() & resource_flag::UNHEALTHY == 0
            && usage(record).leaves_room(record, demand)
    }

    #[inline(always)]
    pub(super) fn set_usage(&self, record: &Resource, new: Usage) {
        self.set(&record.used_slots, new.slots);
        self.set(&record.used_memory, new.memory);
        self.set(&record.shared, new.shared);
    }
}
