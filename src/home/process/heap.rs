//! A table's memory on the heap.

use std::sync::Arc;

use crate::table::cell::Cell32;
use crate::table::layout::*;
use crate::table::{Memory, Settings, Table};
use crate::zeroed::ZeroedArray;

/// The arrays of one table on the heap.
#[derive(Debug, Clone)]
pub struct Heap {
    header: Arc<Header>,
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
}

impl Heap {
    /// Empty arrays of the given lengths; `None` if the system does not give so much memory.
    pub fn try_new(sizes: &Sizes) -> Option<Self> {
        Some(Heap {
            header: Arc::default(),
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
        })
    }
}

macro_rules! arrays {
    ($($name:ident: $type:ty,)*) => {
        impl Memory for Heap {
            #[inline(always)]
            fn header(&self) -> &Header {
                &self.header
            }
            #[inline(always)]
            fn index_mask(&self) -> u64 {
                self.index_mask
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
}

/// A table on fresh heap memory; `None` if the system does not give so much.
pub(crate) fn try_new_table(settings: Settings) -> Option<Table<Heap>> {
    Table::try_new(Heap::try_new(&settings.limits.sizes())?, settings)
}

/// A table on fresh heap memory. Ends the program if the system does not give so much, as collections do.
pub fn new_table(settings: Settings) -> Table<Heap> {
    try_new_table(settings)
        .unwrap_or_else(|| std::alloc::handle_alloc_error(std::alloc::Layout::new::<Heap>()))
}
