//! Leases that hang on leases.

use super::layout::flag;
use super::list::Links;
use super::memory::Memory;
use super::slot::Word;
use super::types::{Error, FOREVER, LeaseId, MAX_DEPTH, Time};
use super::{Reason, Table};

fn sibling_links<M: Memory>(table: &Table<M>, index: u32) -> Links<'_> {
    let extra = table.extra_record(index);
    Links { next: &extra.next_sibling, prev: &extra.prev_sibling }
}

impl<M: Memory> Table<M> {
    /// Makes the lease's second record usable.
    pub(super) fn clear_extra(&self, index: u32) {
        let extra = self.extra_record(index);
        for cell in [
            &extra.parent,
            &extra.children,
            &extra.next_sibling,
            &extra.prev_sibling,
            &extra.worker,
            &extra.depth,
            &extra.revoker,
        ] {
            self.set(cell, 0);
        }
        for cell in [&extra.notice_end, &extra.grace, &extra.age, &extra.parent_id, &extra.ender] {
            self.set(cell, 0);
        }
    }

    /// Makes the second record usable unless it is in use already.
    pub(super) fn ensure_extra(&self, index: u32) {
        let record = self.lease_record(index);
        if record.flags.get() & flag::EXTRA == 0 {
            self.clear_extra(index);
            self.set(&record.flags, record.flags.get() | flag::EXTRA);
        }
    }

    /// The record of the lease a claim wants to hang on, or 0.
    pub(super) fn parent_for_claim(&self, parent: Option<LeaseId>) -> Result<u32, Error> {
        let Some(id) = parent else { return Ok(0) };
        // Not `held_lease`, which may let time pass: nothing refers to the claim's records yet.
        let index = self.known_lease(id).map_err(|_| Error::ParentNotHeld)?;
        let word = Word(self.lease_record(index).slot.word.get());
        if !word.held() || word.is_past(self.now()) {
            return Err(Error::ParentNotHeld);
        }
        if self.depth_of(index) >= MAX_DEPTH - 1 {
            return Err(Error::TooDeep);
        }
        Ok(index)
    }

    /// The parent of a lease that is held or remembered.
    #[cfg(feature = "cluster")]
    pub(crate) fn parent_of_lease(&self, id: LeaseId) -> Option<LeaseId> {
        let index = self.known_lease(id).ok()?;
        let child = self.lease_record(index).flags.get() & flag::CHILD != 0;
        child.then(|| LeaseId(self.extra_record(index).parent_id.get()))
    }

    fn depth_of(&self, index: u32) -> u32 {
        if self.lease_record(index).flags.get() & flag::CHILD != 0 {
            self.extra_record(index).depth.get()
        } else {
            0
        }
    }

    pub(super) fn hang_below(&self, parent: u32, child: u32) {
        self.ensure_extra(parent);
        let extra = self.extra_record(child);
        self.set(&extra.parent, parent);
        // By id as well: the parent's record may serve another lease before this one is forgotten.
        self.set(&extra.parent_id, self.lease_record(parent).slot.id.get());
        self.set(&extra.depth, self.depth_of(parent).wrapping_add(1));
        self.push_front(
            &self.extra_record(parent).children,
            child,
            sibling_links(self, child),
            sibling_links,
        );
    }

    /// The time beyond which a lease cannot be renewed because of its parent.
    pub(super) fn parent_end(&self, index: u32) -> Time {
        if self.lease_record(index).flags.get() & flag::CHILD == 0 {
            return FOREVER;
        }
        let parent = self.extra_record(index).parent.get();
        self.end_of(parent)
    }

    /// The lease and everything that hangs on it, directly or not.
    pub(super) fn each_in_chain(&self, index: u32, visit: &mut dyn FnMut(u32)) {
        self.each_from(index, 0, visit);
    }

    fn each_from(&self, index: u32, depth: u32, visit: &mut dyn FnMut(u32)) {
        visit(index);
        if self.lease_record(index).flags.get() & flag::EXTRA == 0 {
            return;
        }
        let first = self.extra_record(index).children.get();
        for child in self.walk(first, |t, i| t.extra_record(i).next_sibling.get()) {
            if self.check(depth < MAX_DEPTH) {
                self.each_from(child, depth + 1, visit);
            }
        }
    }

    /// What a parent's end means for those below it, and for its place below its own parent.
    pub(super) fn end_children(&self, index: u32, at: Time, reason: Reason, actor: u64) {
        let inherited = if reason.is_revocation() { Reason::ParentRevoked } else { reason };
        let extra = self.extra_record(index);
        while extra.children.get() != 0 && !self.corrupt.get() {
            let child = extra.children.get();
            // A child whose own end has come ends by that: readers have seen it do so.
            let word = Word(self.lease_record(child).slot.word.get());
            if word.is_past(at) {
                self.end_by_time(child, at);
            } else {
                self.forget_revoker(child);
                // The owner of a replicated lease may report that it ended before the child began.
                let at = at.max(self.lease_record(child).granted_at.get());
                self.end_lease(child, at, inherited, actor);
            }
            // It took itself out of the list.
            self.check(extra.children.get() != child);
        }
        let parent = extra.parent.get();
        if parent != 0 {
            self.unlink(
                &self.extra_record(parent).children,
                None,
                sibling_links(self, index),
                sibling_links,
            );
            self.set(&extra.parent, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cell::Cell;
    use super::super::{Claim, Outcome, Settings};
    use super::*;
    use crate::memory::new_table;

    #[test]
    fn a_chain_that_comes_back_to_its_beginning_makes_no_sense() {
        let table = new_table(Settings::default());
        let take = |parent, name: [&str; 1]| match table
            .claim(0, &Claim { parent, ..Claim::one("a", &name) })
        {
            Ok(Outcome::Granted(lease)) => lease,
            told => panic!("{told:?}"),
        };
        let parent = take(None, ["x"]);
        let child = take(Some(parent), ["y"]);
        table.extra_record(table.lease_index(child.0)).children.put(table.lease_index(parent.0));
        assert_eq!(table.revoke(0, parent, Reason::Operator, "", 5), Err(Error::Corrupt));
    }
}
