//! Homes on simulated machines: everything that is random, waits or takes time comes from one seed, so that what goes wrong can be had again.
//!
//! The library runs as it is, keepers and all, down to what it asks of its machine (`home/world.rs`) and of its engine (`cluster/kv.rs`). Below
//! that, `machine` has the threads take turns and time pass, and `server` is an engine behind a network with every fault that there is;
//! `players` use the library, `nemesis` is against them, and `judge` says whether what they were told can be right. The real engine's client, and the homes
//! of one machine's processes, which rest on its kernel, are tested on the real thing instead.

mod chance;
mod computer;
mod found;
mod judge;
mod link;
mod machine;
mod nemesis;
mod players;
mod reader;
mod server;
mod tests;
pub(crate) mod world;

use crate::{LeaseManager, OpenError, Options};

/// Opens a table as [`LeaseManager::open_with`] does, with the simulated engine in place of etcd.
fn open(url: &str, options: Options) -> Result<LeaseManager, OpenError> {
    if !url.starts_with("etcd:") {
        return LeaseManager::open_with(url, options);
    }
    LeaseManager::open_cluster(url, options, &|config| {
        Ok(Box::new(link::Link::new(config.timeout)))
    })
}
