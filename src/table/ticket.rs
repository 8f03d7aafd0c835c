//! The life of a ticket: queued, served or refused, remembered, forgotten.

use super::event::kind;
use super::layout::{Ticket, flag, setting};
use super::lease::Grant;
use super::memory::Memory;
use super::resource::Demand;
use super::slot::end_after;
use super::types::{Cancelled, Error, LeaseId, Part, TicketId, TicketState, Time};
use super::{Reason, Table};

const REFUSED: u64 = 1 << 63;

/// A claim on its way into the line.
pub(super) struct NewTicket<'a> {
    pub grant: &'a Grant,
    pub count: u32,
    pub together: bool,
    pub preempt: bool,
    pub effective: i16,
    pub age: u64,
    pub wait: Time,
}

/// Where a ticket stands in the order: smaller is earlier.
pub(super) type Rank = (bool, i32, u64);

impl NewTicket<'_> {
    #[inline(always)]
    pub fn rank(&self) -> Rank {
        (self.grant.flags & flag::SPARE != 0, -(self.effective as i32), self.age)
    }
}

pub(super) fn own_priority(ticket: &Ticket) -> i16 {
    ticket.priorities.get() as u16 as i16
}

pub(super) fn effective_priority(ticket: &Ticket) -> i16 {
    (ticket.priorities.get() >> 16) as u16 as i16
}

fn decode(result: u64) -> TicketState {
    match result {
        0 => TicketState::Waiting,
        refused if refused & REFUSED != 0 => {
            TicketState::Refused(Reason::from_code(refused as u16).unwrap_or(Reason::Cancelled))
        }
        lease => TicketState::Granted(LeaseId(lease)),
    }
}

/// What is known of a decided ticket's answer: nothing yet, that somebody was told, or that the claim was withdrawn before.
mod collected {
    pub const TOLD: u32 = 1;
    pub const WITHDRAWN: u32 = 2;
}

/// What became of a ticket, read from a table's memory without its lock. The argument is that of `slot.rs`:
/// the record's id is read before and after, and is 0 while the record changes hands.
pub fn ticket_state<M: Memory>(memory: &M, id: TicketId) -> Option<TicketState> {
    let record = memory.tickets().get((id.0 & memory.index_mask()) as usize)?;
    if id.0 == 0 || record.id.get() != id.0 {
        return None;
    }
    let state = match (record.collected.get(), decode(record.result.get())) {
        (collected::WITHDRAWN, TicketState::Granted(_)) => TicketState::Refused(Reason::Cancelled),
        (_, state) => state,
    };
    (record.id.get() == id.0).then_some(state)
}

/// Until when a ticket waits, read without the lock; `None` if it is not known.
pub(crate) fn wait_end<M: Memory>(memory: &M, id: TicketId) -> Option<Time> {
    let record = memory.tickets().get((id.0 & memory.index_mask()) as usize)?;
    (record.id.get() == id.0).then(|| record.wait_end.get())
}

/// Differs for tickets that differ in one byte of what they ask for.
fn ask_mark(count: u32, slots: u32, memory: u32, line: u32, flags: u32) -> u32 {
    let how = flags & (flag::EXCLUSIVE | flag::SHARED | flag::TOGETHER);
    !(count
        ^ slots.rotate_left(8)
        ^ memory.rotate_left(16)
        ^ line.rotate_left(24)
        ^ how.rotate_left(4))
}

impl<M: Memory> Table<M> {
    #[inline(always)]
    pub(super) fn ticket_index(&self, id: u64) -> u32 {
        (id & self.index_mask) as u32
    }

    pub(super) fn known_ticket(&self, id: TicketId) -> Result<u32, Error> {
        let index = self.ticket_index(id.0);
        match self.memory.tickets().get(index as usize) {
            Some(record) if id.0 != 0 && record.id.get() == id.0 => Ok(index),
            _ => Err(Error::UnknownTicket),
        }
    }

    pub(super) fn rank(&self, ticket: u32) -> Rank {
        let record = self.ticket_record(ticket);
        let spare = record.flags.get() & flag::SPARE != 0;
        (spare, -(effective_priority(record) as i32), record.age.get())
    }

    pub(super) fn demand_of(&self, ticket: u32) -> Demand {
        let record = self.ticket_record(ticket);
        Demand::from_flags(record.flags.get(), record.slots.get(), record.memory.get())
    }

