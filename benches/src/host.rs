//! `host.OP`: a table in a file that processes share, beside what they share devices with today.

use std::process::ExitCode;

use crate::host_place::{Place, Problem, die_with_parent};
use crate::measure::Sample;
use crate::report::Bench;
use crate::{host_claim, host_crowd, host_death, host_handover, host_state};

type Section = fn(&mut Bench) -> Result<(), Problem>;

const SECTIONS: [(&str, Section); 5] = [
    ("claims", host_claim::run),
    ("state", host_state::run),
    ("hand-over", host_handover::run),
    ("crowd", host_crowd::run),
    ("death", host_death::run),
];

pub fn run(bench: &mut Bench) {
    for (name, section) in SECTIONS {
        if let Err(problem) = section(bench) {
            eprintln!("host: {name} not measured: {problem}");
        }
    }
}

/// What a worker does with its line, and with what it was told when it started.
type Role = fn(&Place, usize, &str) -> Result<(), Problem>;

const ROLES: &[(&str, Role)] = &[
    ("holder", host_state::holder),
    ("receiver", host_handover::receiver),
    ("one_of_many", host_crowd::one_of_many),
    ("victim", host_death::victim),
    ("heir", host_death::heir),
    ("heir_by_flock", host_death::heir_by_flock),
    ("witness", host_death::witness),
    #[cfg(feature = "etcd")]
    ("etcd_waiter", crate::etcd_handover::waiter),
    #[cfg(feature = "etcd")]
    ("etcd_clients", crate::etcd_crowd::clients),
    #[cfg(feature = "etcd")]
    ("etcd_members", crate::etcd_fanout::members),
];

/// A worker: this program again.
pub fn child(role: &str, directory: &str, line: &str, argument: &str) -> ExitCode {
    die_with_parent();
    let play = || -> Result<(), Problem> {
        let known = ROLES.iter().find(|(name, _)| *name == role).ok_or("no such role")?;
        known.1(&Place::of_benchmark(directory)?, line.parse()?, argument)
    };
    match play() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("host: {role}: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// A line, and whether its ratio is what we want.
pub fn line_with_goal(bench: &mut Bench, name: &str, sample: Sample, goal: f64) {
    bench.line(name, sample);
    let reached =
        if sample.ratio.is_some_and(|ratio| ratio >= goal) { "reached" } else { "missed" };
    bench.note(name, &format!("goal: a ratio of {goal} or more: {reached}"));
}
