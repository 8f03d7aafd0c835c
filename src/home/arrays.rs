//! A table's memory: on the heap of one process, or in a file that several share.

use std::fmt::Debug;

#[cfg(target_os = "linux")]
use super::host::{Region, array_bytes};
use crate::table::cell::{Cell32, Cell64, Touched};
use crate::table::layout::*;
use crate::table::{Kept, Memory, Settings, Table};
use crate::zeroed::ZeroedArray;

/// Notes what a command changes, so that it can be undone. Which one a table has is known when it is compiled: who needs none pays nothing.
pub trait Undo: Debug + Clone + Send + Sync + 'static {
    /// Do other processes use the table too?
    #[doc(hidden)]
    const SHARED: bool;
    /// See [`Memory::before_write`].
    #[doc(hidden)]
    fn note(&self, cell: Touched<'_>);
    /// See [`Memory::before_swap`].
    #[doc(hidden)]
    fn note_swap(&self, cell: &Cell64, old: u64, new: u64);
    /// See [`Memory::after_failed_swap`].
    #[doc(hidden)]
    fn forget_swap(&self);
    /// See [`Memory::checkpoint`].
    #[doc(hidden)]
    fn commit(&self);
    /// See [`Memory::kept`].
    #[doc(hidden)]
    #[inline(always)]
    fn kept(&self) -> Option<Kept<'_>> {
        None
    }
}

/// For tables in the memory of one process, which end with it.
#[derive(Debug, Clone, Copy)]
pub struct NoUndo;

impl Undo for NoUndo {
    const SHARED: bool = false;
    #[inline(always)]
    fn note(&self, _cell: Touched<'_>) {}
    #[inline(always)]
    fn note_swap(&self, _cell: &Cell64, _old: u64, _new: u64) {}
    #[inline(always)]
    fn forget_swap(&self) {}
    #[inline(always)]
    fn commit(&self) {}
}

/// The arrays of one table.
#[derive(Debug, Clone)]
pub struct Arrays<U: Undo = NoUndo> {
    header: ZeroedArray<Header>,
    index_mask: u64,
    names: ZeroedArray<Name>,
    buckets: ZeroedArray<Cell32>,
    resources: ZeroedArray<Resource>,
    holders: ZeroedArray<Holder>,
    leases: ZeroedArray<Lease>,
    lease_extras: ZeroedArray<LeaseExtra>,
    holds: ZeroedArray<Hold>,
    tickets: ZeroedArray<Ticket>,
    lines: ZeroedArray<Line>,
    members: ZeroedArray<Member>,
    wants: ZeroedArray<Want>,
    timers: ZeroedArray<Timer>,
    events: ZeroedArray<EventRecord>,
    owners: ZeroedArray<Cell32>,
    undo: U,
}

impl Arrays {
    /// Empty arrays of the given lengths on the heap; `None` if the system does not give so much memory.
    pub fn try_new(sizes: &Sizes) -> Option<Self> {
        Some(Arrays {
            header: ZeroedArray::try_new(1)?,
            index_mask: sizes.index_mask(),
            names: ZeroedArray::try_new(sizes.names)?,
            buckets: ZeroedArray::try_new(sizes.buckets)?,
            resources: ZeroedArray::try_new(sizes.resources)?,
            holders: ZeroedArray::try_new(sizes.holders)?,
            leases: ZeroedArray::try_new(sizes.leases)?,
            lease_extras: ZeroedArray::try_new(sizes.leases)?,
            holds: ZeroedArray::try_new(sizes.holds)?,
            tickets: ZeroedArray::try_new(sizes.tickets)?,
            lines: ZeroedArray::try_new(sizes.lines)?,
            members: ZeroedArray::try_new(sizes.members)?,
            wants: ZeroedArray::try_new(sizes.wants)?,
            timers: ZeroedArray::try_new(sizes.timers)?,
            events: ZeroedArray::try_new(sizes.events)?,
            owners: ZeroedArray::try_new(sizes.owners)?,
            undo: NoUndo,
        })
    }
}

#[cfg(target_os = "linux")]
impl<U: Undo> Arrays<U> {
    /// What [`Self::in_file`] needs of a region.
    pub(crate) fn bytes(sizes: &Sizes) -> usize {
        array_bytes::<Header>(1)
            + array_bytes::<Name>(sizes.names)
            + array_bytes::<Cell32>(sizes.buckets)
            + array_bytes::<Resource>(sizes.resources)
            + array_bytes::<Holder>(sizes.holders)
            + array_bytes::<Lease>(sizes.leases)
            + array_bytes::<LeaseExtra>(sizes.leases)
            + array_bytes::<Hold>(sizes.holds)
            + array_bytes::<Ticket>(sizes.tickets)
            + array_bytes::<Line>(sizes.lines)
            + array_bytes::<Member>(sizes.members)
            + array_bytes::<Want>(sizes.wants)
            + array_bytes::<Timer>(sizes.timers)
            + array_bytes::<EventRecord>(sizes.events)
            + array_bytes::<Cell32>(sizes.owners)
    }

