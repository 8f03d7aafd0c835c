//! `cost.reference.…`: what the probe measures beside what programs in C, compiled for this very machine, and `dd` measure.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ternlease::MachCap;
use ternlease::cost::{Rates, ReadOptions};

use crate::cost::{Scratch, machine, reached};
use crate::host_place::Problem;
use crate::measure::{Sample, Unit, median, quantile};
use crate::report::{Bench, figure, significant, target_directory};

/// How far ours may be from the reference, to either side.
const FLOP_GOAL: f64 = 0.05;
const TRIAD_GOAL: f64 = 0.15;

const FLOP: [&str; 2] = ["cost.reference.flop64", "cost.reference.flop64_all"];
const TRIAD: [&str; 2] = ["cost.reference.triad", "cost.reference.triad_all"];
const DISK: [&str; 2] = ["cost.reference.disk_write", "cost.reference.disk_read"];

pub fn run(bench: &mut Bench) -> Result<(), Problem> {
    let wanted = |names: &[&str]| names.iter().any(|name| bench.wants(name));
    let (flop, triad, disk) = (wanted(&FLOP), wanted(&TRIAD), wanted(&DISK));
    let threads = std::thread::available_parallelism()?.get().to_string();
    if flop {
        match compile("fma", &["-pthread"]) {
            Ok(program) => {
                compare(bench, FLOP[0], FLOP_GOAL, |r| r.flop64.per_second, &program, &["1"])?;
                let all = |r: &Rates| r.flop64_all.per_second;
                compare(bench, FLOP[1], FLOP_GOAL, all, &program, &[&threads])?;
            }
            Err(problem) => bench.note(FLOP[0], &format!("not measured: {problem}")),
        }
    }
    if triad {
        memory(bench, &threads)?;
    }
    if disk && let Err(problem) = disks(bench) {
        bench.note(DISK[0], &format!("not measured: {problem}"));
    }
    Ok(())
}

/// By one thread, and by all if the compiler knows how.
fn memory(bench: &mut Bench, threads: &str) -> Result<(), Problem> {
    let (program, parallel) = match compile("triad", &["-fopenmp"]) {
        Ok(program) => (program, true),
        Err(with) => match compile("triad", &[]) {
            Ok(program) => {
                bench.note(TRIAD[1], &format!("not measured: OpenMP is missing: {with}"));
                (program, false)
            }
            Err(problem) => {
                bench.note(TRIAD[0], &format!("not measured: {problem}"));
                return Ok(());
            }
        },
    };
    let one = |r: &Rates| r.triad.per_second;
    compare(bench, TRIAD[0], TRIAD_GOAL, one, &program, &["1", "huge"])?;
    plain(bench, TRIAD[0], &program, "1");
    if parallel {
        let all = |r: &Rates| r.triad_all.per_second;
        compare(bench, TRIAD[1], TRIAD_GOAL, all, &program, &[threads, "huge"])?;
        plain(bench, TRIAD[1], &program, threads);
    }
    Ok(())
}

/// Ours asks for large pages, and so does the reference; what programs get that do not.
fn plain(bench: &Bench, name: &str, program: &Path, threads: &str) {
    if let (true, Ok(rate)) = (bench.wants(name), say(program, &[threads, "plain"])) {
        let rate = figure(rate, Unit::PerSecond);
        bench.note(name, &format!("the reference without large pages: {rate}"));
    }
}

/// In turns. The best that the reference ever reached is what the machine can do, whatever else it was doing meanwhile; of ours the
/// middle, as nobody reads a machine many times to take the best.
fn compare(
    bench: &mut Bench,
    name: &str,
    goal: f64,
    rate: impl Fn(&Rates) -> u64,
    program: &Path,
    arguments: &[&str],
) -> Result<(), Problem> {
    if !bench.wants(name) {
        return Ok(());
    }
    let rounds = if bench.quick { 3 } else { 9 };
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        ours.push(rate(&machine()?.rates) as f64);
        theirs.push(say(program, arguments)?);
    }
    let best = theirs.iter().copied().fold(0.0, f64::max);
    let sample = Sample { rounds, ..Sample::once(median(ours.clone()), best, Unit::PerSecond) };
    bench.line(name, sample);
    let within = |ratio: f64| (ratio - 1.0).abs() <= goal;
    let verdict = reached(sample.ratio.is_some_and(within));
    let percent = significant(goal * 100.0);
    let each = ours.iter().filter(|&&ours| within(ours / best)).count();
    let range = |rates: &[f64]| {
        let end = |part| figure(quantile(rates.iter().copied(), part), Unit::PerSecond);
        format!("{} to {}", end(0.0), end(1.0))
    };
    let text = format!("goal: a ratio within {percent} % of 1: {verdict}; {each} of {rounds} are");
    bench.note(name, &text);
    let text = format!("ours {}, the reference {}", range(&ours), range(&theirs));
    bench.note(name, &text);
    Ok(())
}

