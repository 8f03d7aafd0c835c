//! Plays every scenario with every driver, and every pair of them on one table.
//!
//! The driver for Rust is built with this package. TERN_DRIVERS names a directory with the others, and TERN_LANGUAGES which ones must be there:
//! `scripts/test-conformance` sets both.

mod driver;
mod header;
mod play;
mod scenario;
mod vectors;

use std::fs;
use std::path::{Path, PathBuf};

use driver::Language;
use scenario::Scenario;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn scenarios(folder: &str) -> Vec<Scenario> {
    let files = fs::read_dir(here(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files.collect();
    files.sort();
    assert!(!files.is_empty(), "there are no scenarios in {folder}");
    files.iter().map(|file| Scenario::read(file)).collect()
}

/// All of them are tried, so that one run tells everything.
fn report(failures: Vec<String>) {
    assert!(failures.is_empty(), "{} failed\n\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn every_driver_plays_every_scenario() {
    let mut failures = Vec::new();
    for language in Language::all() {
        for scenario in scenarios("scenarios") {
            failures.extend(play::alone(&language, &scenario).err());
        }
    }
    report(failures);
}

#[test]
fn every_pair_of_drivers_shares_a_table() {
    let mut failures = Vec::new();
    let languages = Language::all();
    for a in &languages {
        for b in &languages {
            for scenario in scenarios("pairs") {
                failures.extend(play::pair(a, b, &scenario).err());
            }
        }
    }
    report(failures);
}

#[test]
fn costs_are_the_same_in_every_language() {
    report(Language::all().iter().filter_map(|it| vectors::check(it).err()).collect());
}

#[test]
fn statuses_and_reasons_are_those_of_the_header() {
    report(Language::all().iter().filter_map(|it| header::check(it).err()).collect());
}

/// A suite that takes any answer for the right one would pass, too.
#[test]
fn a_wrong_answer_is_noticed() {
    let rust = &Language::all()[0];
    for wrong in ["version -> OK 77", "open process: -> OK\nstate a -> +1", "version -> OK * *"] {
        let scenario = Scenario::parse("wrong.txt", wrong);
        assert!(play::alone(rust, &scenario).is_err(), "{wrong}");
    }
    let wrong =
        Scenario::parse("wrong.txt", "A open URL -> OK\nB open URL -> OK\nA processes -> OK 1");
    assert!(play::pair(rust, rust, &wrong).is_err());
}

#[test]
fn every_verb_of_the_readme_is_in_a_scenario() {
    let readme = fs::read_to_string(here("README.md")).unwrap();
    let steps: Vec<String> = ["scenarios", "pairs"]
        .iter()
        .flat_map(|folder| scenarios(folder))
        .flat_map(|scenario| scenario.verbs())
        .collect();
    // Those are asked by the tests themselves, for every number that there is.
    let generated = ["status", "reason"];
    let rows = readme.lines().filter(|line| line.starts_with("| `"));
    for step in rows.flat_map(|row| row.split('|').nth(1).unwrap().split('`').skip(1).step_by(2)) {
        let verb = step.split_whitespace().next().unwrap();
        let known = steps.iter().any(|known| known == verb) || generated.contains(&verb);
        assert!(known || verb.chars().all(|it| !it.is_lowercase()), "no scenario has {verb:?}");
    }
}
