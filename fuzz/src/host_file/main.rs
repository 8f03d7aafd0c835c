//! A table's file in which somebody has changed something, before it is opened or while it is in use: an error, or a table that works. Never a
//! crash, a hang, or, after one byte, two holders of one thing.
//!
//! [`image`] has files as the library makes them, [`damage`] changes them, [`user`] uses them.
#![no_main]

#[path = "../choices.rs"]
mod choices;
mod damage;
mod image;
#[path = "../records.rs"]
mod records;
mod user;

use libfuzzer_sys::{fuzz_mutator, fuzz_target};

/// So many bytes decide about one change of the file, or one call.
const RECORD: usize = 8;

/// A run has no more of them: files that are opened again and again are slow, and learn nothing new.
const MOST: usize = 64;

fuzz_target!(init: image::make_all(), |bytes: &[u8]| {
    let mut records = bytes.chunks(RECORD).take(MOST);
    let mut user = user::User::new(records.next().unwrap_or_default());
    records.for_each(|record| user.take(record));
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    records::mutate::<RECORD>(data, size, max_size, seed)
});
