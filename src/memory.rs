//! The memory of a table: arrays of records on the heap, or in a region of shared memory.
//!
//! [`Arrays`] implements [`Memory`] for every home. Its parameter is the home's [`UndoLog`], chosen
//! when the home is compiled: a home without one pays nothing.
//!
//! # Invariants
//!
//! * Every array begins zeroed, and zero bytes are a value of every record (`Zeroed`).
//! * The arrays follow each other in a region in the order of `arrays!` below. That order is a
//!   stored format: a change raises the layout version of the file.

#![allow(unsafe_code)] // `Zeroed` is a promise about bytes, `Region` one about memory.

use std::cell::Cell;
use std::fmt::Debug;
#[cfg(target_os = "linux")]
use std::ptr::NonNull;

use crate::table::cell::{Cell32, Cell64, Touched};
use crate::table::layout::*;
use crate::table::scratch::*;
use crate::table::{Memory, Settings, Table};
use crate::zeroed::{Zeroed, ZeroedArray};

macro_rules! zeroed_types {
    ($($type:ty),* $(,)?) => {$(
        // SAFETY: it consists of atomic or plain integers and of `bool`s in cells. Zero is a valid
        // value of each of them, and the default.
        unsafe impl Zeroed for $type {}
    )*};
}

zeroed_types!(
    Header,
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
    IslandNotes,
    NodeNotes,
    TicketNotes,
    WantNotes,
    LeaseNotes,
    Cell<bool>,
);

/// Records what a command changes, so that the command can be rolled back.
pub trait UndoLog: Debug + Clone + Send + Sync + 'static {
    /// See [`Memory::UNTRUSTED`].
    #[doc(hidden)]
    const UNTRUSTED: bool;
    /// See [`Memory::before_write`].
    #[doc(hidden)]
    fn record(&self, cell: Touched<'_>);
    /// See [`Memory::before_swap`].
    #[doc(hidden)]
    fn record_swap(&self, cell: &Cell64, old: u64, new: u64);
    /// See [`Memory::after_failed_swap`].
    #[doc(hidden)]
    fn discard_last(&self);
    /// See [`Memory::checkpoint`].
    #[doc(hidden)]
    fn commit(&self);
}

/// For a table in the memory of one process, which ends with the process.
#[derive(Debug, Clone, Copy)]
pub struct NoUndo;

