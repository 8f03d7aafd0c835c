//! Tables that machines share: the state of the engine, the registry of nodes, and presence.

use std::time::Duration;

use super::LeaseManager;
use crate::home::{ClusterInfo, Home};
use crate::table::{Candidates, Claim, Error, LeaseId, ResourceId, Take};

impl LeaseManager {
    /// Do many machines share the table?
    pub(crate) fn is_clustered(&self) -> bool {
        self.home().cluster().is_some()
    }

    /// How long the engine of a table that machines share has not answered; `None` if it answers,
    /// and for every other table.
    ///
    /// Until it answers again, or the session ends, leases are held as before, and nothing can be
    /// claimed, released or revoked: save the work now.
    ///
    /// ```
    /// assert_eq!(ternlease::LeaseManager::open("process:")?.jeopardy(), None);
    /// # Ok::<(), ternlease::OpenError>(())
    /// ```
    pub fn jeopardy(&self) -> Option<Duration> {
        self.home().cluster()?.unreachable_for()
    }

    /// How long the session with the engine certainly lasts if the engine does not answer again;
    /// `None` for a table without sessions. When it reaches zero, every lease of this process has
    /// expired with [`Reason::EngineLost`](crate::Reason::EngineLost), and other processes may be
    /// granted the same devices.
    ///
    /// ```
    /// assert_eq!(ternlease::LeaseManager::open("process:")?.session_left(), None);
    /// # Ok::<(), ternlease::OpenError>(())
    /// ```
    pub fn session_left(&self) -> Option<Duration> {
        Some(self.home().cluster()?.session_left())
    }

    /// The condition of a table that machines share, and of its etcd, for monitoring. Reads etcd
    /// a few times, and changes nothing.
    ///
    /// ```no_run
    /// let leases = ternlease::LeaseManager::open("etcd://db1,db2,db3/lab")?;
    /// let info = leases.cluster_info()?;
    /// println!("etcd {} reads in {:?}", info.etcd_version, info.read_time);
    /// if let Some(quota) = info.database_quota_bytes {
    ///     println!("{} of {quota} bytes", info.database_bytes);
    /// }
    /// assert!(info.etcd_problems.is_empty(), "{:?}", info.etcd_problems);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotShared`] if machines do not share the table; [`Error::Unavailable`] if etcd does
    /// not answer; [`Error::Corrupt`].
    pub fn cluster_info(&self) -> Result<ClusterInfo, Error> {
        self.home().cluster().ok_or(Error::NotShared)?.info()
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
