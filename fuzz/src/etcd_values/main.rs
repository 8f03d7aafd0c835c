//! Values in etcd that any client with write access can write: a value is refused, or it is applied
//! and all replicas agree. Never a panic, a hang or memory without bound.
//!
//! The first byte of an input selects what the other bytes are: one value ([`values`]), a log of
//! encoded entries, or a log of steps ([`steps`]), each of which makes an entry or a snapshot.
//! [`replicas`] applies entries to two replicas and compares them.
//! `src/home/cluster/etcd_values.rs` makes the corpus and plays it in each run of the unit tests.
#![no_main]

#[path = "../choices.rs"]
mod choices;
mod play;
#[path = "../records.rs"]
mod records;
mod replicas;
mod steps;
mod values;

use libfuzzer_sys::{fuzz_mutator, fuzz_target};

fuzz_target!(|bytes: &[u8]| play::play(bytes));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let is_steps = data.first().is_some_and(|kind| play::is_steps(*kind));
    if !is_steps || size < play::HEAD + steps::STEP || seed.is_multiple_of(8) {
        return libfuzzer_sys::fuzzer_mutate(data, size, max_size);
    }
    let (size, max_size) = (size - play::HEAD, max_size - play::HEAD);
    play::HEAD + records::mutate::<{ steps::STEP }>(&mut data[play::HEAD..], size, max_size, seed)
});
