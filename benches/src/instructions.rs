//! Instructions per call of the paths that allocate nothing: the same on a busy machine as on an idle one,
//! so they can be held to a recorded budget. All by the tick clock: under valgrind the real one is a system call.

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::{Command, ExitCode};
use std::task::{Context, Waker};

use ternlease::{GpuDevice, GpuPool, LeaseManager, Options, Vendor};

use crate::measure::keep;
use crate::pool::Devices;
use crate::pool_peer::ready;
use crate::world::{Wish, World};

/// What to do with the counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Show,
    Check,
    Record,
}

const OPERATIONS: [&str; 10] = [
    "state",
    "renew",
    "renew_same_tick",
    "acquire+revoke",
    "tick",
    "active_count",
    "try_claim+release_1device",
    "try_claim+release_8devices",
    "pool_try_claim+release",
    "handover",
];

/// Counted with so many calls and twice as many: the difference is free of setting up.
const CALLS: usize = 4 * SIZE;

/// How many leases are held meanwhile.
const SIZE: usize = 1_000;

/// How much above its budget a call may be: compilers differ a little.
const SLACK: f64 = 1.10;

const HEADER: &str = "\
# Instructions per call, counted by callgrind in a release build.
# `cargo run --release -p ternlease-bench -- instructions --check` fails if a call needs over 10 % more;
# `... instructions --record` writes this file anew. Do that when a call became cheaper, or dearer for a good reason.
";

fn budget_file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("instructions.txt")
}

fn recorded(operation: &str, budget: &str) -> Option<f64> {
    let lines = budget.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    lines
        .filter_map(|words| match words.as_slice() {
            [name, count] if *name == operation => count.parse().ok(),
            _ => None,
        })
        .next()
}

pub fn run(mode: Mode) -> ExitCode {
    let budget = std::fs::read_to_string(budget_file()).unwrap_or_default();
    let mut counted = String::from(HEADER);
    let mut over = Vec::new();
    for operation in OPERATIONS {
        let count = match (count(operation, CALLS), count(operation, 2 * CALLS)) {
            (Ok(once), Ok(twice)) => twice.saturating_sub(once) as f64 / CALLS as f64,
            (Err(error), _) | (_, Err(error)) => {
                eprintln!("cannot count instructions: {error}");
                return ExitCode::FAILURE;
            }
        };
        let _ = writeln!(counted, "{operation:<28} {count:.0}");
        match recorded(operation, &budget) {
            Some(before) => {
                println!("instructions {operation:<28} {count:<6.0} recorded {before:.0}");
                if count > before * SLACK {
                    over.push(format!(
                        "{operation}: {count:.0} instructions, recorded {before:.0}"
                    ));
                }
            }
            None => {
                println!("instructions {operation:<28} {count:.0}");
                over.push(format!("{operation}: {count:.0} instructions, none recorded"));
            }
        }
    }
    match mode {
        Mode::Show => ExitCode::SUCCESS,
        Mode::Record => match std::fs::write(budget_file(), counted) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("cannot write {}: {error}", budget_file().display());
                ExitCode::FAILURE
            }
        },
        Mode::Check if over.is_empty() => ExitCode::SUCCESS,
        Mode::Check => {
            eprintln!("over the budget by more than 10 %:\n  {}", over.join("\n  "));
            eprintln!("Make it cheaper; or, if it is worth the price, record it:");
            eprintln!("  cargo run --release -p ternlease-bench -- instructions --record");
            ExitCode::FAILURE
        }
    }
}

/// Instructions of this program doing `calls` calls, as callgrind counts them.
fn count(operation: &str, calls: usize) -> Result<u64, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["__repeat", operation, &calls.to_string()])
        .output()
        .map_err(|error| format!("valgrind does not run ({error}); install it"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    let collected = text.lines().find_map(|line| line.split_once("Collected :"));
    collected
        .and_then(|(_, count)| count.trim().parse().ok())
        .ok_or_else(|| format!("valgrind said:\n{text}"))
}

/// What is counted: setting up, then the calls. Setting up is the same for any number of them.
pub fn repeat(operation: &str, times: &str) -> ExitCode {
    let (Ok(times), true) = (times.parse::<usize>(), OPERATIONS.contains(&operation)) else {
        return ExitCode::from(2);
    };
    if operation == "pool_try_claim+release" {
        let manager = LeaseManager::with(Options::ticks());
        let pool = GpuPool::on(&manager, &[GpuDevice::new(Vendor::Nvidia, 0, "benchmark")]);
        let pool = pool.expect("room for a device");
        (0..2_000 + times).for_each(|_| drop(black_box(&pool).try_claim()));
        return ExitCode::SUCCESS;
    }
    if let Some(devices) = operation.strip_prefix("try_claim+release_") {
        let devices = Devices::ticks(if devices == "8devices" { 8 } else { 1 });
        // As many as are remembered, and more: from there on every call does the same.
        (0..2_000 + times).for_each(|_| black_box(&devices).try_claim_and_release());
        return ExitCode::SUCCESS;
    }
    if operation == "handover" {
        handovers(&Devices::ticks(1), 2_000 + times);
        return ExitCode::SUCCESS;
    }
    let world = World::new(SIZE);
    let wishes: Vec<Wish<'_>> = (0..SIZE).map(|i| world.names.wish(i)).collect();
    let ours = &world.ours;
    for _ in 0..times / SIZE {
        let ids = world.our_ids.iter();
        match operation {
            "state" => ids.for_each(|&id| keep(ours.state(id))),
            "renew_same_tick" => ids.for_each(|&id| keep(ours.renew(id))),
            "renew" => {
                // Once for all of them: each renewal moves an end.
                ours.tick();
                ids.for_each(|&id| keep(ours.renew(id)));
            }
            "tick" => ids.for_each(|_| ours.tick()),
            "active_count" => ids.for_each(|_| keep(ours.active_count())),
            _ => {
                for wish in &wishes {
                    if let Ok(id) = wish.grant(ours) {
                        keep(ours.revoke(id));
                    }
                }
            }
        }
    }
    ExitCode::SUCCESS
}

/// A task claims what another one holds, waits, and has it when the other one releases it; and so on.
fn handovers(devices: &Devices, times: usize) {
    let manager = &devices.manager;
    let claim = |turn: usize| manager.claim(["even", "odd"][turn % 2]).of(&["gpu0"]).enqueue();
    let mut context = Context::from_waker(Waker::noop());
    let mut held = claim(1).and_then(ready);
    for turn in 0..times {
        let Ok(mut waiting) = claim(turn) else { return };
        assert!(Pin::new(&mut waiting).poll(&mut context).is_pending(), "somebody else has it");
        let _ = held.and_then(|id| manager.release(id));
        held = ready(waiting);
    }
}
