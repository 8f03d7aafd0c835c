//! `cost.…`: what the cost model says, beside what is true, and beside what its peer says.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use ternlease::MachCap;
use ternlease::cost::{ReadOptions, Source};

use crate::cost_coren::{Coren, Said};
use crate::cost_kernels::{Case, DIVISORS, KERNELS};
use crate::host_place::Problem;
use crate::report::Bench;
use crate::{cost_decide, cost_predict, cost_probe, cost_reference};

pub fn run(bench: &mut Bench) {
    if let Err(problem) = predictions_and_decisions(bench) {
        bench.note("cost.predict", &format!("not measured: {problem}"));
    }
    if let Err(problem) = cost_probe::run(bench) {
        bench.note("cost.probe", &format!("not measured: {problem}"));
    }
    if let Err(problem) = cost_reference::run(bench) {
        bench.note("cost.reference", &format!("not measured: {problem}"));
    }
}

/// This machine, measured now.
pub fn machine() -> Result<MachCap, Problem> {
    Ok(MachCap::read_with(".", ReadOptions::new().refresh())?)
}

/// A case, what it took, and what was said of it beforehand.
pub struct Known {
    pub case: Case,
    /// Nanoseconds of each run, in order.
    pub runs: Vec<u64>,
    /// Nanoseconds, by the rates alone.
    pub predicted: u64,
    /// The peer's, in nanoseconds, if it says something.
    pub peer: Option<f64>,
}

impl Known {
    /// Nanoseconds of the best run.
    pub fn best(&self) -> u64 {
        self.runs.iter().copied().min().unwrap_or(1).max(1)
    }
}

pub fn cases() -> Vec<Case> {
    let sizes = |kernel| DIVISORS.map(|divisor| Case { kernel, divisor });
    KERNELS.into_iter().flat_map(sizes).collect()
}

fn predictions_and_decisions(bench: &mut Bench) -> Result<(), Problem> {
    let decide = cost_decide::wanted(bench);
    // What is decided depends on all of them, and so does a mean.
    let all = decide || bench.wants(cost_predict::MEAN);
    let wanted = |case: &Case| all || bench.wants(&cost_predict::name(*case));
    let cases: Vec<Case> = cases().into_iter().filter(wanted).collect();
    if cases.is_empty() {
        return Ok(());
    }
    let peer = match ask_peer(&cases) {
        Ok(peer) => Some(peer),
        Err(problem) => {
            bench.note("cost", &format!("without a peer: {problem}"));
            None
        }
    };
    let machine = machine()?;
    bench.note("cost.predict", &sources(&machine));
    let runs = if bench.quick { 5 } else { 9 };
    let networks = cost_decide::NETWORKS.len();
    let know = |(number, &case): (usize, &Case)| Known {
        case,
        predicted: machine.untaught_time(case.task()),
        runs: case.measure(runs),
        peer: peer.as_ref().map(|peer| peer[number * networks].seconds * 1e9),
    };
    let known: Vec<Known> = cases.iter().enumerate().map(know).collect();
    cost_predict::report(bench, &machine, &known);
    if decide {
        cost_decide::report(bench, &machine, &known, peer.as_deref());
    }
    Ok(())
}

/// Which rates the predictions rest on that nobody measured well: on a busy machine there may be some, and one that was estimated may
/// look right by chance.
fn sources(machine: &MachCap) -> String {
    let rates = machine.rates.named();
    let doubtful = rates.iter().filter(|(_, rate)| rate.source != Source::Measured);
    let words: Vec<String> =
        doubtful.map(|(name, rate)| format!("{name} {}", rate.source.name())).collect();
    match words.is_empty() {
        true => "all rates were measured".to_owned(),
        false => format!("rates that were not measured well: {}", words.join(", ")),
    }
}

/// What the peer says of each case with each network, in the order of the cases and within it of the networks.
fn ask_peer(cases: &[Case]) -> Result<Vec<Said>, Problem> {
    let networks = cost_decide::NETWORKS.iter();
    let questions: Vec<(Case, u64)> = cases
        .iter()
        .flat_map(|&case| networks.clone().map(move |network| (case, network.mbps)))
        .collect();
    Ok(Coren::build()?.ask(&questions)?.1)
}

/// How far a prediction is from what was measured, whichever is larger: 1 is perfect.
pub fn error(predicted: f64, measured: f64) -> f64 {
    (predicted / measured).max(measured / predicted)
}

/// The mean of factors, as factors are meant: twice and half are as far.
pub fn geometric_mean(factors: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) = factors.into_iter().fold((0.0, 0), |(s, n), f: f64| (s + f.ln(), n + 1));
    (sum / f64::from(count.max(1))).exp()
}

pub fn reached(yes: bool) -> &'static str {
    if yes { "reached" } else { "missed" }
}

/// An empty directory on a disk, gone afterwards.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Result<Scratch, Problem> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("cost-{name}.{}.{number}", std::process::id());
        // Not the directory for temporary files, which is often in memory.
        let directory = std::path::absolute(crate::report::target_directory())?.join(name);
        std::fs::create_dir_all(&directory)?;
        Ok(Scratch(directory))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
