//! Playing a scenario.

use std::fs;
use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use super::driver::{Driver, Language};
use super::scenario::{Action, Line, Player, Scenario, fits};

pub fn alone(language: &Language, scenario: &Scenario) -> Result<(), String> {
    let mut driver = language.start();
    for line in &scenario.lines {
        step(&mut driver, line, "").map_err(|it| told(scenario, line, &language.name, &it))?;
    }
    driver.end().map_err(|problem| format!("{} in {}: {problem}", scenario.name, language.name))
}

pub fn pair(a: &Language, b: &Language, scenario: &Scenario) -> Result<(), String> {
    let table = Shared::new();
    let who = format!("{} and {}", a.name, b.name);
    let (mut one, mut other) = (a.start(), b.start());
    for line in &scenario.lines {
        let driver = match line.player {
            Player::A => &mut one,
            Player::B => &mut other,
        };
        step(driver, line, &table.url).map_err(|problem| {
            told(scenario, line, &format!("{who} ({:?})", line.player), &problem)
        })?;
    }
    let ended = one.end().and_then(|()| other.end());
    ended.map_err(|problem| format!("{} in {who}: {problem}", scenario.name))
}

fn step(driver: &mut Driver, line: &Line, url: &str) -> Result<(), String> {
    let with_url =
        |step: &str| if url.is_empty() { step.to_owned() } else { step.replace("URL", url) };
    let (expected, answer, step) = match &line.action {
        Action::Kill => {
            driver.kill();
            return Ok(());
        }
        Action::Begin(step) => return driver.begin(&with_url(step)),
        Action::Finish(expected) => (expected, driver.finish()?, "what was begun"),
        Action::Do(step, expected) => (expected, driver.ask(&with_url(step))?, step.as_str()),
    };
    if fits(expected, &answer) {
        return Ok(());
    }
    Err(format!("{step}\n    expected {expected}\n    answered {answer}"))
}

fn told(scenario: &Scenario, line: &Line, who: &str, problem: &str) -> String {
    format!("{}:{} in {who}: {problem}", scenario.name, line.number)
}

/// A table of the test's own, which is gone afterwards.
struct Shared {
    url: String,
    path: String,
}

impl Shared {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let folder = ["/dev/shm", "/tmp"].into_iter().find(|it| Path::new(it).is_dir()).unwrap();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = format!("{folder}/tern-conformance-{}-{number}", process::id());
        Shared { url: format!("host:{path}"), path }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
