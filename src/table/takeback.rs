//! Taking back spare and preemptible leases for those who wait: the four steps of
//! "Spare and preemptible leases" in `docs/rules.md`, on a sketch of the table.

use super::layout::{flag, resource_flag};
use super::lease::priority_of;
use super::memory::Memory;
use super::resource::{Demand, Usage, usage};
use super::revoke::Revoker;
use super::scratch::{LeaseNotes, ResourceNotes};
use super::ticket::effective_priority;
use super::types::Time;
use super::{Reason, Table};

impl ResourceNotes {
    pub(super) fn usage(&self) -> Usage {
        Usage {
            slots: self.used_slots.get(),
            memory: self.used_memory.get(),
            shared: self.shared.get(),
        }
    }

    pub(super) fn set_usage(&self, new: Usage) {
        self.used_slots.set(new.slots);
        self.used_memory.set(new.memory);
        self.shared.set(new.shared);
    }

    /// Is it awaited by a ticket that conflicts with a claim of this kind?
    pub(super) fn is_awaited(&self, round: u64, shared: bool) -> bool {
        self.awaited.get() == round || (!shared && self.awaited_shared.get() == round)
    }
}

impl<M: Memory> Table<M> {
    /// Revokes what the first ticket that can be helped needs; whether there was one.
    pub(super) fn take_back(&self, now: Time) -> bool {
        let header = self.header();
        if header.takeable.get() == 0 || header.waiting_not_spare.get() == 0 {
            return false;
        }
        let pass = self.scratch.begin_pass();
        let mut removed = self.scratch.removed.take();
        self.scratch.gone.with(Vec::clear);
        let helped = self
            .queue()
            .filter(|&ticket| !self.has_flag(ticket, flag::SPARE))
            .any(|ticket| self.sketch_ticket(pass, ticket, &mut removed));
        for &lease in &removed {
            let record = self.lease_record(lease);
            let flags = record.flags.get();
            let spare = flags & flag::SPARE != 0;
            let reason = if spare { Reason::SpareReclaimed } else { Reason::Preempted };
            let grace = self.grace_of(lease);
            // It may have gone with a parent that was removed before it.
            if super::slot::Word(record.slot.word.get()).held() {
                self.take_away(lease, now, reason, Revoker::TABLE, grace);
            }
        }
        removed.clear();
        self.scratch.removed.replace(removed);
        helped
    }

    pub(super) fn grace_of(&self, lease: u32) -> Time {
        if self.lease_record(lease).flags.get() & flag::EXTRA != 0 {
            self.extra_record(lease).grace.get()
        } else {
            0
        }
    }

    /// Serves the ticket in the sketch; true if that takes removing leases (which are in `removed` then).
    fn sketch_ticket(&self, pass: u64, ticket: u32, removed: &mut Vec<u32>) -> bool {
        let record = self.ticket_record(ticket);
        let line = record.line.get();
        let demand = self.demand_of(ticket);
        let count = record.count.get() as usize;
        let together = self.has_flag(ticket, flag::TOGETHER);
        let awaited = |resource: u32| self.sketch(pass, resource).is_awaited(pass, demand.shared);
        let overtakes = self.has_flag(ticket, flag::OVERTAKE);
        if !overtakes && self.candidates_of(line).any(awaited) {
            self.await_in_sketch(pass, line, demand.shared);
            return false;
        }
        let mut picks = self.scratch.picks.take();
        picks.clear();
        let fitting = self.candidates_of(line).filter(|&r| self.fits_sketch(pass, r, &demand));
        picks.extend(fitting);
        let satisfied = self.choose(&mut picks, count, together)
            || match together {
                false => self.make_more_fit(pass, ticket, None, &mut picks, removed),
                true => self.make_a_node_fit(pass, ticket, &mut picks, removed),
            };
        if satisfied {
            for &resource in &picks {
                let notes = self.sketch(pass, resource);
                let taken = Usage::of(self.resource_record(resource), &demand);
                notes.set_usage(notes.usage().plus(taken));
            }
        } else {
            self.put_back(removed, 0, 0);
            self.await_in_sketch(pass, line, demand.shared);
        }
        self.scratch.picks.replace(picks);
        satisfied && !removed.is_empty()
    }

    /// Adds to those that fit others, of this node if one is named, that do once leases are removed; are there enough then?
    fn make_more_fit(
        &self,
        pass: u64,
        ticket: u32,
        node: Option<u32>,
        picks: &mut Vec<u32>,
        removed: &mut Vec<u32>,
    ) -> bool {
        let record = self.ticket_record(ticket);
        let demand = self.demand_of(ticket);
        let count = record.count.get() as usize;
        let fit_at_once = picks.len();
        let of_node = |&resource: &u32| node.is_none_or(|node| self.node_of(resource) == node);
        for resource in self.candidates_of(record.line.get()).filter(of_node) {
            if picks.len() == count {
                break;
            }
            if !picks[..fit_at_once].contains(&resource)
                && self.make_fit(pass, ticket, resource, &demand, removed)
            {
                picks.push(resource);
            }
        }
        picks.len() == count
    }