    /// The arrays in a shared file, from the beginning of the region on.
    pub(crate) fn in_file(sizes: &Sizes, region: &mut Region, undo: U) -> Option<Self> {
        Some(Arrays {
            header: region.array(1)?,
            index_mask: sizes.index_mask(),
            names: region.array(sizes.names)?,
            buckets: region.array(sizes.buckets)?,
            resources: region.array(sizes.resources)?,
            holders: region.array(sizes.holders)?,
            leases: region.array(sizes.leases)?,
            lease_extras: region.array(sizes.leases)?,
            holds: region.array(sizes.holds)?,
            tickets: region.array(sizes.tickets)?,
            lines: region.array(sizes.lines)?,
            members: region.array(sizes.members)?,
            wants: region.array(sizes.wants)?,
            timers: region.array(sizes.timers)?,
            events: region.array(sizes.events)?,
            owners: region.array(sizes.owners)?,
            undo,
        })
    }
}

macro_rules! arrays {
    ($($name:ident: $type:ty,)*) => {
        impl<U: Undo> Memory for Arrays<U> {
            const SHARED: bool = U::SHARED;
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
                self.undo.note(cell);
            }
            #[inline(always)]
            fn before_swap(&self, cell: &Cell64, old: u64, new: u64) {
                self.undo.note_swap(cell, old, new);
            }
            #[inline(always)]
            fn after_failed_swap(&self) {
                self.undo.forget_swap();
            }
            #[inline(always)]
            fn checkpoint(&self) {
                self.undo.commit();
            }
            #[inline(always)]
            fn kept(&self) -> Option<Kept<'_>> {
                self.undo.kept()
            }
            $(#[inline(always)]
            fn $name(&self) -> &[$type] {
                &self.$name
            })*
        }
    };
}

arrays! {
    names: Name,
    buckets: Cell32,
    resources: Resource,
    holders: Holder,
    leases: Lease,
    lease_extras: LeaseExtra,
    holds: Hold,
    tickets: Ticket,
    lines: Line,
    members: Member,
    wants: Want,
    timers: Timer,
    events: EventRecord,
    owners: Cell32,
}

/// A table on fresh heap memory; `None` if the system does not give so much.
pub(crate) fn try_new_table(settings: Settings) -> Option<Table<Arrays>> {
    Table::try_new(Arrays::try_new(&settings.limits.sizes())?, settings)
}

/// A table on fresh heap memory. Ends the program if the system does not give so much, as collections do.
pub fn new_table(settings: Settings) -> Table<Arrays> {
    try_new_table(settings)
        .unwrap_or_else(|| std::alloc::handle_alloc_error(std::alloc::Layout::new::<Arrays>()))
}
