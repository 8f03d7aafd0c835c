//! Handing out records: freed ones first, then fresh ones, so that memory is touched only as it is needed.

use super::Table;
use super::cell::Cell32;
use super::layout::Arena;
use super::memory::Memory;

impl<M: Memory> Table<M> {
    /// Room for `n` more records in an array of `len`?
    #[inline(always)]
    pub(super) fn has_room(&self, arena: &Arena, len: usize, n: u32) -> bool {
        (arena.live.get() as usize) + (n as usize) < len
    }

    /// Takes a record. `link` is the cell by which freed records hang together.
    /// The caller has made sure that there is room.
    #[inline(always)]
    pub(super) fn take<'a>(
        &'a self,
        arena: &Arena,
        len: usize,
        link: impl Fn(&'a Self, u32) -> &'a Cell32,
    ) -> u32 {
        self.add(&arena.live, 1);
        let free = arena.free.get();
        if free != 0 {
            let next = link(self, free).get();
            self.set(&arena.free, next);
            self.set(link(self, free), 0);
            return free;
        }
        let fresh = arena.fresh.get().saturating_add(1);
        if fresh as usize >= len {
            self.mark_corrupt();
            return 0;
        }
        self.set(&arena.fresh, fresh);
        fresh
    }

    /// Gives a record back.
    #[inline(always)]
    pub(super) fn give<'a>(
        &'a self,
        arena: &Arena,
        index: u32,
        link: impl Fn(&'a Self, u32) -> &'a Cell32,
    ) {
        self.sub(&arena.live, 1);
        self.set(link(self, index), arena.free.get());
        self.set(&arena.free, index);
    }
}
