//! Lines: all tickets with the same candidates stand in one line, so that a thousand claims for
//! "any of these" cost one list of candidates, and a release looks at the heads of a few lines.

use super::Table;
use super::layout::flag;
use super::list::Links;
use super::memory::Memory;
use super::slot::Word;
use super::types::{Error, Part};

fn member_links<M: Memory>(table: &Table<M>, index: u32) -> Links<'_> {
    let record = table.member_record(index);
    Links { next: &record.next, prev: &record.prev }
}

fn line_links<M: Memory>(table: &Table<M>, index: u32) -> Links<'_> {
    let record = table.ticket_record(index);
    Links { next: &record.next_in_line, prev: &record.prev_in_line }
}

impl<M: Memory> Table<M> {
    /// The candidates of a line, in the claims' order.
    pub(super) fn candidates_of(&self, line: u32) -> impl Iterator<Item = u32> + '_ {
        let first = self.line_record(line).members.get();
        self.walk(first, |t, i| t.member_record(i).next_of_line.get()).map(move |member| {
            let own = self.member_record(member);
            let resource = own.resource.get();
            self.check_untrusted(|| own.line.get() == line && own.resource_too.get() == resource);
            resource
        })
    }

    /// The lines that have this resource as a candidate.
    pub(super) fn lines_of(&self, resource: u32) -> impl Iterator<Item = u32> + '_ {
        let first = self.resource_record(resource).members.get();
        self.walk(first, |t, i| t.member_record(i).next.get())
            .map(|member| self.member_record(member).line.get())
    }

    /// The tickets of a line, in order.
    pub(super) fn tickets_in(&self, line: u32) -> impl Iterator<Item = u32> + '_ {
        let first = self.line_record(line).head.get();
        self.walk(first, |t, i| t.ticket_record(i).next_in_line.get())
    }

    /// The line for these candidates, made if need be.
    pub(super) fn line_for(&self, candidates: &[u32]) -> Result<u32, Error> {
        let same = |&line: &u32| {
            self.line_record(line).member_count.get() as usize == candidates.len()
                && self.candidates_of(line).eq(candidates.iter().copied())
        };
        if let Some(line) = self.lines_of(candidates[0]).find(same) {
            return Ok(line);
        }
        let header = self.header();
        let (lines, members) = (self.memory.lines().len(), self.memory.members().len());
        if !self.has_room(&header.lines, lines, 1) {
            return Err(Error::Full(Part::Tickets));
        }
        if !self.has_room(&header.members, members, candidates.len() as u32) {
            return Err(Error::Full(Part::Candidates));
        }
        let line = self.take(&header.lines, lines, |t, i| &t.line_record(i).next);
        let record = self.line_record(line);
        self.set(&record.head, 0);
        self.set(&record.tail, 0);
        self.set(&record.members, 0);
        self.set(&record.member_count, candidates.len() as u32);
        for &resource in candidates.iter().rev() {
            let member = self.take(&header.members, members, |t, i| &t.member_record(i).next);
            let on = self.resource_record(resource);
            if on.members.get() != 0 {
                self.add(&header.crossings, 1);
            }
            let new = self.member_record(member);
            self.set(&new.line, line);
            self.set(&new.resource, resource);
            self.set(&new.resource_too, resource);
            self.set(&new.next_of_line, record.members.get());
            self.set(&record.members, member);
            self.push_front(&on.members, member, member_links(self, member), member_links);
            self.add(&on.refs, 1);
        }
        Ok(line)
    }

    /// Puts a ticket into its line, behind another one (0: at the front).
    #[inline(always)]
    pub(super) fn insert_in_line(&self, ticket: u32, before: u32) {
        let line = self.line_record(self.ticket_record(ticket).line.get());
        self.insert_after((&line.head, &line.tail), before, ticket, line_links);
        let (with, without) = self.differences_around(ticket);
        if with != without {
            self.add(&self.header().crossings, with.wrapping_sub(without));
        }
    }

    /// Takes a ticket out of its line, which stays.
    #[inline(always)]
    pub(super) fn unlink_from_line(&self, ticket: u32) {
        let line = self.line_record(self.ticket_record(ticket).line.get());
        let (with, without) = self.differences_around(ticket);
        if with != without {
            self.sub(&self.header().crossings, with.wrapping_sub(without));
        }
        self.unlink(&line.head, Some(&line.tail), line_links(self, ticket), line_links);
    }

    /// How many neighbours ask for different things, of this ticket and those around it: with it in
    /// the line, and without it.
    #[inline(always)]
    fn differences_around(&self, ticket: u32) -> (u32, u32) {
        let record = self.ticket_record(ticket);
        let (before, behind) = (record.prev_in_line.get(), record.next_in_line.get());
        if before == 0 && behind == 0 {
            return (0, 0);
        }
        let differ = |a: u32, b: u32| u32::from(a != 0 && b != 0 && self.asks_differ(a, b));
        (differ(before, ticket) + differ(ticket, behind), differ(before, behind))
    }

    /// Do two tickets of a line ask for different things?
    #[inline(never)]
    pub(super) fn asks_differ(&self, one: u32, other: u32) -> bool {
        let ask = |ticket: u32| {
            let record = self.ticket_record(ticket);
            let how = record.flags.get() & (flag::EXCLUSIVE | flag::SHARED | flag::TOGETHER);
            (record.count.get(), record.slots.get(), record.memory.get(), how)
        };
        ask(one) != ask(other)
    }

    /// Takes a ticket out of its line; a line without tickets is given back.
    pub(super) fn leave_line(&self, ticket: u32) {
        let line = self.ticket_record(ticket).line.get();
        let record = self.line_record(line);
        self.unlink_from_line(ticket);
        if self.header().waiting.get() == 0 {
            // The table will not settle a queue that would unmark the lines.
            self.clear_marks();
        } else {
            // A ticket behind it, in this line or in one that shares a candidate, may be next.
            for resource in self.candidates_of(line) {
                self.mark_lines_of(resource);
            }
        }
        if record.head.get() != 0 {
            return;
        }
        for member in self.walk(record.members.get(), |t, i| t.member_record(i).next_of_line.get())
        {
            let resource = self.member_record(member).resource.get();
            let members = &self.resource_record(resource).members;
            self.unlink(members, None, member_links(self, member), member_links);
            if members.get() != 0 {
                self.sub(&self.header().crossings, 1);
            }
            self.give(&self.header().members, member, |t, i| &t.member_record(i).next);
            self.release_resource(resource);
        }
        self.set(&record.members, 0);
        self.give(&self.header().lines, line, |t, i| &t.line_record(i).next);
    }

    /// This line is to be looked at when the table settles.
    pub(super) fn mark_dirty(&self, line: u32) {
        if let Some(mark) = self.scratch.dirty_line.get(line as usize)
            && !mark.replace(true)
        {
            self.scratch.dirty.push(line);
        }
    }

    /// Unmarks all lines: the scratch memory is empty between commands.
    pub(super) fn clear_marks(&self) {
        self.scratch.dirty.with(|dirty| {
            for line in dirty.drain(..) {
                if let Some(mark) = self.scratch.dirty_line.get(line as usize) {
                    mark.set(false);
                }
            }
        });
    }

    /// Is a line marked?
    pub(super) fn has_marks(&self) -> bool {
        let marked = self.scratch.dirty_line.iter().any(|mark| mark.get());
        marked || self.scratch.dirty.with(|dirty| !dirty.is_empty())
    }

    pub(super) fn mark_lines_of(&self, resource: u32) {
        for line in self.lines_of(resource) {
            self.mark_dirty(line);
        }
    }

    /// The first ticket of a line that can be granted now, or 0.
    pub(super) fn grantable_in(&self, line: u32) -> u32 {
        let overtakers = self.header().overtakers.get() != 0;
        for ticket in self.tickets_in(line) {
            if !self.check_untrusted(|| self.ticket_record(ticket).line.get() == line) {
                return 0;
            }
            if self.is_grantable(ticket) {
                return ticket;
            }
            // Behind a ticket that is not shared everybody in this line waits for it.
            if !self.has_flag(ticket, flag::SHARED) && !overtakers {
                return 0;
            }
        }
        0
    }

    fn is_grantable(&self, ticket: u32) -> bool {
        let record = self.ticket_record(ticket);
        let demand = self.demand_of(ticket);
        let fitting =
            self.candidates_of(record.line.get()).filter(|&resource| self.fits(resource, &demand));
        self.enough(fitting, record.count.get(), self.has_flag(ticket, flag::TOGETHER))
            && (self.has_flag(ticket, flag::OVERTAKE) || !self.must_wait(ticket))
            && self.parent_lasts(record.parent.get())
    }

    /// Is the lease that the ticket is to hang on not past its end?
    fn parent_lasts(&self, parent: u64) -> bool {
        parent == 0
            || !Word(self.lease_record(self.lease_index(parent)).slot.word.get())
                .is_past(self.now())
    }
}
