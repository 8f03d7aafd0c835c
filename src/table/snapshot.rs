//! The state of a table as bytes, and a hash of it.
//!
//! The state is a sequence of numbers: the fields of the header, then those of each record that was
//! ever used, in a fixed order ([`Fields`]). Free records belong to it, because ids contain record
//! indices. What no command reads does not: `spare` fields, timers that were removed, events that
//! were overwritten.
//!
//! A number is written as in [`codec`](super::codec). A run of zeros is one zero and the number of
//! further ones. So each state has one encoding, on machines of any word size and byte order, and
//! what is not in use takes almost nothing. The caller writes a version in front.

use super::Table;
use super::cell::{Cell, Cell32, Cell64, Touched};
use super::codec::{Decode, DecodeError, Encode};
use super::layout::*;
use super::memory::Memory;
use super::slot::Slot;
use super::timers::FIRST;

/// Its cells, in the order of the encoding.
trait Fields {
    fn each<'a>(&'a self, visit: &mut impl FnMut(Touched<'a>));
}

impl Fields for Cell32 {
    #[inline(always)]
    fn each<'a>(&'a self, visit: &mut impl FnMut(Touched<'a>)) {
        visit(self.touched());
    }
}

impl Fields for Cell64 {
    #[inline(always)]
    fn each<'a>(&'a self, visit: &mut impl FnMut(Touched<'a>)) {
        visit(self.touched());
    }
}

impl<T: Fields> Fields for [T] {
    #[inline(always)]
    fn each<'a>(&'a self, visit: &mut impl FnMut(Touched<'a>)) {
        self.iter().for_each(|item| item.each(visit));
    }
}

impl<T: Fields, const N: usize> Fields for [T; N] {
    #[inline(always)]
    fn each<'a>(&'a self, visit: &mut impl FnMut(Touched<'a>)) {
        self[..].each(visit);
    }
}

/// Each field of a record is named here, so that a new one is not forgotten; `but`: those that are
/// no part of the state.
macro_rules! fields {
    ($($type:ident { $($field:ident),* $(; but $($spare:ident),*)? })*) => {$(
        impl Fields for $type {
            #[inline(always)]
            fn each<'a>(&'a self, visit: &mut impl FnMut(Touched<'a>)) {
                let $type { $($field,)* $($($spare: _,)*)? } = self;
                $($field.each(visit);)*
            }
        }
    )*};
}

fields! {
    Header {
        now, next_due, sequence, event_count, granted, revocations, foreign_revocations, by_reason,
        held, waiting, waiting_not_spare, waiting_children, takeable, entangled, overtakers, raised,
        crossings, settings, islanders, timers, nursery, queue_head, queue_tail, ended_leases, ended_tickets,
        names, resources, holders, leases, holds, tickets, lines, members, wants
    }
    Arena { free, fresh, live; but spare }
    Ended { head, tail, len; but spare }
    Name { next, more, hash, len, resource, holder, revokers, resource_too, text }
    Resource {
        name, flags, slots, memory, used_slots, used_memory, shared, holds, members, wants, refs,
        next, island, size_mark, node
    }
    Holder { name, leases, wants, refs, holding, waiting, credit }
    Slot { id, word, ttl }
    Lease {
        slot, granted_at, holder, next, prev, holds, timer, priority_reason, flags, hold_count
    }
    LeaseExtra {
        parent, children, next_sibling, prev_sibling, worker, depth, revoker, notice_end, grace,
        age, parent_id, ender; but spare
    }
    Hold { resource, lease, slots, memory, next, prev, next_of_lease; but spare }
    Ticket {
        id, result, age, queued_at, wait_end, ttl, grace, parent, holder, worker, line,
        next_in_line, prev_in_line, next, prev, timer, count, slots, memory, flags, priorities,
        collected, ask_mark
    }
    Line { head, tail, members, last_member, member_count, next }
    Member { line, resource, next, prev, next_of_line, resource_too }
    Want { holder, resource, next, next_of_resource }
    Timer { at, owner }
    EventRecord { at, subject, detail, what, actor }
}

fn value(cell: &Touched<'_>) -> u64 {
    match cell {
        Touched::Half(cell) => cell.get().into(),
        Touched::Word(cell) => cell.get(),
    }
}

/// Writes numbers.
struct Writer<'a> {
    out: &'a mut Vec<u8>,
    zeros: u64,
}

impl Writer<'_> {
    #[inline(always)]
    fn put(&mut self, value: u64) {
        if value == 0 {
            self.zeros += 1;
            return;
        }
        self.end_run();
        value.put(self.out);
    }

    fn end_run(&mut self) {
        if self.zeros != 0 {
            (0u64, self.zeros - 1).put(self.out);
            self.zeros = 0;
        }
    }
}

/// Reads numbers.
struct Reader<'a, 'b> {
    bytes: &'a mut &'b [u8],
    /// Zeros of the present run that are still to come.
    zeros: u64,
    /// The last number was a zero, so that another run cannot begin.
    is_after_zero: bool,
}

impl Reader<'_, '_> {
    fn take(&mut self) -> Result<u64, DecodeError> {
        if self.zeros != 0 {
            self.zeros -= 1;
            return Ok(0);
        }
        let value = u64::take(self.bytes)?;
        if value == 0 {
            self.zeros = u64::take(self.bytes)?;
            if self.is_after_zero {
                return Err(DecodeError::InvalidNumber);
            }
        }
        self.is_after_zero = value == 0;
        Ok(value)
    }
}

