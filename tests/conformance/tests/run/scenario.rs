//! Scenarios: steps, and what must come of them.

use std::fs;
use std::path::Path;

/// Who is to do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Player {
    A,
    B,
}

#[derive(Debug)]
pub enum Action {
    /// Do this, and answer that.
    Do(String, String),
    /// Begin with this.
    Begin(String),
    /// Answer that to what was begun.
    Finish(String),
    Kill,
}

#[derive(Debug)]
pub struct Line {
    pub number: usize,
    pub player: Player,
    pub action: Action,
}

#[derive(Debug)]
pub struct Scenario {
    pub name: String,
    pub lines: Vec<Line>,
}

impl Scenario {
    pub fn read(file: &Path) -> Self {
        let folder = file.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let name = format!("{folder}/{}", file.file_name().unwrap().to_str().unwrap());
        let scenario = Self::parse(&name, &fs::read_to_string(file).unwrap());
        assert!(!scenario.lines.is_empty(), "{name} has no step");
        scenario
    }

    pub fn parse(name: &str, text: &str) -> Self {
        let lines = text.lines().enumerate().filter_map(|(index, line)| {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                return None;
            }
            let (player, rest) = match (line.strip_prefix('A'), line.strip_prefix('B')) {
                (Some(rest), _) if rest.starts_with([' ', '>', '<']) => (Player::A, rest),
                (_, Some(rest)) if rest.starts_with([' ', '>', '<']) => (Player::B, rest),
                _ => (Player::A, line),
            };
            Some(Line { number: index + 1, player, action: action(name, rest) })
        });
        Scenario { name: name.to_owned(), lines: lines.collect() }
    }

    pub fn verbs(&self) -> Vec<String> {
        let step = |line: &Line| match &line.action {
            Action::Do(step, _) | Action::Begin(step) => step.split(' ').next().map(str::to_owned),
            _ => None,
        };
        self.lines.iter().filter_map(step).collect()
    }
}

fn action(name: &str, text: &str) -> Action {
    if let Some(step) = text.strip_prefix('>') {
        return Action::Begin(step.trim().to_owned());
    }
    if text.trim() == "kill" {
        return Action::Kill;
    }
    let (step, answer) =
        text.split_once(" -> ").unwrap_or_else(|| panic!("{name}: no answer in {text:?}"));
    match step.strip_prefix('<') {
        Some(_) => Action::Finish(answer.trim().to_owned()),
        None => Action::Do(step.trim().to_owned(), answer.trim().to_owned()),
    }
}

/// Is this such an answer? `*` stands for anything within one word.
pub fn fits(expected: &str, answer: &str) -> bool {
    let (expected, answer): (Vec<&str>, Vec<&str>) =
        (expected.split(' ').collect(), answer.split(' ').collect());
    expected.len() == answer.len()
        && expected.iter().zip(answer).all(|(expected, word)| word_fits(expected, word))
}

fn word_fits(expected: &str, word: &str) -> bool {
    match expected.split_once('*') {
        None => expected == word,
        Some((start, end)) => word.strip_prefix(start).is_some_and(|rest| {
            (0..=rest.len()).any(|at| rest.is_char_boundary(at) && word_fits(end, &rest[at..]))
        }),
    }
}

#[test]
fn stars_stay_within_a_word() {
    assert!(fits("OK * b", "OK a b"));
    assert!(fits("by=* takes=*:1", "by=- takes=gpu0:1"));
    assert!(!fits("OK *", "OK a b"));
    assert!(!fits("OK a", "OK b"));
    assert!(!fits("OK *x", "OK y"));
    assert!(!fits("OK", "OK a"));
}
