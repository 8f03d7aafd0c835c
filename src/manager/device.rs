//! The operations of a manager that a pool of devices needs.

use std::sync::{Arc, Weak};

use super::{LeaseManager, Shared};
use crate::home::Home;
use crate::table::command::{DeviceState, Fail, SetEvidence};
use crate::table::{Error, Health, Reason};

/// A manager that does not keep itself alive.
#[derive(Debug)]
pub(crate) struct WeakManager(Weak<Shared>);

impl WeakManager {
    pub fn upgrade(&self) -> Option<LeaseManager> {
        let shared = self.0.upgrade()?;
        Some(LeaseManager { home: shared.home.clone(), shared })
    }
}

impl LeaseManager {
    pub(crate) fn downgrade(&self) -> WeakManager {
        WeakManager(Arc::downgrade(&self.shared))
    }

    /// Do other processes use the table too?
    pub(crate) fn is_shared(&self) -> bool {
        self.home().is_shared()
    }

    /// The number of this process among those that share the table; 0 if it is alone.
    #[inline(always)]
    pub(crate) fn owner(&self) -> u16 {
        self.home().owner()
    }

    pub(crate) fn has_real_time(&self) -> bool {
        self.home().clock().is_real()
    }

    /// The resource has failed: leases on it are revoked at once.
    pub(crate) fn fail(&self, resource: &str, reason: Reason, by: &str) -> Result<(), Error> {
        self.home().execute(&Fail { resource, reason, by })
    }

    /// Sets the evidence for a resource if its state is still `before`. Returns whether it is.
    pub(crate) fn set_evidence_if(
        &self,
        resource: &str,
        before: DeviceState,
        health: Health,
        unused: bool,
    ) -> Result<bool, Error> {
        // In a cluster a command is a round trip: evidence that the table has is not sent again.
        if self.is_clustered() && before.evidence == health && !(unused && before.cleaning) {
            return Ok(true);
        }
        self.home().execute(&SetEvidence { resource, before, health, unused })
    }
}
