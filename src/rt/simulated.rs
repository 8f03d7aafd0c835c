//! The runtime of simulated machines: all their threads run on one real thread, and take turns.
//!
//! A simulator installs itself for the real thread that it runs on. Outside simulated threads all
//! of this is as in [`real`](super::real).

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::{LocalKey, ThreadId};
use std::time::{Duration, Instant};

use super::real;

pub use parking_lot::MutexGuard;

/// The number of a simulated thread.
pub type TaskId = usize;

/// What runs simulated threads. Methods that block are called on simulated threads only.
pub trait Simulator {
    /// The simulated thread that runs. None: what runs belongs to the simulator.
    fn current(&self) -> Option<TaskId>;

    /// Starts a thread of the same process.
    fn spawn(&self, name: &str, work: Box<dyn FnOnce()>) -> TaskId;

    /// Blocks until another thread has ended.
    fn join(&self, other: TaskId);

    fn park(&self, timeout: Option<Duration>);

    fn unpark(&self, task: TaskId);

    /// Blocks until [`Self::wake`] or for so long; it may return earlier.
    fn wait(&self, timeout: Option<Duration>);

    fn wake(&self, task: TaskId);

    /// Lets other threads run until the condition is true.
    fn yield_until(&self, condition: &dyn Fn() -> bool);

    fn instant(&self) -> Instant;

    /// As [`real::since_boot`]. `None` if what runs belongs to no machine.
    fn since_boot(&self) -> Option<u64>;

    /// As [`real::since_1970`]. `None` if what runs belongs to no machine.
    fn since_1970(&self) -> Option<Duration>;

    /// A random number below `limit`, which is not 0.
    fn below(&self, limit: u64) -> u64;
}

thread_local! {
    static INSTALLED: RefCell<Option<Rc<dyn Simulator>>> = const { RefCell::new(None) };
}

/// Makes this the simulator of the real thread; `None` ends that.
pub fn install(simulator: Option<Rc<dyn Simulator>>) {
    // The old one is dropped after the cell is free again.
    drop(INSTALLED.replace(simulator));
}

fn installed() -> Option<Rc<dyn Simulator>> {
    INSTALLED.with_borrow(Option::clone)
}

/// The simulator, on a simulated thread.
fn inside() -> Option<Rc<dyn Simulator>> {
    installed().filter(|simulator| simulator.current().is_some())
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
            // A thread that ended with its simulation needs no wake-up.
            Thread::Simulated(task) => {
                if let Some(simulator) = installed() {
                    simulator.unpark(*task);
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
    match installed().and_then(|simulator| simulator.current()) {
        Some(task) => Thread::Simulated(task),
        None => Thread::Real(real::current()),
    }
}

/// Simulated threads have no thread-local storage: they share that of the real thread.
pub(crate) fn with_local<T, R>(key: &'static LocalKey<T>, read: impl FnOnce(&T) -> R) -> Option<R> {
    match inside() {
        Some(_) => None,
        None => real::with_local(key, read),
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
                if let Some(simulator) = inside() {
                    simulator.join(other);
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
    if let Some(simulator) = inside() {
        let new = simulator.spawn(name, Box::new(work));
        return Ok(JoinHandle { thread: Thread::Simulated(new), real: None });
    }
    let handle = real::spawn(name, work)?;
    Ok(JoinHandle { thread: Thread::Real(handle.thread().clone()), real: Some(handle) })
}

pub fn sleep(time: Duration) {
    let Some(simulator) = inside() else { return real::sleep(time) };
    let until = instant() + time;
    // A late answer may wake the thread earlier.
    while instant() < until {
        simulator.wait(Some(until - instant()));
    }
}

pub(crate) fn yield_now() {
    sleep(Duration::from_micros(1));
}

pub(crate) fn park() {
    match inside() {
        Some(simulator) => simulator.park(None),
        None => real::park(),
    }
}

pub(crate) fn park_timeout(time: Duration) {
    match inside() {
        Some(simulator) => simulator.park(Some(time)),
        None => real::park_timeout(time),
    }
}

pub fn instant() -> Instant {
    inside().map_or_else(real::instant, |simulator| simulator.instant())
}

/// The same on every machine, so that a run depends on its seed alone.
pub(crate) fn node_name() -> String {
    inside().map_or_else(real::node_name, |_| "simulated".to_owned())
}

pub(crate) fn since_1970() -> Duration {
    let simulated = installed().and_then(|simulator| simulator.since_1970());
    simulated.unwrap_or_else(real::since_1970)
}

pub(crate) fn since_boot() -> u64 {
    let simulated = installed().and_then(|simulator| simulator.since_boot());
    simulated.unwrap_or_else(real::since_boot)
}

pub fn below(limit: u64) -> u64 {
    match installed() {
        Some(simulator) => simulator.below(limit),
        None => real::below(limit),
    }
}

/// A mutex that simulated threads wait for without blocking the real thread.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(parking_lot::Mutex<T>);

impl<T> Mutex<T> {
    pub fn new(value: T) -> Self {
        Mutex(parking_lot::Mutex::new(value))
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        if let Some(simulator) = inside() {
            simulator.yield_until(&|| !self.0.is_locked());
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

/// A condition variable that simulated threads wait for without blocking the real thread.
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
        if let Some(simulator) = installed() {
            let waiting = std::mem::take(&mut *self.waiting.lock());
            waiting.into_iter().for_each(|task| simulator.wake(task));
        }
    }

    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, timeout: Duration) {
        if !self.wait_simulated(guard, Some(timeout)) {
            self.real.wait_for(guard, timeout);
        }
    }

    /// False if this thread is not a simulated one.
    fn wait_simulated<T>(&self, guard: &mut MutexGuard<'_, T>, timeout: Option<Duration>) -> bool {
        let Some(simulator) = installed() else { return false };
        let Some(task) = simulator.current() else { return false };
        let mutex = MutexGuard::mutex(guard);
        MutexGuard::unlocked(guard, || {
            self.waiting.lock().push(task);
            simulator.wait(timeout);
            self.waiting.lock().retain(|other| *other != task);
            // No other thread runs between this and the lock.
            simulator.yield_until(&|| !mutex.is_locked());
        });
        true
    }
}
