//! Homes on simulated machines: all that is random, waits or takes time comes from one seed, so
//! that a failure can be replayed.
//!
//! The library runs unchanged, with its tickers, down to its runtime layer (`src/rt`) and its store
//! (`src/home/cluster/store.rs`). Below these, `machine` schedules the threads and advances the
//! time, and `server` is a store behind a network with every fault. `workload` uses the library,
//! `nemesis` injects faults, and `checker` decides whether the answers can be right. `plans` runs
//! random plans, and `findings` what failed once. `guards` are those of the protocol: tests remove
//! one, and must detect that. The client of etcd, and the homes of the processes of one machine,
//! which depend on its kernel, are tested with a real etcd and a real kernel instead.
//!
//! `memory_store` is a store for tests without simulated machines.
#![cfg(all(test, ternlease_sim))]

mod checker;
mod findings;
mod guards;
mod keyspace;
mod link;
mod machine;
mod memory_store;
mod nemesis;
mod node;
mod plans;
mod reader;
mod rng;
mod server;
mod store_tests;
mod workload;

use ternlease::{LeaseManager, OpenError, Options, sim_api};

/// Opens a table as [`LeaseManager::open_with`] does, with the simulated store in place of etcd.
fn open(url: &str, options: Options) -> Result<LeaseManager, OpenError> {
    if !url.starts_with("etcd:") {
        return LeaseManager::open_with(url, options);
    }
    sim_api::open(url, options, |timeout| Box::new(link::Link::new(timeout)))
}
