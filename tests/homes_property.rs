//! A table in a process and one that processes share do what the rules say, through managers and in real time.
//!
//! `TERN_STEPS=100000` makes it longer, `TERN_SEED=42` replays one episode (name the home's test as well).

#[allow(dead_code)] // Not all of it is for these homes.
mod homes;
#[allow(dead_code)] // It is written for the table itself.
mod model;

use homes::managers::Home;
use homes::play;

const STEPS: u64 = 5_000;

#[test]
fn a_table_of_one_process_does_what_the_rules_say() {
    play(&Home::Process, STEPS);
}

#[cfg(target_os = "linux")]
#[test]
fn a_table_that_processes_share_does_what_the_rules_say() {
    play(&Home::Host, STEPS);
}
