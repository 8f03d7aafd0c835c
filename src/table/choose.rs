//! Which of the resources that could serve a claim it gets: the rule "Choice" of `docs/rules.md`.

use super::Table;
use super::memory::Memory;

impl<M: Memory> Table<M> {
    /// Leaves `count` of the resources in `fitting`, in their order, of one node if they are to be together. All, and false, if there are not
    /// so many.
    #[inline(always)]
    pub(super) fn choose(&self, fitting: &mut Vec<u32>, count: usize, together: bool) -> bool {
        if fitting.len() < count || together && !self.keep_a_node(fitting, count) {
            return false;
        }
        if self.header().islanders.get() != 0 && fitting.len() > count {
            self.choose_by_island(fitting, count);
        }
        fitting.truncate(count);
        true
    }

    #[cold]
    fn choose_by_island(&self, fitting: &mut Vec<u32>, count: usize) {
        let pass = self.scratch.begin_pass();
        for &resource in &*fitting {
            let notes = self.island_notes(resource);
            if notes.pass.replace(pass) != pass {
                notes.free.set(0);
                notes.taken.set(0);
            }
            notes.free.set(notes.free.get() + 1);
        }
        let mut missing = count as u32;
        while missing > 0 {
            // The tightest that is large enough, else the largest; among equals the first in order.
            let rank = |free: u32| match free >= missing {
                true => (0, i64::from(free)),
                false => (1, -i64::from(free)),
            };
            let open = fitting.iter().map(|&resource| self.island_notes(resource));
            let open = open.filter(|notes| notes.free.get() != 0);
            let Some(best) = open.min_by_key(|notes| rank(notes.free.get())) else { break };
            let taken = best.free.get().min(missing);
            best.taken.set(taken);
            best.free.set(0);
            missing -= taken;
        }
        fitting.retain(|&resource| {
            let notes = self.island_notes(resource);
            let left = notes.taken.get();
            notes.taken.set(left.saturating_sub(1));
            left != 0
        });
    }

    /// Where to note what is free of the island of this resource. One without island is an island of its own, noted under its own
    /// number behind those of the islands.
    fn island_notes(&self, resource: u32) -> &super::scratch::IslandNotes {
        let notes = &self.scratch.islands;
        let at = match self.resource_record(resource).island.get() {
            0 => notes.len() / 2 + resource as usize,
            island => island as usize,
        };
        notes.get(at).unwrap_or_else(|| self.nothing(notes))
    }
}
