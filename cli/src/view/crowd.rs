//! Who is behind the numbers of a table.

use std::collections::HashMap;
use std::fs;

use ternlease::{
    Event, HostInfo, LeaseId, LeaseInfo, LeaseManager, ProcessInfo, ProcessLife, TicketId, Time,
    What,
};

use crate::people;

/// The process that holds a lease or waits, as far as it can be seen from here. What is not known is `None`, and never a guess.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Who {
    /// Its number, here.
    pub pid: Option<u32>,
    /// Whose it is.
    pub user: Option<String>,
    /// What it runs.
    pub command: Option<String>,
}

/// All processes that use a table.
#[derive(Debug, Default)]
pub struct Crowd {
    by_owner: HashMap<u16, Who>,
    /// For whom processes keep leases, by the lease.
    kept_for: HashMap<LeaseId, Who>,
}

impl Crowd {
    /// Those who use this file; nobody if the table is not shared.
    pub fn of(host: Option<&HostInfo>) -> Self {
        let processes = host.map_or(&[][..], |host| &host.processes);
        let by_owner: HashMap<u16, Who> =
            processes.iter().map(|process| (process.owner, who(process))).collect();
        // Only a process that uses the table, and is seen here, can keep a lease of it.
        let keepers = by_owner.values().filter_map(|who| who.pid);
        let kept_for = keepers.filter_map(kept_by).collect();
        Crowd { by_owner, kept_for }
    }

    /// The process of this number in the table, which has this lease. A lease of `claim` or `adopt` is shown as that of the
    /// process that it is for: the one that claimed it has ended.
    pub fn who_has(&self, owner: u16, lease: LeaseId) -> Who {
        let who = self.who(owner);
        match who == Who::default() {
            true => self.kept_for.get(&lease).cloned().unwrap_or_default(),
            false => who,
        }
    }

    /// The process of this number in the table.
    pub fn who(&self, owner: u16) -> Who {
        self.by_owner.get(&owner).cloned().unwrap_or_default()
    }
}

/// What can be seen of a process that uses the table.
pub fn who(process: &ProcessInfo) -> Who {
    let Some(pid) = visible(process) else { return Who::default() };
    let people::Person { user, command } = people::of(pid);
    Who { pid: Some(pid), user, command }
}

/// The number of a process, if it is the same process here.
fn visible(process: &ProcessInfo) -> Option<u32> {
    let pid = process.process;
    // In another container the same number is somebody else's, and so it is after its process has gone.
    let is_visible = process.here
        && process.life != ProcessLife::Gone
        && started(pid).is_some_and(|at| at <= process.since);
    is_visible.then_some(pid)
}

/// Which leases are those of the user who runs this command. What is not known is not theirs.
#[derive(Debug)]
pub struct Users {
    own: Option<u32>,
    host: Option<HostInfo>,
    /// Only this process uses the table.
    is_alone: bool,
    events: Vec<Event>,
}

impl Users {
    /// Of a table, now.
    pub fn of(manager: &LeaseManager) -> Self {
        let host = manager.host();
        // Principals of a cluster are not users of this machine.
        let is_alone = host.is_none() && manager.session_left().is_none();
        let events = host.as_ref().map_or(Vec::new(), |_| manager.events_since(0).0);
        Users { own: people::uid_of(std::process::id()), host, is_alone, events }
    }

    /// Is it a lease of the caller's user?
    pub fn is_own(&self, info: &LeaseInfo) -> bool {
        if self.is_alone {
            return true;
        }
        let (Some(own), Some(host)) = (self.own, &self.host) else { return false };
        let Some(owner) = host.processes.iter().find(|process| process.owner == info.owner) else {
            return false;
        };
        if owner.life != ProcessLife::Tree {
            return visible(owner).and_then(people::uid_of) == Some(own);
        }
        // A lease of `claim` or `adopt`: of who claimed it, or, if that is forgotten, who keeps it.
        match self.claimer(info.id) {
            Some(uid) => owner.here && uid == own,
            None => host.processes.iter().filter_map(visible).any(|pid| {
                people::uid_of(pid) == Some(own)
                    && kept_by(pid).is_some_and(|(lease, _)| lease == info.id)
            }),
        }
    }

    /// The user whose process claimed a lease, as long as the event is remembered.
    fn claimer(&self, id: LeaseId) -> Option<u32> {
        let granted = self.events.iter().find_map(|event| match event.what {
            What::Granted { lease, ticket } if lease == id => Some((event, ticket)),
            _ => None,
        });
        let claimed = match granted? {
            (event, None) => event,
            (_, Some(ticket)) => self.queued(ticket)?,
        };
        Some(claimed.actor?.principal)
    }

    fn queued(&self, id: TicketId) -> Option<&Event> {
        let is_it = |event: &&Event| matches!(event.what, What::Queued { ticket } if ticket == id);
        self.events.iter().find(is_it)
    }
}

/// The lease that a process keeps for another one, and that other one: what it was started with says so.
fn kept_by(keeper: u32) -> Option<(LeaseId, Who)> {
    let bytes = fs::read(format!("/proc/{keeper}/cmdline")).ok()?;
    let words: Vec<&str> =
        bytes.split(|byte| *byte == 0).filter_map(|word| std::str::from_utf8(word).ok()).collect();
    let value = |option: &str| {
        let at = words.iter().position(|word| *word == option)?;
        words.get(at + 1)?.parse::<u64>().ok()
    };
    if words.first() != Some(&"ternlease") || !words.contains(&"hold") {
        return None;
    }
    let (lease, pid) = (LeaseId(value("--lease")?), u32::try_from(value("--owner")?).ok()?);
    let people::Person { user, command } = people::of(pid);
    Some((lease, Who { pid: Some(pid), user, command }))
}

/// When a process was started, by the clock of shared tables: microseconds since the machine started.
fn started(pid: u32) -> Option<Time> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Its name may contain anything, brackets and blanks included; what comes after the last bracket does not.
    let fields = stat.rsplit_once(')')?.1;
    let ticks: u64 = fields.split_ascii_whitespace().nth(19)?.parse().ok()?;
    // SAFETY: asks for a constant of the system.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    let per_second = u64::try_from(per_second).ok().filter(|&rate| rate > 0)?;
    ticks.checked_mul(1_000_000)?.checked_div(per_second)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn myself() -> ProcessInfo {
        ProcessInfo {
            process: std::process::id(),
            here: true,
            owner: 1,
            life: ProcessLife::Lives,
            since: Time::MAX,
            leases: 0,
            tickets: 0,
        }
    }

    #[test]
    fn a_process_is_named_only_if_it_is_the_one() {
        let seen = who(&myself());
        assert_eq!(seen.pid, Some(std::process::id()));
        assert!(seen.user.is_some() && seen.command.is_some());
        for other in [
            ProcessInfo { here: false, ..myself() },
            ProcessInfo { life: ProcessLife::Gone, ..myself() },
            // What has its number now was started after it had come.
            ProcessInfo { since: 0, ..myself() },
            ProcessInfo { process: u32::MAX, ..myself() },
        ] {
            assert_eq!(who(&other), Who::default(), "{other:?}");
        }
    }
}
