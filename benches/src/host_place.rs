//! Where the processes of a `host.OP` benchmark meet: a directory in memory that is made for the run, words that all of them see,
//! and workers, which are this program again in another role.

use std::error::Error;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::measure::wall_now;

/// What went wrong where nothing could be measured.
pub type Problem = Box<dyn Error>;

/// How long to wait for a worker that may be dead.
const PATIENCE: u64 = 60_000_000_000;

/// A number that processes see and can sleep on.
#[repr(transparent)]
pub struct Word(AtomicU32);

impl Word {
    pub fn get(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    pub fn set(&self, value: u32) {
        self.0.store(value, Ordering::Release);
    }

    /// Replaces a value by another, if it still is the first.
    pub fn swap_if(&self, old: u32, new: u32) -> bool {
        self.0.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// One more, and whoever sleeps on it wakes.
    pub fn count(&self) {
        self.0.fetch_add(1, Ordering::AcqRel);
        self.wake(i32::MAX);
    }

    pub fn wake(&self, sleepers: i32) {
        // SAFETY: the word is in a mapping that lasts as long as the process. Not private: other processes sleep on it.
        unsafe { libc::syscall(libc::SYS_futex, self.0.as_ptr(), libc::FUTEX_WAKE, sleepers) };
    }

    /// Sleeps until somebody wakes it, if the word still has this value; for so long at most, if that is given.
    pub fn sleep(&self, value: u32, at_most: Option<libc::timespec>) {
        let timeout = at_most.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: as above; the timeout is none, or lives until the call is over.
        unsafe {
            libc::syscall(libc::SYS_futex, self.0.as_ptr(), libc::FUTEX_WAIT, value, timeout)
        };
    }

    /// Sleeps until the word has a value that will do. An error if that takes so long that somebody must have died.
    pub fn until(&self, will_do: impl Fn(u32) -> bool) -> Result<(), Problem> {
        let start = wall_now();
        loop {
            let value = self.get();
            if will_do(value) {
                return Ok(());
            }
            check_patience(start)?;
            self.sleep(value, Some(libc::timespec { tv_sec: 1, tv_nsec: 0 }));
        }
    }
}

fn check_patience(since: u64) -> Result<(), Problem> {
    if wall_now() - since > PATIENCE {
        Err("another process does not answer".into())
    } else {
        Ok(())
    }
}

/// Waits for something that does not wake anybody. An error if that takes so long that somebody must have died.
pub fn spin_until(condition: impl Fn() -> bool) -> Result<(), Problem> {
    let start = wall_now();
    while !condition() {
        check_patience(start)?;
        // Whoever is waited for may need this processor.
        std::thread::yield_now();
    }
    Ok(())
}

/// Keeps the processor busy until a thread that was about to sleep is asleep.
pub fn await_sleep() {
    /// In nanoseconds.
    const ASLEEP: u64 = 40_000;
    let start = wall_now();
    while wall_now() - start < ASLEEP {
        std::hint::spin_loop();
    }
}

/// What the benchmark and its workers tell each other. Lines do not share what caches move about.
#[repr(C, align(64))]
pub struct Line {
    turn: Word,
    done: Word,
    /// What to do in this turn.
    pub task: Word,
    /// Not 0: a worker is about to sleep in this turn.
    pub waits: Word,
    /// How much of it to do.
    pub amount: AtomicU64,
    /// How long each time, in nanoseconds.
    pub pause: AtomicU64,
    /// When it began.
    pub start: AtomicU64,
    /// What the worker found out.
    pub told: AtomicU64,
}

impl Line {
    /// Lets the workers at this line begin what it says.
    pub fn begin(&self) {
        self.turn.count();
    }

    /// Returns when this many workers have done it; before the first turn: when they are ready.
    pub fn finished(&self, workers: u32) -> Result<(), Problem> {
        let all = (self.turn.get() + 1) * workers;
        self.done.until(|done| done >= all)
    }

    /// A worker's life: does its work in each turn, until the benchmark ends the process.
    pub fn serve(&self, mut work: impl FnMut() -> Result<(), Problem>) -> Result<(), Problem> {
        let mut turn = 0;
        loop {
            self.done.count();
            while self.turn.get() == turn {
                self.turn.sleep(turn, None);
            }
            turn += 1;
            work()?;
        }
    }
}

/// The directory, and the lines in it.
pub struct Place {
    directory: PathBuf,
    lines: &'static [Line],
    ours: bool,
}

/// Enough for the benchmark with the most workers.
const LINES: usize = 72;

impl Place {
    /// A new place, which is removed when it is dropped.
    pub fn new() -> Result<Place, Problem> {
        static PLACES: AtomicU32 = AtomicU32::new(0);
        let number = PLACES.fetch_add(1, Ordering::Relaxed);
        let name = format!("ternlease-bench.{}.{number}", std::process::id());
        let directory = Path::new("/dev/shm").join(name);
        std::fs::create_dir(&directory).map_err(|error| format!("{directory:?}: {error}"))?;
        Place::at(directory, true)
    }

    /// The place that the benchmark made: for its workers.
    pub fn of_benchmark(directory: &str) -> Result<Place, Problem> {
        Place::at(directory.into(), false)
    }

    fn at(directory: PathBuf, ours: bool) -> Result<Place, Problem> {
        let lines = map(&directory.join("lines"))?;
        Ok(Place { directory, lines, ours })
    }

    pub fn line(&self, number: usize) -> &'static Line {
        &self.lines[number]
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The table that all processes of the benchmark share.
    pub fn url(&self) -> String {
        format!("host:{}", self.file("table").display())
    }

    /// Starts a worker. It dies with its handle.
    pub fn worker(&self, role: &str, line: usize, argument: &str) -> Result<Worker, Problem> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("__host").arg(role).arg(&self.directory).arg(line.to_string()).arg(argument);
        Ok(Worker(command.stdin(Stdio::null()).spawn()?))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.ours {
            let _ = std::fs::remove_dir_all(&self.directory);
        }
    }
}

/// The lines in a file, which is made if need be. They stay mapped as long as the process lives.
fn map(path: &Path) -> io::Result<&'static [Line]> {
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    let bytes = LINES * size_of::<Line>();
    file.set_len(bytes as u64)?;
    let (access, descriptor) = (libc::PROT_READ | libc::PROT_WRITE, file.as_raw_fd());
    // SAFETY: a new mapping of a file, anywhere.
    let start =
        unsafe { libc::mmap(ptr::null_mut(), bytes, access, libc::MAP_SHARED, descriptor, 0) };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it is as long as that and never unmapped, pages are aligned well enough, all of a line is atomic, and zeroes are
    // values of it. Nobody makes the file shorter.
    Ok(unsafe { std::slice::from_raw_parts(start.cast(), LINES) })
}

/// A process of ours.
pub struct Worker(Child);

impl Worker {
    /// Ends it as the system ends what takes too much memory; the moment just before.
    pub fn kill(&mut self) -> io::Result<u64> {
        let now = wall_now();
        self.0.kill()?;
        Ok(now)
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }

    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.0.wait()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Neither matters if it is dead.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The processors that this thread may run on.
pub fn processors() -> Vec<usize> {
    // SAFETY: a set of bits, of which zero is a value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is a valid place for the answer, and as large as that.
    unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) };
    // SAFETY: the number is below the size of the set.
    (0..libc::CPU_SETSIZE as usize).filter(|&i| unsafe { libc::CPU_ISSET(i, &set) }).collect()
}

/// Lets this thread run on these processors only.
pub fn run_on(processors: &[usize]) {
    // SAFETY: as above.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &processor in processors {
        // SAFETY: the number is from `processors`, and so below the size of the set.
        unsafe { libc::CPU_SET(processor, &mut set) };
    }
    // SAFETY: `set` is as large as that. If the system refuses, the thread runs where it did.
    unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) };
}

/// For workers: if the benchmark is ended, nobody else would end them.
pub fn die_with_parent() {
    // SAFETY: takes no pointers.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}
