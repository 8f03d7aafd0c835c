//! `etcd.OP`: a table that etcd keeps, beside bare transactions of the same client on the same
//! etcd: one server that is alone, and one that leads two others.
//!
//! Servers, members and bare clients share the processors of this machine. Servers wait for the
//! disk of the directory for temporary files, as they do by default; the same is measured without
//! that (`nofsync`), where a transaction takes so little that it counts what the client adds. All
//! talk to the server that leads.

#[path = "../../tests/common/etcd.rs"]
mod servers;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use ternlease::{LeaseManager, Limits, Options};

use crate::etcd_peers::Peers;
use crate::etcd_table::{Goal, Table};
use crate::host_place::Problem;
use crate::measure::{Sample, Unit, median, wall_now};
use crate::report::{Bench, figure};
use crate::{etcd_claim, etcd_crowd, etcd_fanout, etcd_handover, etcd_large, etcd_renew};
use servers::{Etcd, Setup};

type Run = fn(&mut Bench, &mut Cluster) -> Result<(), Problem>;

struct Section {
    /// Its lines.
    names: &'static [&'static str],
    run: Run,
    /// It measures what processors do, to which a disk adds nothing.
    any_disk: bool,
}

const SECTIONS: [Section; 6] = [
    Section { names: &["etcd.claim", "etcd.release"], run: etcd_claim::run, any_disk: false },
    Section {
        names: &[
            "etcd.hand_over_p50",
            "etcd.hand_over_p90",
            "etcd.hand_over_idle",
            "etcd.hand_over_idle_busy",
        ],
        run: etcd_handover::run,
        any_disk: false,
    },
    Section {
        names: &[
            "etcd.grants_4x8_32devices",
            "etcd.grants_4x8_4devices",
            "etcd.grants_1x32",
            "etcd.grants_32x1",
            "etcd.grants_8pools",
            "etcd.grants_8tables",
        ],
        run: etcd_crowd::run,
        any_disk: false,
    },
    Section {
        names: &["etcd.renew", "etcd.state", "etcd.state_of_others"],
        run: etcd_renew::run,
        any_disk: false,
    },
    Section {
        names: &["etcd.fanout_0", "etcd.fanout_100", "etcd.fanout_1000", "etcd.fanout_waiting"],
        run: etcd_fanout::run,
        any_disk: true,
    },
    Section {
        names: &["etcd.large_join", "etcd.large_grant"],
        run: etcd_large::run,
        any_disk: true,
    },
];

/// One server or several, and what is measured beside us.
pub struct Cluster {
    etcd: Etcd,
    leader: usize,
    kind: Kind,
    pub peers: Peers,
    pub table: Table,
}

#[derive(Clone, Copy)]
struct Kind {
    size: usize,
    /// Servers wait for their disk.
    to_disk: bool,
}

impl Kind {
    fn line(self, name: &str) -> String {
        let Kind { size, to_disk } = self;
        let plural = if size == 1 { "" } else { "s" };
        format!("{name}.{size}node{plural}{}", if to_disk { "" } else { "_nofsync" })
    }

    fn title(self) -> String {
        let nodes = if self.size == 1 { "1 node" } else { "3 nodes" };
        format!("{nodes}{}", if self.to_disk { "" } else { ", no fsync" })
    }
}

pub fn run(bench: &mut Bench) {
    let mut table = Table::default();
    for (to_disk, size) in [(true, 1), (true, 3), (false, 1), (false, 3)] {
        let kind = Kind { size, to_disk };
        let wanted = |section: &&Section| {
            let mut names = section.names.iter();
            (to_disk || !section.any_disk) && names.any(|name| bench.wants(&kind.line(name)))
        };
        let sections: Vec<&Section> = SECTIONS.iter().filter(wanted).collect();
        if sections.is_empty() {
            continue;
        }
        table.column(&kind.title(), to_disk);
        let Some(mut cluster) = start(bench, kind, std::mem::take(&mut table)) else { return };
        for section in sections {
            if let Err(problem) = (section.run)(bench, &mut cluster) {
                bench.note(&kind.line(section.names[0]), &format!("not measured: {problem}"));
            }
        }
        table = cluster.table;
    }
    table.print();
}