    /// Tries the nodes, those first of which most fits already, until one has enough once leases are removed. Nothing is removed from the others.
    fn make_a_node_fit(
        &self,
        pass: u64,
        ticket: u32,
        picks: &mut Vec<u32>,
        removed: &mut Vec<u32>,
    ) -> bool {
        let line = self.ticket_record(ticket).line.get();
        let demand = self.demand_of(ticket);
        let mut nodes = self.scratch.by_fit.take();
        self.nodes_by_fit(line, picks, &mut nodes);
        let found = nodes.iter().any(|&node| {
            let fits = |&r: &u32| self.node_of(r) == node && self.fits_sketch(pass, r, &demand);
            picks.clear();
            picks.extend(self.candidates_of(line).filter(fits));
            let enough = self.make_more_fit(pass, ticket, Some(node), picks, removed);
            if !enough {
                self.put_back(removed, 0, 0);
            }
            enough
        });
        self.scratch.by_fit.replace(nodes);
        found
    }

    /// The sketch of a resource: what is taken of it once the leases that are being revoked have gone.
    fn sketch(&self, pass: u64, resource: u32) -> &ResourceNotes {
        let notes = self.notes_on(resource);
        if notes.pass.replace(pass) != pass {
            let mut left = usage(self.resource_record(resource));
            for hold in self.holds_on(resource) {
                let lease = self.hold_record(hold).lease.get();
                if self.is_leaving(lease) || self.is_gone(pass, lease) {
                    left = left.minus(self.held_usage(hold));
                }
            }
            notes.set_usage(left);
            notes.awaited.set(0);
            notes.awaited_shared.set(0);
        }
        notes
    }

    pub(super) fn notes_on(&self, resource: u32) -> &ResourceNotes {
        let notes = &self.scratch.resources;
        notes.get(resource as usize).unwrap_or_else(|| self.nothing(notes))
    }

    fn lease_notes(&self, lease: u32) -> &LeaseNotes {
        let notes = &self.scratch.leases;
        notes.get(lease as usize).unwrap_or_else(|| self.nothing(notes))
    }

    fn is_gone(&self, pass: u64, lease: u32) -> bool {
        self.scratch.leases.get(lease as usize).is_none_or(|notes| notes.gone.get() == pass)
    }

    fn fits_sketch(&self, pass: u64, resource: u32, demand: &Demand) -> bool {
        let record = self.resource_record(resource);
        let flags = record.flags.get();
        // One that is being cleaned is on its way back: nobody else need be sent away for it.
        let hindered = match flags & resource_flag::CLEANING {
            0 => resource_flag::UNHEALTHY,
            _ => resource_flag::SAID | resource_flag::SEEN_FAILED,
        };
        flags & hindered == 0 && self.sketch(pass, resource).usage().leaves_room(record, demand)
    }

    fn await_in_sketch(&self, pass: u64, line: u32, shared: bool) {
        for resource in self.candidates_of(line) {
            let notes = self.sketch(pass, resource);
            let mark = if shared { &notes.awaited_shared } else { &notes.awaited };
            mark.set(pass);
        }
    }

    /// Removes leases from the sketch until the demand fits on this resource; puts them back if it never does.
    fn make_fit(
        &self,
        pass: u64,
        ticket: u32,
        resource: u32,
        demand: &Demand,
        removed: &mut Vec<u32>,
    ) -> bool {
        let before = (removed.len(), self.scratch.gone.with(|gone| gone.len()));
        while !self.fits_sketch(pass, resource, demand) {
            let best = self
                .holds_on(resource)
                .map(|hold| self.hold_record(hold).lease.get())
                .filter(|&lease| self.may_take(pass, ticket, lease))
                .min_by_key(|&lease| {
                    let record = self.lease_record(lease);
                    let spare = record.flags.get() & flag::SPARE != 0;
                    (!spare, priority_of(record), std::cmp::Reverse(self.age_of(lease)))
                });
            match best {
                Some(lease) => {
                    removed.push(lease);
                    self.each_in_chain(lease, &mut |below| self.remove_from_sketch(pass, below));
                }
                None => {
                    self.put_back(removed, before.0, before.1);
                    return false;
                }
            }
        }
        true
    }

    fn may_take(&self, pass: u64, ticket: u32, lease: u32) -> bool {
        if self.is_leaving(lease) || self.is_gone(pass, lease) {
            return false;
        }
        let record = self.lease_record(lease);
        let flags = record.flags.get();
        if flags & flag::SPARE != 0 {
            return true;
        }
        let claimer = self.ticket_record(ticket);
        flags & flag::PREEMPTIBLE != 0
            && claimer.flags.get() & flag::PREEMPT != 0
            && self.standing(lease, priority_of(record)) < effective_priority(claimer)
    }

    fn remove_from_sketch(&self, pass: u64, lease: u32) {
        if self.is_leaving(lease) || self.is_gone(pass, lease) {
            return;
        }
        for hold in self.holds_of(lease) {
            let notes = self.sketch(pass, self.hold_record(hold).resource.get());
            notes.set_usage(notes.usage().minus(self.held_usage(hold)));
        }
        self.lease_notes(lease).gone.set(pass);
        self.scratch.gone.push(lease);
    }

    /// Puts back into the sketch what went since there were so many removed, and so many gone with them.
    fn put_back(&self, removed: &mut Vec<u32>, were_removed: usize, were_gone: usize) {
        removed.truncate(were_removed);
        self.scratch.gone.with(|gone| {
            for lease in gone.drain(were_gone..) {
                self.lease_notes(lease).gone.set(0);
                for hold in self.holds_of(lease) {
                    // Its sketch was made when the lease went.
                    let notes = self.notes_on(self.hold_record(hold).resource.get());
                    notes.set_usage(notes.usage().plus(self.held_usage(hold)));
                }
            }
        });
    }
}
