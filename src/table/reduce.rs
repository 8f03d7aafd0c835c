//! Graph reduction: who could finish if everybody who can go on does so, and gives back what it holds?
//! Exact for any claim that only gets easier as others give back, and linear but for the order of the line.

use super::Table;
use super::layout::{flag, setting};
use super::memory::Memory;
use super::resource::{Demand, Usage};
use super::scratch::{ResourceNotes, TicketNotes, WantNotes, WorkerNotes};

impl<M: Memory> Table<M> {
    pub(super) fn worker_notes(&self, worker: u32) -> &WorkerNotes {
        let notes = &self.scratch.workers;
        notes.get(worker as usize).unwrap_or_else(|| self.nothing(notes))
    }

    pub(super) fn ticket_notes(&self, ticket: u32) -> &TicketNotes {
        let notes = &self.scratch.tickets;
        notes.get(ticket as usize).unwrap_or_else(|| self.nothing(notes))
    }

    pub(super) fn want_notes(&self, want: u32) -> &WantNotes {
        let notes = &self.scratch.wants;
        notes.get(want as usize).unwrap_or_else(|| self.nothing(notes))
    }

    /// Could anybody be stuck at all?
    pub(super) fn anybody_blocked(&self) -> bool {
        self.header().entangled.get() != 0
            || self.header().wants.live.get() != 0
            || self.setting(setting::IMPLIED_WANTS)
    }

    /// Is the worker blocked, and has it not been seen to finish?
    pub(super) fn is_stuck(&self, pass: u64, worker: u32) -> bool {
        let notes = self.worker_notes(worker);
        notes.pass.get() == pass && !notes.finished.get()
    }

    /// Reduces. With `ordered`, a ticket also waits for the earlier tickets it conflicts with.
    /// Afterwards the notes of the returned pass tell which tickets and wants are satisfiable.
    pub(super) fn reduce(&self, ordered: bool) -> u64 {
        let pass = self.scratch.begin_pass();
        for ticket in self.queue() {
            let notes = self.ticket_notes(ticket);
            notes.pass.set(pass);
            notes.satisfied.set(false);
            self.block(pass, self.ticket_record(ticket).worker.get());
        }
        self.each_want(&mut |_, holder, _| self.block(pass, holder));
        self.each_implied_want(&mut |holder, _| self.block(pass, holder));
        if ordered {
            while self.satisfy_in_order(pass) && !self.corrupt.get() {}
        } else {
            self.satisfy_all(pass);
        }
        pass
    }

    fn block(&self, pass: u64, worker: u32) {
        let notes = self.worker_notes(worker);
        if notes.pass.replace(pass) != pass {
            notes.unsatisfied.set(0);
            notes.finished.set(false);
            notes.stuck_by.set(0);
            notes.waits_for.set(0);
            notes.next.set(0);
            notes.visit.set(0);
            notes.cycle.set(0);
            notes.implied_satisfied.set(false);
        }
        notes.unsatisfied.set(notes.unsatisfied.get() + 1);
    }

    /// What stuck workers hold on a resource.
    pub(super) fn stuck_usage(&self, pass: u64, resource: u32) -> &ResourceNotes {
        let notes = self.notes_on(resource);
        if notes.pass.replace(pass) != pass {
            let mut taken = Usage::default();
            for hold in self.holds_on(resource) {
                if self.counts_as_stuck(pass, self.hold_record(hold).lease.get()) {
                    taken = taken.plus(self.held_usage(hold));
                }
            }
            notes.set_usage(taken);
            notes.awaited.set(0);
            notes.awaited_shared.set(0);
        }
        notes
    }

    /// A lease that will not come back: its worker is stuck and it is not being revoked.
    pub(super) fn counts_as_stuck(&self, pass: u64, lease: u32) -> bool {
        !self.is_leaving(lease) && self.is_stuck(pass, self.worker_of(lease))
    }

    fn obtainable(&self, pass: u64, resource: u32, demand: &Demand) -> bool {
        let usage = self.stuck_usage(pass, resource).usage();
        usage.leaves_room(self.resource_record(resource), demand)
    }

    /// Would enough candidates of the ticket fit?
    pub(super) fn is_obtainable(&self, pass: u64, ticket: u32) -> bool {
        let record = self.ticket_record(ticket);
        let demand = self.demand_of(ticket);
        let obtainable = self
            .candidates_of(record.line.get())
            .filter(|&resource| self.obtainable(pass, resource, &demand));
        self.enough(obtainable, record.count.get(), self.has_flag(ticket, flag::TOGETHER))
    }

    /// Would the want be fulfilled, the holder's own leases left aside?
    pub(super) fn want_is_obtainable(&self, pass: u64, holder: u32, resource: u32) -> bool {
        let mut taken = self.stuck_usage(pass, resource).usage();
        for hold in self.holds_on(resource) {
            let lease = self.hold_record(hold).lease.get();
            if self.worker_of(lease) == holder && self.counts_as_stuck(pass, lease) {
                taken = taken.minus(self.held_usage(hold));
            }
        }
        taken.leaves_room(self.resource_record(resource), &Demand::ONE_SLOT)
    }

