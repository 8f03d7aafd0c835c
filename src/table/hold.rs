//! What leases take of resources.

use super::Table;
use super::layout::{Hold, Lease, flag, resource_flag};
use super::list::Links;
use super::memory::Memory;
use super::resource::{Demand, Usage, usage};
use super::types::Time;

fn hold_links<M: Memory>(table: &Table<M>, index: u32) -> Links<'_> {
    let record = table.hold_record(index);
    Links { next: &record.next, prev: &record.prev }
}

impl<M: Memory> Table<M> {
    pub(super) fn holds_of(&self, lease: u32) -> impl Iterator<Item = u32> + '_ {
        let first = self.lease_record(lease).holds.get();
        self.walk(first, |t, i| t.hold_record(i).next_of_lease.get())
    }

    /// The holds of held leases on a resource.
    pub(super) fn holds_on(&self, resource: u32) -> impl Iterator<Item = u32> + '_ {
        let first = self.resource_record(resource).holds.get();
        self.walk(first, |t, i| t.hold_record(i).next.get())
    }

    /// What this hold takes.
    pub(super) fn held_usage(&self, hold: u32) -> Usage {
        let record = self.hold_record(hold);
        let shared = self.lease_record(record.lease.get()).flags.get() & flag::SHARED != 0;
        Usage { slots: record.slots.get(), memory: record.memory.get(), shared: shared as u32 }
    }

    /// Takes what the demand needs of a resource that it fits on.
    #[inline(always)]
    pub(super) fn take_hold(&self, lease: u32, record: &Lease, resource: u32, demand: &Demand) {
        let len = self.memory.holds().len();
        let hold = self.take(&self.header().holds, len, |t, i| &t.hold_record(i).next);
        let own = self.hold_record(hold);
        let on = self.resource_record(resource);
        let taken = Usage::of(on, demand);
        self.check_untrusted(|| self.is_sound(resource, on, demand));
        self.set(&own.resource, resource);
        self.set(&own.lease, lease);
        self.set(&own.slots, taken.slots);
        self.set(&own.memory, taken.memory);
        self.set(&own.next_of_lease, record.holds.get());
        self.set(&record.holds, hold);
        self.push_front(&on.holds, hold, Links { next: &own.next, prev: &own.prev }, hold_links);
        self.add(&on.refs, 1);
        self.set_usage(on, usage(on).plus(taken));
    }

    /// Gives back what a hold takes; the lease remembers the hold.
    #[inline(always)]
    pub(super) fn give_back(&self, own: &Hold, shared: bool, at: Time) {
        let resource = own.resource.get();
        let on = self.resource_record(resource);
        let taken =
            Usage { slots: own.slots.get(), memory: own.memory.get(), shared: shared as u32 };
        self.set_usage(on, usage(on).minus(taken));
        if on.flags.get() & (resource_flag::CHECKED | resource_flag::NODE) != 0 {
            self.was_given_back(resource, at);
        }
        self.unlink(&on.holds, None, Links { next: &own.next, prev: &own.prev }, hold_links);
        if on.members.get() != 0 {
            self.mark_lines_of(resource);
        }
    }

    /// A resource to whose end of use something is tied was given back. One that is to be looked at then drains if that was the last of it.
    pub(super) fn was_given_back(&self, index: u32, at: Time) {
        let record = self.resource_record(index);
        if usage(record) != Usage::default() {
            return;
        }
        if record.flags.get() & resource_flag::CHECKED != 0 {
            self.change_flags(at, index, resource_flag::CLEANING, resource_flag::CLEANING, 0);
        }
        if record.flags.get() & resource_flag::NODE != 0 {
            self.note_lost(index);
        }
    }

    /// Forgets what an ended lease held.
    #[inline(always)]
    pub(super) fn forget_holds(&self, record: &Lease) {
        for hold in self.walk(record.holds.get(), |t, i| t.hold_record(i).next_of_lease.get()) {
            self.release_resource(self.hold_record(hold).resource.get());
            self.give(&self.header().holds, hold, |t, i| &t.hold_record(i).next);
        }
    }
}
