//! What a process reads from etcd, after somebody else with rights to its keys has been there: it makes no sense, or the table works. Never a
//! panic, a hang, or memory without end.
//!
//! [`pool`] has what etcd contains of a table that was used, [`damage`] changes it, [`user`] comes to it, or was there before.
#![no_main]

#[path = "../choices.rs"]
mod choices;
mod copy;
mod damage;
#[path = "../../../tests/sim/src/keyspace.rs"]
#[allow(dead_code)] // Only the simulator uses all of it.
mod keyspace;
#[path = "../../../tests/sim/src/memory_store.rs"]
#[allow(dead_code)]
mod memory_store;
mod pool;
#[path = "../records.rs"]
mod records;
mod user;

use libfuzzer_sys::{fuzz_mutator, fuzz_target};

/// So many bytes decide about one change, or one call.
const RECORD: usize = 8;

/// A run has no more of them.
const MOST: usize = 64;

fuzz_target!(init: pool::make_all(), |bytes: &[u8]| {
    let Some((&kind, rest)) = bytes.split_first() else { return };
    // Bytes as they are, and what was damaged.
    if kind % 4 == 3 {
        return copy::check_values(rest);
    }
    let mut user = user::User::new(kind);
    rest.chunks(RECORD).take(MOST).for_each(|record| user.take(record));
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    // The first byte says what the others are.
    if size < 1 + RECORD || data[0] % 4 == 3 || seed.is_multiple_of(8) {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    }
    1 + records::mutate::<RECORD>(&mut data[1..], size - 1, max_size - 1, seed)
});
