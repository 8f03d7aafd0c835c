//! What the simulator (`tests/sim`) and the fuzzer (`fuzz`) see of the cluster home. Programs do
//! not: this module exists only with `--cfg ternlease_sim` or `--cfg fuzzing`.

#[cfg(ternlease_sim)]
use std::time::Duration;

pub use crate::home::cluster::{entry, keys, replica, shape, store};
pub use crate::memory::{Arrays, new_table};
#[cfg(ternlease_sim)]
pub use crate::rt::simulated as rt;
#[cfg(ternlease_sim)]
use crate::{LeaseManager, OpenError, Options};

/// Opens the table of an `etcd:` URL in another store, which `connect` makes from the timeout of a
/// request.
#[cfg(ternlease_sim)]
pub fn open(
    url: &str,
    options: Options,
    connect: impl Fn(Duration) -> Box<dyn store::Store>,
) -> Result<LeaseManager, OpenError> {
    LeaseManager::open_cluster(url, options, &|config| Ok(connect(config.timeout)))
}
