//! Trials: a victim comes to a table, begins an operation, and is killed on the way; somebody else looks what is left.

pub mod course;
pub mod operations;
pub mod random;
pub mod survey;
pub mod view;
mod window;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use random::Random;
use ternlease::{LeaseManager, Limits, Options};

use crate::trace::{Stop, Traced, mark};

/// Small, so that a table is quickly made, looked at and filled.
pub const LIMITS: Limits = Limits { leases: 12, tickets: 6, resources: 10, history: 128 };

/// The resources of each table. `bulk` has room for everybody and is in nobody's way.
pub const ALL: [&str; 5] = ["gpu0", "gpu1", "gpu2", "gpu3", "bulk"];

/// Nothing here takes so long. A process that does is stuck, and ends by that.
const PATIENCE: Duration = Duration::from_secs(60);

/// As long as no test lasts.
pub fn lasting() -> Duration {
    Duration::from_secs(3600)
}

/// Who else knows the table. Whoever lives is there all the time, and looks at what is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// One that lives, all the time.
    Live,
    /// One that lives; and one that comes after the victim, and is killed before the victim begins.
    Die,
    /// The same, but it is killed in the middle of a change.
    DieHalfway,
    /// One that is dead when the victim comes, and not reaped yet.
    Dead,
    /// Nobody; there is no table yet.
    None,
}

/// What a victim is killed in.
pub struct Operation {
    pub name: &'static str,
    pub others: Others,
    /// What the others do before the victim comes.
    pub before: fn(&LeaseManager),
    /// What the victim does. Its marks say where the operation begins and ends.
    pub victim: fn(&str),
    /// What is done when the victim is about to begin: by the one that dies then, or the one that lives.
    pub then: fn(&LeaseManager),
}

/// What a kill left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// All that can be seen.
    pub view: String,
    /// How often somebody had to undo something.
    pub roll_backs: u64,
}

/// A place on the way through an operation: after so many stops, and then so many instructions.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Point {
    pub stop: usize,
    pub steps: usize,
}

impl Point {
    /// Is it after the other, whichever way the victim goes? An instruction passes one stop at most; and the clock's code, for one, is longer or
    /// shorter with what the clock shows.
    pub fn is_surely_after(self, other: Point) -> bool {
        match self.stop == other.stop {
            true => self.steps > other.steps + 200,
            false => self.stop > other.stop + other.steps,
        }
    }
}

/// A way through an operation, on which one can kill.
pub trait Way {
    /// How long it is, in words.
    fn length(&self) -> String;
    /// Where to kill, in order: the first place is before the operation, the last one after it.
    fn points(&self, random: &mut Random) -> Vec<Point>;
    /// Kills a victim there; what is left.
    fn kill(&self, operation: &Operation, point: Point) -> Result<Left, String>;
}

pub fn open(url: &str) -> LeaseManager {
    LeaseManager::open_with(url, Options::real().limits(LIMITS)).unwrap()
}

/// Runs the victim to the beginning of the operation, then as `drive` says, and kills it there. What is wrong with what it left, in words.
pub fn trial(
    operation: &Operation,
    drive: impl FnOnce(&mut Traced, &Path) -> Stop,
) -> Result<Left, String> {
    let place = Place::new();
    let url = place.url();
    let Operation { others, before, victim, then, .. } = *operation;
    if others == Others::Dead {
        come_and_die(&place, before, false)?;
    }
    let witnessed = !matches!(others, Others::Dead | Others::None);
    let mut witness = Traced::fork(|| {
        limit_time();
        let manager = witnessed.then(|| make(&url));
        manager.iter().for_each(before);
        mark();
        if others == Others::Live {
            manager.iter().for_each(then);
        }
        mark();
        fs::write(place.report(), look(manager, &url)).unwrap();
    });
    reach_mark(&mut witness, "the witness")?;
    let mut victim = Traced::fork(|| {
        limit_time();
        victim(&url);
    });
    reach_mark(&mut victim, "the victim")?;
    if let Others::Die | Others::DieHalfway = others {
        come_and_die(&place, then, others == Others::DieHalfway)?;
    }
    reach_mark(&mut witness, "the witness")?;
    if drive(&mut victim, &place.0) == Stop::Ended {
        return Err("the victim ended by itself".into());
    }
    victim.kill();
    if !witness.finish() {
        return Err("see above what the one who looked found".into());
    }
    let report = fs::read_to_string(place.report()).map_err(|error| error.to_string())?;
    let (roll_backs, view) = report.split_once('\n').ok_or("no report")?;
    let roll_backs = roll_backs.parse().map_err(|_| "no count")?;
    Ok(Left { view: view.to_owned(), roll_backs })
}

