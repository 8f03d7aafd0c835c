//! Deadlocks: finding them, showing them, breaking them, and curing those that only the order of the line makes.

use super::layout::flag;
use super::lease::priority_of;
use super::memory::Memory;
use super::resource::Demand;
use super::revoke::Revoker;
use super::types::{Error, LeaseId, TicketId, Time};
use super::{Reason, Table};

/// A set of workers none of which can go on, because each waits for what others of them hold.
///
/// [`LeaseManager::find_deadlocks`](crate::LeaseManager::find_deadlocks) finds them.
///
/// ```
/// use ternlease::{LeaseManager, Options};
///
/// let manager = LeaseManager::with(Options::ticks());
/// manager.acquire("gpu0", "a", 99)?;
/// let second = manager.acquire("gpu1", "b", 99)?;
/// let _a = manager.claim("a").of(&["gpu1"]).enqueue()?;
/// let _b = manager.claim("b").of(&["gpu0"]).enqueue()?;
/// let deadlock = &manager.find_deadlocks()?[0];
/// let step = deadlock.cycle.iter().find(|step| step.worker == "a").unwrap();
/// assert_eq!(step.lease, second); // a waits for what b holds
/// assert_eq!(deadlock.victim, second); // the youngest
/// # Ok::<(), ternlease::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deadlock {
    /// Everybody who is stuck because of the cycle, by name, sorted.
    pub stuck: Vec<String>,
    /// The proof: each waits for a lease of the next, the last for one of the first.
    pub cycle: Vec<Wait>,
    /// Revoking this lease breaks the cycle at the least cost.
    pub victim: LeaseId,
}

/// One step of a cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// Who waits.
    pub worker: String,
    /// By which claim; `None` if by a declared want.
    pub ticket: Option<TicketId>,
    /// For which lease; the next worker in the cycle holds it.
    pub lease: LeaseId,
}

impl<M: Memory> Table<M> {
    /// All deadlocks there are, ordered by victim.
    pub fn find_deadlocks(&self, now: Time) -> Result<Vec<Deadlock>, Error> {
        self.enter(now)?;
        self.leave(self.deadlocks())
    }

    /// As [`Self::find_deadlocks`], at the time of the last command.
    pub(super) fn deadlocks(&self) -> Vec<Deadlock> {
        let mut found = Vec::new();
        if self.anybody_blocked() {
            let pass = self.find_cycles();
            self.each_cycle(pass, &mut |first| found.push(self.report(first)));
            let mut stuck: Vec<(u32, String)> = Vec::new();
            self.each_stuck(pass, &mut |worker| {
                stuck.push((self.worker_notes(worker).cycle.get(), self.holder_name(worker)));
            });
            stuck.sort();
            for (first, deadlock) in &mut found {
                let from = stuck.partition_point(|(cycle, _)| cycle < first);
                let mine = stuck[from..].iter().take_while(|(cycle, _)| cycle == first);
                deadlock.stuck = mine.map(|(_, name)| name.clone()).collect();
            }
        }
        let mut deadlocks: Vec<Deadlock> = found.into_iter().map(|(_, found)| found).collect();
        deadlocks.sort_by_key(|deadlock| deadlock.victim);
        deadlocks
    }

    /// Reduces, and finds for every stuck worker the cycle it runs into.
    fn find_cycles(&self) -> u64 {
        let pass = self.reduce(false);
        for ticket in self.queue() {
            let worker = self.worker_notes(self.ticket_record(ticket).worker.get());
            let dead = !self.ticket_notes(ticket).satisfied.get();
            if dead && worker.stuck_by.get() == 0 {
                worker.stuck_by.set(ticket);
            }
        }
        self.each_stuck(pass, &mut |worker| {
            let notes = self.worker_notes(worker);
            let lease = self.awaited_lease(pass, worker);
            notes.waits_for.set(lease);
            notes.next.set(if lease == 0 { 0 } else { self.worker_of(lease) });
        });
        self.each_stuck(pass, &mut |worker| self.follow(worker));
        pass
    }

    fn each_stuck(&self, pass: u64, visit: &mut dyn FnMut(u32)) {
        for worker in 1..=self.last_holder_record() {
            if self.is_stuck(pass, worker) {
                visit(worker);
            }
        }
    }

    /// Calls `visit` with one worker of each cycle.
    fn each_cycle(&self, pass: u64, visit: &mut dyn FnMut(u32)) {
        self.each_stuck(pass, &mut |worker| {
            if self.worker_notes(worker).cycle.get() == worker {
                visit(worker);
            }
        });
    }

    /// The lease by which the worker is stuck, or 0.
    fn awaited_lease(&self, pass: u64, worker: u32) -> u32 {
        let ticket = self.worker_notes(worker).stuck_by.get();
        if ticket == 0 {
            let resource = self.first_dead_want(pass, worker);
            return self.oldest_stuck_lease(pass, resource, worker);
        }
        let demand: Demand = self.demand_of(ticket);
        self.candidates_of(self.ticket_record(ticket).line.get())
            .filter(|&resource| {
                let usage = self.stuck_usage(pass, resource).usage();
                !usage.leaves_room(self.resource_record(resource), &demand)
            })
            .map(|resource| self.oldest_stuck_lease(pass, resource, 0))
            .find(|&lease| lease != 0)
            .unwrap_or(0)
    }

    fn oldest_stuck_lease(&self, pass: u64, resource: u32, not_of: u32) -> u32 {
        if resource == 0 {
            return 0;
        }
        self.holds_on(resource)
            .map(|hold| self.hold_record(hold).lease.get())
            .filter(|&lease| self.counts_as_stuck(pass, lease) && self.worker_of(lease) != not_of)
            .min_by_key(|&lease| self.lease_record(lease).slot.id.get())
            .unwrap_or(0)
    }

