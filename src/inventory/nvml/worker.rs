//! A thread that makes the calls that may never come back, so that nobody else has to.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crate::inventory::Why;
use crate::rt::thread;

/// A thread with a state of its own, which never leaves it. Ends when this is dropped; a call that hangs, it outlives.
pub(super) struct Worker<S> {
    jobs: Sender<Job<S>>,
    progress: Arc<Progress>,
}

struct Job<S> {
    /// Gone if the one who asked waits no more.
    caller: Weak<()>,
    work: Box<dyn FnOnce(&mut S) + Send>,
}

impl<S: Default + 'static> Worker<S> {
    pub fn start(name: &str) -> Result<Self, Why> {
        let (jobs, todo) = mpsc::channel();
        let progress = Arc::new(Progress::new());
        let told = progress.clone();
        thread::spawn(name, move || work(&todo, &told))
            .map_err(|error| Why::Failed(format!("no thread to ask it with: {error}")))?;
        Ok(Worker { jobs, progress })
    }

    /// Has the work done, and waits so long for it. If the work before has been going on for so long already, nobody waits: whatever it
    /// hangs in, this would hang behind it.
    pub fn ask<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl FnOnce(&mut S) -> T + Send + 'static,
    ) -> Result<T, Why> {
        if let Some(hung) = self.progress.running_for().filter(|time| *time >= limit) {
            return Err(Why::Hung(hung));
        }
        let caller = Arc::new(());
        let (answer, answered) = mpsc::channel();
        let work = move |state: &mut S| {
            // Who does not wait any more does not listen.
            let _ = answer.send(work(state));
        };
        let job = Job { caller: Arc::downgrade(&caller), work: Box::new(work) };
        let broken = || Why::Failed("its library broke down".to_owned());
        self.jobs.send(job).map_err(|_| broken())?;
        answered.recv_timeout(limit).map_err(|error| match error {
            RecvTimeoutError::Timeout => {
                Why::Hung(self.progress.running_for().map_or(limit, |time| time.max(limit)))
            }
            RecvTimeoutError::Disconnected => broken(),
        })
    }
}

fn work<S: Default>(todo: &Receiver<Job<S>>, progress: &Progress) {
    let mut state = S::default();
    while let Ok(job) = todo.recv() {
        if job.caller.strong_count() == 0 {
            continue;
        }
        progress.begin();
        // Whoever asked is told by the answer that does not come.
        let _ = catch_unwind(AssertUnwindSafe(|| (job.work)(&mut state)));
        progress.end();
    }
}

/// Since when the current job has been running.
struct Progress {
    origin: Instant,
    /// In microseconds after the origin, plus one. Zero is idle.
    since: AtomicU64,
}

impl Progress {
    fn new() -> Self {
        Progress { origin: Instant::now(), since: AtomicU64::new(0) }
    }

    fn begin(&self) {
        self.since.store(self.origin.elapsed().as_micros() as u64 + 1, Ordering::Relaxed);
    }

    fn end(&self) {
        self.since.store(0, Ordering::Relaxed);
    }

    fn running_for(&self) -> Option<Duration> {
        let since = self.since.load(Ordering::Relaxed).checked_sub(1)?;
        Some(self.origin.elapsed().saturating_sub(Duration::from_micros(since)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(20);

    #[test]
    fn the_state_stays_with_the_thread() {
        let worker = Worker::<Vec<u8>>::start("test").unwrap();
        worker.ask(LONG, |state| state.push(7)).unwrap();
        assert_eq!(worker.ask(LONG, |state| state.clone()), Ok(vec![7]));
    }

    #[test]
    fn nobody_waits_behind_work_that_hangs_and_what_was_given_up_is_not_done() {
        let worker = Worker::<u32>::start("test").unwrap();
        let (let_go, hold) = mpsc::channel::<()>();
        let hung = worker.ask(SHORT, move |_| hold.recv());
        assert!(matches!(hung, Err(Why::Hung(time)) if time >= SHORT), "{hung:?}");
        // Put in line behind it, and given up.
        let patient = worker.progress.running_for().unwrap() + SHORT;
        assert!(matches!(worker.ask(patient, |state| *state += 1), Err(Why::Hung(_))));
        assert!(matches!(worker.ask(SHORT, |state| *state += 10), Err(Why::Hung(_))));
        drop(let_go);
        assert_eq!(worker.ask(LONG, |state| *state), Ok(0));
    }

    #[test]
    fn work_that_panics_is_a_failure_and_the_worker_goes_on() {
        let worker = Worker::<u32>::start("test").unwrap();
        let failed: Result<(), Why> = worker.ask(LONG, |_| panic!("as the test wants it"));
        assert!(matches!(failed, Err(Why::Failed(_))), "{failed:?}");
        assert_eq!(worker.ask(LONG, |state| *state), Ok(0));
    }
}
