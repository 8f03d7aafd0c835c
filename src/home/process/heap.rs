//! A table's memory on the heap.

use std::sync::Arc;

use crate::table::cell::Cell32;
use crate::table::layout::*;
use crate::table::{Memory, Settings, Table};
use crate::zeroed::zeroed;

/// The arrays of one table on the heap.
#[derive(Debug)]
pub struct Heap {
    header: Header,
    names: Box<[Name]>,
    buckets: Box<[Cell32]>,
    resources: Box<[Resource]>,
    holders: Box<[Holder]>,
    leases: Box<[Lease]>,
    lease_extras: Box<[LeaseExtra]>,
    holds: Box<[Hold]>,
    tickets: Box<[Ticket]>,
    lines: Box<[Line]>,
    members: Box<[Member]>,
    wants: Box<[Want]>,
    timers: Box<[Timer]>,
    events: Box<[EventRecord]>,
}

impl Heap {
    /// Empty arrays of the given lengths.
    pub fn new(sizes: &Sizes) -> Self {
        Heap {
            header: Header::default(),
            names: zeroed(sizes.names),
            buckets: zeroed(sizes.buckets),
            resources: zeroed(sizes.resources),
            holders: zeroed(sizes.holders),
            leases: zeroed(sizes.leases),
            lease_extras: zeroed(sizes.leases),
            holds: zeroed(sizes.holds),
            tickets: zeroed(sizes.tickets),
            lines: zeroed(sizes.lines),
            members: zeroed(sizes.members),
            wants: zeroed(sizes.wants),
            timers: zeroed(sizes.timers),
            events: zeroed(sizes.events),
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
    Table::new(Arc::new(Heap::new(&sizes)), settings)
}
