//! `host.64on4`: 64 processes want one of four devices, all the time, beside four lock files.
//!
//! The devices are held until all processes wait, so that none is done before the others begin. A process that has unlocked a
//! file can lock it again before those who wait have woken, which is fast, and makes others wait. Ours serves in order, which takes a change of
//! processes for each claim: that is what `_vs_order` compares with.

use std::sync::atomic::Ordering;
use std::time::Duration;

use ternlease::LeaseManager;

use crate::host_locks::LockFile;
use crate::host_order::{Order, PLACES};
use crate::host_place::{Line, Place, Problem, Worker};
use crate::measure::{Sample, wall_now};
use crate::report::Bench;

const PROCESSES: usize = PLACES;
const DEVICES: usize = 4;
const NAMES: [&str; DEVICES] = ["gpu0", "gpu1", "gpu2", "gpu3"];

/// How a process gets a device.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Way {
    Ours,
    /// It has its file, and blocks on that.
    OwnFile,
    /// It tries all files, and blocks on its own if none is free.
    AnyFile,
    /// By bare futexes, in order.
    InOrder,
}

/// What is measured: name, beside what, and how long a device is held.
const LINES: [(&str, Way, Duration); 4] = [
    ("host.64on4", Way::OwnFile, Duration::ZERO),
    ("host.64on4_vs_scan", Way::AnyFile, Duration::ZERO),
    ("host.64on4_vs_order", Way::InOrder, Duration::ZERO),
    ("host.64on4_held_1ms", Way::AnyFile, Duration::from_millis(1)),
];

pub fn run(bench: &mut Bench) -> Result<(), Problem> {
    let wanted = |bench: &Bench, name: &str| bench.wants(name) || bench.wants(&worst(name));
    if !LINES.iter().any(|(name, ..)| wanted(bench, name)) {
        return Ok(());
    }
    let crowd = Crowd::new()?;
    for (name, peer, held) in LINES {
        if wanted(bench, name) {
            crowd.compare(bench, name, peer, held)?;
        }
    }
    Ok(())
}

/// The name of the line with the longest wait.
fn worst(name: &str) -> String {
    name.replacen("64on4", "64on4_worst_wait", 1)
}

/// What one round comes to, in nanoseconds.
struct Round {
    each: f64,
    worst: f64,
}

struct Crowd {
    // Ended before their place is removed.
    _workers: Vec<Worker>,
    manager: LeaseManager,
    files: Vec<LockFile>,
    place: Place,
}

impl Crowd {
    fn new() -> Result<Crowd, Problem> {
        let place = Place::new()?;
        let manager = LeaseManager::open(&place.url())?;
        for name in NAMES {
            manager.declare(name, 1, 0)?;
        }
        let files = LockFile::several(&place, DEVICES)?;
        let worker = |i: usize| place.worker("one_of_many", i + 1, "");
        let workers = (0..PROCESSES).map(worker).collect::<Result<_, _>>()?;
        place.line(0).finished(PROCESSES as u32)?;
        Ok(Crowd { _workers: workers, manager, files, place })
    }

    fn compare(
        &self,
        bench: &mut Bench,
        name: &str,
        peer: Way,
        held: Duration,
    ) -> Result<(), Problem> {
        let claims = match (bench.quick, held.is_zero()) {
            (true, true) => 10,
            (false, true) => 50,
            (true, false) => 2,
            (false, false) => 8,
        };
        let mut sides = [(); 2].map(|()| Vec::new());
        let rounds = if bench.quick { 3 } else { 11 };
        for round in 0..=rounds {
            for turn in 0..2 {
                let side = (round + turn) % 2;
                let way = [Way::Ours, peer][side];
                let measured = self.round(way, claims, held)?;
                // The first is for nothing: caches, and the first touch of memory.
                if round > 0 {
                    sides[side].push(measured);
                }
            }
        }
        for (name, part) in [
            (name.to_owned(), (|round| round.each) as fn(&Round) -> f64),
            (worst(name), |round| round.worst),
        ] {
            let [ours, peer] = [0, 1].map(|i| sides[i].iter().map(part).collect::<Vec<f64>>());
            bench.line(&name, Sample::of_rounds(&ours, &peer));
        }
        Ok(())
    }

