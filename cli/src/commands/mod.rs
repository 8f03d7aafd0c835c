//! One file for each command.

pub mod adopt;
pub mod cap;
pub mod claim;
pub mod completions;
pub mod ctest_spec;
pub mod deadlocks;
pub mod devices;
pub mod doctor;
pub mod events;
pub mod hold;
pub mod man;
pub mod metrics;
pub mod queue;
pub mod release;
pub mod renew;
pub mod revoke;
pub mod run;
pub mod setup;
pub mod status;
pub mod timeline;
pub mod top;
pub mod verdict;
