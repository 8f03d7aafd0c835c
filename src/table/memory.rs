//! [`Memory`]: the records of a table, and the only way to change them.

use super::cell::{Cell, Touched};
use super::layout::*;

/// The arrays of one table. A home provides them.
///
/// All arrays start zeroed and have the lengths of [`Limits::sizes`].
#[allow(missing_docs)]
pub trait Memory {
    /// Other processes write to it too, so that every index is checked before it is used.
    const UNTRUSTED: bool = false;

    fn header(&self) -> &Header;
    /// The low bits of an id that name its record: [`Sizes::index_mask`].
    fn index_mask(&self) -> u64;
    fn names(&self) -> &[Name];
    fn buckets(&self) -> &[super::cell::Cell32];
    fn resources(&self) -> &[Resource];
    fn holders(&self) -> &[Holder];
    fn leases(&self) -> &[Lease];
    fn lease_extras(&self) -> &[LeaseExtra];
    fn holds(&self) -> &[Hold];
    fn tickets(&self) -> &[Ticket];
    fn lines(&self) -> &[Line];
    fn members(&self) -> &[Member];
    fn wants(&self) -> &[Want];
    fn timers(&self) -> &[Timer];
    fn events(&self) -> &[EventRecord];
    /// The principal of each owner, by owner number.
    fn owners(&self) -> &[super::cell::Cell32];

    /// Called before each change under the lock, so that a home can roll it back.
    #[inline(always)]
    fn before_write(&self, _cell: Touched<'_>) {}

    /// Called before a word that is also changed without the lock is changed from `old` to `new`,
    /// if it still is `old`.
    #[inline(always)]
    fn before_swap(&self, _cell: &super::cell::Cell64, _old: u64, _new: u64) {}

    /// Called if that word was no longer `old`.
    #[inline(always)]
    fn after_failed_swap(&self) {}

    /// Called between two changes that may be committed separately: a home need not roll back the
    /// first.
    #[inline(always)]
    fn checkpoint(&self) {}

    /// Stores a value. Commands change cells only by this.
    #[doc(hidden)]
    #[inline(always)]
    #[allow(private_bounds, private_interfaces)]
    fn set<C: Cell>(&self, cell: &C, value: C::Value) {
        self.before_write(cell.touched());
        cell.put(value);
    }

    /// Changes a word from `old` to `new`; false if a change without the lock came first.
    #[doc(hidden)]
    #[inline(always)]
    fn swap(&self, cell: &super::cell::Cell64, old: u64, new: u64) -> bool {
        self.before_swap(cell, old, new);
        let swapped = cell.swap_if(old, new).is_ok();
        if !swapped {
            self.after_failed_swap();
        }
        swapped
    }
}
