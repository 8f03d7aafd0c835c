//! What a pool of many machines needs of a manager.

use super::LeaseManager;
use crate::home::Home;
use crate::table::{Candidates, Claim, Error, LeaseId, ResourceId, Take};

impl LeaseManager {
    /// Do many machines share the table?
    pub(crate) fn is_clustered(&self) -> bool {
        self.home().cluster().is_some()
    }

    /// Replaces what a machine has published by what `renew` makes of it.
    pub(crate) fn publish(
        &self,
        node: &str,
        renew: &dyn Fn(Option<&str>) -> String,
    ) -> Result<(), Error> {
        self.home().cluster().ok_or(Error::NotShared)?.publish(node, renew)
    }

    /// What all machines have published, each with its name.
    pub(crate) fn published(&self) -> Result<Vec<(String, String)>, Error> {
        self.home().cluster().map_or(Ok(Vec::new()), |cluster| cluster.published())
    }

    /// A lease that says that this process is on a machine, for as long as it lives.
    pub(crate) fn claim_presence(&self, machine: ResourceId, node: &str) -> Result<LeaseId, Error> {
        let holder = format!("{node}:{}", std::process::id());
        let candidates = Candidates::Declared(&[machine]);
        let claim = Claim { candidates, take: Take::Shared, ..Claim::one(&holder, &[]) };
        self.submit_and_wait(&claim).map(|(lease, ())| lease)
    }
}
