//! Plays every scenario with every driver on every home, and every pair of them on one table.
//!
//! The driver for Rust is built with this package. TERN_DRIVERS names a directory with the others, and TERN_LANGUAGES which ones must be there:
//! `scripts/test-conformance` sets both.

mod driver;
#[cfg(feature = "cluster")]
#[path = "../../../common/etcd.rs"]
mod etcd;
mod header;
mod home;
mod play;
mod scenario;
mod vectors;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use driver::Language;
use home::Home;
use scenario::Scenario;

/// So many pairs play at the same time.
const AT_ONCE: usize = 4;

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

/// Every scenario with every driver: what fails.
fn play_alone(home: &Home) -> Vec<String> {
    let mut failures = Vec::new();
    for language in Language::all() {
        for scenario in scenarios("scenarios") {
            if home.has_ticks() || scenario.needs_a_table() {
                failures.extend(play::alone(home, &language, &scenario).err());
            }
        }
    }
    failures
}

/// Every scenario with every two drivers. They mostly wait for each other: several go on at the same time.
fn play_pairs(home: &Home) -> Vec<String> {
    let (languages, scenarios) = (Language::all(), scenarios("pairs"));
    let plays: Vec<_> = languages
        .iter()
        .flat_map(|a| languages.iter().map(move |b| (a, b)))
        .flat_map(|(a, b)| scenarios.iter().map(move |scenario| (a, b, scenario)))
        .collect();
    let next = AtomicUsize::new(0);
    let player = || {
        let mut failures = Vec::new();
        while let Some((a, b, scenario)) = plays.get(next.fetch_add(1, Ordering::Relaxed)) {
            failures.extend(play::pair(home, a, b, scenario).err());
        }
        failures
    };
    thread::scope(|scope| {
        let players: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(player)).collect();
        players.into_iter().flat_map(|it| it.join().unwrap()).collect()
    })
}

#[test]
fn every_driver_plays_every_scenario_by_ticks() {
    report(play_alone(&Home::Ticks));
}

#[test]
fn every_driver_plays_every_scenario_in_a_process() {
    report(play_alone(&Home::Process));
}

#[test]
fn every_driver_plays_every_scenario_on_a_host() {
    report(play_alone(&Home::Host));
}

#[test]
fn every_pair_of_drivers_shares_a_table_of_a_host() {
    report(play_pairs(&Home::Host));
}

#[cfg(feature = "cluster")]
#[test]
fn every_driver_and_every_pair_plays_on_etcd() {
    let Some(etcd) = etcd::Etcd::start() else { return };
    let home = Home::Etcd(etcd.authority());
    let mut failures = play_alone(&home);
    failures.extend(play_pairs(&home));
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
        assert!(play::alone(&Home::Ticks, rust, &scenario).is_err(), "{wrong}");
    }
    let wrong =
        Scenario::parse("wrong.txt", "A open URL -> OK\nB open URL -> OK\nA processes -> OK 1");
    assert!(play::pair(&Home::Host, rust, rust, &wrong).is_err());
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