    /// The order ignored: every ticket and want is looked at once, and again when something it asks for comes back.
    fn satisfy_all(&self, pass: u64) {
        for ticket in self.queue() {
            self.satisfy_ticket(pass, ticket);
        }
        self.satisfy_wants(pass);
        while let Some(worker) = self.finish_one(pass) {
            self.each_lease_of_worker(worker, &mut |lease| {
                for hold in self.holds_of(lease) {
                    self.look_again(pass, self.hold_record(hold).resource.get());
                }
            });
        }
    }

    fn satisfy_ticket(&self, pass: u64, ticket: u32) {
        let notes = self.ticket_notes(ticket);
        if !notes.satisfied.get() && self.is_obtainable(pass, ticket) {
            notes.satisfied.set(true);
            self.unblock(self.ticket_record(ticket).worker.get());
        }
    }

    fn satisfy_wants(&self, pass: u64) {
        self.each_want(&mut |want, holder, resource| {
            self.satisfy_want(pass, want, holder, resource);
        });
        self.each_implied_want(&mut |holder, resource| {
            self.satisfy_implied_want(pass, holder, resource);
        });
    }

    fn satisfy_want(&self, pass: u64, want: u32, holder: u32, resource: u32) {
        let notes = self.want_notes(want);
        if notes.pass.replace(pass) != pass {
            notes.satisfied.set(false);
        }
        if !notes.satisfied.get() && self.want_is_obtainable(pass, holder, resource) {
            notes.satisfied.set(true);
            self.unblock(holder);
        }
    }

    fn satisfy_implied_want(&self, pass: u64, holder: u32, resource: u32) {
        let notes = self.worker_notes(holder);
        // A holder that is only remembered wants nothing, and has no notes of this pass.
        if notes.pass.get() == pass
            && !notes.implied_satisfied.get()
            && self.want_is_obtainable(pass, holder, resource)
        {
            notes.implied_satisfied.set(true);
            self.unblock(holder);
        }
    }

    fn unblock(&self, worker: u32) {
        let notes = self.worker_notes(worker);
        let left = notes.unsatisfied.get().wrapping_sub(1);
        notes.unsatisfied.set(left);
        if left == 0 {
            self.scratch.finished.push(worker);
        }
    }

    /// A worker that can finish gives back what it holds.
    fn finish_one(&self, pass: u64) -> Option<u32> {
        let worker = self.scratch.finished.with(Vec::pop)?;
        // First this: a resource that is looked at for the first time from here on does not count the worker any more.
        self.worker_notes(worker).finished.set(true);
        self.each_lease_of_worker(worker, &mut |lease| {
            if self.is_leaving(lease) {
                return;
            }
            for hold in self.holds_of(lease) {
                let notes = self.notes_on(self.hold_record(hold).resource.get());
                if notes.pass.get() == pass {
                    notes.set_usage(notes.usage().minus(self.held_usage(hold)));
                }
            }
        });
        Some(worker)
    }

    /// Something came back on this resource: who gains?
    fn look_again(&self, pass: u64, resource: u32) {
        for line in self.lines_of(resource) {
            for ticket in self.tickets_in(line) {
                self.satisfy_ticket(pass, ticket);
            }
        }
        for want in self.wants_on(resource) {
            self.satisfy_want(pass, want, self.want_record(want).holder.get(), resource);
        }
        if self.setting(setting::IMPLIED_WANTS) {
            let name = self.resource_record(resource).name.get();
            let holder = self.name_record(name).holder.get();
            if holder != 0 {
                self.satisfy_implied_want(pass, holder, resource);
            }
        }
    }

    /// One round over the line in order; whether anybody finished or moved up.
    fn satisfy_in_order(&self, pass: u64) -> bool {
        let round = self.scratch.begin_round();
        let mut changed = false;
        for ticket in self.queue() {
            let notes = self.ticket_notes(ticket);
            if notes.satisfied.get() {
                continue;
            }
            let line = self.ticket_record(ticket).line.get();
            let shared = self.has_flag(ticket, flag::SHARED);
            let awaited = |r: u32| self.stuck_usage(pass, r).is_awaited(round, shared);
            let may_go =
                self.has_flag(ticket, flag::OVERTAKE) || !self.candidates_of(line).any(awaited);
            if may_go {
                self.satisfy_ticket(pass, ticket);
            }
            if notes.satisfied.get() {
                changed = true;
                while self.finish_one(pass).is_some() {}
                continue;
            }
            for resource in self.candidates_of(line) {
                let notes = self.stuck_usage(pass, resource);
                let mark = if shared { &notes.awaited_shared } else { &notes.awaited };
                mark.set(round);
            }
        }
        self.satisfy_wants(pass);
        while self.finish_one(pass).is_some() {
            changed = true;
        }
        changed
    }
}