    /// Follows `next` from a worker to its cycle, and notes that cycle on everybody passed.
    fn follow(&self, start: u32) {
        const NEW: u8 = 0;
        const ON_PATH: u8 = 1;
        const DONE: u8 = 2;
        let mut at = start;
        while at != 0 && self.worker_notes(at).visit.get() == NEW {
            self.worker_notes(at).visit.set(ON_PATH);
            at = self.worker_notes(at).next.get();
        }
        let cycle = match at {
            0 => 0,
            met if self.worker_notes(met).visit.get() == ON_PATH => met,
            met => self.worker_notes(met).cycle.get(),
        };
        let mut at = start;
        while at != 0 && self.worker_notes(at).visit.get() == ON_PATH {
            self.worker_notes(at).visit.set(DONE);
            self.worker_notes(at).cycle.set(cycle);
            at = self.worker_notes(at).next.get();
        }
    }

    fn workers_in_cycle(&self, first: u32) -> impl Iterator<Item = u32> + '_ {
        let mut next = Some(first);
        std::iter::from_fn(move || {
            let worker = next?;
            let following = self.worker_notes(worker).next.get();
            next = (following != first).then_some(following);
            Some(worker)
        })
    }

    /// The lease in the cycle whose loss costs least.
    fn victim(&self, first: u32) -> u32 {
        self.workers_in_cycle(first)
            .map(|worker| self.worker_notes(worker).waits_for.get())
            .min_by_key(|&lease| {
                let record = self.lease_record(lease);
                let preemptible = record.flags.get() & flag::PREEMPTIBLE != 0;
                let youngest_first = std::cmp::Reverse(self.age_of(lease));
                (priority_of(record), !preemptible, record.hold_count.get(), youngest_first)
            })
            .unwrap_or(0)
    }

    fn report(&self, first: u32) -> (u32, Deadlock) {
        let mut cycle: Vec<Wait> = self
            .workers_in_cycle(first)
            .map(|worker| {
                let notes = self.worker_notes(worker);
                let ticket = match notes.stuck_by.get() {
                    0 => None,
                    ticket => Some(TicketId(self.ticket_record(ticket).id.get())),
                };
                Wait {
                    worker: self.holder_name(worker),
                    ticket,
                    lease: LeaseId(self.lease_record(notes.waits_for.get()).slot.id.get()),
                }
            })
            .collect();
        let least = cycle.iter().map(|wait| wait.lease).min();
        if let Some(place) = cycle.iter().position(|wait| Some(wait.lease) == least) {
            cycle.rotate_left(place);
        }
        let victim = LeaseId(self.lease_record(self.victim(first)).slot.id.get());
        (first, Deadlock { stuck: Vec::new(), cycle, victim })
    }

    /// Revokes the youngest of the proposed victims; whether there was one.
    pub(super) fn break_deadlock(&self, now: Time) -> bool {
        if !self.anybody_blocked() {
            return false;
        }
        let pass = self.find_cycles();
        let mut youngest = 0;
        self.each_cycle(pass, &mut |first| {
            let victim = self.victim(first);
            if youngest == 0 || self.age_of(victim) > self.age_of(youngest) {
                youngest = victim;
            }
        });
        if youngest == 0 {
            return false;
        }
        let grace = self.grace_of(youngest);
        let taken = self.take_away(youngest, now, Reason::DeadlockVictim, Revoker::TABLE, grace);
        // One that is not over or leaving would be found again and again.
        taken.is_none() || self.check(self.is_leaving(youngest))
    }

    /// How old the claim is that became this lease. A holder that lost a lease to break a deadlock keeps its age, and
    /// so is not the youngest again when it comes back.
    pub(super) fn age_of(&self, lease: u32) -> u64 {
        let record = self.lease_record(lease);
        let age = match record.flags.get() & flag::EXTRA {
            0 => 0,
            _ => self.extra_record(lease).age.get(),
        };
        if age != 0 { age } else { record.slot.id.get() >> self.id_bits }
    }

    /// The holder's next ticket stands where the victim's claim stood. A lease gives its age only once.
    pub(super) fn keep_age(&self, lease: u32) {
        let record = self.lease_record(lease);
        if record.flags.get() & flag::AGE_GIVEN != 0 {
            return;
        }
        self.set(&record.flags, record.flags.get() | flag::AGE_GIVEN);
        let age = self.age_of(lease);
        let credit = &self.holder_record(record.holder.get()).credit;
        if credit.get() == 0 || age < credit.get() {
            self.set(credit, age);
        }
    }

    /// Lets the first ticket overtake that is stuck only because of the order of the line; whether there was one.
    pub(super) fn cure_soft_deadlock(&self) -> bool {
        let header = self.header();
        // Without crossings, the first unsatisfied ticket of a line is held up by no earlier one,
        // and what would not fit for it would not fit for those behind it.
        if header.crossings.get() == 0 || header.waiting.get() < 2 || !self.anybody_blocked() {
            return false;
        }
        let pass = self.reduce(true);
        let stuck = self.queue().find(|&ticket| {
            !self.ticket_notes(ticket).satisfied.get() && self.is_obtainable(pass, ticket)
        });
        let Some(ticket) = stuck else { return false };
        let record = self.ticket_record(ticket);
        self.set(&record.flags, record.flags.get() | flag::OVERTAKE);
        self.add(&header.overtakers, 1);
        self.mark_dirty(record.line.get());
        true
    }
}