fn start(bench: &mut Bench, kind: Kind, table: Table) -> Option<Cluster> {
    let name = kind.line("etcd.txn");
    let setup = Setup { to_disk: kind.to_disk, ..Setup::default() };
    let Some(etcd) = Etcd::start_with(kind.size, setup) else {
        bench.note(&name, "not measured: there is no etcd");
        return None;
    };
    let leader = etcd.leader();
    let endpoint = etcd.endpoints().swap_remove(leader);
    let made = Peers::start(&endpoint).and_then(|peers| {
        let mut cluster = Cluster { etcd, leader, kind, peers, table };
        if kind.to_disk {
            let taken = figure(disk(&cluster)?, Unit::Nanoseconds);
            bench.note(&name, &format!("fdatasync of 4 kB where etcd writes takes {taken}"));
        }
        cluster.peers.show(bench, &name, &endpoint, etcd_crowd::CLIENTS)?;
        Ok(cluster)
    });
    made.inspect_err(|problem| bench.note(&name, &format!("not measured: {problem}"))).ok()
}

/// How long the disk takes to keep a block of a file that is long enough, in nanoseconds.
fn disk(cluster: &Cluster) -> Result<f64, Problem> {
    let path = cluster.etcd.directory().join("probe");
    let file = File::create(&path)?;
    // The log of etcd has its length from the start, too.
    file.write_all_at(&[0; 100 * 4096], 0)?;
    file.sync_all()?;
    let mut times = Vec::new();
    for place in 0..100 {
        file.write_all_at(&[0; 4096], place * 4096)?;
        let start = wall_now();
        file.sync_data()?;
        times.push((wall_now() - start) as f64);
    }
    fs::remove_file(path)?;
    Ok(median(times))
}

impl Cluster {
    pub fn line(&self, name: &str) -> String {
        self.kind.line(name)
    }

    /// Where the server that leads listens.
    pub fn endpoint(&self) -> String {
        self.etcd.endpoints().swap_remove(self.leader)
    }

    /// A table on it.
    pub fn url(&self, table: &str) -> String {
        url(&self.endpoint(), table)
    }

    /// What the server that leads has counted under this name.
    pub fn count(&self, name: &str) -> Result<f64, Problem> {
        self.etcd.count(self.leader, name).ok_or_else(|| format!("etcd has no {name}").into())
    }

    /// Nanoseconds of processors that the servers have used.
    pub fn processor_time(&self) -> Result<f64, Problem> {
        let used = |index| -> Result<f64, Problem> {
            let text = fs::read_to_string(format!("/proc/{}/stat", self.etcd.pid(index)))?;
            // The name of the program, in parentheses, may contain anything.
            let fields = text.rsplit_once(')').ok_or("a process without a name")?.1;
            let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
            Ok(ticks.sum::<Result<f64, _>>()? * nanoseconds_per_tick())
        };
        (0..self.kind.size).map(used).sum()
    }

    /// A line beside bare transactions, and a row that says how many of them ours takes.
    pub fn in_txns(
        &mut self,
        bench: &mut Bench,
        name: &str,
        what: &str,
        sample: Sample,
        goal: Option<f64>,
    ) {
        bench.line(&self.line(name), sample);
        let Some(ratio) = sample.ratio else { return };
        match goal {
            Some(goal) => self.table.judged(what, 1.0 / ratio, Goal::AtMost(goal)),
            None => self.table.told(what, 1.0 / ratio, Unit::Factor),
        }
    }
}

fn nanoseconds_per_tick() -> f64 {
    // SAFETY: takes no pointers.
    1e9 / unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64
}

/// With a member of its own, as a process on another machine has one.
pub fn url(endpoint: &str, table: &str) -> String {
    format!("etcd://{endpoint}/{table}?member=own")
}

pub fn open(url: &str) -> Result<LeaseManager, Problem> {
    open_with(url, Limits { leases: 256, tickets: 256, resources: 256, history: 256 })
}

pub fn open_with(url: &str, limits: Limits) -> Result<LeaseManager, Problem> {
    Ok(LeaseManager::open_with(url, Options::real().limits(limits))?)
}
