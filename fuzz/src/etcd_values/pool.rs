//! What etcd has of tables that were used.

use std::sync::OnceLock;

use crate::copy::{Copy, Entries};
use ternlease::table::{Candidates, Claim, FOREVER};
use ternlease::{Health, Limits, Reason, Take};

/// Small, so that what is changed is likely to be used.
const LIMITS: Limits = Limits { leases: 8, tickets: 8, resources: 8, history: 8 };

pub const NAMES: [&str; 4] = ["gpu0", "gpu1", "x", "a-device-with-a-rather-long-name-of-its-own"];
pub const HOLDERS: [&str; 3] = ["ann", "bob", "cleo"];

static ALL: OnceLock<Vec<Entries>> = OnceLock::new();

pub fn all() -> &'static [Entries] {
    ALL.get().expect("they are made first")
}

pub fn make_all() {
    let of = |changes| {
        let mut copy = Copy::first(LIMITS).expect("there is memory");
        use_it(&mut copy, changes);
        copy.write_base();
        use_it(&mut copy, 6);
        copy.entries()
    };
    // With changes alone, and with a whole copy before them.
    assert!(ALL.set(vec![of(0), of(30), of(300)]).is_ok());
}

/// Something of everything, over and over.
fn use_it(copy: &mut Copy, changes: u64) {
    for step in 0..changes {
        let name = NAMES[step as usize % NAMES.len()];
        let (one, pair) = ([name], [name, "gpu0"]);
        let holder = HOLDERS[step as usize % HOLDERS.len()];
        let (now, table) = (copy.later(1), copy.table());
        let owner = 1 + step as u16 % 2;
        let claim = Claim { ttl: 40, owner, ..Claim::one(holder, &one) };
        let done = match step % 6 {
            0 => table.claim(now, &claim).is_ok(),
            1 => table.claim(now, &Claim { ttl: FOREVER, wait: 20, ..claim }).is_ok(),
            2 => table.declare(now, "x", 3, 100).is_ok(),
            3 => {
                let candidates = Candidates::Named(&pair);
                let part = Take::Amount { slots: 1, memory: 0 };
                table.claim(now, &Claim { candidates, take: part, wait: 9, ..claim }).is_ok()
            }
            4 => match table.leases().first() {
                Some(lease) => table.revoke(now, lease.id, Reason::Operator, "ops", 3).is_ok(),
                None => false,
            },
            _ => match table.resource_id("x") {
                Some(x) => table.set_health(now, x, Health::Healthy).is_ok(),
                None => false,
            },
        };
        // What was refused has changed nothing but the time.
        let _ = done;
        assert!(copy.tell(), "nobody else is there");
    }
    assert_eq!(copy.table().verify(), Ok(()));
}
