//! The cluster home: a table that many machines share, kept by an engine that they all can reach.
//!
//! Each process has a copy (`replica`). A command runs on it, and what it changed is told to the others as one transaction (`diff`, `store`) that
//! counts only if nobody was faster; otherwise it is undone, and run again on what the others made of the table (`group`). The rules are the
//! table's, as everywhere. `part` is what one process has of it all, `session` how the others know that it lives.

#![cfg_attr(not(feature = "cluster"), allow(dead_code))]

pub mod diff;
#[cfg(feature = "cluster")]
pub(crate) mod etcd;
#[cfg(feature = "cluster")]
mod execute;
#[cfg(feature = "cluster")]
mod group;
mod hearing;
#[cfg(feature = "cluster")]
mod home;
pub mod keys;
pub mod kv;
#[cfg(feature = "cluster")]
mod member;
#[cfg(feature = "cluster")]
mod nodes;
#[cfg(feature = "cluster")]
mod on_etcd;
#[cfg(feature = "cluster")]
mod own;
#[cfg(feature = "cluster")]
mod part;
#[cfg(feature = "cluster")]
mod reap;
pub mod replica;
#[cfg(feature = "cluster")]
mod session_end;
pub mod shape;
pub mod store;

/// Connects with the engine that a URL names.
#[cfg(feature = "cluster")]
pub(crate) type Connect<'a> =
    &'a dyn Fn(&etcd::Config) -> Result<Box<dyn kv::Engine>, kv::StoreError>;

#[cfg(feature = "cluster")]
pub(crate) use {
    group::{Conditions, Flight, Group, Outcome, Receipt},
    home::ClusterHome,
    kv::{Answer, Op, Range, Revision, StoreError, Txn},
    on_etcd::connect,
    part::{Part, Seat},
    replica::{Replica, Written},
    store::{Failure, Made, Store},
};
