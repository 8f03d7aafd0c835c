//! Doubly linked lists through records.

use super::Table;
use super::cell::Cell32;
use super::memory::Memory;

/// The two cells by which a record hangs in one list.
pub(super) struct Links<'a> {
    pub next: &'a Cell32,
    pub prev: &'a Cell32,
}

impl<M: Memory> Table<M> {
    /// Puts `index`, which hangs by `own`, at the front.
    #[inline(always)]
    pub(super) fn push_front<'a>(
        &'a self,
        head: &Cell32,
        index: u32,
        own: Links<'_>,
        links: impl Fn(&'a Self, u32) -> Links<'a>,
    ) {
        let first = head.get();
        self.set(own.next, first);
        self.set(own.prev, 0);
        if first != 0 {
            self.set(links(self, first).prev, index);
        }
        self.set(head, index);
    }

    /// Puts `index` behind `before` (0: at the front) in a list that knows its tail.
    pub(super) fn insert_after<'a>(
        &'a self,
        (head, tail): (&Cell32, &Cell32),
        before: u32,
        index: u32,
        links: impl Fn(&'a Self, u32) -> Links<'a>,
    ) {
        let after = if before == 0 { head.get() } else { links(self, before).next.get() };
        let own = links(self, index);
        self.set(own.prev, before);
        self.set(own.next, after);
        match before {
            0 => self.set(head, index),
            _ => self.set(links(self, before).next, index),
        }
        match after {
            0 => self.set(tail, index),
            _ => self.set(links(self, after).prev, index),
        }
    }

    /// Takes out the record that hangs by `own`; `tail` only for lists that know it.
    #[inline(always)]
    pub(super) fn unlink<'a>(
        &'a self,
        head: &Cell32,
        tail: Option<&Cell32>,
        own: Links<'_>,
        links: impl Fn(&'a Self, u32) -> Links<'a>,
    ) {
        let (next, prev) = (own.next.get(), own.prev.get());
        let is_known = || {
            let is_it = |index: u32| std::ptr::eq(links(self, index).next, own.next);
            let before = if prev == 0 { head.get() } else { links(self, prev).next.get() };
            let after = match (next, tail) {
                (0, None) => return is_it(before),
                (0, Some(tail)) => tail.get(),
                _ => links(self, next).prev.get(),
            };
            is_it(before) && is_it(after)
        };
        // A list whose ends were damaged would look shorter than it is.
        if !self.check_untrusted(is_known) {
            return;
        }
        match prev {
            0 => self.set(head, next),
            _ => self.set(links(self, prev).next, next),
        }
        match (next, tail) {
            (0, Some(tail)) => self.set(tail, prev),
            (0, None) => {}
            _ => self.set(links(self, next).prev, prev),
        }
    }

    /// Walks a list from `first`. Ends, and calls the table corrupt, if it is longer than any list can be. A record may be taken out of the list
    /// once it was given.
    #[inline(always)]
    pub(super) fn walk<'a>(
        &'a self,
        first: u32,
        next: impl Fn(&'a Self, u32) -> u32 + 'a,
    ) -> impl Iterator<Item = u32> + 'a {
        let mut at = first;
        let mut fuel = self.longest;
        std::iter::from_fn(move || {
            if at == 0 {
                return None;
            }
            if fuel == 0 || self.broken.get() {
                self.mark_corrupt();
                return None;
            }
            fuel -= 1;
            let found = at;
            at = next(self, found);
            Some(found)
        })
    }
}