    pub(super) fn has_flag(&self, ticket: u32, bit: u32) -> bool {
        self.ticket_record(ticket).flags.get() & bit != 0
    }

    /// What became of a ticket; `None` if it is not remembered.
    pub fn ticket(&self, id: TicketId) -> Option<TicketState> {
        ticket_state(&self.memory, id)
    }

    /// Puts a claim in line.
    pub(super) fn enqueue(
        &self,
        now: Time,
        new: &NewTicket<'_>,
        candidates: &[u32],
    ) -> Result<u32, Error> {
        let header = self.header();
        self.room_for_ticket()?;
        let line = self.line_for(candidates)?;
        let holder = self.holder_record(new.grant.holder);
        self.add(&holder.refs, 1);
        let index = self.take_ticket_record();
        let record = self.ticket_record(index);
        let number = self.next_number();
        let grant = new.grant;
        let mut flags = grant.flags | grant.demand.flags();
        if new.preempt {
            flags |= flag::PREEMPT;
        }
        if new.together {
            flags |= flag::TOGETHER;
        }
        let age = if holder.credit.get() != 0 { holder.credit.get() } else { number };
        self.set(&holder.credit, 0);
        if grant.parent != 0 {
            flags |= flag::CHILD;
            self.add(&header.waiting_children, 1);
            self.set(&record.parent, self.lease_record(grant.parent).slot.id.get());
        } else {
            self.set(&record.parent, 0);
        }
        self.set(&record.result, 0);
        self.set(&record.collected, 0);
        self.set(&record.age, age);
        self.set(&record.queued_at, now);
        self.set(&record.wait_end, end_after(now, new.wait));
        self.set(&record.ttl, grant.ttl);
        self.set(&record.grace, grant.grace);
        self.set(&record.holder, grant.holder);
        self.set(&record.worker, grant.worker);
        self.set(&record.line, line);
        self.set(&record.count, new.count);
        self.set(&record.slots, grant.demand.slots);
        self.set(&record.memory, grant.demand.memory);
        self.set(&record.flags, flags);
        let (slots, memory) = (grant.demand.slots, grant.demand.memory);
        self.set(&record.ask_mark, ask_mark(new.count, slots, memory, line, flags));
        self.set_priorities(index, grant.priority, new.effective);
        let id = number << self.id_bits | index as u64;
        self.set(&record.id, id);
        self.insert_in_order(index);
        self.start_ticket_timer(id, record.wait_end.get());
        self.add(&header.waiting, 1);
        if flags & flag::SPARE == 0 {
            self.add(&header.waiting_not_spare, 1);
        }
        if new.effective != grant.priority {
            self.add(&header.raised, 1);
        }
        self.count_worker(grant.worker, 0, 1);
        self.record_event(kind::QUEUED, now, id, 0, None, self.actor());
        self.mark_dirty(line);
        Ok(index)
    }

    pub(super) fn set_priorities(&self, index: u32, own: i16, effective: i16) {
        let packed = own as u16 as u32 | (effective as u16 as u32) << 16;
        self.set(&self.ticket_record(index).priorities, packed);
    }

    /// Room for one more ticket? One that is decided gives way only when whoever waited for it knows.
    fn room_for_ticket(&self) -> Result<(), Error> {
        let header = self.header();
        let full = Err(Error::Full(Part::Tickets));
        if header.waiting.get() >= self.ticket_limit {
            return full;
        }
        if self.has_room(&header.tickets, self.memory.tickets().len(), 1) {
            return Ok(());
        }
        let decided =
            self.walk(header.ended_tickets.head.get(), |t, i| t.ticket_record(i).next.get());
        let mut decided = decided.map(|ticket| self.ticket_record(ticket));
        if decided.any(|record| record.collected.get() != 0) { Ok(()) } else { full }
    }

    /// A record for a new ticket, for which there is room. The new ticket's holder is referred to already.
    fn take_ticket_record(&self) -> u32 {
        let arena = &self.header().tickets;
        let len = self.memory.tickets().len();
        if !self.has_room(arena, len, 1) {
            self.forget_a_ticket();
        }
        self.take(arena, len, |t, i| &t.ticket_record(i).next)
    }

