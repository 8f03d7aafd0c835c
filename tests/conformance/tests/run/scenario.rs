//! Scenarios: steps, and what must come of them.

use std::fs;
use std::path::Path;

use super::home::Home;

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
    /// Where it is played; everywhere, if that is empty.
    homes: Vec<String>,
    pub player: Player,
    pub action: Action,
}

impl Line {
    fn step(&self) -> Option<&str> {
        match &self.action {
            Action::Do(step, _) | Action::Begin(step) => Some(step),
            _ => None,
        }
    }

    /// Does it open a table of the play's own?
    pub fn opens(&self) -> bool {
        self.step().is_some_and(|step| step.starts_with("open URL"))
    }

    /// How much time it lets pass.
    pub fn ticks(&self) -> Option<u64> {
        self.step()?.strip_prefix("tick ")?.parse().ok()
    }
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
            let (homes, line) = homes(line);
            let (player, rest) = match (line.strip_prefix('A'), line.strip_prefix('B')) {
                (Some(rest), _) if rest.starts_with([' ', '>', '<']) => (Player::A, rest),
                (_, Some(rest)) if rest.starts_with([' ', '>', '<']) => (Player::B, rest),
                _ => (Player::A, line),
            };
            Some(Line { number: index + 1, homes, player, action: action(name, rest) })
        });
        Scenario { name: name.to_owned(), lines: lines.collect() }
    }

    /// Without a table it is the same everywhere.
    pub fn needs_a_table(&self) -> bool {
        self.lines.iter().any(Line::opens)
    }

    pub fn lines_for(&self, home: &Home) -> impl Iterator<Item = &Line> {
        let name = home.name();
        self.lines
            .iter()
            .filter(move |line| line.homes.is_empty() || line.homes.iter().any(|it| it == name))
    }

    pub fn verbs(&self) -> Vec<String> {
        let steps = self.lines.iter().filter_map(Line::step);
        steps.filter_map(|step| step.split(' ').next().map(str::to_owned)).collect()
    }
}

/// `[host,etcd] step`: the homes, and the step.
fn homes(line: &str) -> (Vec<String>, &str) {
    match line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((homes, rest)) => (homes.split(',').map(str::to_owned).collect(), rest.trim_start()),
        None => (Vec::new(), line),
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

/// Is this such an answer? `*` stands for anything within one word; `@5` is the number 5 where time is counted in ticks, and elsewhere any number.
pub fn fits(expected: &str, answer: &str, ticks: bool) -> bool {
    let (expected, answer): (Vec<&str>, Vec<&str>) =
        (expected.split(' ').collect(), answer.split(' ').collect());
    expected.len() == answer.len()
        && expected.iter().zip(answer).all(|(expected, word)| word_fits(expected, word, ticks))
}

fn word_fits(expected: &str, word: &str, ticks: bool) -> bool {
    let Some(at) = expected.find(['*', '@']) else { return expected == word };
    let Some(rest) = word.strip_prefix(&expected[..at]) else { return false };
    let end = &expected[at + 1..];
    if expected[at..].starts_with('*') {
        let mut ends = (0..=rest.len()).filter(|at| rest.is_char_boundary(*at));
        return ends.any(|at| word_fits(end, &rest[at..], ticks));
    }
    if ticks {
        return word_fits(end, rest, ticks);
    }
    let number = without_number(rest);
    number.len() < rest.len() && word_fits(without_number(end), number, ticks)
}

fn without_number(text: &str) -> &str {
    text.trim_start_matches(|it: char| it.is_ascii_digit())
}

#[test]
fn stars_stay_within_a_word() {
    let fits = |expected, answer| fits(expected, answer, true);
    assert!(fits("OK * b", "OK a b"));
    assert!(fits("by=* takes=*:1", "by=- takes=gpu0:1"));
    assert!(!fits("OK *", "OK a b"));
    assert!(!fits("OK a", "OK b"));
    assert!(!fits("OK *x", "OK y"));
    assert!(!fits("OK", "OK a"));
}

#[test]
fn times_are_exact_where_they_can_be() {
    assert!(fits("OK end=@10 by=-", "OK end=10 by=-", true));
    assert!(!fits("OK end=@10", "OK end=11", true));
    assert!(fits("ended a @10; granted b", "ended a 12345; granted b", false));
    for wrong in ["OK", "OK forever", "OK -", "OK 12x"] {
        assert!(!fits("OK @10", wrong, false), "{wrong}");
    }
}
