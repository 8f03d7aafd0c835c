//! `host.death`: how long after the holder of a device is killed the next in line has it, beside a lock file.
//!
//! The kernel takes a dead process apart in an order: first its memory, then its files. A driver frees what the process had on
//! a device when its files are closed, so nobody should have the device before that, and a large process takes long.

use std::io;
use std::ptr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ternlease::{LeaseManager, ProcessLife};

use crate::host_locks::LockFile;
use crate::host_place::{Line, Place, Problem, Worker, await_sleep, spin_until};
use crate::measure::{Sample, Unit, quantile, wall_now};
use crate::report::{Bench, figure};

const VICTIM: usize = 0;
const HEIR: usize = 1;
const HEIR_BY_FLOCK: usize = 2;
const WITNESS: usize = 3;

const SMALL: [(&str, f64); 2] = [("host.death_p50", 0.5), ("host.death_p99", 0.99)];

/// What a large process comes to, with goals in nanoseconds. When the device is handed over is the kernel's decision.
const LARGE: [(&str, f64); 2] = [("known", 5e6), ("handed_over", f64::INFINITY)];

/// For the small process, in nanoseconds.
const GOAL: f64 = 10e6;

pub fn run(bench: &mut Bench) -> Result<(), Problem> {
    let megabytes = if bench.quick { 128 } else { 2048 };
    let large = LARGE.map(|(what, goal)| (format!("host.death_{megabytes}mb_{what}"), goal));
    let wants_small = SMALL.iter().any(|(name, _)| bench.wants(name));
    let wants_large = large.iter().any(|(name, _)| bench.wants(name));
    if !wants_small && !wants_large {
        return Ok(());
    }
    let family = Family::new()?;
    if wants_small {
        few_pages(bench, &family)?;
    }
    if wants_large {
        many_pages(bench, &family, megabytes, &large)?;
    }
    Ok(())
}

/// A small process, with a lease or with a lock in turns: they must not wait for each other.
fn few_pages(bench: &mut Bench, family: &Family) -> Result<(), Problem> {
    let rounds = if bench.quick { 20 } else { 300 };
    let (mut ours, mut flock) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        ours.push(family.die(0, &[HEIR])?[0]);
        flock.push(family.die(0, &[HEIR_BY_FLOCK])?[0]);
    }
    for (name, part) in SMALL {
        if bench.wants(name) {
            let at = |side: &[f64]| quantile(side.iter().copied(), part);
            let sample = Sample::once(at(&ours), at(&flock), Unit::Nanoseconds);
            bench.line(name, Sample { rounds, ..sample });
            if part > 0.5 {
                note_goal(bench, name, sample, GOAL);
            }
        }
    }
    Ok(())
}

/// A large process, with a lease and a lock: what they wait for each other is nothing beside what both wait for the kernel.
fn many_pages(
    bench: &mut Bench,
    family: &Family,
    megabytes: usize,
    lines: &[(String, f64); 2],
) -> Result<(), Problem> {
    let rounds = if bench.quick { 3 } else { 7 };
    let (mut ours, mut flock) = ([Vec::new(), Vec::new()], Vec::new());
    for _ in 0..rounds {
        let times = family.die(megabytes, &[WITNESS, HEIR, HEIR_BY_FLOCK])?;
        ours[0].push(times[0]);
        ours[1].push(times[1]);
        flock.push(times[2]);
    }
    for ((name, goal), ours) in lines.iter().zip(&ours) {
        if bench.wants(name) {
            let sample = Sample::of_rounds(ours, &flock);
            bench.line(name, sample);
            if goal.is_finite() {
                note_goal(bench, name, sample, *goal);
            }
        }
    }
    Ok(())
}

fn note_goal(bench: &Bench, name: &str, sample: Sample, goal: f64) {
    let reached = if sample.ours < goal { "reached" } else { "missed" };
    let goal = figure(goal, Unit::Nanoseconds);
    bench.note(name, &format!("goal: less than {goal}: {reached}"));
}

/// Those who wait for what a victim has, and one who only watches.
struct Family {
    // Ended before their place is removed.
    _workers: [Worker; 3],
    file: LockFile,
    place: Place,
}

