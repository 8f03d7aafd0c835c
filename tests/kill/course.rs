//! Killing at each instruction of an operation.

use std::collections::{BTreeSet, HashMap};

use super::random::Random;
use super::window::Window;
use super::{Left, Operation, Point, Way, trial};
use crate::trace::Stop;

/// In operations of more instructions than this, not each is killed at. All are at which something changes for others, and so many more.
const LONG: usize = 15_000;
const SPREAD: usize = 3000;

/// How an operation goes if nobody kills it.
#[derive(Default)]
pub struct Course {
    /// The addresses of its instructions, and of the one after it; and for the how many-th time it comes there.
    path: Vec<(usize, usize)>,
    /// After how many of them something is different for others: the file has changed, or the next or the last one is a system call.
    changes: BTreeSet<usize>,
}

impl Course {
    /// Follows an operation to its end; also what is left when it is killed there.
    pub fn of(operation: &Operation) -> (Course, Result<Left, String>) {
        let mut course = Course::default();
        let mut visits = HashMap::new();
        let left = trial(operation, |victim, file| {
            let mut window = Window::on(file);
            loop {
                let address = victim.address();
                let visits = visits.entry(address).or_insert(0);
                *visits += 1;
                course.path.push((address, *visits));
                let done = course.count();
                if victim.is_call(address) {
                    course.changes.extend([done, done + 1]);
                }
                match victim.step() {
                    Stop::Step => {}
                    stop => break stop,
                }
                if window.shows_change() {
                    course.changes.insert(done + 1);
                }
            }
        });
        (course, left)
    }

    fn count(&self) -> usize {
        self.path.len().saturating_sub(1)
    }
}

impl Way for Course {
    fn length(&self) -> String {
        format!("{} instructions, {} that others can see", self.count(), self.changes.len())
    }

    fn points(&self, _: &mut Random) -> Vec<Point> {
        let step = if self.count() > LONG { self.count().div_ceil(SPREAD) } else { 1 };
        let mut chosen = self.changes.clone();
        chosen.extend((0..self.count()).step_by(step));
        chosen.insert(self.count());
        chosen.into_iter().map(|steps| Point { stop: 0, steps }).collect()
    }

    fn kill(&self, operation: &Operation, point: Point) -> Result<Left, String> {
        let count = point.steps;
        // A leap is as dear as a step for each time that it comes by the address.
        let dear = |&to: &usize| self.path[to].1 + count - to;
        let to = (0..=count).min_by_key(dear).expect("it is there itself");
        let (address, times) = self.path[to];
        let mut missed = false;
        let left = trial(operation, |victim, _| match victim.run_to(address, times) {
            Stop::Step => victim.steps(count - to),
            stop => {
                missed = true;
                stop
            }
        });
        match missed {
            // It went another way: the clock's code depends on what the clock shows.
            true => trial(operation, |victim, _| victim.steps(count)),
            false => left,
        }
    }
}
