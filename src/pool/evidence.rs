//! What evidence about a device means for its health. Pure: it is told what was seen, and when.

use std::fmt::Write;
use std::time::{Duration, Instant};

use crate::inventory::{Observation, Process, ProcessKind};
use crate::table::Health;

/// What evidence about a device means for its health. See [`PoolOptions::rules`](super::PoolOptions::rules).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// A device without a lease is clean if at most so much of its memory (MiB) is used beside what programs that draw use: drivers
    /// keep some for themselves.
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

/// How a device is, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Judgement {
    pub health: Health,
    pub trouble: Option<String>,
    /// Leases on it cannot go on.
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

/// What is remembered of a device from one look to the next.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    /// Its last fault, and when it was last seen to have one.
    fault: Option<(String, Instant)>,
    /// How many faults it had so far.
    pub faults: u64,
    /// Something of its use has been seen: from then on nothing to be seen is not the same as unused.
    told: bool,
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

    /// What its last fault was, until it has recovered.
    pub fn last_fault(&self) -> Option<&str> {
        self.fault.as_ref().map(|(what, _)| what.as_str())
    }

    /// How the device is by what was seen. `checks`: whether it must be clean to be handed out.
    pub fn judge(
        &mut self,
        seen: &Observation,
        leased: bool,
        checks: bool,
        rules: &Rules,
        now: Instant,
    ) -> Judgement {
        let use_of_it = use_of(seen, rules);
        self.note_use(use_of_it.as_deref().ok(), leased, seen, now);
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
        if checks && !leased && self.told && !tells(seen) {
            return Judgement::draining("it cannot be seen whether it is in use".to_owned());
        }
        match (use_of_it, self.dirty_since) {
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
        self.told |= tells(seen);
        let idle = leased && used.is_none() && tells(seen) && seen.busy.unwrap_or(0) == 0;
        self.idle_since = if idle { self.idle_since.or(Some(now)) } else { None };
    }
}

/// Can anything be seen of its use?
pub(super) fn tells(seen: &Observation) -> bool {
    seen.memory_used.is_some() || seen.processes.is_some()
}

/// By what a device is used, in words; `Err` if by nothing that could be seen.
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