impl Family {
    fn new() -> Result<Family, Problem> {
        let place = Place::new()?;
        let workers = [
            place.worker("heir", HEIR, "")?,
            place.worker("heir_by_flock", HEIR_BY_FLOCK, "")?,
            place.worker("witness", WITNESS, "")?,
        ];
        for worker in [HEIR, HEIR_BY_FLOCK, WITNESS] {
            place.line(worker).finished(1)?;
        }
        let file = LockFile::new(&place, "lock")?;
        Ok(Family { _workers: workers, file, place })
    }

    /// Lets a process of that size die; nanoseconds until each heir had what it held, or knew.
    fn die(&self, megabytes: usize, heirs: &[usize]) -> Result<Vec<f64>, Problem> {
        let line = self.place.line(VICTIM);
        line.waits.set(0);
        let mut victim = self.place.worker("victim", VICTIM, &megabytes.to_string())?;
        line.waits.until(|holds| holds != 0)?;
        for &heir in heirs {
            let line = self.place.line(heir);
            line.waits.set(0);
            line.amount.store(victim.id() as u64, Ordering::Relaxed);
            line.begin();
            line.waits.until(|waits| waits != 0)?;
        }
        if heirs.contains(&HEIR_BY_FLOCK) {
            spin_until(|| self.file.waiting() == 1)?;
        }
        await_sleep();
        let killed = victim.kill()?;
        let mut times = Vec::new();
        for &heir in heirs {
            let line = self.place.line(heir);
            line.finished(1)?;
            times.push(line.told.load(Ordering::Acquire).saturating_sub(killed) as f64);
        }
        victim.wait()?;
        Ok(times)
    }
}

/// Has a device and the lock of a file, and waits for its end.
pub fn victim(place: &Place, number: usize, megabytes: &str) -> Result<(), Problem> {
    fill(megabytes.parse::<usize>()? << 20)?;
    let manager = LeaseManager::open(&place.url())?;
    let file = LockFile::new(place, "lock")?;
    file.lock();
    manager.claim("victim").of(&["gpu"]).wait()?;
    place.line(number).waits.count();
    loop {
        // SAFETY: takes no pointers.
        unsafe { libc::pause() };
    }
}

/// Takes so much memory and writes to each page of it.
fn fill(bytes: usize) -> Result<(), Problem> {
    if bytes == 0 {
        return Ok(());
    }
    let (access, kind) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping, anywhere.
    let start = unsafe { libc::mmap(ptr::null_mut(), bytes, access, kind, -1, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error().into());
    }
    // Small pages wherever this runs: they are what makes dying slow. Refused, it is as the system has it.
    // SAFETY: the mapping is ours, and as long as that.
    unsafe { libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE) };
    // SAFETY: as above, and nobody else writes to it.
    unsafe { ptr::write_bytes(start.cast::<u8>(), 1, bytes) };
    Ok(())
}

/// Waits for the device.
pub fn heir(place: &Place, number: usize, _: &str) -> Result<(), Problem> {
    let manager = LeaseManager::open(&place.url())?;
    let line = place.line(number);
    line.serve(|| {
        let ticket = manager.claim("heir").of(&["gpu"]).enqueue()?;
        line.waits.count();
        let lease = ticket.wait()?;
        tell(line);
        manager.release(lease)?;
        Ok(())
    })
}

/// Waits for the lock.
pub fn heir_by_flock(place: &Place, number: usize, _: &str) -> Result<(), Problem> {
    let file = LockFile::new(place, "lock")?;
    let line = place.line(number);
    line.serve(|| {
        line.waits.count();
        file.lock();
        tell(line);
        file.unlock();
        Ok(())
    })
}

/// Looks often whether the process lives. It sleeps in between, as dying takes a processor, too.
pub fn witness(place: &Place, number: usize, _: &str) -> Result<(), Problem> {
    const NAP: Duration = Duration::from_micros(100);
    let manager = LeaseManager::open(&place.url())?;
    let line = place.line(number);
    line.serve(|| {
        let victim = line.amount.load(Ordering::Relaxed) as u32;
        line.waits.count();
        loop {
            let info = manager.host().ok_or("the table is not in a file")?;
            let mut processes = info.processes.iter();
            if !processes.any(|other| other.process == victim && other.life == ProcessLife::Lives) {
                tell(line);
                return Ok(());
            }
            std::thread::sleep(NAP);
        }
    })
}

fn tell(line: &Line) {
    line.told.store(wall_now(), Ordering::Release);
}
