//! A table's memory on the heap.

use std::sync::Arc;

use crate::table::cell::Cell32;
use crate::table::layout::*;
use crate::table::scratch::Scratch;
use crate::table::{Limits, Memory, Settings, Table};
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

/// Would the system give the memory for a table of these limits? Asked before one is made, as running out of memory in the middle
/// ends the program.
pub(crate) fn memory_can_be_had(limits: Limits) -> bool {
    let sizes = limits.sizes();
    let bytes = sizes.names * size_of::<Name>()
        + sizes.buckets * size_of::<Cell32>()
        + sizes.resources * size_of::<Resource>()
        + sizes.holders * size_of::<Holder>()
        + sizes.leases * (size_of::<Lease>() + size_of::<LeaseExtra>())
        + sizes.holds * size_of::<Hold>()
        + sizes.tickets * size_of::<Ticket>()
        + sizes.lines * size_of::<Line>()
        + sizes.members * size_of::<Member>()
        + sizes.wants * size_of::<Want>()
        + sizes.timers * size_of::<Timer>()
        + sizes.events * size_of::<EventRecord>()
        + Scratch::bytes(&sizes);
    let mut block: Vec<u8> = Vec::new();
    let given = block.try_reserve_exact(bytes).is_ok();
    // Or the compiler would leave the question out.
    std::hint::black_box(&block);
    given
}

/// A table on fresh heap memory.
pub fn new_table(settings: Settings) -> Table<Heap> {
    let sizes = settings.limits.sizes();
    Table::new(Heap::new(&sizes), settings)
}
