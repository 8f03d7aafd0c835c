//! `cli.run`: from the start of `ternlease run` to the first thing that the program does, beside a bare exec, `flock` and the Python tool
//! `gpu-gate`. All start the same program, which is this one again and writes what time it is.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::host_place::{Place, Problem};
use crate::measure::{Sample, quantile, wall_now};
use crate::report::{Bench, figure, target_directory};

/// What this program is called with to tell the time.
pub const TELL_TIME: &str = "__tell_time";

/// The names of the lines.
const EXEC: &str = "cli.run.exec";
const FLOCK: &str = "cli.run.flock";
const GPU_GATE: &str = "cli.run.gpu_gate";

/// What the command may cost over a bare exec, in nanoseconds.
const GOAL: f64 = 5e6;

/// What the fake driver says: four devices that nobody uses.
const DEVICES: &str = "driver 535.1\ndevice\ndevice\ndevice\ndevice\n";

/// Writes what time it is. The first thing that a program can do, after it was loaded.
pub fn tell_time() -> ExitCode {
    print!("{}", wall_now());
    ExitCode::SUCCESS
}

pub fn run(bench: &mut Bench) {
    if ![EXEC, FLOCK, GPU_GATE].iter().any(|name| bench.wants(name)) {
        return;
    }
    if let Err(problem) = measure(bench) {
        eprintln!("cli: not measured: {problem}");
    }
}

fn measure(bench: &mut Bench) -> Result<(), Problem> {
    let tools = Tools::build()?;
    let place = Place::new()?;
    let ours = || tools.start_of(&mut tools.command(&place, "fake:4"));
    if bench.wants(EXEC) {
        let sample = compare(bench, ours, || tools.start_of(&mut Command::new(&tools.itself)))?;
        bench.line(EXEC, sample);
        let over = sample.ours - sample.peer.unwrap_or(f64::NAN);
        let verdict = if over <= GOAL { "reached" } else { "missed" };
        let unit = sample.unit;
        let (over, goal) = (figure(over, unit), figure(GOAL, unit));
        bench.note(EXEC, &format!("{over} over a bare exec; the goal of {goal} was {verdict}"));
    }
    if bench.wants(FLOCK) {
        let file = place.file("flock");
        let sample = compare(bench, ours, || {
            let mut flock = Command::new("flock");
            tools.start_of(flock.arg(&file).arg(&tools.itself))
        })?;
        bench.line(FLOCK, sample);
    }
    if bench.wants(GPU_GATE) {
        gpu_gate(bench, &tools, &place)?;
    }
    Ok(())
}

/// Both ask the same driver, which is no real one: it answers from a file.
fn gpu_gate(bench: &mut Bench, tools: &Tools, place: &Place) -> Result<(), Problem> {
    let gate = target_directory().join("gpu-gate/bin/gpu-gate");
    if !gate.exists() {
        bench.note(GPU_GATE, "not installed; `make bench` does that");
        return Ok(());
    }
    let driver = place.file("driver");
    std::fs::create_dir_all(&driver)?;
    std::fs::copy(&tools.fake_nvml, driver.join("libnvidia-ml.so.1"))?;
    std::fs::write(driver.join("script"), DEVICES)?;
    let ours = || {
        let mut command = tools.command(place, "host");
        tools.start_of(command.env("LD_LIBRARY_PATH", &driver))
    };
    let theirs = || {
        let mut command = Command::new(&gate);
        command.env("LD_LIBRARY_PATH", &driver).env("HOME", place.file(""));
        tools.start_of(command.args(["run", "--quiet", "--"]).arg(&tools.itself))
    };
    let sample = compare(bench, ours, theirs)?;
    bench.line(GPU_GATE, sample);
    Ok(())
}

/// In turns; processes take too long to start for as many rounds as usual.
fn compare(
    bench: &Bench,
    ours: impl Fn() -> Result<f64, Problem>,
    theirs: impl Fn() -> Result<f64, Problem>,
) -> Result<Sample, Problem> {
    let rounds = if bench.quick { 10 } else { 100 };
    // Once for nothing; and what cannot be started at all is found out here.
    let (_, slow) = (ours()?, theirs()?);
    let rounds = if slow > 1e8 { rounds / 10 } else { rounds };
    let (mut our, mut their) = (Vec::new(), Vec::new());
    for _ in 0..rounds.max(3) {
        our.push(ours()?);
        their.push(theirs()?);
    }
    // By the middle of each side: a single start has little to do with the one beside it.
    let middle = |side: &[f64]| quantile(side.iter().copied(), 0.5);
    let (our, their) = (middle(&our), middle(&their));
    let sample = Sample::of_rounds(&[our], &[their]);
    Ok(Sample { rounds, ..sample })
}

/// The programs that are started.
struct Tools {
    itself: PathBuf,
    command: PathBuf,
    fake_nvml: PathBuf,
}

impl Tools {
    /// Builds them, if they are not there as they should be.
    fn build() -> Result<Tools, Problem> {
        let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
        let built = Command::new(cargo)
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
            .args(["build", "--release", "--quiet", "-p", "ternlease-cli"])
            .args(["-p", "ternlease-fake-nvml"])
            .status()?;
        if !built.success() {
            return Err("the command does not build".into());
        }
        let itself = std::env::current_exe()?;
        let beside = |name| itself.with_file_name(name);
        Ok(Tools { command: beside("ternlease"), fake_nvml: beside("libfake_nvml.so"), itself })
    }

    /// `ternlease run`, up to the program's name.
    fn command(&self, place: &Place, devices: &str) -> Command {
        let mut command = Command::new(&self.command);
        command.env("TERNLEASE_POOL", place.url()).env("TERNLEASE_DEVICES", devices);
        command.args(["run", "--"]).arg(&self.itself);
        command
    }

    /// Nanoseconds from the start of the command to the first thing that the program at its end does.
    fn start_of(&self, command: &mut Command) -> Result<f64, Problem> {
        command.arg(TELL_TIME).stdin(Stdio::null()).stdout(Stdio::piped());
        let start = wall_now();
        let mut child = command.spawn()?;
        let mut told = String::new();
        if let Some(output) = &mut child.stdout {
            output.read_to_string(&mut told)?;
        }
        let status = child.wait()?;
        let at: u64 =
            told.trim().parse().map_err(|_| format!("{command:?}: {status}, {told:?}"))?;
        Ok(at.saturating_sub(start) as f64)
    }
}
