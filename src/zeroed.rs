//! Large arrays that cost nothing until they are used.
//!
//! Memory that the allocator hands out zeroed is not touched: the system provides its pages one by one as they
//! are written. The only unsafe code that tables in ordinary memory need is here.

use std::cell::Cell;

use crate::table::cell::{Cell32, Cell64};
use crate::table::layout::*;
use crate::table::scratch::*;

/// Types for which all bytes zero is a value, the same as their default.
///
/// # Safety
/// All-zero bytes must be a valid value.
pub(crate) unsafe trait Zeroed: Default {}

macro_rules! zeroed_types {
    ($($type:ty),* $(,)?) => {
        // SAFETY: each is made only of atomic or plain integers and `bool`s in cells; zero is a valid value of all of them.
        $(unsafe impl Zeroed for $type {})*
    };
}

zeroed_types!(
    Cell32,
    Cell64,
    Name,
    Resource,
    Holder,
    Lease,
    LeaseExtra,
    Hold,
    Ticket,
    Line,
    Member,
    Want,
    Timer,
    EventRecord,
    ResourceNotes,
    WorkerNotes,
    TicketNotes,
    WantNotes,
    LeaseNotes,
    Cell<bool>,
);

/// `n` values, all zero.
#[cfg(not(loom))]
pub(crate) fn zeroed<T: Zeroed>(n: usize) -> Box<[T]> {
    // SAFETY: `Zeroed` says that the zeroed values are initialised.
    unsafe { Box::new_zeroed_slice(n).assume_init() }
}

/// `n` values, all zero. (The cells of loom are not plain memory.)
#[cfg(loom)]
pub(crate) fn zeroed<T: Zeroed>(n: usize) -> Box<[T]> {
    (0..n).map(|_| T::default()).collect()
}