/// A multiplicative hash: each number changes all later states of it.
struct Hasher(u64);

impl Hasher {
    #[inline(always)]
    fn put(&mut self, value: u64) {
        let mixed = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }
}

impl<M: Memory> Table<M> {
    /// Appends the state. Equal states have equal bytes.
    pub fn encode_snapshot(&self, out: &mut Vec<u8>) {
        let mut writer = Writer { out, zeros: 0 };
        self.header().each(&mut |cell| writer.put(value(&cell)));
        self.each_used(&mut |cell| writer.put(cell.as_ref().map_or(0, value)));
        writer.end_run();
    }

    /// Gives a new table the state that a table of the same limits has encoded. After an error the
    /// table is not usable. The caller runs [`Self::verify`]: bytes that no table has written may
    /// be accepted here.
    pub fn load_snapshot(&self, bytes: &mut &[u8]) -> Result<(), DecodeError> {
        let mut reader = Reader { bytes, zeros: 0, is_after_zero: false };
        let mut failed = None;
        self.header().each(&mut |cell| self.load(&mut reader, Some(cell), &mut failed));
        if failed.is_none() && !self.are_counts_sound() {
            failed = Some(DecodeError::InvalidNumber);
        }
        if failed.is_none() {
            self.each_used(&mut |cell| self.load(&mut reader, cell, &mut failed));
        }
        if failed.is_none() && reader.zeros != 0 {
            failed = Some(DecodeError::InvalidNumber);
        }
        self.numbers_end.set(0);
        failed.map_or(Ok(()), Err)
    }

    /// A hash of the state. Equal states have equal hashes, on every machine.
    pub fn state_hash(&self) -> u64 {
        let mut hasher = Hasher(0);
        self.header().each(&mut |cell| hasher.put(value(&cell)));
        self.each_used(&mut |cell| hasher.put(cell.as_ref().map_or(0, value)));
        hasher.0
    }

    /// Reads the value of a cell; `None`: it is always 0.
    fn load(
        &self,
        reader: &mut Reader<'_, '_>,
        cell: Option<Touched<'_>>,
        failed: &mut Option<DecodeError>,
    ) {
        if failed.is_some() {
            return;
        }
        let loaded = reader.take().and_then(|new| {
            // Unchanged memory is not written, so that the system need not provide it.
            match cell {
                Some(cell) if value(&cell) == new => {}
                Some(Touched::Word(cell)) => self.set(cell, new),
                Some(Touched::Half(cell)) => {
                    let new = u32::try_from(new).map_err(|_| DecodeError::InvalidNumber)?;
                    self.set(cell, new);
                }
                None if new == 0 => {}
                None => return Err(DecodeError::InvalidNumber),
            }
            Ok(())
        });
        *failed = loaded.err();
    }

    /// Does the header count no more records than there are?
    fn are_counts_sound(&self) -> bool {
        let (header, memory) = (self.header(), &self.memory);
        let arenas = [
            (&header.names, memory.names().len()),
            (&header.resources, memory.resources().len()),
            (&header.holders, memory.holders().len()),
            (&header.leases, memory.leases().len()),
            (&header.holds, memory.holds().len()),
            (&header.tickets, memory.tickets().len()),
            (&header.lines, memory.lines().len()),
            (&header.members, memory.members().len()),
            (&header.wants, memory.wants().len()),
        ];
        arenas.iter().all(|(arena, len)| (arena.fresh.get() as usize) < *len)
            && (header.timers.get() as usize) < memory.timers().len() - FIRST as usize
    }

    /// Calls a function with each cell of each record in use, and `None` for one that counts as 0.
    /// Commands may have damaged a count if the state is from a snapshot that no table has written;
    /// then its array is left out.
    fn each_used<'a>(&'a self, visit: &mut impl FnMut(Option<Touched<'a>>)) {
        let (header, memory) = (self.header(), &self.memory);
        let mut visit_cell = |cell| visit(Some(cell));
        memory.buckets().each(&mut visit_cell);
        memory.owners().each(&mut visit_cell);
        macro_rules! arrays {
            ($($array:ident by $arena:ident),*) => {
                $({
                    let used = memory.$array().get(1..=header.$arena.fresh.get() as usize);
                    used.unwrap_or_default().each(&mut visit_cell);
                })*
            };
        }
        arrays!(
            names by names, resources by resources, holders by holders, leases by leases,
            lease_extras by leases, holds by holds, tickets by tickets, lines by lines,
            members by members, wants by wants
        );
        let (_, heap) = memory.timers().split_at(FIRST as usize + 1);
        let used = heap.get(..header.timers.get() as usize);
        used.unwrap_or_default().each(&mut visit_cell);
        let ring = memory.events();
        let count = header.event_count.get();
        for number in count.saturating_sub(ring.len() as u64)..count {
            ring[number as usize & (ring.len() - 1)].each(&mut visit_cell);
        }
        // An empty place of the nursery keeps the time of the last timer in it.
        for timer in &memory.timers()[..NURSERY as usize] {
            visit(Some(timer.owner.touched()));
            visit((timer.owner.get() != 0).then(|| timer.at.touched()));
        }
    }
}
