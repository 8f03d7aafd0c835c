//! The driver for Rust: does what the lines on its standard input say, and tells what came of it. README.md says which lines there are.

mod answer;
mod cost;
mod deadlock;
mod events;
mod labels;
mod manager;
mod pool;
mod words;

use std::io::{BufRead, Write, stdin, stdout};

use ternlease::{EventReader, GpuPool, LeaseManager, MachCap};

use answer::Step;
use labels::Labels;
use words::Words;

/// What is open.
#[derive(Default)]
struct Driver {
    manager: Option<LeaseManager>,
    pool: Option<GpuPool>,
    reader: Option<EventReader>,
    machine: Option<MachCap>,
    labels: Labels,
    watches: events::Watches,
}

impl Driver {
    fn step(&mut self, line: &str) -> Step {
        let mut words = Words::of(line);
        let verb = words.next()?;
        match verb {
            "version" => Ok(format!("OK {}", env!("CARGO_PKG_VERSION"))),
            "reason" => answer::reason(words.number()?),
            "cost" | "nanoseconds" | "learned" | "machine" | "route" | "verdict" => {
                self.cost_step(verb, words)
            }
            "pool" | "capacity" | "pending" | "try" | "gpu" | "gpu-enqueue" | "expected"
            | "gpu-release" | "devices" | "env" | "device" | "snapshot" => {
                self.pool_step(verb, words)
            }
            "events" | "watch" | "notice" => self.event_step(verb, words),
            _ => self.manager_step(verb, words),
        }
    }
}

fn main() {
    let mut driver = Driver::default();
    for line in stdin().lock().lines() {
        let line = line.expect("the steps are UTF-8");
        let answer = driver.step(&line).unwrap_or_else(|problem| problem.to_string());
        let mut out = stdout().lock();
        writeln!(out, "{answer}").and_then(|()| out.flush()).expect("somebody reads the answers");
    }
}