    /// Forgets the oldest decided ticket that was collected, putting those before it that were not behind the others.
    fn forget_a_ticket(&self) {
        let decided = &self.header().ended_tickets;
        let known = self.memory.tickets().len() as u32;
        self.check(decided.len.get() < known);
        for _ in 0..decided.len.get().min(known) {
            let oldest = decided.head.get();
            let record = self.ticket_record(oldest);
            self.unlink_oldest_decided(oldest);
            if record.collected.get() == 0 {
                self.remember_ticket(oldest);
                continue;
            }
            self.set(&record.id, 0);
            self.release_holder(record.holder.get());
            self.give(&self.header().tickets, oldest, |t, i| &t.ticket_record(i).next);
            return;
        }
    }

    fn unlink_oldest_decided(&self, oldest: u32) {
        let decided = &self.header().ended_tickets;
        let next = self.ticket_record(oldest).next.get();
        self.set(&decided.head, next);
        if next == 0 {
            self.set(&decided.tail, 0);
        }
        self.sub(&decided.len, 1);
    }

    /// Puts a decided ticket behind those that were decided before it.
    fn remember_ticket(&self, index: u32) {
        let decided = &self.header().ended_tickets;
        self.set(&self.ticket_record(index).next, 0);
        match decided.tail.get() {
            0 => self.set(&decided.head, index),
            tail => self.set(&self.ticket_record(tail).next, index),
        }
        self.set(&decided.tail, index);
        self.add(&decided.len, 1);
    }

    /// Does a ticket that is about to be granted ask for what its claim asked for? With one byte less it would fit beside whoever has it all.
    pub(super) fn is_as_asked(&self, index: u32) -> bool {
        let record = self.ticket_record(index);
        let asked = [&record.count, &record.slots, &record.memory, &record.line, &record.flags];
        let [count, slots, memory, line, flags] = asked.map(|cell| cell.get());
        record.ask_mark.get() == ask_mark(count, slots, memory, line, flags)
    }

    /// Turns a ticket into a lease. There is room, and enough of its candidates fit.
    pub(super) fn grant_ticket(&self, now: Time, index: u32) {
        let record = self.ticket_record(index);
        let demand = self.demand_of(index);
        let line = record.line.get();
        let mut picks = self.scratch.picks.take();
        picks.clear();
        picks.extend(self.candidates_of(line).filter(|&i| self.fits(i, &demand)));
        let together = self.has_flag(index, flag::TOGETHER);
        self.choose(&mut picks, record.count.get() as usize, together);
        let parent = match record.parent.get() {
            0 => 0,
            id => self.lease_index(id),
        };
        let grant = Grant {
            holder: record.holder.get(),
            worker: record.worker.get(),
            demand,
            ttl: record.ttl.get(),
            priority: own_priority(record),
            flags: record.flags.get() & (flag::SPARE | flag::PREEMPTIBLE | u32::MAX << flag::OWNER),
            grace: record.grace.get(),
            parent,
            ticket: record.id.get(),
            age: record.age.get(),
        };
        self.leave_queue(index);
        let id = self.grant(now, &grant, &picks);
        self.scratch.picks.replace(picks);
        self.leave_line(index);
        self.decide(index, id);
    }

    /// Takes a ticket out of the line without a lease.
    pub(super) fn refuse(&self, index: u32, at: Time, reason: Reason, actor: u64) {
        let record = self.ticket_record(index);
        self.leave_queue(index);
        self.leave_line(index);
        self.increment(self.counter(reason));
        let waited = at.wrapping_sub(record.queued_at.get());
        self.record_event(kind::REFUSED, at, record.id.get(), waited, Some(reason), actor);
        self.decide(index, REFUSED | reason.code() as u64);
    }

    fn decide(&self, index: u32, result: u64) {
        self.remember_ticket(index);
        // Last: a waiter may read this without the lock.
        self.set(&self.ticket_record(index).result, result);
        self.scratch.decided.push(index);
        self.scratch.any_decided.set(true);
        let decided = &self.header().ended_tickets;
        let oldest = self.ticket_record(decided.head.get());
        if decided.len.get() > self.history && oldest.collected.get() != 0 {
            self.forget_a_ticket();
        }
    }

    /// A small number that no two waiting tickets share: where a home keeps what belongs to a ticket.
    pub fn place_of(&self, id: TicketId) -> usize {
        self.ticket_index(id.0) as usize
    }

