//! Wants: what holders need without having claimed it. They matter only for deadlocks.

use super::Table;
use super::layout::setting;
use super::memory::Memory;
use super::names::check_name;
use super::types::{Error, Part, Time};

impl<M: Memory> Table<M> {
    /// Declares that `holder` cannot go on without `resource`.
    pub fn want(&self, now: Time, holder: &str, resource: &str) -> Result<(), Error> {
        check_name(holder)?;
        check_name(resource)?;
        self.enter(now)?;
        let len = self.memory.wants().len();
        if !self.has_room(&self.header().wants, len, 1) {
            return Err(Error::Full(Part::Wants));
        }
        let wanted = self.intern_resource(resource)?;
        let wanting = match self.intern_holder(holder) {
            Ok(wanting) => wanting,
            Err(error) => {
                self.drop_resource_if_unused(wanted);
                return Err(error);
            }
        };
        if self.find_want(wanting, wanted) != 0 {
            return self.leave(());
        }
        let want = self.take(&self.header().wants, len, |t, i| &t.want_record(i).next);
        let record = self.want_record(want);
        self.set(&record.holder, wanting);
        self.set(&record.resource, wanted);
        self.set(&record.next, 0);
        let own = self.holder_record(wanting);
        match self.wants_of(wanting).last() {
            None => self.set(&own.wants, want),
            Some(last) => self.set(&self.want_record(last).next, want),
        }
        let on = self.resource_record(wanted);
        self.set(&record.next_of_resource, on.wants.get());
        self.set(&on.wants, want);
        self.add(&own.refs, 1);
        self.add(&on.refs, 1);
        self.settle(now);
        self.leave(())
    }

    /// Takes a want back.
    pub fn unwant(&self, now: Time, holder: &str, resource: &str) -> Result<(), Error> {
        check_name(holder)?;
        check_name(resource)?;
        self.enter(now)?;
        let wanting = self.find_holder(holder);
        let wanted = match self.find_name(resource) {
            0 => 0,
            name => self.name_record(name).resource.get(),
        };
        let want = if wanting == 0 { 0 } else { self.find_want(wanting, wanted) };
        if want == 0 {
            return Err(Error::UnknownWant);
        }
        let record = self.want_record(want);
        let own = self.holder_record(wanting);
        match self.wants_of(wanting).find(|&w| self.want_record(w).next.get() == want) {
            None => self.set(&own.wants, record.next.get()),
            Some(before) => self.set(&self.want_record(before).next, record.next.get()),
        }
        let on = self.resource_record(wanted);
        let next = record.next_of_resource.get();
        let before =
            self.wants_on(wanted).find(|&w| self.want_record(w).next_of_resource.get() == want);
        match before {
            None => self.set(&on.wants, next),
            Some(before) => self.set(&self.want_record(before).next_of_resource, next),
        }
        self.set(&record.holder, 0);
        self.set(&record.resource, 0);
        self.give(&self.header().wants, want, |t, i| &t.want_record(i).next);
        self.release_resource(wanted);
        self.release_holder(wanting);
        self.settle(now);
        self.leave(())
    }

    fn wants_of(&self, holder: u32) -> impl Iterator<Item = u32> + '_ {
        let first = self.holder_record(holder).wants.get();
        self.walk(first, |t, i| t.want_record(i).next.get())
    }

    pub(super) fn wants_on(&self, resource: u32) -> impl Iterator<Item = u32> + '_ {
        let first = self.resource_record(resource).wants.get();
        self.walk(first, |t, i| t.want_record(i).next_of_resource.get())
    }

    fn find_want(&self, holder: u32, resource: u32) -> u32 {
        self.wants_of(holder)
            .find(|&want| self.want_record(want).resource.get() == resource)
            .unwrap_or(0)
    }

    /// Calls `visit(want, holder, resource)` for every declared want.
    pub(super) fn each_want(&self, visit: &mut dyn FnMut(u32, u32, u32)) {
        let arena = &self.header().wants;
        if arena.live.get() == 0 {
            return;
        }
        for want in 1..=self.last_used(arena, self.memory.wants().len()) {
            let record = self.want_record(want);
            if record.holder.get() != 0 {
                visit(want, record.holder.get(), record.resource.get());
            }
        }
    }

    /// Does this holder hold or wait or want, or is it only remembered?
    fn is_active(&self, holder: u32) -> bool {
        let record = self.holder_record(holder);
        record.leases.get() != 0 || record.waiting.get() != 0 || record.wants.get() != 0
    }

    /// Calls `visit(holder, resource)` for every holder that wants its namesake, if that is the custom here.
    pub(super) fn each_implied_want(&self, visit: &mut dyn FnMut(u32, u32)) {
        if !self.setting(setting::IMPLIED_WANTS) {
            return;
        }
        for name in 1..=self.last_name_record() {
            let record = self.name_record(name);
            let (holder, resource) = (record.holder.get(), record.resource.get());
            if holder != 0 && resource != 0 && self.is_active(holder) {
                visit(holder, resource);
            }
        }
    }

    /// What a worker wants that is stuck by no ticket: by its oldest want that is dead, an implied one last.
    pub(super) fn first_dead_want(&self, pass: u64, worker: u32) -> u32 {
        let dead = |&want: &u32| {
            let notes = self.want_notes(want);
            notes.pass.get() == pass && !notes.satisfied.get()
        };
        match self.wants_of(worker).find(dead) {
            Some(want) => self.want_record(want).resource.get(),
            // It is stuck by something.
            None => self.name_record(self.holder_record(worker).name.get()).resource.get(),
        }
    }
}
