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
    /// Empty arrays of the given lengths.
    pub fn new(sizes: &Sizes) -> Self {
        Heap {
            header: Arc::default(),
            index_mask: sizes.index_mask(),
            names: ZeroedArray::new(sizes.names),
            buckets: ZeroedArray::new(sizes.buckets),
            resources: ZeroedArray::new(sizes.resources),
            holders: ZeroedArray::new(sizes.holders),
            leases: ZeroedArray::new(sizes.leases),
            lease_extras: ZeroedArray::new(sizes.leases),
            holds: ZeroedArray::new(sizes.holds),
            tickets: ZeroedArray::new(sizes.tickets),
            lines: ZeroedArray::new(sizes.lines),
            members: ZeroedArray::new(sizes.members),
            wants: ZeroedArray::new(sizes.wants),
            timers: ZeroedArray::new(sizes.timers),
            events: ZeroedArray::new(sizes.events),
        }
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

/// A table on fresh heap memory.
pub fn new_table(settings: Settings) -> Table<Heap> {
    let sizes = settings.limits.sizes();
    Table::new(Heap::new(&sizes), settings)
}
