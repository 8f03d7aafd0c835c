//! The cluster home: a table that many machines share through a store, which orders its commands.
//!
//! Every change is a command. A member appends commands to a log in the store (`entry.rs`,
//! `keys.rs`), and applies the whole log to its replica (`replica.rs`). `member.rs` is the
//! protocol, `reading.rs` how a member reads the log, `session.rs` how it joins and leaves,
//! `own.rs` what it knows without the store, `upkeep.rs` what it does in the background.

#![cfg_attr(not(feature = "cluster"), allow(dead_code))]

#[cfg(feature = "cluster")]
mod counters;
pub mod entry;
#[cfg(feature = "cluster")]
pub(crate) mod etcd;
#[cfg(all(test, not(loom)))]
mod etcd_values;
#[cfg(feature = "cluster")]
mod home;
#[cfg(feature = "cluster")]
mod info;
pub mod keys;
#[cfg(feature = "cluster")]
mod member;
#[cfg(feature = "cluster")]
mod on_etcd;
#[cfg(feature = "cluster")]
mod own;
#[cfg(feature = "cluster")]
mod reading;
pub mod replica;
#[cfg(feature = "cluster")]
mod session;
pub mod shape;
pub mod store;
#[cfg(feature = "cluster")]
mod upkeep;
#[cfg(all(test, not(loom)))]
mod vectors;

/// Connects with the store that a URL names.
#[cfg(feature = "cluster")]
pub(crate) type Connect<'a> =
    &'a dyn Fn(&etcd::Config) -> Result<Box<dyn store::Store>, store::StoreError>;

#[cfg(feature = "cluster")]
pub(crate) use {home::ClusterHome, on_etcd::connect, store::StoreError};