/// A process does its work and is killed: afterwards, or halfway.
fn come_and_die(place: &Place, work: fn(&LeaseManager), halfway: bool) -> Result<(), String> {
    let url = place.url();
    let mut process = Traced::fork(|| {
        limit_time();
        let manager = make(&url);
        mark();
        work(&manager);
        mark();
    });
    reach_mark(&mut process, "the one that dies")?;
    match halfway {
        // Each of our commands makes more changes than that.
        true if survey::pass(&mut process, &place.0, 20) != Stop::Step => {
            return Err("the one that dies did too little".into());
        }
        true => {}
        false => reach_mark(&mut process, "the one that dies")?,
    }
    process.kill();
    Ok(())
}

fn reach_mark(process: &mut Traced, who: &str) -> Result<(), String> {
    match process.run_to_mark() {
        Stop::Mark => Ok(()),
        stop => Err(format!("{who} came to no mark: {stop:?}")),
    }
}

/// The table of a trial, as it is in the beginning.
fn make(url: &str) -> LeaseManager {
    let manager = open(url);
    for name in ALL {
        // Unless it is there, and perhaps in use.
        if manager.resource(name).is_none() {
            manager.declare(name, if name == "bulk" { 1000 } else { 1 }, 0).unwrap();
        }
    }
    manager
}

/// The victim is dead. Looks at what it left from every side.
fn look(manager: Option<LeaseManager>, url: &str) -> String {
    let manager = manager.unwrap_or_else(|| make(url));
    // Whoever looks takes note of the dead, unless nothing makes sense any more.
    while !is_alone(&manager) {
        thread::yield_now();
    }
    manager.verify().unwrap();
    let text = view::of(&manager) + &view::of_the_rest(&manager);
    // All were served, and have been told.
    std::mem::take(&mut *SLEEPERS.lock().unwrap())
        .into_iter()
        .for_each(|sleeper| sleeper.join().unwrap());
    manager.verify().unwrap();
    let undone = manager.host().unwrap().roll_backs;
    drop(manager);
    // The last one has left. Whoever comes next finds everything in order.
    let next = open(url);
    next.verify().unwrap();
    let lease = next.claim("next").of(&ALL).count(ALL.len() as u32).try_now().unwrap();
    next.release(lease).unwrap();
    format!("{undone}\n{text}")
}

fn is_alone(manager: &LeaseManager) -> bool {
    drop(manager.leases());
    let info = manager.host().unwrap();
    assert!(!info.corrupt, "damaged: {:?}", manager.verify());
    info.processes.len() == 1
}

/// The threads of this process that sleep until their claims are decided.
static SLEEPERS: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

/// Waits for a resource with a thread that sleeps until it has it.
pub fn sleeps(manager: &LeaseManager, holder: &str, resource: &str) {
    let ticket = manager.claim(holder).of(&[resource]).ttl(lasting()).enqueue().unwrap();
    let sleeper = thread::spawn(move || {
        ticket.wait().unwrap();
    });
    SLEEPERS.lock().unwrap().push(sleeper);
}

/// Ends this process if it takes too long.
fn limit_time() {
    // SAFETY: only asks for a signal.
    unsafe { libc::alarm(PATIENCE.as_secs() as u32) };
}

/// Where the table of a trial is, and nothing is afterwards.
struct Place(PathBuf);

impl Place {
    fn new() -> Place {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("kill-{}-{number}", std::process::id());
        Place(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    fn url(&self) -> String {
        format!("host:{}", self.0.display())
    }

    fn report(&self) -> PathBuf {
        self.0.with_extension("report")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
        let _ = fs::remove_file(self.report());
    }
}