    /// Is the ticket in this place ([`Self::place_of`]) decided?
    pub(crate) fn is_decided(&self, place: usize) -> bool {
        self.ticket_record(place as u32).result.get() != 0
    }

    /// Have tickets been decided since [`Self::take_decided`] was called last?
    #[inline(always)]
    pub fn any_decided(&self) -> bool {
        self.scratch.any_decided.get()
    }

    /// Hands the places ([`Self::place_of`]) of the tickets decided since the last call to `each`, for the home to wake their waiters.
    pub fn take_decided(&self, mut each: impl FnMut(usize)) {
        self.scratch
            .decided
            .with(|decided| decided.drain(..).for_each(|index| each(index as usize)));
        self.scratch.any_decided.set(false);
    }

    /// Whoever waited for a decided ticket knows what became of it: it can be forgotten in its time. False if the claim was withdrawn before.
    /// Whichever comes first counts: a lease is told of or given back, never both.
    pub fn collect(&self, id: TicketId) -> bool {
        let Ok(index) = self.known_ticket(id) else { return true };
        let record = self.ticket_record(index);
        if record.result.get() != 0 && record.collected.get() == 0 && !self.corrupt.get() {
            self.set(&record.collected, collected::TOLD);
        }
        record.collected.get() != collected::WITHDRAWN
    }

    /// Was the claim withdrawn after it was granted, and before it was collected?
    #[cfg(feature = "cluster")]
    pub(crate) fn is_withdrawn(&self, id: TicketId) -> bool {
        let known = self.known_ticket(id);
        known.is_ok_and(|it| self.ticket_record(it).collected.get() == collected::WITHDRAWN)
    }

    /// Whoever would have been told of a decided ticket is gone: it can be forgotten in its time.
    pub(super) fn nobody_asks(&self, index: u32) {
        let record = self.ticket_record(index);
        if record.collected.get() == 0 {
            self.set(&record.collected, collected::TOLD);
        }
    }

    /// Withdraws a claim, and gives back the lease that it was granted if nobody was told of it.
    pub fn withdraw(&self, now: Time, id: TicketId) -> Result<Cancelled, Error> {
        let found = self.cancel(now, id)?;
        if let Cancelled::WasGranted(lease) = found {
            // It may have ended already: then there is nothing to give back.
            let _ = self.release(now, lease);
        }
        Ok(found)
    }

    /// Withdraws a claim.
    pub fn cancel(&self, now: Time, id: TicketId) -> Result<Cancelled, Error> {
        self.enter(now)?;
        let index = self.known_ticket(id)?;
        let record = self.ticket_record(index);
        match decode(record.result.get()) {
            TicketState::Granted(lease) => self.leave(match record.collected.get() {
                // Its owner may have been told, and all others may not know that yet.
                0 if self.is_kept_by_other(index) => Cancelled::WasCollected(lease),
                0 => {
                    self.set(&record.collected, collected::WITHDRAWN);
                    Cancelled::WasGranted(lease)
                }
                collected::WITHDRAWN => Cancelled::WasRefused(Reason::Cancelled),
                _ => Cancelled::WasCollected(lease),
            }),
            TicketState::Refused(reason) => {
                self.collect(id);
                self.leave(Cancelled::WasRefused(reason))
            }
            TicketState::Waiting => {
                self.refuse(index, now, Reason::Cancelled, self.actor());
                self.collect(id);
                self.settle(now);
                self.leave(Cancelled::Left)
            }
        }
    }

    /// In a replicated table: does another owner than the issuer keep what this ticket was granted?
    #[cold]
    fn is_kept_by_other(&self, index: u32) -> bool {
        let owner = self.owner_of_ticket(index);
        self.setting(setting::REPLICATED) && owner != self.issuer.get().owner()
    }

    /// Refuses the tickets that were to become children of a lease that has ended.
    pub(super) fn refuse_children_of(&self, parent: u64, at: Time) {
        for ticket in self.queue() {
            if self.ticket_record(ticket).parent.get() == parent {
                // A ticket queued after the parent's end by time would have been refused: `at` is not before it.
                let at = at.max(self.ticket_record(ticket).queued_at.get());
                self.refuse(ticket, at, Reason::ParentEnded, 0);
            }
        }
    }
}
