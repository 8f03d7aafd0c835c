//! What the tests of the command have in common: pools of their own, and waiting for conditions.
#![allow(dead_code, missing_docs)]

pub mod pty;
mod signals;

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use ternlease::{GpuPool, LeaseManager, PoolOptions};

/// So long nothing takes that goes well. No test says how long something takes.
pub const LONG: Duration = Duration::from_secs(60);

/// A pool of fake devices that no other test uses, in a file that goes with it.
pub struct Pool {
    path: PathBuf,
    pub devices: u32,
}

impl Pool {
    pub fn new(devices: u32) -> Self {
        signals::as_usual();
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ternlease-cli-{}-{number}", std::process::id());
        Pool { path: PathBuf::from("/dev/shm").join(name), devices }
    }

    pub fn url(&self) -> String {
        format!("host:{}", self.path.display())
    }

    /// The command, on this pool and nothing else.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ternlease"));
        command
            .env_remove("TERNLEASE_LEASE")
            .env_remove("TERNLEASE_SLOTS")
            .env_remove("CUDA_VISIBLE_DEVICES")
            .env("TERNLEASE_POOL", self.url())
            .env("TERNLEASE_DEVICES", format!("fake:{}", self.devices))
            .args(words);
        command
    }

    /// Runs it to its end.
    pub fn run(&self, words: &[&str]) -> Output {
        self.command(words).stdin(Stdio::null()).output().unwrap()
    }

    /// Starts it, with its output to be read.
    pub fn start(&self, words: &[&str]) -> Started {
        let mut command = self.command(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Started::new(command)
    }

    /// The table that the command uses.
    pub fn manager(&self) -> LeaseManager {
        LeaseManager::open(&self.url()).unwrap()
    }

    /// The pool that the command uses.
    pub fn open(&self) -> GpuPool {
        let options = PoolOptions::from_spec(&format!("fake:{}", self.devices)).unwrap();
        GpuPool::open_with(&self.url(), options).unwrap()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // Who holds a lease for another, and has not opened the table yet, would make a new one.
        let until = Instant::now() + LONG;
        while self.path.exists()
            && !std::thread::panicking()
            && Instant::now() < until
            && LeaseManager::open(&self.url())
                .is_ok_and(|manager| manager.host().is_some_and(|info| info.processes.len() > 1))
        {
            std::thread::sleep(Duration::from_millis(2));
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

/// A process of the test's own, which does not outlive it.
pub struct Started {
    pub child: Child,
    out: BufReader<ChildStdout>,
}

impl Started {
    pub fn new(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Started { child, out }
    }

    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// The next line of its output: waits for it.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// The next line, which is a number.
    pub fn number(&mut self) -> i32 {
        let line = self.line();
        line.parse().unwrap_or_else(|_| panic!("{line:?} is no number: {}", self.errors()))
    }

    pub fn send(&self, signal: i32) {
        kill(self.pid(), signal);
    }

    /// All that it says on standard error, until it has ended.
    pub fn errors(&mut self) -> String {
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        text
    }

    /// Waits for its end; code and signal.
    pub fn end(&mut self) -> (Option<i32>, Option<i32>) {
        use std::os::unix::process::ExitStatusExt;
        drop(self.child.stdin.take());
        let status = self.child.wait().unwrap();
        (status.code(), status.signal())
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn kill(process: i32, signal: i32) {
    // SAFETY: takes no pointers. The process is one that the test started.
    assert_eq!(unsafe { libc::kill(process, signal) }, 0, "{}", std::io::Error::last_os_error());
}

/// Does the process live?
pub fn lives(process: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

/// Is the process stopped?
pub fn is_stopped(process: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

/// Waits until it is so.
pub fn wait_until(what: &str, mut so: impl FnMut() -> bool) {
    let until = Instant::now() + LONG;
    while !so() {
        assert!(Instant::now() < until, "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn errors(output: &Output) -> String {
    text(&output.stderr)
}

/// A directory that goes with it.
pub struct Directory(pub PathBuf);

impl Directory {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ternlease-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }

    pub fn join(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.0.join(name.as_ref())
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
