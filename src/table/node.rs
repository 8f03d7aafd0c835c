//! Machines: claims for several resources of one of them, and what becomes of a machine's resources when it is gone. "Nodes" in `docs/rules.md`.

use std::cmp::Reverse;

use super::layout::{resource_flag, setting};
use super::memory::Memory;
use super::resource::{Demand, possible};
use super::scratch::NodeNotes;
use super::types::{Health, Time};
use super::{Reason, Table};

impl<M: Memory> Table<M> {
    #[inline(always)]
    pub(super) fn node_of(&self, resource: u32) -> u32 {
        self.resource_record(resource).node.get()
    }

    fn node_notes(&self, resource: u32) -> &NodeNotes {
        let notes = &self.scratch.nodes;
        notes.get(self.node_of(resource) as usize).unwrap_or_else(|| self.nothing(notes))
    }

    /// One more of the resource's node; how many those are.
    fn count_on_node(&self, pass: u64, resource: u32) -> u32 {
        let notes = self.node_notes(resource);
        if notes.pass.replace(pass) != pass {
            notes.count.set(0);
        }
        notes.count.set(notes.count.get() + 1);
        notes.count.get()
    }

    /// Are there `count` of these, of one node if they are to be together?
    #[inline(always)]
    pub(super) fn enough(
        &self,
        mut fitting: impl Iterator<Item = u32>,
        count: u32,
        together: bool,
    ) -> bool {
        if !together {
            return fitting.take(count as usize).count() == count as usize;
        }
        let pass = self.scratch.begin_pass();
        fitting.any(|resource| self.count_on_node(pass, resource) >= count)
    }

    /// Leaves those of the tightest node that has `count` of them; all, and false, if none has.
    pub(super) fn keep_a_node(&self, fitting: &mut Vec<u32>, count: usize) -> bool {
        let pass = self.scratch.begin_pass();
        for &resource in &*fitting {
            self.count_on_node(pass, resource);
        }
        let size = |resource: &u32| self.node_notes(*resource).count.get();
        let large = fitting.iter().copied().filter(|resource| size(resource) as usize >= count);
        let Some(best) = large.min_by_key(size) else { return false };
        let node = self.node_of(best);
        fitting.retain(|&resource| self.node_of(resource) == node);
        true
    }

    /// The candidates that a claim for `count` of one node can ever be served from: those of nodes that could serve it if they were empty and healthy.
    pub(super) fn of_able_nodes(
        &self,
        candidates: &[u32],
        demand: &Demand,
        count: u32,
        found: &mut Vec<u32>,
    ) {
        let pass = self.scratch.begin_pass();
        for &resource in candidates {
            if possible(self.resource_record(resource), demand) {
                self.count_on_node(pass, resource);
            }
        }
        let able = |&&resource: &&u32| {
            let notes = self.node_notes(resource);
            notes.pass.get() == pass && notes.count.get() >= count
        };
        found.clear();
        found.extend(candidates.iter().filter(able));
    }

    /// The nodes of a line's candidates: those first of which most are among `fitting`, of equals the first in the claims' order.
    pub(super) fn nodes_by_fit(&self, line: u32, fitting: &[u32], found: &mut Vec<u32>) {
        let pass = self.scratch.begin_pass();
        found.clear();
        for (place, resource) in self.candidates_of(line).enumerate() {
            let notes = self.node_notes(resource);
            if notes.pass.replace(pass) != pass {
                notes.count.set(0);
                notes.first.set(place as u32);
                found.push(resource);
            }
        }
        for &resource in fitting {
            self.count_on_node(pass, resource);
        }
        // Each once, so that there are no equals.
        found.sort_unstable_by_key(|&resource| {
            let notes = self.node_notes(resource);
            (Reverse(notes.count.get()), notes.first.get())
        });
        for resource in found {
            *resource = self.node_of(*resource);
        }
    }

    /// The last lease on a node has ended: nobody is there any more. What follows is done before the line is served.
    #[cold]
    pub(super) fn note_lost(&self, index: u32) {
        let flags = &self.resource_record(index).flags;
        self.set(flags, flags.get() | resource_flag::LOST);
        let settings = &self.header().settings;
        self.set(settings, settings.get() | setting::NODE_LOST);
    }

    /// Takes the resources of nodes on which nobody has a lease any more out of service, and revokes the leases on them.
    #[cold]
    pub(super) fn lose_nodes(&self, now: Time) {
        let settings = &self.header().settings;
        while self.setting(setting::NODE_LOST) && !self.corrupt.get() {
            let is_lost =
                |&node: &u32| self.resource_record(node).flags.get() & resource_flag::LOST != 0;
            // Losing one may take another along, so look anew.
            let Some(node) = (1..=self.last_resource_record()).find(is_lost) else {
                self.set(settings, settings.get() & !setting::NODE_LOST);
                return;
            };
            let flags = &self.resource_record(node).flags;
            self.set(flags, flags.get() & !resource_flag::LOST);
            self.lose_node(now, node);
        }
    }

    fn lose_node(&self, now: Time, node: u32) {
        let last = self.last_resource_record();
        let resources = || (1..=last).filter(|&resource| self.node_of(resource) == node);
        // First all of them: nobody is to be served with one of the others.
        resources().for_each(|index| self.change_evidence(now, index, Health::Failed, false, 0));
        resources().for_each(|index| self.revoke_all_on(now, index, Reason::NodeDrain, "", 0));
    }

    pub(super) fn last_resource_record(&self) -> u32 {
        self.last_used(&self.header().resources, self.memory.resources().len())
    }
}
