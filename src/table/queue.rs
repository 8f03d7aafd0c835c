//! The order of tickets.

use super::Table;
use super::layout::{flag, setting};
use super::list::Links;
use super::memory::Memory;
use super::ticket::{NewTicket, Rank, effective_priority, own_priority};
use super::types::{TicketId, TicketState, Time};

fn queue_links<M: Memory>(table: &Table<M>, index: u32) -> Links<'_> {
    let record = table.ticket_record(index);
    Links { next: &record.next, prev: &record.prev }
}

impl<M: Memory> Table<M> {
    /// All waiting tickets, in order.
    pub(super) fn queue(&self) -> impl Iterator<Item = u32> + '_ {
        self.walk(self.header().queue_head.get(), |t, i| t.ticket_record(i).next.get())
    }

    /// Puts a ticket where its rank belongs, in the queue and in its line.
    pub(super) fn insert_in_order(&self, ticket: u32) {
        let rank = self.rank(ticket);
        let record = self.ticket_record(ticket);
        let line = self.line_record(record.line.get());
        let header = self.header();
        let before = |last: u32, prev: fn(&Self, u32) -> u32| {
            self.walk(last, prev).find(|&other| self.rank(other) < rank).unwrap_or(0)
        };
        let queue = (&header.queue_head, &header.queue_tail);
        let in_queue = before(queue.1.get(), |t, i| t.ticket_record(i).prev.get());
        self.insert_after(queue, in_queue, ticket, queue_links);
        let in_line = before(line.tail.get(), |t, i| t.ticket_record(i).prev_in_line.get());
        self.insert_in_line(ticket, in_line);
    }

    /// Changes the effective priority of a ticket, and its position.
    pub(super) fn move_to_priority(&self, ticket: u32, effective: i16) {
        let record = self.ticket_record(ticket);
        let header = self.header();
        let own = own_priority(record);
        let was_raised = effective_priority(record) != own;
        match (was_raised, effective != own) {
            (false, true) => self.add(&header.raised, 1),
            (true, false) => self.sub(&header.raised, 1),
            _ => {}
        }
        self.unlink(
            &header.queue_head,
            Some(&header.queue_tail),
            queue_links(self, ticket),
            queue_links,
        );
        self.unlink_from_line(ticket);
        self.set_priorities(ticket, own, effective);
        self.insert_in_order(ticket);
        for resource in self.candidates_of(record.line.get()) {
            self.mark_lines_of(resource);
        }
    }

    /// Removes a ticket from the queue and from all counts of waiting tickets. It stays in its
    /// line.
    pub(super) fn leave_queue(&self, ticket: u32) {
        let header = self.header();
        let record = self.ticket_record(ticket);
        let flags = record.flags.get();
        self.unlink(
            &header.queue_head,
            Some(&header.queue_tail),
            queue_links(self, ticket),
            queue_links,
        );
        self.stop_ticket_timer(record.id.get());
        self.sub(&header.waiting, 1);
        if flags & flag::SPARE == 0 {
            self.sub(&header.waiting_not_spare, 1);
        }
        if flags & flag::CHILD != 0 {
            self.sub(&header.waiting_children, 1);
        }
        if flags & flag::OVERTAKE != 0 {
            self.sub(&header.overtakers, 1);
        }
        if effective_priority(record) != own_priority(record) {
            self.sub(&header.raised, 1);
        }
        self.count_worker(record.worker.get(), 0, -1);
    }

    /// The tickets before `rank` that conflict with a claim that has this candidate. One that
    /// shares several candidates comes several times.
    fn earlier_conflicts(
        &self,
        resource: u32,
        rank: Rank,
        shared: bool,
    ) -> impl Iterator<Item = u32> + '_ {
        self.lines_of(resource).flat_map(move |line| {
            self.tickets_in(line)
                .take_while(move |&ticket| self.rank(ticket) < rank)
                .filter(move |&ticket| !(shared && self.has_flag(ticket, flag::SHARED)))
        })
    }

    /// Does an earlier conflicting ticket wait?
    pub(super) fn must_wait(&self, ticket: u32) -> bool {
        let rank = self.rank(ticket);
        let shared = self.has_flag(ticket, flag::SHARED);
        let line = self.ticket_record(ticket).line.get();
        self.candidates_of(line)
            .any(|resource| self.earlier_conflicts(resource, rank, shared).next().is_some())
    }

    /// As [`Self::must_wait`], for a claim that is not in the queue yet.
    pub(super) fn blocked_by_earlier(&self, new: &NewTicket<'_>, candidates: &[u32]) -> bool {
        let (rank, shared) = (new.rank(), new.grant.demand.shared);
        candidates.iter().any(|&resource| {
            self.resource_record(resource).members.get() != 0
                && self.earlier_conflicts(resource, rank, shared).next().is_some()
        })
    }

    /// The place of a waiting ticket: 1 + the number of earlier tickets that conflict with it.
    pub fn place(&self, id: TicketId) -> Option<u32> {
        if self.ticket(id)? != TicketState::Waiting {
            return None;
        }
        let ticket = self.ticket_index(id.0);
        let rank = self.rank(ticket);
        let shared = self.has_flag(ticket, flag::SHARED);
        let pass = self.scratch.begin_pass();
        let mut place = 1;
        for resource in self.candidates_of(self.ticket_record(ticket).line.get()) {
            for earlier in self.earlier_conflicts(resource, rank, shared) {
                if self.ticket_notes(earlier).pass.replace(pass) != pass {
                    place += 1;
                }
            }
        }
        Some(place)
    }

    /// Marks all lines that have tickets, if the table had no room for a lease before.
    #[inline(always)]
    pub(super) fn requeue_after_full(&self) {
        let settings = &self.header().settings;
        if settings.get() & setting::STARVED != 0 {
            self.set(settings, settings.get() & !setting::STARVED);
            for ticket in self.queue() {
                self.mark_dirty(self.ticket_record(ticket).line.get());
            }
        }
    }

    /// Grants the first ticket that can be granted. Returns whether there was one.
    pub(super) fn grant_next(&self, now: Time) -> bool {
        let mut best = 0;
        self.scratch.dirty.with(|dirty| {
            dirty.retain(|&line| {
                let ticket = self.grantable_in(line);
                if ticket == 0 {
                    if let Some(mark) = self.scratch.dirty_line.get(line as usize) {
                        mark.set(false);
                    }
                    return false;
                }
                if best == 0 || self.rank(ticket) < self.rank(best) {
                    best = ticket;
                }
                true
            });
        });
        if best == 0 {
            return false;
        }
        if self.room_for_lease(self.ticket_record(best).count.get()).is_err() {
            // The command that makes room marks the lines again. It may be one of another process.
            let settings = &self.header().settings;
            self.set(settings, settings.get() | setting::STARVED);
            return false;
        }
        if !self.check_untrusted(|| self.is_as_asked(best)) {
            return false;
        }
        self.grant_ticket(now, best);
        true
    }
}
