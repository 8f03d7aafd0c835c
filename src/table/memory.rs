//! Where a table's records live: the only door through which they change.

use super::cell::{Cell, Touched};
use super::layout::*;

/// The arrays of one table. A home provides them; the table never makes any.
///
/// All arrays start zeroed and have the lengths of [`Limits::sizes`].
#[allow(missing_docs)]
pub trait Memory {
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

    /// Called before each change made under the lock, so that a home can undo it.
    #[inline(always)]
    fn before_write(&self, _cell: Touched<'_>) {}

    /// Stores a value: the one way in which commands change a cell.
    #[doc(hidden)]
    #[inline(always)]
    #[allow(private_bounds, private_interfaces)]
    fn set<C: Cell>(&self, cell: &C, value: C::Value) {
        self.before_write(cell.touched());
        cell.put(value);
    }
}
