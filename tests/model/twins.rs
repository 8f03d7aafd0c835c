//! Two tables that get the same encoded commands, each in memory of its own. One table is kept; the
//! other is made anew before each command, on the bytes that the last one left. Their replies and
//! their bytes must agree, so nothing but these bytes may survive a command.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use ternlease::memory::Arrays;
use ternlease::table::cell::{Cell32, Cell64, Touched};
use ternlease::table::codec::{AnyCommand, AnyReply};
use ternlease::table::layout::*;
use ternlease::table::{Issuer, Memory, Settings, Table, Time};

/// Memory that knows which records a command touched. Clones are the same memory.
#[derive(Clone)]
pub struct Recorded {
    arrays: Arrays,
    /// Array and index.
    touched: Rc<RefCell<BTreeSet<(usize, usize)>>>,
}

/// The index of the element at this address.
fn index_in<T>(array: &[T], address: usize) -> Option<usize> {
    let index = address.checked_sub(array.as_ptr() as usize)? / size_of::<T>();
    (index < array.len()).then_some(index)
}

macro_rules! arrays {
    ($($number:literal = $name:ident: $type:ty,)*) => {
        impl Memory for Recorded {
            fn header(&self) -> &Header {
                self.arrays.header()
            }
            fn index_mask(&self) -> u64 {
                self.arrays.index_mask()
            }
            fn before_write(&self, cell: Touched<'_>) {
                self.touch(match cell {
                    Touched::Half(cell) => cell as *const Cell32 as usize,
                    Touched::Word(cell) => cell as *const Cell64 as usize,
                });
            }
            fn before_swap(&self, cell: &Cell64, _old: u64, _new: u64) {
                self.touch(cell as *const Cell64 as usize);
            }
            $(fn $name(&self) -> &[$type] {
                self.arrays.$name()
            })*
        }

        impl Recorded {
            fn touch(&self, address: usize) {
                let record = index_in(std::slice::from_ref(self.header()), address).map(|it| (0, it));
                $(let record = record.or(index_in(self.$name(), address).map(|it| ($number, it)));)*
                self.touched.borrow_mut().insert(record.expect("it is in one of the arrays"));
            }

            fn show(&self, (array, index): (usize, usize)) -> String {
                match array {
                    $($number => format!("{}[{index}]: {:?}", stringify!($name), self.$name()[index]),)*
                    _ => format!("{:?}", self.header()),
                }
            }
        }
    };
}

arrays! {
    1 = names: Name,
    2 = buckets: Cell32,
    3 = resources: Resource,
    4 = holders: Holder,
    5 = leases: Lease,
    6 = lease_extras: LeaseExtra,
    7 = holds: Hold,
    8 = tickets: Ticket,
    9 = lines: Line,
    10 = members: Member,
    11 = wants: Want,
    12 = timers: Timer,
    13 = events: EventRecord,
    14 = owners: Cell32,
}

pub struct Twins {
    settings: Settings,
    kept: Table<Recorded>,
    rebuilt: Recorded,
}

impl Twins {
    pub fn new(settings: Settings) -> Twins {
        let memory = || Recorded {
            arrays: Arrays::try_new(&settings.limits.sizes()).expect("there is memory"),
            touched: Rc::default(),
        };
        let kept = Table::try_new(memory(), settings).expect("there is memory");
        Twins { settings, kept, rebuilt: memory() }
    }

    /// Runs a command on both, and returns the reply.
    pub fn apply(&self, command: &AnyCommand, issuer: Issuer, now: Time) -> AnyReply {
        self.run(|table| command.apply(table, issuer, now))
    }

    /// Runs on both what is no command.
    pub fn run<T: PartialEq + std::fmt::Debug>(&self, run: impl Fn(&Table<Recorded>) -> T) -> T {
        let rebuilt = Table::try_new(self.rebuilt.clone(), self.settings).expect("there is memory");
        let [kept, other] = [&self.kept, &rebuilt].map(|table| {
            let reply = run(table);
            let mut resolved = Vec::new();
            table.take_decided(|place| resolved.push(place));
            (reply, resolved)
        });
        assert_eq!(kept, other, "the kept and the rebuilt table reply differently");
        let memories = [self.kept.memory(), &self.rebuilt];
        let [kept_touched, touched] = memories.map(|memory| memory.touched.take());
        for &record in kept_touched.union(&touched) {
            let [kept, rebuilt] = memories.map(|memory| memory.show(record));
            assert_eq!(kept, rebuilt, "the bytes of the kept and the rebuilt table differ");
        }
        rebuilt.verify().and(self.kept.verify()).expect("both tables are sound");
        kept.0
    }
}
