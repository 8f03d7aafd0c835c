//! What a pool of devices needs of a manager beyond what everybody may ask.

use std::sync::{Arc, Weak};

use super::{LeaseManager, Shared, Span};
use crate::home::{WeakHome, look, peek, run};
use crate::table::{Error, Health, LeaseId, Reason, ResourceId, ResourceInfo, Time, Traits};

/// How a device is, as far as it matters whether something about it has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct State {
    pub evidence: Health,
    pub leased: bool,
    /// It drains because its last lease ended.
    pub cleaning: bool,
}

impl From<ResourceInfo> for State {
    fn from(info: ResourceInfo) -> Self {
        let leased = info.used_slots != 0 || info.used_memory != 0 || info.shared != 0;
        State { evidence: info.evidence, leased, cleaning: info.cleaning }
    }
}

/// A manager that does not keep itself alive.
#[derive(Debug)]
pub(crate) struct WeakManager {
    home: WeakHome,
    shared: Weak<Shared>,
}

impl WeakManager {
    pub fn upgrade(&self) -> Option<LeaseManager> {
        Some(LeaseManager { home: self.home.upgrade()?, shared: self.shared.upgrade()? })
    }
}

impl LeaseManager {
    pub(crate) fn downgrade(&self) -> WeakManager {
        WeakManager { home: self.home.downgrade(), shared: Arc::downgrade(&self.shared) }
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

    /// The span in the unit of this manager's clock.
    #[inline(always)]
    pub(crate) fn measure(&self, span: Span) -> Result<Time, Error> {
        self.home().clock().measure(span)
    }

    pub(crate) fn has_real_time(&self) -> bool {
        self.home().clock().is_real()
    }

    /// The resource has failed: leases on it are revoked at once.
    pub(crate) fn fail(&self, resource: &str, reason: Reason, by: &str) -> Result<(), Error> {
        run!(self.home(), |table, now| {
            let id = table.resource_id(resource).ok_or(Error::UnknownResource)?;
            table.fail(now, id, reason, by)
        })
    }

    pub(crate) fn uncheck(&self, id: ResourceId, resource: &str) -> Result<(), Error> {
        run!(self.home(), |table, now| {
            let info = table.resource(resource).ok_or(Error::UnknownResource)?;
            table.set_traits(now, id, Traits { checked: false, ..info.traits })
        })
    }

    /// How these are, all at one moment.
    pub(crate) fn device_states(&self, resources: &[String]) -> Vec<Option<State>> {
        look!(self.home(), |table| {
            resources.iter().map(|name| table.resource(name).map(State::from)).collect()
        })
    }

    /// Tells what was seen of a resource, if its state is still what it was then; whether it is.
    pub(crate) fn set_evidence_if(
        &self,
        resource: &str,
        before: State,
        health: Health,
        unused: bool,
    ) -> Result<bool, Error> {
        // Where each command is a journey, what is known already is not told again.
        if self.is_clustered() && before.evidence == health && !(unused && before.cleaning) {
            return Ok(true);
        }
        run!(self.home(), |table, now| {
            table.advance(now)?;
            let id = table.resource_id(resource).ok_or(Error::UnknownResource)?;
            if table.resource(resource).map(State::from) != Some(before) {
                return Ok(false);
            }
            table.set_evidence(now, id, health, unused).map(|()| true)
        })
    }

    /// How many claims wait for resources of which this is true.
    pub(crate) fn waiting_for(&self, is_one: impl Fn(ResourceId) -> bool) -> usize {
        look!(self.home(), |table| table.waiting_for(is_one))
    }

    /// Tells what a lease holds, in the claim's order.
    #[inline(always)]
    pub(crate) fn each_resource_of(&self, id: LeaseId, each: impl FnMut(ResourceId)) {
        peek!(self.home(), |table| table.each_resource_of(id, each));
    }
}
