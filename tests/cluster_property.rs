//! A table that machines share does what the rules say, through managers and in real time, on a real etcd.
//!
//! `TERN_STEPS=10000` makes it longer, `TERN_SEED=42` replays one episode.
#![cfg(all(target_os = "linux", feature = "cluster"))]

#[path = "common/etcd.rs"]
mod etcd;
#[allow(dead_code)] // Not all of it is for this home.
mod homes;
#[allow(dead_code)] // It is written for the table itself.
mod model;

use etcd::Etcd;
use homes::managers::Home;
use homes::play;

/// Each takes some ten round trips.
const STEPS: u64 = 1_000;

#[test]
fn a_table_that_machines_share_does_what_the_rules_say() {
    let Some(etcd) = Etcd::start() else { return };
    play(&Home::Etcd(etcd.authority()), STEPS);
}
