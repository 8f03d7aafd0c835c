//! Texts that people write, and programs that others have written: each is understood or refused in words, and what can be written again says the
//! same. Never a panic, and nothing that takes long.
#![no_main]

#[path = "../../../src/home/cluster/etcd/config.rs"]
#[allow(dead_code, reason = "the library uses the rest")]
mod config;
mod devices;
#[allow(dead_code)] // Only some of its functions are fuzzed.
#[path = "../../../cli/src/text/units.rs"]
mod units;
mod urls;

use libfuzzer_sys::fuzz_target;
use ternlease::cost;

fuzz_target!(|bytes: &[u8]| {
    let Some((&kind, rest)) = bytes.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    match kind % 8 {
        0 | 1 => devices::declaration(&text),
        2 | 3 => devices::masks(&text),
        4 => urls::etcd(&text),
        5 => urls::any(&text),
        6 => amounts(&text),
        _ => cost::check_kept(&text),
    }
});

/// Lengths of time and sizes, as the command takes them.
fn amounts(text: &str) {
    match units::parse_duration(text) {
        Ok(time) => assert!(!units::duration(time).is_empty()),
        Err(problem) => assert!(!problem.is_empty()),
    }
    match units::parse_mebibytes(text) {
        Ok(size) => assert!(!units::mebibytes(size).is_empty()),
        Err(problem) => assert!(!problem.is_empty()),
    }
}
