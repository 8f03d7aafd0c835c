//! What coren says of this machine and of computations. Asked by lines of standard input, `NETWORK_MBPS CONSTRUCTOR ARGUMENT...`, each of which
//! gets one line in return: `SECONDS SCORE SCORE_WITHOUT_BIAS`. The first line that is printed is about reading the machine:
//! `NANOSECONDS PEAK_KB`.

use std::io::BufRead;
use std::process::ExitCode;
use std::time::Instant;

use coren::{FnCost, MachCap};

fn main() -> ExitCode {
    match answer() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("coren-says: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn answer() -> Result<(), String> {
    let begun = Instant::now();
    let mut machine = MachCap::read(".");
    println!("{} {}", begun.elapsed().as_nanos(), peak_kilobytes());
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let [mbps, constructor, arguments @ ..] = &words[..] else {
            return Err(format!("too short: {line}"));
        };
        let parsed: Result<Vec<u64>, _> = arguments.iter().map(|word| word.parse()).collect();
        let arguments = parsed.map_err(|error| format!("{line}: {error}"))?;
        let cost = cost(constructor, &arguments).ok_or_else(|| format!("unknown: {line}"))?;
        machine.nic_mbps = mbps.parse().map_err(|error| format!("{line}: {error}"))?;
        let seconds = machine.compute_time(&cost);
        let unbiased = seconds - machine.fetch_time(&cost);
        println!("{seconds} {} {unbiased}", machine.verdict(&cost).score);
    }
    Ok(())
}

fn cost(constructor: &str, arguments: &[u64]) -> Option<FnCost> {
    Some(match (constructor, arguments) {
        ("scan", &[bytes, result]) => FnCost::scan(bytes, result),
        ("sort", &[items, bytes, result]) => FnCost::sort(items, bytes, result),
        ("hash", &[bytes]) => FnCost::hash(bytes),
        ("matmul", &[m, n, k, result]) => FnCost::matmul(m, n, k, result),
        ("etl", &[rows, bytes, operations, result]) => FnCost::etl(rows, bytes, operations, result),
        ("copy", &[bytes]) => FnCost::copy(bytes),
        _ => return None,
    })
}

/// The most memory that this process has had.
fn peak_kilobytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
