//! What a home asks of the machine that it runs on (`home/world.rs`), answered by the simulated one if the thread belongs to it.

use std::io;
use std::sync::Arc;
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use super::machine::{self, TaskId};
use crate::rt::real;
use crate::table::Time;

pub(crate) use parking_lot::MutexGuard;

/// Does this thread belong to a simulated machine?
pub(crate) fn is_simulated() -> bool {
    machine::inside().is_some()
}

#[derive(Debug, Clone)]
pub(crate) enum Thread {
    Real(real::Thread),
    Simulated(TaskId),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Id {
    Real(ThreadId),
    Simulated(TaskId),
}

impl Thread {
    pub fn unpark(&self) {
        match self {
            Thread::Real(thread) => thread.unpark(),
            // One that has gone with its simulation hears nothing.
            Thread::Simulated(task) => {
                if let Some(sim) = machine::here() {
                    sim.unpark(*task);
                }
            }
        }
    }

    pub fn id(&self) -> Id {
        match self {
            Thread::Real(thread) => Id::Real(thread.id()),
            Thread::Simulated(task) => Id::Simulated(*task),
        }
    }
}

pub(crate) fn current() -> Thread {
    match machine::inside() {
        Some((_, task)) => Thread::Simulated(task),
        None => Thread::Real(real::current()),
    }
}

#[derive(Debug)]
pub(crate) struct JoinHandle<T> {
    thread: Thread,
    real: Option<real::JoinHandle<T>>,
}

impl JoinHandle<()> {
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    pub fn join(self) -> std::thread::Result<()> {
        match (self.real, self.thread) {
            (Some(handle), _) => handle.join(),
            (None, Thread::Simulated(other)) => {
                if let Some((sim, task)) = machine::inside() {
                    sim.join(task, other);
                }
                Ok(())
            }
            (None, Thread::Real(_)) => unreachable!("it has a handle"),
        }
    }
}

pub(crate) fn spawn(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    if let Some((sim, task)) = machine::inside() {
        let new = sim.start(sim.process_of(task), name, work);
        return Ok(JoinHandle { thread: Thread::Simulated(new), real: None });
    }
    let handle = real::spawn(name, work)?;
    Ok(JoinHandle { thread: Thread::Real(handle.thread().clone()), real: Some(handle) })
}

pub(crate) fn sleep(time: Duration) {
    let Some((sim, task)) = machine::inside() else { return real::sleep(time) };
    let until = instant() + time;
    // An answer for which it no longer waits may come meanwhile.
    while instant() < until {
        sim.wait(task, Some(until - instant()));
    }
}

pub(crate) fn park() {
    match machine::inside() {
        Some((sim, task)) => sim.park(task, None),
        None => real::park(),
    }
}

pub(crate) fn park_timeout(time: Duration) {
    match machine::inside() {
        Some((sim, task)) => sim.park(task, Some(time)),
        None => real::park_timeout(time),
    }
}

pub(crate) fn instant() -> Instant {
    match machine::inside() {
        Some((sim, task)) => sim.instant_of(sim.process_of(task)),
        None => real::instant(),
    }
}

/// The same on every machine, so that a simulation depends on its seed alone.
pub(crate) fn node_name() -> String {
    match machine::inside() {
        Some(_) => "simulated".to_owned(),
        None => real::node_name(),
    }
}

pub(crate) fn since_1970() -> Duration {
    match machine::inside() {
        Some((sim, task)) => Duration::from_micros(sim.calendar_of(sim.process_of(task))),
        None => real::since_1970(),
    }
}

pub(crate) fn since_boot() -> Time {
    match machine::inside() {
        Some((sim, task)) => sim.clock_of(sim.process_of(task)),
        None => real::since_boot(),
    }
}

pub(crate) fn below(limit: u64) -> u64 {
    match machine::here() {
        Some(sim) => sim.below(limit),
        None => real::below(limit),
    }
}

/// A lock that simulated threads wait for without stopping the real one.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(parking_lot::Mutex<T>);

impl<T> Mutex<T> {
    pub fn new(value: T) -> Self {
        Mutex(parking_lot::Mutex::new(value))
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        if let Some((sim, task)) = machine::inside() {
            sim.give_way_until(task, || !self.0.is_locked());
        }
        self.0.lock()
    }
}

impl<T> std::ops::Deref for Mutex<T> {
    type Target = parking_lot::Mutex<T>;
    fn deref(&self) -> &parking_lot::Mutex<T> {
        &self.0
    }
}

/// A condition that simulated threads wait for without stopping the real one.
#[derive(Debug, Default)]
pub(crate) struct Condvar {
    real: parking_lot::Condvar,
    waiting: Arc<parking_lot::Mutex<Vec<TaskId>>>,
}

impl Condvar {
    pub fn new() -> Self {
        Condvar::default()
    }

    pub fn notify_all(&self) {
        self.real.notify_all();
        if let Some(sim) = machine::here() {
            std::mem::take(&mut *self.waiting.lock()).into_iter().for_each(|task| sim.wake(task));
        }
    }

    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        if !self.wait_simulated(guard, None) {
            self.real.wait(guard);
        }
    }

    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, timeout: Duration) {
        if !self.wait_simulated(guard, Some(timeout)) {
            self.real.wait_for(guard, timeout);
        }
    }

    /// False if this thread is not a simulated one.
    fn wait_simulated<T>(&self, guard: &mut MutexGuard<'_, T>, timeout: Option<Duration>) -> bool {
        let Some((sim, task)) = machine::inside() else { return false };
        let mutex = MutexGuard::mutex(guard);
        MutexGuard::unlocked(guard, || {
            self.waiting.lock().push(task);
            sim.wait(task, timeout);
            self.waiting.lock().retain(|other| *other != task);
            // No other thread runs between this and the lock.
            sim.give_way_until(task, || !mutex.is_locked());
        });
        true
    }
}