impl UndoLog for NoUndo {
    const UNTRUSTED: bool = false;
    #[inline(always)]
    fn record(&self, _cell: Touched<'_>) {}
    #[inline(always)]
    fn record_swap(&self, _cell: &Cell64, _old: u64, _new: u64) {}
    #[inline(always)]
    fn discard_last(&self) {}
    #[inline(always)]
    fn commit(&self) {}
}

/// `name: type, length;`: the name of the array is also that of the method of [`Memory`].
macro_rules! arrays {
    ($($name:ident: $type:ty, $len:ident;)*) => {
        /// The arrays of one table.
        #[derive(Debug, Clone)]
        pub struct Arrays<U: UndoLog = NoUndo> {
            header: ZeroedArray<Header>,
            index_mask: u64,
            $($name: ZeroedArray<$type>,)*
            undo: U,
        }

        impl Arrays {
            /// Empty arrays on the heap; `None` if the system does not provide the memory.
            pub fn try_new(sizes: &Sizes) -> Option<Self> {
                Some(Arrays {
                    header: ZeroedArray::try_new(1)?,
                    index_mask: sizes.index_mask(),
                    $($name: ZeroedArray::try_new(sizes.$len)?,)*
                    undo: NoUndo,
                })
            }
        }

        #[cfg(target_os = "linux")]
        impl<U: UndoLog> Arrays<U> {
            /// How many bytes [`Self::in_region`] takes.
            pub(crate) fn bytes(sizes: &Sizes) -> usize {
                array_bytes::<Header>(1) $(+ array_bytes::<$type>(sizes.$len))*
            }

            /// The arrays in a region, from its beginning; `None` if the region is too small.
            pub(crate) fn in_region(sizes: &Sizes, region: &mut Region, undo: U) -> Option<Self> {
                Some(Arrays {
                    header: region.array(1)?,
                    index_mask: sizes.index_mask(),
                    $($name: region.array(sizes.$len)?,)*
                    undo,
                })
            }
        }

        impl<U: UndoLog> Memory for Arrays<U> {
            const UNTRUSTED: bool = U::UNTRUSTED;
            #[inline(always)]
            fn header(&self) -> &Header {
                self.header.one()
            }
            #[inline(always)]
            fn index_mask(&self) -> u64 {
                self.index_mask
            }
            #[inline(always)]
            fn before_write(&self, cell: Touched<'_>) {
                self.undo.record(cell);
            }
            #[inline(always)]
            fn before_swap(&self, cell: &Cell64, old: u64, new: u64) {
                self.undo.record_swap(cell, old, new);
            }
            #[inline(always)]
            fn after_failed_swap(&self) {
                self.undo.discard_last();
            }
            #[inline(always)]
            fn checkpoint(&self) {
                self.undo.commit();
            }
            $(#[inline(always)]
            fn $name(&self) -> &[$type] {
                &self.$name
            })*
        }
    };
}

arrays! {
    names: Name, names;
    buckets: Cell32, buckets;
    resources: Resource, resources;
    holders: Holder, holders;
    leases: Lease, leases;
    lease_extras: LeaseExtra, leases;
    holds: Hold, holds;
    tickets: Ticket, tickets;
    lines: Line, lines;
    members: Member, members;
    wants: Want, wants;
    timers: Timer, timers;
    events: EventRecord, events;
    owners: Cell32, owners;
}

/// A table on fresh heap memory; `None` if the system does not provide the memory.
pub(crate) fn try_new_table(settings: Settings) -> Option<Table<Arrays>> {
    Table::try_new(Arrays::try_new(&settings.limits.sizes())?, settings)
}

/// A table on fresh heap memory. Ends the program if the system does not provide the memory, as
/// collections do.
pub fn new_table(settings: Settings) -> Table<Arrays> {
    try_new_table(settings)
        .unwrap_or_else(|| std::alloc::handle_alloc_error(std::alloc::Layout::new::<Arrays>()))
}

/// No record needs a larger alignment than the boundary at which each array begins.
#[cfg(target_os = "linux")]
const ARRAY_ALIGNMENT: usize = 128;

/// Shared memory from which arrays are cut, one after the other.
#[cfg(target_os = "linux")]
pub(crate) struct Region {
    next: NonNull<u8>,
    left: usize,
}

#[cfg(target_os = "linux")]
impl Region {
    /// # Safety
    ///
    /// The memory is used as atomics only, is aligned for every array in it, and outlives them.
    pub unsafe fn new(first: NonNull<u8>, bytes: usize) -> Self {
        Region { next: first, left: bytes }
    }

    /// The next array; `None` if the rest of the region is too small.
    pub fn array<T: Zeroed>(&mut self, len: usize) -> Option<ZeroedArray<T>> {
        const { assert!(align_of::<T>() <= ARRAY_ALIGNMENT) };
        let bytes = array_bytes::<T>(len);
        self.left = self.left.checked_sub(bytes)?;
        let first = self.next.cast();
        // SAFETY: these bytes were left, so that they belong to the region.
        self.next = unsafe { self.next.add(bytes) };
        // SAFETY: the promise of `new`; every array begins at a multiple of `ARRAY_ALIGNMENT`.
        Some(unsafe { ZeroedArray::in_shared(first, len) })
    }
}

/// How many bytes of a region an array takes.
#[cfg(target_os = "linux")]
pub(crate) const fn array_bytes<T>(len: usize) -> usize {
    (len * size_of::<T>()).next_multiple_of(ARRAY_ALIGNMENT)
}
