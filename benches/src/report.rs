//! What is asked for, what was measured, and how it is told.

use std::cell::Cell;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::measure::{Budget, Sample, Unit};

/// One run of the program.
pub struct Bench {
    pub quick: bool,
    filters: Vec<String>,
    lines: Vec<(String, Sample)>,
    /// Something was said, if only why there is no line.
    noted: Cell<bool>,
}

impl Bench {
    pub fn new(quick: bool, filters: Vec<String>) -> Bench {
        Bench { quick, filters, lines: Vec::new(), noted: Cell::new(false) }
    }

    /// Is this benchmark asked for?
    pub fn wants(&self, name: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| begins(name, filter))
    }

    /// For how long each benchmark goes on.
    pub fn budget(&self) -> Budget {
        if self.quick {
            Budget { nanoseconds: 80_000_000, least_rounds: 3, most_rounds: 50 }
        } else {
            Budget { nanoseconds: 900_000_000, least_rounds: 7, most_rounds: 300 }
        }
    }

    /// Prints and keeps one line.
    pub fn line(&mut self, name: &str, sample: Sample) {
        let figure = |value: Option<f64>| value.map_or("-".into(), |v| figure(v, sample.unit));
        let ratio = sample.ratio.map_or("-".into(), significant);
        println!(
            "bench {name:<38} ours={:<9} peer={:<9} ratio={ratio}",
            figure(Some(sample.ours)),
            figure(sample.peer),
        );
        self.lines.push((name.to_owned(), sample));
    }

    /// Prints something that compares nothing with a peer.
    pub fn note(&self, name: &str, text: &str) {
        println!("note  {name:<38} {text}");
        self.noted.set(true);
    }

    /// What ours came to in a line printed before.
    pub fn ours(&self, name: &str) -> Option<f64> {
        self.lines.iter().find(|(known, _)| known == name).map(|(_, sample)| sample.ours)
    }

    /// Writes the file and ends.
    pub fn finish(self) -> ExitCode {
        if self.lines.is_empty() && !self.noted.get() {
            eprintln!("no benchmark has such a name");
            return ExitCode::from(2);
        }
        let path = target_directory().join("bench.json");
        let written = std::fs::create_dir_all(target_directory())
            .and_then(|()| std::fs::write(&path, self.json()));
        match written {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("cannot write {}: {error}", path.display());
                ExitCode::FAILURE
            }
        }
    }

    fn json(&self) -> String {
        let number = |value: Option<f64>| match value {
            Some(value) if value.is_finite() => format!("{value:.3}"),
            _ => "null".into(),
        };
        let mut text = String::from("[\n");
        for (i, (name, sample)) in self.lines.iter().enumerate() {
            let comma = if i + 1 < self.lines.len() { "," } else { "" };
            // Names are ours and contain nothing that JSON would want escaped.
            let _ = writeln!(
                text,
                "  {{\"name\": \"{name}\", \"ours_ns\": {}, \"peer_ns\": {}, \"ratio\": {}, \"unit\": \"{}\", \"rounds\": {}}}{comma}",
                number(Some(sample.ours)),
                number(sample.peer),
                number(sample.ratio),
                unit_name(sample.unit),
                sample.rounds,
            );
        }
        text.push_str("]\n");
        text
    }
}

/// Does the name begin with the filter, and not in the middle of a number?
fn begins(name: &str, filter: &str) -> bool {
    let Some(rest) = name.strip_prefix(filter) else { return false };
    let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    !(digit(filter.chars().last()) && digit(rest.chars().next()))
}

fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "ns",
        Unit::Bytes => "bytes",
        Unit::Allocations => "allocations",
        Unit::Factor => "factor",
        Unit::Percent => "percent",
        Unit::PerSecond => "per second",
    }
}

/// A figure with a unit that suits it.
pub fn figure(value: f64, unit: Unit) -> String {
    let scaled = |steps: &[(f64, &str)]| {
        let fitting = steps.iter().rev().find(|(size, _)| value >= *size).unwrap_or(&steps[0]);
        format!("{}{}", significant(value / fitting.0), fitting.1)
    };
    match unit {
        Unit::Nanoseconds => scaled(&[(1.0, "ns"), (1e3, "us"), (1e6, "ms"), (1e9, "s")]),
        Unit::Bytes => scaled(&[(1.0, "B"), (1e3, "kB"), (1e6, "MB")]),
        Unit::Allocations => significant(value),
        Unit::Factor => format!("x{}", significant(value)),
        Unit::Percent => format!("{}%", significant(value)),
        Unit::PerSecond => scaled(&[(1.0, "/s"), (1e3, "k/s"), (1e6, "M/s"), (1e9, "G/s")]),
    }
}

/// Three digits that mean something.
pub fn significant(value: f64) -> String {
    match value {
        0.0 => "0".into(),
        v if v < 10.0 => format!("{v:.2}"),
        v if v < 100.0 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// Where cargo puts what it builds.
pub fn target_directory() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(directory) => directory.into(),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target"),
    }
}
