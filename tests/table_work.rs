//! How many records a command looks at. Where nothing can change for the waiters, that does not
//! depend on how many there are.

mod common;
#[path = "common/memory.rs"]
mod memory;

use common::{granted, waiting};
use memory::{Shared, shared_tables};
use ternlease::table::*;

const DEVICES: [&str; 4] = ["gpu0", "gpu1", "gpu2", "gpu3"];
const HALVES: [[&str; 2]; 2] = [["gpu0", "gpu1"], ["gpu2", "gpu3"]];

/// The holder and the claim of the nth waiter.
type Waiter = fn(usize) -> (&'static str, Claim<'static>);

/// `worker` holds all devices, and so many wait.
fn crowd(waiters: usize, waiter: Waiter) -> (Table<Shared>, Vec<LeaseId>) {
    let [t, _] = shared_tables(Settings::default());
    let held = DEVICES.map(|_| granted(t.claim(0, &Claim::one("worker", &DEVICES))));
    for nth in 0..waiters {
        let (holder, claim) = waiter(nth);
        waiting(t.claim(0, &Claim { holder, wait: FOREVER, ..claim }));
    }
    // So that it both holds and waits in any case.
    waiting(t.claim(0, &Claim { wait: FOREVER, ..Claim::one("worker", &HALVES[0]) }));
    t.verify().unwrap();
    (t, held.into())
}

/// How often each of some commands looks for a record, if so many wait.
fn work(waiters: usize, waiter: Waiter) -> Vec<usize> {
    let (t, held) = crowd(waiters, waiter);
    let new = Claim::one("worker", &HALVES[0]);
    let mut looks = Vec::new();
    let mut did = || looks.push(t.memory().looks());
    did();
    assert_eq!(t.claim(1, &new), Err(Error::Busy));
    did();
    let last = waiting(t.claim(1, &Claim { wait: FOREVER, ..new }));
    did();
    t.release(2, held[0]).unwrap();
    assert_eq!((t.held(), t.waiting()), (4, waiters as u32 + 1), "the first one has it");
    did();
    assert_eq!(t.cancel(3, last), Ok(Cancelled::Left));
    did();
    t.revoke(4, held[1], Reason::Operator, "", 0).unwrap();
    did();
    t.verify().unwrap();
    // Without the first: that is to make the crowd.
    looks.split_off(1)
}

#[test]
fn commands_of_a_worker_that_holds_and_waits_do_not_depend_on_how_many_wait_with_it() {
    let waiters: [Waiter; 4] = [
        |_| ("worker", Claim::one("", &HALVES[0])),
        |_| ("other", Claim::one("", &HALVES[0])),
        |nth| (["a", "b", "worker"][nth % 3], Claim::one("", &HALVES[0])),
        // In two lines that have no candidate in common.
        |nth| ("worker", Claim { count: nth as u32 % 2 + 1, ..Claim::one("", &HALVES[nth % 2]) }),
    ];
    for waiter in waiters {
        assert_eq!(work(1024, waiter), work(16, waiter));
    }
}