    fn round(&self, way: Way, claims: usize, held: Duration) -> Result<Round, Problem> {
        let line = self.place.line(0);
        line.task.set(way as u32);
        line.amount.store(claims as u64, Ordering::Relaxed);
        line.pause.store(held.as_nanos() as u64, Ordering::Relaxed);
        let start = match way {
            Way::Ours => self.start_ours(line)?,
            Way::OwnFile | Way::AnyFile => self.start_files(line),
            Way::InOrder => self.start_order(line),
        };
        line.finished(PROCESSES as u32)?;
        let each = (wall_now() - start) as f64 / (PROCESSES * claims) as f64;
        let wait = |i| self.place.line(i + 1).told.load(Ordering::Acquire);
        let worst = (0..PROCESSES).map(wait).max().unwrap_or(0) as f64;
        Ok(Round { each, worst })
    }

    fn start_ours(&self, line: &Line) -> Result<u64, Problem> {
        let lease = self.manager.claim("start").of(&NAMES).count(DEVICES as u32).try_now()?;
        line.begin();
        while self.manager.pending_claimers() < PROCESSES {
            std::thread::yield_now();
        }
        let start = mark_start(line);
        self.manager.release(lease)?;
        Ok(start)
    }

    fn start_files(&self, line: &Line) -> u64 {
        self.files.iter().for_each(LockFile::lock);
        line.begin();
        while self.files.iter().map(LockFile::waiting).sum::<usize>() < PROCESSES {
            std::thread::yield_now();
        }
        let start = mark_start(line);
        self.files.iter().for_each(LockFile::unlock);
        start
    }

    fn start_order(&self, line: &Line) -> u64 {
        let order = Order::new(&self.place);
        order.close();
        line.begin();
        while order.waiting() < PROCESSES {
            std::thread::yield_now();
        }
        let start = mark_start(line);
        (0..DEVICES).for_each(|_| order.give());
        start
    }
}

fn mark_start(line: &Line) -> u64 {
    let start = wall_now();
    line.start.store(start, Ordering::Release);
    start
}

/// One of the processes.
pub fn one_of_many(place: &Place, number: usize, _: &str) -> Result<(), Problem> {
    let manager = LeaseManager::open(&place.url())?;
    let files = LockFile::several(place, DEVICES)?;
    let order = Order::new(place);
    let holder = format!("process{number}");
    let (line, own) = (place.line(0), place.line(number));
    line.serve(|| {
        let held = Duration::from_nanos(line.pause.load(Ordering::Relaxed));
        let mut worst = 0;
        for _ in 0..line.amount.load(Ordering::Relaxed) {
            let asked = wall_now();
            // What it took until all waited is not counted.
            let mut got = || {
                let since = asked.max(line.start.load(Ordering::Acquire));
                worst = worst.max(wall_now().saturating_sub(since));
                if !held.is_zero() {
                    std::thread::sleep(held);
                }
            };
            match line.task.get() {
                way if way == Way::Ours as u32 => {
                    let lease = manager.claim(&holder).of(&NAMES).wait()?;
                    got();
                    manager.release(lease)?;
                }
                way if way == Way::InOrder as u32 => {
                    order.take(number);
                    got();
                    order.give();
                }
                way => {
                    let any = way == Way::AnyFile as u32;
                    let file = lock_one(&files, number % DEVICES, any);
                    got();
                    file.unlock();
                }
            }
        }
        own.told.store(worst, Ordering::Release);
        Ok(())
    })
}

/// Locks one of the files: its own, or any that is free.
fn lock_one(files: &[LockFile], own: usize, any: bool) -> &LockFile {
    if any {
        let free = (own..own + DEVICES).map(|i| &files[i % DEVICES]).find(|file| file.try_lock());
        if let Some(file) = free {
            return file;
        }
    }
    files[own].lock();
    &files[own]
}
