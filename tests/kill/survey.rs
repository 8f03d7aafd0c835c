//! Killing in many places of an operation without going there step by step: from stop to stop, at system calls and at changes of the table.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use super::operations::OPERATIONS;
use super::random::Random;
use super::window::Window;
use super::{Left, Operation, Point, Way, trial};
use crate::trace::{Stop, Traced};

/// How many instructions there are at most between a stop and a kill.
const GAP: usize = 400;

/// The stops of an operation.
pub struct Survey {
    stops: usize,
    kills: usize,
}

impl Survey {
    /// Follows an operation to its end; also what is left when it is killed there.
    pub fn of(operation: &Operation, kills: usize) -> (Survey, Result<Left, String>) {
        let mut survey = Survey { stops: 0, kills };
        let left = trial(operation, |victim, file| {
            let mut walk = Walk::default();
            loop {
                match walk.on(victim, file) {
                    Stop::Step => survey.stops += 1,
                    stop => break stop,
                }
            }
        });
        (survey, left)
    }
}

impl Way for Survey {
    fn length(&self) -> String {
        format!("{} stops", self.stops)
    }

    fn points(&self, random: &mut Random) -> Vec<Point> {
        let last = Point { stop: self.stops + 1, steps: 0 };
        let mut points = vec![Point::default(), last];
        points.extend((points.len()..self.kills).map(|turn| {
            let steps = if turn % 4 == 0 { 0 } else { random.below(GAP) };
            Point { stop: random.below(self.stops + 1), steps }
        }));
        points.sort();
        points
    }

    fn kill(&self, operation: &Operation, point: Point) -> Result<Left, String> {
        trial(operation, |victim, file| match pass(victim, file, point.stop) {
            Stop::Step => victim.steps(point.steps),
            stop => stop,
        })
    }
}

/// Runs past so many stops, or to the next mark if that comes first.
pub fn pass(process: &mut Traced, file: &Path, stops: usize) -> Stop {
    let mut walk = Walk::default();
    let mut passed = (0..stops).map(|_| walk.on(process, file));
    passed.find(|&stop| stop != Stop::Step).unwrap_or(Stop::Step)
}

/// Goes from stop to stop.
#[derive(Default)]
struct Walk {
    watches: bool,
}

impl Walk {
    fn on(&mut self, process: &mut Traced, file: &Path) -> Stop {
        self.watches = self.watches || watch(process, file, busiest_word());
        process.run_to_stop()
    }
}

/// The place in the file that changes most often while an operation is carried out: it is part of every other change.
fn busiest_word() -> usize {
    static WORD: OnceLock<usize> = OnceLock::new();
    *WORD.get_or_init(|| {
        let mut changes = BTreeMap::new();
        let left = trial(&OPERATIONS[0], |victim, file| {
            let mut window = Window::on(file);
            let mut stop = Stop::Step;
            while stop == Stop::Step && changes.values().sum::<usize>() < 40 {
                stop = victim.step();
                let change = window.change();
                change.into_iter().for_each(|place| *changes.entry(place).or_default() += 1);
            }
            stop
        });
        assert!(left.is_ok(), "{left:?}");
        changes.into_iter().max_by_key(|(_, count)| *count).expect("it changes something").0
    })
}

/// Watches the word in the memory of the process, if it has the file there yet.
fn watch(process: &mut Traced, file: &Path, word: usize) -> bool {
    let maps = fs::read_to_string(format!("/proc/{}/maps", process.pid())).unwrap();
    let map = maps.lines().find(|map| map.ends_with(&*file.to_string_lossy()));
    let Some((begin, _)) = map.and_then(|map| map.split_once('-')) else { return false };
    process.watch(usize::from_str_radix(begin, 16).unwrap() + word);
    true
}
