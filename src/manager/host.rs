//! Operations of tables that processes share.

use super::LeaseManager;
use crate::home::{Home, HostInfo, Inherited};
use crate::table::{Error, LeaseId};

impl LeaseManager {
    /// The file of the table, the processes that use it, and its condition; `None` if the table
    /// belongs to this process alone.
    ///
    /// ```
    /// # let file = std::env::temp_dir().join(format!("ternlease-doc-host-{}", std::process::id()));
    /// # let url = format!("host:{}", file.display());
    /// use ternlease::LeaseManager;
    ///
    /// let manager = LeaseManager::open(&url)?; // "host:/path/of/a/file"
    /// let info = manager.host().expect("the table is shared");
    /// assert_eq!(info.processes[0].process, std::process::id());
    /// assert!(LeaseManager::open("process:")?.host().is_none());
    /// # drop(manager);
    /// # std::fs::remove_file(file)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn host(&self) -> Option<HostInfo> {
        self.home().host().map(|host| host.info())
    }

    /// Calls `act` while no thread of this process runs a command; other threads wait meanwhile.
    /// For a process that is about to stop itself, as a job does when its user presses Ctrl-Z: a
    /// process that stops during a command blocks all others until it continues.
    ///
    /// `act` must not call this manager, nor another on the same table: that is a deadlock.
    pub fn at_rest(&self, act: impl FnOnce()) {
        let mut act = Some(act);
        self.home().at_rest(&mut || {
            if let Some(act) = act.take() {
                act();
            }
        });
    }

    /// Transfers the lease to a tree of processes: it is held as long as any process has the
    /// returned descriptor open. Programs and children that this process starts from now on inherit
    /// it. When the last of them is gone, the lease ends as if its holder had died.
    ///
    /// For a launcher that claims a lease for a program: the launcher may end before the program.
    ///
    /// # Errors
    ///
    /// [`Error::NotShared`] if the table belongs to this process alone; [`Error::OtherPrincipal`]
    /// if the lease belongs to another user, unless this process is root's; [`Error::NotHeld`];
    /// [`Error::UnknownLease`]; [`Error::System`].
    pub fn keep_for_children(&self, lease: LeaseId) -> Result<Inherited, Error> {
        self.home().host().ok_or(Error::NotShared)?.keep_for_children(lease)
    }

    /// Transfers the lease to another process that uses the table, by the number that it has there
    /// ([`ProcessInfo::process`](crate::ProcessInfo::process)): it ends with that process, and not
    /// with this one. For a server that claims leases for its clients.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownProcess`] if no such process uses the table; [`Error::OtherPrincipal`] if
    /// the lease belongs to another user, unless this process is root's; [`Error::NotShared`];
    /// [`Error::NotHeld`]; [`Error::UnknownLease`].
    pub fn hand_to(&self, lease: LeaseId, process: u32) -> Result<(), Error> {
        self.home().host().ok_or(Error::NotShared)?.transfer(lease, process)
    }
}
