//! `cost.probe.…`: what measuring a machine costs, and whether it gives the same twice. Each time in a process of its own, in an empty
//! directory.

use std::path::Path;
use std::process::{Command, ExitCode};

use crate::cost::{Scratch, machine, reached};
use crate::cost_coren::{Coren, Reading};
use crate::host_place::{Problem, die_with_parent};
use crate::measure::{Sample, Unit, median, wall_now};
use crate::report::{Bench, figure};

const TIME: &str = "cost.probe.time";
const MEMORY: &str = "cost.probe.memory";
const FILES: &str = "cost.probe.files";
const REPEATED: &str = "cost.probe.repeatability";

const TIME_GOAL: f64 = 300e6;
const MEMORY_GOAL: f64 = 256e6;

const READS: usize = 10;

/// What one process said of its reading.
struct Read {
    nanoseconds: f64,
    peak_bytes: f64,
    /// By any call, to files or not.
    written: f64,
    flop64: f64,
    triad: f64,
}

pub fn run(bench: &mut Bench) -> Result<(), Problem> {
    if ![TIME, MEMORY, FILES, REPEATED].iter().any(|name| bench.wants(name)) {
        return Ok(());
    }
    let scratch = Scratch::new("probe")?;
    let peer: Option<Reading> =
        Coren::build().and_then(|coren| coren.ask(&[])).map(|(reading, _)| reading).ok();
    let reads = (0..READS).map(|_| read(scratch.path())).collect::<Result<Vec<Read>, _>>()?;
    let found = files(scratch.path())?;
    let all = |of: fn(&Read) -> f64| reads.iter().map(of).collect::<Vec<f64>>();
    let longest = |of: fn(&Read) -> f64| all(of).into_iter().fold(0.0, f64::max);
    if bench.wants(TIME) {
        let peer = peer.map(|peer| peer.nanoseconds);
        let middle = median(all(|read| read.nanoseconds));
        bench.line(TIME, Sample::beside(middle, peer, Unit::Nanoseconds));
        let longest = longest(|read| read.nanoseconds);
        let text = |nanoseconds| figure(nanoseconds, Unit::Nanoseconds);
        let verdict = reached(middle <= TIME_GOAL);
        let text = format!(
            "goal: {} or less in the middle of {READS}: {verdict}; the longest took {}",
            text(TIME_GOAL),
            text(longest)
        );
        bench.note(TIME, &text);
    }
    if bench.wants(MEMORY) {
        let most = longest(|read| read.peak_bytes);
        bench.line(MEMORY, Sample::beside(most, peer.map(|peer| peer.peak_bytes), Unit::Bytes));
        let goal = figure(MEMORY_GOAL, Unit::Bytes);
        let verdict = reached(most <= MEMORY_GOAL);
        bench.note(MEMORY, &format!("goal: {goal} or less at any time: {verdict}"));
    }
    if bench.wants(FILES) {
        let written = longest(|read| read.written);
        let verdict = reached(found == 0 && written == 0.0);
        let text = format!("{found} files left, {written} bytes written; goal: none: {verdict}");
        bench.note(FILES, &text);
    }
    if bench.wants(REPEATED) {
        let (flop64, triad) = (variation(&all(|r| r.flop64)), variation(&all(|r| r.triad)));
        let text = format!(
            "{READS} reads lie apart by {flop64:.1} % (flop64) and {triad:.1} % (triad) of their mean"
        );
        bench.note(REPEATED, &text);
    }
    Ok(())
}

/// The standard deviation in percent of the mean.
fn variation(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    100.0 * (squares / (count - 1.0)).sqrt() / mean
}

fn read(directory: &Path) -> Result<Read, Problem> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["__cost", "probe"]).current_dir(directory);
    command.env("HOME", directory).env("TMPDIR", directory).env_remove("XDG_CACHE_HOME");
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [nanoseconds, peak_bytes, written, flop64, triad] = numbers[..] else {
        return Err(format!("the child said {text:?}").into());
    };
    Ok(Read { nanoseconds, peak_bytes, written, flop64, triad })
}

/// That process.
pub fn child() -> ExitCode {
    die_with_parent();
    let written = of_self("io", "wchar:");
    let begun = wall_now();
    let machine = match machine() {
        Ok(machine) => machine,
        Err(problem) => {
            eprintln!("cost: {problem}");
            return ExitCode::FAILURE;
        }
    };
    let took = wall_now() - begun;
    let written = of_self("io", "wchar:") - written;
    let peak = of_self("status", "VmHWM:") * 1024;
    let rates = machine.rates;
    println!("{took} {peak} {written} {} {}", rates.flop64.per_second, rates.triad.per_second);
    ExitCode::SUCCESS
}

/// A number that the kernel tells of this process.
fn of_self(file: &str, name: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/self/{file}")).unwrap_or_default();
    let rest = text.lines().find_map(|line| line.strip_prefix(name));
    rest.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Everything in a directory, and in those in it.
fn files(directory: &Path) -> Result<usize, Problem> {
    let mut count = 0;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        count += 1;
        if entry.file_type()?.is_dir() {
            count += files(&entry.path())?;
        }
    }
    Ok(count)
}
