//! Memory of a table that others may change, too, as that of a shared file: everything is looked at twice. What others do just before a
//! command changes a word is up to the test.

use std::cell::{Cell, RefCell};

use ternlease::memory::Arrays;
use ternlease::table::cell::{Cell32, Cell64};
use ternlease::table::layout::*;
use ternlease::table::{Memory, Settings, Table};

type Deed = Box<dyn FnOnce(&Arrays)>;

pub struct Shared {
    arrays: Arrays,
    meanwhile: Cell<Option<Deed>>,
    /// What a home was told, but for what is written.
    told: RefCell<Vec<&'static str>>,
    /// How often the table has looked for a record.
    looks: Cell<usize>,
}

/// One table, as two processes see it.
pub fn shared_tables(settings: Settings) -> [Table<Shared>; 2] {
    let arrays = Arrays::try_new(&settings.limits.sizes()).expect("there is memory");
    [arrays.clone(), arrays].map(|arrays| {
        let (meanwhile, told, looks) = Default::default();
        let memory = Shared { arrays, meanwhile, told, looks };
        Table::try_new(memory, settings).expect("there is memory")
    })
}

#[allow(dead_code)] // Not every test needs all of it.
impl Shared {
    /// Somebody does this before the next change of a word that others change, too.
    pub fn meanwhile(&self, deed: impl FnOnce(&Arrays) + 'static) {
        self.meanwhile.set(Some(Box::new(deed)));
    }

    /// What the home was told since it was asked last.
    pub fn told(&self) -> Vec<&'static str> {
        self.told.take()
    }

    /// How often the table has looked for a record since it was asked last.
    pub fn looks(&self) -> usize {
        self.looks.take()
    }
}

macro_rules! arrays {
    ($($name:ident: $type:ty,)*) => {
        impl Memory for Shared {
            const UNTRUSTED: bool = true;
            fn header(&self) -> &Header {
                self.arrays.header()
            }
            fn index_mask(&self) -> u64 {
                self.arrays.index_mask()
            }
            fn before_swap(&self, _cell: &Cell64, _old: u64, _new: u64) {
                self.told.borrow_mut().push("swap");
                if let Some(deed) = self.meanwhile.take() {
                    deed(&self.arrays);
                }
            }
            fn after_failed_swap(&self) {
                self.told.borrow_mut().push("failed");
            }
            fn checkpoint(&self) {
                self.told.borrow_mut().push("checkpoint");
            }
            $(fn $name(&self) -> &[$type] {
                self.looks.set(self.looks.get() + 1);
                self.arrays.$name()
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