/// A program of benches/c, made for this machine.
fn compile(name: &str, options: &[&str]) -> Result<PathBuf, Problem> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("c").join(format!("{name}.c"));
    let directory = target_directory().join("release");
    std::fs::create_dir_all(&directory)?;
    let program = std::path::absolute(directory.join(format!("cost-{name}")))?;
    let mut command = Command::new("cc");
    command.args([
        "-std=gnu11",
        "-O3",
        "-march=native",
        "-Wall",
        "-Wextra",
        "-Wno-unknown-pragmas",
    ]);
    command.args(options).arg(&source).arg("-o").arg(&program);
    let output = command.output().map_err(|error| format!("cc is missing: {error}"))?;
    if output.status.success() {
        return Ok(program);
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(format!("cc: {}", text.lines().last().unwrap_or("no reason")).into())
}

/// The one number that a program prints.
fn say(program: &Path, arguments: &[&str]) -> Result<f64, Problem> {
    let output = Command::new(program).args(arguments).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| format!("{} said {text:?}", program.display()).into())
}

const MEBIBYTES: usize = 32;

/// Past the cache of the system, as `dd` does it, with as many bytes as ours at most.
fn disks(bench: &mut Bench) -> Result<(), Problem> {
    let scratch = Scratch::new("disk")?;
    let (source, file) = (scratch.path().join("source"), scratch.path().join("file"));
    std::fs::write(&source, vec![0x5a_u8; MEBIBYTES << 20])?;
    let rounds = if bench.quick { 3 } else { 7 };
    let (mut ours, mut theirs) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    let budget = Duration::from_secs(2);
    for _ in 0..rounds {
        let options = ReadOptions::new().without_benchmarks().with_disk(budget);
        let disk = MachCap::read_with(scratch.path(), options)?.disk;
        ours[0].push(disk.write.per_second as f64);
        ours[1].push(disk.read.per_second as f64);
        theirs[0].push(dd(&source, &file, &["oflag=direct", "conv=fdatasync"])?);
        theirs[1].push(dd(&file, Path::new("/dev/null"), &["iflag=direct"])?);
    }
    for ((name, ours), theirs) in DISK.into_iter().zip(ours).zip(theirs) {
        if bench.wants(name) {
            let ratio = median(ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs));
            let (ours, peer) = (median(ours), Some(median(theirs)));
            let ratio = Some(ratio);
            bench.line(name, Sample { ours, peer, ratio, unit: Unit::PerSecond, rounds });
        }
    }
    Ok(())
}

/// Bytes per second, as it tells.
fn dd(from: &Path, to: &Path, options: &[&str]) -> Result<f64, Problem> {
    let mut command = Command::new("dd");
    command.arg(format!("if={}", from.display())).arg(format!("of={}", to.display()));
    command.arg("bs=1M").args(options).env("LC_ALL", "C");
    let output = command.output().map_err(|error| format!("dd is missing: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    // "33554432 bytes (34 MB, 32 MiB) copied, 0.0218 s, 1.5 GB/s"
    let told = text.lines().last().unwrap_or_default();
    let seconds = told.split(", ").find_map(|part| part.strip_suffix(" s")?.parse::<f64>().ok());
    match seconds {
        Some(seconds) if output.status.success() && seconds > 0.0 => {
            Ok((MEBIBYTES << 20) as f64 / seconds)
        }
        _ => Err(format!("dd: {told}").into()),
    }
}
