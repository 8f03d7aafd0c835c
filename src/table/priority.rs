//! Who makes others wait inherits their priority.

use super::Table;
use super::layout::flag;
use super::lease::Grant;
use super::memory::Memory;
use super::ticket::{effective_priority, own_priority};

const NONE: i32 = i32::MIN;

impl<M: Memory> Table<M> {
    /// Calls `visit(worker, resource)` for every worker that makes this ticket wait on a candidate.
    fn each_obstacle(&self, ticket: u32, visit: &mut dyn FnMut(u32, u32)) {
        let record = self.ticket_record(ticket);
        let demand = self.demand_of(ticket);
        for resource in self.candidates_of(record.line.get()) {
            if self.fits(resource, &demand) {
                continue;
            }
            for hold in self.holds_on(resource) {
                let worker = self.worker_of(self.hold_record(hold).lease.get());
                if worker != record.worker.get() {
                    visit(worker, resource);
                }
            }
        }
    }

    fn inherited(&self, pass: u64, worker: u32) -> i32 {
        match self.scratch.workers.get(worker as usize) {
            Some(notes) if notes.pass.get() == pass => notes.inherited.get(),
            _ => NONE,
        }
    }

    /// Could a ticket inherit another priority than it has?
    #[inline(always)]
    pub(super) fn priorities_may_change(&self) -> bool {
        let header = self.header();
        header.raised.get() != 0 || header.entangled.get() != 0 && self.priorities_differ()
    }

    /// Do two waiting tickets have different priorities, while no ticket is raised? The queue is in
    /// the order of priorities, so its ends decide. If all are equal, no ticket inherits a higher
    /// one.
    fn priorities_differ(&self) -> bool {
        let header = self.header();
        let [(spare, first, _), (spare_too, last, _)] =
            [&header.queue_head, &header.queue_tail].map(|end| self.rank(end.get()));
        (spare, first) != (spare_too, last)
    }

    /// Solves the equations of "Priorities" in `docs/rules.md` from below, then moves the tickets that changed.
    pub(super) fn update_priorities(&self) {
        let pass = self.scratch.begin_pass();
        let effective = |ticket: u32| {
            let record = self.ticket_record(ticket);
            let inherited = self.inherited(pass, record.worker.get());
            inherited.max(own_priority(record) as i32)
        };
        let mut changed = true;
        while changed && !self.corrupt.get() {
            changed = false;
            for ticket in self.queue().filter(|&t| !self.has_flag(t, flag::SPARE)) {
                let given = effective(ticket);
                self.each_obstacle(ticket, &mut |worker, _| {
                    let Some(notes) = self.scratch.workers.get(worker as usize) else { return };
                    if notes.pass.replace(pass) != pass {
                        notes.inherited.set(NONE);
                    }
                    if notes.inherited.get() < given {
                        notes.inherited.set(given);
                        changed = true;
                    }
                });
            }
        }
        // Moving a ticket disturbs the walk, so look for one that changed until there is none.
        loop {
            let stale = self.queue().find(|&ticket| {
                !self.has_flag(ticket, flag::SPARE)
                    && effective(ticket) != effective_priority(self.ticket_record(ticket)) as i32
            });
            match stale {
                Some(ticket) => self.move_to_priority(ticket, effective(ticket) as i16),
                None => return,
            }
            if self.corrupt.get() {
                return;
            }
        }
    }

    /// The effective priority that a claim would have in line.
    pub(super) fn effective_for_new(&self, grant: &Grant) -> i16 {
        let (own, worker) = (grant.priority, grant.worker);
        if grant.flags & flag::SPARE != 0 || self.holder_record(worker).holding.get() == 0 {
            return own;
        }
        let mut highest = own;
        for ticket in self.queue() {
            let given = effective_priority(self.ticket_record(ticket));
            // Those behind it do not give more.
            if self.has_flag(ticket, flag::SPARE) || given <= highest {
                break;
            }
            self.each_obstacle(ticket, &mut |obstacle, _| {
                if obstacle == worker {
                    highest = highest.max(given);
                }
            });
        }
        highest
    }

    /// How high a lease stands against preemption: its own priority, or that of claims which its
    /// worker makes wait elsewhere and which taking this lease would not help.
    pub(super) fn standing(&self, lease: u32, own: i16) -> i16 {
        let worker = self.worker_of(lease);
        let holds = |resource: u32| {
            self.holds_of(lease).any(|hold| self.hold_record(hold).resource.get() == resource)
        };
        let mut highest = own;
        for ticket in self.queue().filter(|&t| !self.has_flag(t, flag::SPARE)) {
            let given = effective_priority(self.ticket_record(ticket));
            let line = self.ticket_record(ticket).line.get();
            if given <= highest || self.candidates_of(line).any(holds) {
                continue;
            }
            self.each_obstacle(ticket, &mut |obstacle, _| {
                if obstacle == worker {
                    highest = highest.max(given);
                }
            });
        }
        highest
    }
}
