//! The table, and the processes that share it.

use std::time::Duration;

use ternlease::{HostInfo, LeaseManager, ProcessInfo, ProcessLife};

use super::finding::Finding;
use crate::text::units::duration;
use crate::view::View;
use crate::view::crowd;
use crate::view::words::count;

/// Who has the lock for longer than this does not go on.
const LONG: Duration = Duration::from_secs(1);
/// So many processes are named; the others are counted.
const NAMED: usize = 8;

/// Everything about the table but its devices.
pub fn examine(manager: &LeaseManager, view: Option<&View>) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(host) = manager.host() {
        findings.push(lock(manager, &host));
        findings.extend(processes(&host));
        findings.push(deaths(&host));
    }
    findings.push(integrity(manager));
    findings.push(deadlocks(manager));
    findings.extend(view.map(|view| {
        let (held, waiting) = (view.leases.len(), view.line.len());
        let words = format!("{} held, {} in line", count(held, "lease"), count(waiting, "claim"));
        Finding::ok("leases", words)
    }));
    findings
}

fn lock(manager: &LeaseManager, host: &HostInfo) -> Finding {
    let held = host.lock.map(|lock| {
        let since = manager.tick_count().saturating_sub(lock.since);
        (lock.process, Duration::from_micros(since))
    });
    match held.filter(|(_, time)| *time >= LONG) {
        Some((process, time)) => Finding::bad(
            "lock",
            format!("process {process} has had the table's lock for {}", duration(time)),
            format!(
                "if it is stopped, `kill -CONT {process}`; else end it: what it was changing is undone"
            ),
        ),
        None => Finding::ok("lock", "nobody keeps the table's lock for long"),
    }
}

fn processes(host: &HostInfo) -> Vec<Finding> {
    let own = |process: &&ProcessInfo| process.here && process.process == std::process::id();
    let others: Vec<&ProcessInfo> = host.processes.iter().filter(|process| !own(process)).collect();
    let mut named: Vec<String> = others.iter().take(NAMED).map(|process| name(process)).collect();
    if others.len() > NAMED {
        named.push(format!("and {} more", others.len() - NAMED));
    }
    let words = match others.len() {
        0 => "no process uses the pool now".to_owned(),
        1 => format!("1 process uses the pool: {}", named.join("")),
        all => format!("{all} processes use the pool: {}", named.join("; ")),
    };
    let mut findings = vec![Finding::ok("processes", words)];
    for process in others {
        let (name, leases) = (name(process), count(process.leases as usize, "lease"));
        match process.life {
            ProcessLife::Dying => findings.push(Finding::warn(
                "processes",
                format!("{name} is dying; its {leases} are given back when it is gone"),
                "wait; one with much memory takes long. If it stays, a driver may keep it: see the kernel's log",
            )),
            ProcessLife::Gone => findings.push(Finding::warn(
                "processes",
                format!("{name} is gone, and nobody has taken note of it yet"),
                "the next who uses the pool does",
            )),
            _ => {}
        }
    }
    findings
}

/// `pid 42 (alice: python train.py), 1 lease`.
fn name(process: &ProcessInfo) -> String {
    let who = crowd::who(process);
    let mut words = format!("pid {}", process.process);
    match (&who.user, &who.command, process.here) {
        (Some(user), Some(command), _) => {
            let command = crate::text::table::cut(command, 40);
            words.push_str(&format!(" ({user}: {command})"));
        }
        (Some(user), None, _) => words.push_str(&format!(" ({user})")),
        (None, _, false) => words.push_str(" in another container"),
        (None, _, true) => {}
    }
    if process.life == ProcessLife::Tree {
        words.push_str(" and what it has started");
    }
    if process.leases > 0 {
        words.push_str(&format!(", {}", count(process.leases as usize, "lease")));
    }
    if process.tickets > 0 {
        words.push_str(&format!(", {} in line", process.tickets));
    }
    words
}

fn deaths(host: &HostInfo) -> Finding {
    let words = match (host.deaths, host.roll_backs) {
        (0, 0) => "no process has died with the pool open so far".to_owned(),
        (deaths, 0) => format!("{deaths} found dead so far; what they had was given back"),
        (deaths, undone) => {
            format!("{deaths} found dead so far, and {undone} changes undone that they had begun")
        }
    };
    Finding::ok("deaths", words)
}

fn integrity(manager: &LeaseManager) -> Finding {
    let corrupt = manager.host().is_some_and(|host| host.corrupt);
    let next = "end the processes that use the pool, delete its file, and begin again";
    match manager.verify() {
        Err(wrong) => Finding::bad("table", format!("the table makes no sense: {wrong}"), next),
        Ok(()) if corrupt => Finding::bad("table", "the file is damaged", next),
        Ok(()) => Finding::ok("table", "the table is sound from end to end"),
    }
}

fn deadlocks(manager: &LeaseManager) -> Finding {
    match manager.find_deadlocks() {
        Ok(found) if found.is_empty() => Finding::ok("deadlocks", "nobody waits in a circle"),
        Ok(found) => {
            let stuck: Vec<String> = found.iter().map(|one| one.stuck.join(", ")).collect();
            let words =
                format!("{}: {} can never go on", count(found.len(), "deadlock"), stuck.join("; "));
            Finding::bad("deadlocks", words, "`ternlease deadlocks` says why and what to revoke")
        }
        Err(error) => Finding::bad(
            "deadlocks",
            format!("they cannot be looked for: {error}"),
            "see what is said about the lock and the table",
        ),
    }
}
