//! Random sequences of calls through the C boundary, with the raw pointers that a C program passes: good ones and bad ones.
//!
//! [`input`] turns bytes into choices, [`calls`] makes the calls, [`call`] and [`manager`] say what must hold after each of them.
#![no_main]

mod c;
mod call;
mod calls;
#[path = "../choices.rs"]
mod choices;
mod input;
mod manager;
mod memory;
#[path = "../records.rs"]
mod records;
mod seen;
mod shared;
mod watch;
mod world;

use libfuzzer_sys::{fuzz_mutator, fuzz_target};

fuzz_target!(init: world::fill_closed(), |bytes: &[u8]| {
    let mut world = world::World::new();
    for record in bytes.chunks(input::RECORD) {
        calls::make(&mut world, record);
    }
    world.close();
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    records::mutate::<{ input::RECORD }>(data, size, max_size, seed)
});
