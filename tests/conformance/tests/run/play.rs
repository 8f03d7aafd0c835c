//! Playing a scenario.

use std::thread;
use std::time::Duration;

use super::driver::{Driver, Language};
use super::home::{Home, Table};
use super::scenario::{Action, Line, Player, Scenario, fits};

pub fn alone(home: &Home, language: &Language, scenario: &Scenario) -> Result<(), String> {
    let mut driver = language.start();
    let mut tables = Vec::new();
    for line in scenario.lines_for(home) {
        if line.opens() {
            tables.push(home.new_table());
        }
        step(&mut driver, line, home, tables.last())
            .map_err(|problem| told(home, scenario, line, &language.name, &problem))?;
    }
    driver.end().map_err(|problem| {
        format!("{} on {} in {}: {problem}", scenario.name, home.name(), language.name)
    })
}

pub fn pair(home: &Home, a: &Language, b: &Language, scenario: &Scenario) -> Result<(), String> {
    let table = home.new_table();
    let who = format!("{} and {}", a.name, b.name);
    let (mut one, mut other) = (a.start(), b.start());
    for line in scenario.lines_for(home) {
        let driver = match line.player {
            Player::A => &mut one,
            Player::B => &mut other,
        };
        step(driver, line, home, Some(&table)).map_err(|problem| {
            told(home, scenario, line, &format!("{who} ({:?})", line.player), &problem)
        })?;
    }
    let ended = one.end().and_then(|()| other.end());
    ended.map_err(|problem| format!("{} on {} in {who}: {problem}", scenario.name, home.name()))
}

fn step(
    driver: &mut Driver,
    line: &Line,
    home: &Home,
    table: Option<&Table>,
) -> Result<(), String> {
    let for_home = |step: &str| spoken(step, home, table);
    let (expected, answer, step) = match &line.action {
        Action::Kill => {
            driver.kill();
            return Ok(());
        }
        Action::Begin(step) => return driver.begin(&for_home(step)),
        Action::Finish(expected) => (expected, driver.finish()?, "what was begun"),
        Action::Do(step, expected) => {
            if let Some(time) = line.ticks().filter(|_| !home.has_ticks()) {
                // Since all of it began earlier, it is over for whoever asks later, however slow the machine is.
                thread::sleep(Duration::from_micros(time));
            }
            (expected, driver.ask(&for_home(step))?, step.as_str())
        }
    };
    if fits(expected, &answer, home.has_ticks()) {
        return Ok(());
    }
    Err(format!("{step}\n    expected {expected}\n    answered {answer}"))
}

/// A step as it is said there: with the table's URL; and if time passes by itself, nobody counts it.
fn spoken(step: &str, home: &Home, table: Option<&Table>) -> String {
    let Some(table) = table else { return step.to_owned() };
    let step = if home.has_ticks() {
        step.to_owned()
    } else {
        match step.strip_prefix("tick ") {
            Some(_) => "tick".to_owned(),
            None => step.replace("URL ticks", "URL"),
        }
    };
    step.replace("URL", &table.url)
}

fn told(home: &Home, scenario: &Scenario, line: &Line, who: &str, problem: &str) -> String {
    format!("{}:{} on {} in {who}: {problem}", scenario.name, line.number, home.name())
}
