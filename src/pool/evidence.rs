//! The rules by which observations of a device determine its health. Pure: observations and times
//! are arguments.

use std::fmt::Write;
use std::time::{Duration, Instant};

use crate::inventory::{Observation, Process, ProcessKind};
use crate::table::Health;

/// The rules by which observations of a device determine its health. See
/// [`PoolOptions::rules`](super::PoolOptions::rules).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// A device without a lease is clean if at most so much of its memory (MiB) is in use beside
    /// the memory of graphics programs. Drivers keep some for themselves.
    pub clean_memory: u32,
    /// A device that is not clean after so long has failed.
    pub drain_limit: Duration,
    /// A device that had a fault is healthy again after so long without another.
    pub recovery: Duration,
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            clean_memory: 512,
            drain_limit: Duration::from_secs(60),
            recovery: Duration::from_secs(30),
        }
    }
}

/// The health of a device, and the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Judgement {
    pub health: Health,
    pub trouble: Option<String>,
    /// Leases on the device must be revoked.
    pub fault: bool,
}

impl Judgement {
    pub const HEALTHY: Judgement =
        Judgement { health: Health::Healthy, trouble: None, fault: false };

    fn draining(trouble: String) -> Self {
        Judgement { health: Health::Draining, trouble: Some(trouble), fault: false }
    }

    fn failed(trouble: String, fault: bool) -> Self {
        Judgement { health: Health::Failed, trouble: Some(trouble), fault }
    }
}

/// What is kept of a device between observations.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    /// The last fault, and when it was observed last.
    fault: Option<(String, Instant)>,
    /// How many faults it had so far.
    pub faults: u64,
    /// Its use was visible once: from then on an observation without use does not mean unused.
    use_was_visible: bool,
    /// Since when it has no lease and is not clean.
    pub dirty_since: Option<Instant>,
    /// Since when it has a lease and is not used.
    pub idle_since: Option<Instant>,
}

impl Memory {
    /// The device reported a fault.
    pub fn note_fault(&mut self, what: &str, now: Instant) -> Judgement {
        self.fault = Some((what.to_owned(), now));
        self.faults += 1;
        Judgement::failed(what.to_owned(), true)
    }

    /// The last fault, until the device has recovered.
    pub fn last_fault(&self) -> Option<&str> {
        self.fault.as_ref().map(|(what, _)| what.as_str())
    }

    /// The health that follows from an observation. `checks`: must the device be clean before a
    /// lease?
    pub fn judge(
        &mut self,
        seen: &Observation,
        leased: bool,
        checks: bool,
        rules: &Rules,
        now: Instant,
    ) -> Judgement {
        let used_by = use_of(seen, rules);
        self.note_use(used_by.as_deref().ok(), leased, seen, now);
        if seen.health == Health::Failed {
            let trouble = seen.trouble.as_deref().unwrap_or("the driver says that it has failed");
            return self.note_fault(trouble, now);
        }
        if let Some((what, at)) = &self.fault {
            if now.saturating_duration_since(*at) < rules.recovery {
                return Judgement::failed(format!("{what}; watched until it recovers"), false);
            }
            self.fault = None;
        }
        if seen.health == Health::Draining {
            let trouble = seen.trouble.as_deref().unwrap_or("nothing can be seen of it");
            return Judgement::draining(trouble.to_owned());
        }
        if checks && !leased && self.use_was_visible && !shows_use(seen) {
            return Judgement::draining("it cannot be seen whether it is in use".to_owned());
        }
        match (used_by, self.dirty_since) {
            (Ok(used), Some(since)) if checks && !leased => {
                let dirty_for = now.saturating_duration_since(since);
                if dirty_for >= rules.drain_limit {
                    let trouble =
                        format!("still in use {dirty_for:.0?} after its last lease: {used}");
                    Judgement::failed(trouble, false)
                } else {
                    Judgement::draining(format!("in use without a lease: {used}"))
                }
            }
            _ => Judgement::HEALTHY,
        }
    }

    fn note_use(&mut self, used: Option<&str>, leased: bool, seen: &Observation, now: Instant) {
        let dirty = used.is_some() && !leased;
        self.dirty_since = if dirty { self.dirty_since.or(Some(now)) } else { None };
        self.use_was_visible |= shows_use(seen);
        let idle = leased && used.is_none() && shows_use(seen) && seen.busy.unwrap_or(0) == 0;
        self.idle_since = if idle { self.idle_since.or(Some(now)) } else { None };
    }
}

/// Does the observation show its use?
pub(super) fn shows_use(seen: &Observation) -> bool {
    seen.memory_used.is_some() || seen.processes.is_some()
}

/// The visible use of a device, as text; `Err` if there is none.
fn use_of(seen: &Observation, rules: &Rules) -> Result<String, ()> {
    let processes = seen.processes.as_deref().unwrap_or_default();
    let computing: Vec<&Process> =
        processes.iter().filter(|process| process.kind == ProcessKind::Compute).collect();
    let drawing: u32 = processes
        .iter()
        .filter(|process| process.kind == ProcessKind::Graphics)
        .filter_map(|process| process.memory)
        .fold(0, u32::saturating_add);
    let allowed = drawing.saturating_add(rules.clean_memory);
    let used = seen.memory_used.filter(|used| *used > allowed);
    match (computing.is_empty(), used) {
        (true, None) => Err(()),
        (true, Some(used)) => Ok(format!("{used} MiB by no process that can be seen")),
        (false, _) => {
            let mut text = String::new();
            for process in computing {
                let link = if text.is_empty() { "" } else { ", " };
                // Writing to a string does not fail.
                let _ = write!(text, "{link}{process}");
            }
            Ok(text)
        }
    }
}

/// The processes that compute on a device that has no lease.
pub(super) fn squatters(seen: &Observation, leased: bool) -> Vec<Process> {
    let processes = seen.processes.iter().flatten();
    let computing = processes.filter(|process| process.kind == ProcessKind::Compute && !leased);
    computing.cloned().collect()
}

#[cfg(test)]
mod tests;
