//! `etcd.OP`: a table that etcd keeps, beside bare transactions on the same server: one that is alone, and one that leads two others.
//!
//! Servers, peers and we are on this machine, and share its processors. Servers write to the directory for temporary files and do not wait for the disk:
//! with a disk to wait for, a transaction takes longer, and what we add to it is a smaller part of it. All talk to the server that leads.

#[path = "../../tests/common/etcd.rs"]
mod servers;

use ternlease::{LeaseManager, Limits, Options};

use crate::etcd_peers::Peers;
use crate::host_place::Problem;
use crate::measure::Sample;
use crate::report::Bench;
use crate::{etcd_claim, etcd_crowd, etcd_handover, etcd_renew};
use servers::Etcd;

type Section = fn(&mut Bench, &mut Cluster) -> Result<(), Problem>;

/// With its lines.
const SECTIONS: [(&[&str], Section); 4] = [
    (&["etcd.claim", "etcd.release"], etcd_claim::run),
    (&["etcd.renew", "etcd.state", "etcd.state_of_others"], etcd_renew::run),
    (&["etcd.hand_over_p50", "etcd.hand_over_p90"], etcd_handover::run),
    (&["etcd.grants_1pool", "etcd.grants_1pool_4devices", "etcd.grants_8pools"], etcd_crowd::run),
];

/// One server or several, and what is measured beside us.
pub struct Cluster {
    etcd: Etcd,
    leader: usize,
    size: usize,
    pub peers: Peers,
}

pub fn run(bench: &mut Bench) {
    for size in [1, 3] {
        let wanted = |names: &[&str]| names.iter().any(|name| bench.wants(&line(name, size)));
        let sections: Vec<_> = SECTIONS.iter().filter(|(names, _)| wanted(names)).collect();
        if sections.is_empty() {
            continue;
        }
        let Some(mut cluster) = start(bench, size) else { continue };
        for (names, section) in sections {
            if let Err(problem) = section(bench, &mut cluster) {
                eprintln!("{}: not measured: {problem}", line(names[0], size));
            }
        }
    }
}

fn start(bench: &Bench, size: usize) -> Option<Cluster> {
    let name = line("etcd", size);
    let Some(etcd) = Etcd::cluster(size) else {
        bench.note(&name, "not measured: there is no etcd");
        return None;
    };
    let leader = etcd.leader();
    match Peers::start(bench, &name, &etcd.endpoints()[leader]) {
        Ok(peers) => Some(Cluster { etcd, leader, size, peers }),
        Err(problem) => {
            bench.note(&name, &format!("not measured: {problem}"));
            None
        }
    }
}

/// A name with how many servers there are.
fn line(name: &str, size: usize) -> String {
    format!("{name}.{size}node{}", if size == 1 { "" } else { "s" })
}

impl Cluster {
    pub fn line(&self, name: &str) -> String {
        line(name, self.size)
    }

    /// A table on it.
    pub fn url(&self, table: &str) -> String {
        format!("etcd://{}/{table}", self.etcd.endpoints()[self.leader])
    }

    /// What the server that leads has counted under this name.
    pub fn count(&self, name: &str) -> Result<f64, Problem> {
        self.etcd.count(self.leader, name).ok_or_else(|| format!("etcd has no {name}").into())
    }
}

/// A manager as it would be on another machine: with a connection, a thread and a copy of the table of its own.
pub fn open(url: &str) -> Result<LeaseManager, Problem> {
    let limits = Limits { leases: 256, tickets: 256, resources: 256, history: 256 };
    Ok(LeaseManager::open_with(url, Options::real().limits(limits))?)
}

/// A line beside bare transactions, how many of them ours takes, and whether that is no more than we want.
pub fn line_in_txns(bench: &mut Bench, name: &str, sample: Sample, goal: Option<f64>) {
    bench.line(name, sample);
    let Some(ratio) = sample.ratio else { return };
    let times = 1.0 / ratio;
    let mut text = format!("as long as {times:.2} bare Txns");
    if let Some(goal) = goal {
        let reached = if times <= goal { "reached" } else { "missed" };
        text.push_str(&format!(" (goal: {goal} at most: {reached})"));
    }
    bench.note(name, &text);
}
