//! What only tables have that several processes share.

use super::LeaseManager;
use crate::home::host::{HostInfo, Inherited};
use crate::table::{Error, LeaseId};

impl LeaseManager {
    /// Who uses the file that the table is in, and whether all is well; `None` if the table lives in this process alone.
    pub fn host(&self) -> Option<HostInfo> {
        self.home().host_info()
    }

    /// Makes the lease one of a tree of processes: it is held as long as any process has the descriptor that this gives, which programs and
    /// children that this process starts from now on inherit. When the last of them is gone, it ends as if its holder had died.
    pub fn keep_for_children(&self, lease: LeaseId) -> Result<Inherited, Error> {
        self.home().keep_for_children(lease)
    }

    /// Hands the lease to another process that uses the table, by the number that it has there: it ends with that process, and not with
    /// this one.
    pub fn hand_to(&self, lease: LeaseId, process: u32) -> Result<(), Error> {
        self.home().hand_to(lease, process)
    }
}
