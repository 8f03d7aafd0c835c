//! The operations of a manager that a pool of many machines needs.

use super::LeaseManager;
use crate::home::Home;
use crate::table::{Candidates, Claim, Error, LeaseId, ResourceId, Take};

impl LeaseManager {
    /// Do many machines share the table?
    pub(crate) fn is_clustered(&self) -> bool {
        self.home().cluster().is_some()
    }

    /// Replaces the text of a machine in the registry of nodes by what `renew` makes of it.
    pub(crate) fn publish(
        &self,
        node: &str,
        renew: &dyn Fn(Option<&str>) -> String,
    ) -> Result<(), Error> {
        self.home().cluster().ok_or(Error::NotShared)?.publish(node, renew)
    }

    /// The text of each machine in the registry of nodes, with its name.
    pub(crate) fn published(&self) -> Result<Vec<(String, String)>, Error> {
        self.home().cluster().map_or(Ok(Vec::new()), |cluster| cluster.published())
    }

    /// Claims a lease on a machine: while it is held, this process is present there.
    pub(crate) fn claim_presence(&self, machine: ResourceId, node: &str) -> Result<LeaseId, Error> {
        let holder = format!("{node}:{}", std::process::id());
        let candidates = Candidates::Declared(&[machine]);
        let claim = Claim { candidates, take: Take::Shared, ..Claim::one(&holder, &[]) };
        self.submit_and_wait(&claim).map(|(lease, ())| lease)
    }
}
