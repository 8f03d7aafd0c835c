//! A log of commands from a peer that is not trusted: each is refused, or it is applied and the table
//! is sound. Never a panic, and what is accepted has one encoding. `tests/fuzz_commands.rs` makes the
//! corpus and plays it in each run of the tests.
#![no_main]

mod play;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    play::play(bytes);
});
