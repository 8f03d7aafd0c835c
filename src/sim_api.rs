//! What the simulator (`tests/sim`) and the fuzzer (`fuzz`) see of the cluster home. Programs do
//! not: this module exists only with `--cfg ternlease_sim` or `--cfg fuzzing`.

#[cfg(ternlease_sim)]
use std::time::Duration;

pub use crate::home::cluster::{diff, keys, kv, replica, shape, store};
pub use crate::memory::{Arrays, UndoLog, new_table};
#[cfg(ternlease_sim)]
pub use crate::rt::simulated as rt;
use crate::table::{Kept, Memory, Settings, Table, Time};
#[cfg(ternlease_sim)]
use crate::{
    Error, LeaseId, LeaseManager, OpenError, Options, Reason,
    home::{AnyHome, Home, cluster::ClusterHome},
    table::{cell::Cell, cell::Cell64},
};

/// Opens the table of an `etcd:` URL in another engine, which `connect` makes from the timeout of a
/// request.
#[cfg(ternlease_sim)]
pub fn open(
    url: &str,
    options: Options,
    connect: impl Fn(Duration) -> Box<dyn kv::Engine>,
) -> Result<LeaseManager, OpenError> {
    LeaseManager::open_cluster(url, options, &|config| Ok(connect(config.timeout)))
}

#[cfg(ternlease_sim)]
fn cluster_home(manager: &LeaseManager) -> &ClusterHome {
    match manager.home() {
        AnyHome::Cluster(home) => home,
        _ => panic!("a table in etcd has such a home"),
    }
}

/// The number of this process among those that share the table.
#[cfg(ternlease_sim)]
pub fn owner(manager: &LeaseManager) -> u16 {
    manager.home().owner()
}

/// Ends what an owner has, provided that it is gone.
#[cfg(ternlease_sim)]
pub fn reap(manager: &LeaseManager, owner: u16) -> Result<(), Error> {
    let home = cluster_home(manager);
    home.reap_clustered(&home.part, home.part.absence_of(owner), owner, Reason::HolderDied)
}

/// Does what the ticker does after the end of an owner was reported. Returns the owners that it
/// would try again.
#[cfg(ternlease_sim)]
pub fn handle_end_of(manager: &LeaseManager, owner: u16) -> Vec<u16> {
    let home = cluster_home(manager);
    home.reap_gone(&home.part, owner);
    home.part.hearing.take_gone()
}

/// Reads what other processes have committed, and applies it.
pub fn catch_up(store: &mut store::Store, kv: &dyn kv::Kv) -> Result<bool, store::Failure> {
    let read = store::Store::ask(kv, store.news())?;
    store.follow(kv, &read, store.number())
}

/// What only the home of a table calls.
pub trait TableAccess<M>: Sized {
    fn attach(memory: M, settings: Settings) -> Option<Self>;
    fn prepare(&self, settings: Settings);
    fn mark_corrupt(&self);
    fn is_corrupt(&self) -> bool;
    fn find_kept(&self);
    #[cfg(ternlease_sim)]
    fn kept_ids(&self) -> Vec<LeaseId>;
    /// The cell of the table's time.
    #[cfg(ternlease_sim)]
    fn now_cell(&self) -> &Cell64;
    /// Overwrites the size of the resource that has one slot.
    #[cfg(ternlease_sim)]
    fn corrupt_size(&self, slots: u32);
}

impl<M: Memory> TableAccess<M> for Table<M> {
    fn attach(memory: M, settings: Settings) -> Option<Self> {
        Table::try_attach(memory, settings)
    }

    fn prepare(&self, settings: Settings) {
        Table::prepare(self, settings);
    }

    fn mark_corrupt(&self) {
        Table::mark_corrupt(self);
    }

    fn is_corrupt(&self) -> bool {
        Table::is_corrupt(self)
    }

    fn find_kept(&self) {
        Table::find_kept(self);
    }

    #[cfg(ternlease_sim)]
    fn kept_ids(&self) -> Vec<LeaseId> {
        Table::kept_ids(self)
    }

    #[cfg(ternlease_sim)]
    fn now_cell(&self) -> &Cell64 {
        &self.memory().header().now
    }

    #[cfg(ternlease_sim)]
    fn corrupt_size(&self, slots: u32) {
        let mut resources = self.memory().resources().iter();
        let declared = resources.find(|resource| resource.slots.get() == 1);
        declared.expect("there is one").slots.put(slots);
    }
}

/// Does this process count the time of the lease?
#[cfg(ternlease_sim)]
pub fn is_kept<M: Memory>(memory: &M, lease: LeaseId) -> bool {
    crate::table::is_kept(memory, lease)
}

/// What only the home of a copy calls.
pub trait KeptAccess {
    fn be_of(&self, owner: u16);
    fn lag_behind(&self, by: Time);
    #[cfg(ternlease_sim)]
    fn is_nobodys(&self) -> bool;
    #[cfg(ternlease_sim)]
    fn be_nobodys(&self);
}

impl KeptAccess for Kept<'_> {
    fn be_of(&self, owner: u16) {
        Kept::be_of(self, owner);
    }

    fn lag_behind(&self, by: Time) {
        Kept::lag_behind(self, by);
    }

    #[cfg(ternlease_sim)]
    fn is_nobodys(&self) -> bool {
        Kept::is_nobodys(self)
    }

    #[cfg(ternlease_sim)]
    fn be_nobodys(&self) {
        Kept::be_nobodys(self);
    }
}
