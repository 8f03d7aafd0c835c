//! A process is killed at any instruction of an operation on a table that it shares. Whoever comes next finds a valid table, in which the
//! operation has happened wholly or not at all; nothing has leaked, and those who wait are served in order.
//!
//! `cargo test` kills in some places of each operation, most of them between two changes of the file; `TERN_SEED=42` kills in the same
//! places again. `TERN_TORTURE=full` kills at each instruction, for which `--release` is wise: operations have fewer there.
//! `TERN_OPERATION=renew` tries only operations with such a name.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod kill;
#[path = "common/trace.rs"]
mod trace;

use std::fmt;

use kill::course::Course;
use kill::operations::OPERATIONS;
use kill::random::Random;
use kill::survey::Survey;
use kill::{Left, Operation, Point, Way};

/// How often to kill in one operation, unless at each instruction.
const SOME: usize = 16;

/// So many failures of one operation tell what is wrong.
const ENOUGH: usize = 5;

#[test]
fn killed_at_any_instruction() {
    trace::stay_on_one_processor();
    let full = std::env::var("TERN_TORTURE").is_ok_and(|how| how == "full");
    let wanted = std::env::var("TERN_OPERATION").unwrap_or_default();
    let mut random = Random::new();
    println!("TERN_SEED={}", random.seed);
    let (mut kills, mut undone, mut told_apart, mut failures) = (0, 0, 0, Vec::new());
    for operation in OPERATIONS.iter().filter(|operation| operation.name.contains(&wanted)) {
        let tally = match full {
            true => {
                let (way, whole) = Course::of(operation);
                Tally::of(operation, &way, whole, &mut random)
            }
            false => {
                let (way, whole) = Survey::of(operation, SOME);
                Tally::of(operation, &way, whole, &mut random)
            }
        };
        println!("{tally}");
        kills += tally.kills;
        undone += tally.undone;
        told_apart += usize::from(tally.whole_from.is_some());
        failures.extend(tally.failures);
    }
    println!("killed {kills} times, {undone} times undone by others, {} failures", failures.len());
    assert!(failures.is_empty(), "TERN_SEED={}\n{}", random.seed, failures.join("\n"));
    if wanted.is_empty() {
        // If hardly anybody ever had anything to undo, the kills were not where they should be; and if what is done looks like what is not,
        // nobody has looked.
        assert!(undone * 5 >= kills, "the kills missed the changes");
        assert!(told_apart * 2 >= OPERATIONS.len(), "hardly an operation could be seen");
    }
}

/// What came of killing in one operation.
struct Tally {
    name: &'static str,
    length: String,
    kills: usize,
    undone: usize,
    /// The first place from which on the operation had happened; none if others cannot tell.
    whole_from: Option<Point>,
    failures: Vec<String>,
}

impl Tally {
    fn of(
        operation: &Operation,
        way: &impl Way,
        whole: Result<Left, String>,
        random: &mut Random,
    ) -> Tally {
        let mut tally = Tally {
            name: operation.name,
            length: way.length(),
            kills: 0,
            undone: 0,
            whole_from: None,
            failures: Vec::new(),
        };
        let (none, whole) = match (whole, way.kill(operation, Point::default())) {
            (Ok(whole), Ok(none)) => (none, whole),
            (Err(error), _) => return tally.fail("after it", error),
            (_, Err(error)) => return tally.fail("before it", error),
        };
        for point in way.points(random) {
            tally.kills += 1;
            let seen = way.kill(operation, point).and_then(|left| {
                tally.undone += usize::from(left.roll_backs > none.roll_backs);
                tally.judge(point, &none, &whole, &left)
            });
            if let Err(error) = seen {
                tally = tally.fail(point, error);
            }
            if tally.failures.len() == ENOUGH {
                break;
            }
        }
        tally
    }

    /// What is wrong with what is left, if before the operation and after it that would have been left.
    fn judge(
        &mut self,
        point: Point,
        none: &Left,
        whole: &Left,
        left: &Left,
    ) -> Result<(), String> {
        let (is_none, is_whole) = (left.view == none.view, left.view == whole.view);
        if is_whole && !is_none {
            self.whole_from.get_or_insert(point);
        }
        if !is_none && !is_whole {
            let (none, whole, left) = (&none.view, &whole.view, &left.view);
            return Err(format!(
                "neither what was before\n{none}\nnor what was to be\n{whole}\nbut\n{left}"
            ));
        }
        if !is_none && left.roll_backs > none.roll_backs {
            return Err("it was undone, and yet has happened".into());
        }
        match self.whole_from {
            Some(from) if !is_whole && point.is_surely_after(from) => {
                Err(format!("it has not happened, though it had at {from}"))
            }
            _ => Ok(()),
        }
    }

    fn fail(mut self, place: impl fmt::Display, error: String) -> Tally {
        self.failures.push(format!("{}, killed {place}: {error}", self.name));
        self
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { name, length, kills, undone, .. } = self;
        write!(f, "{name}: {length}; {kills} kills, {undone} undone, ")?;
        match self.whole_from {
            Some(point) => write!(f, "happened {point}, ")?,
            None => write!(f, "others cannot tell, ")?,
        }
        write!(f, "{} failures", self.failures.len())
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.stop {
            0 => write!(f, "after {} instructions", self.steps),
            stop => write!(f, "{} instructions after stop {stop}", self.steps),
        }
    }
}
