//! Processes for tests of the host home: the test's own program, started again in another role, which does what it is told line by line.
#![allow(dead_code)] // Not every test needs all of it.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use ternlease::{LeaseId, LeaseManager, Limits, Options};

/// Nothing that should come takes so long.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// What the files of these tests have room for: little, so that they are small.
pub const LIMITS: Limits = Limits { leases: 256, tickets: 256, resources: 64, history: 4096 };

/// A file of a test's own, deleted at its end.
pub struct Place(pub PathBuf);

impl Place {
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let memory = PathBuf::from("/dev/shm");
        let directory = if memory.is_dir() { memory } else { std::env::temp_dir() };
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Place(directory.join(format!("tern-test-{}-{count}", std::process::id())))
    }

    pub fn open(&self) -> LeaseManager {
        open(&self.url())
    }

    /// Deletes the file, and makes it anew.
    pub fn open_anew(&self) -> LeaseManager {
        std::fs::remove_file(&self.0).unwrap();
        self.open()
    }

    pub fn url(&self) -> String {
        format!("host:{}", self.0.display())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

pub fn open(url: &str) -> LeaseManager {
    LeaseManager::open_with(url, Options::real().limits(LIMITS)).unwrap()
}

/// A process in a role. Killed when it goes.
pub struct Process {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

/// What lines begin with that are meant for the test. Its harness prints others.
const MARK: &str = "> ";

impl Process {
    /// Starts one in this role of the test, with these words for it.
    pub fn start(role: &str, words: &[&str]) -> Self {
        Self::start_under(&[], role, words)
    }

    /// As [`Self::start`], by a program that starts it.
    pub fn start_under(starter: &[&str], role: &str, words: &[&str]) -> Self {
        let own = std::env::current_exe().unwrap();
        let mut line = starter.iter().map(|word| word.to_string());
        let mut command = match line.next() {
            Some(program) => Command::new(program),
            None => Command::new(&own),
        };
        if !starter.is_empty() {
            command.args(line).arg(&own);
        }
        command
            .args(["--ignored", "--exact", "role", "--nocapture", "--test-threads=1"])
            .env("TERN_ROLE", role)
            .env("TERN_WORDS", words.join("\n"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (tell, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if let Some((_, line)) = line.split_once(MARK) {
                    // Nobody may listen any more.
                    let _ = tell.send(line.to_owned());
                }
            }
        });
        let input = child.stdin.take().unwrap();
        Process { child, input, lines }
    }

    /// A process that has opened the file and does what it is told, see [`worker`].
    pub fn worker(place: &Place) -> Self {
        Self::worker_under(&[], place)
    }

    pub fn worker_under(starter: &[&str], place: &Place) -> Self {
        let process = Self::start_under(starter, "worker", &[&place.url()]);
        assert_eq!(process.line(), "open");
        process
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Tells it to do something.
    pub fn say(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
        self.input.flush().unwrap();
    }

    /// The next line that it says.
    pub fn line(&self) -> String {
        self.line_within(PATIENCE).unwrap_or_else(|| panic!("{} says nothing", self.pid()))
    }

    /// `None` if it says nothing so long; the word `gone` if it has ended.
    pub fn line_within(&self, time: Duration) -> Option<String> {
        match self.lines.recv_timeout(time) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some("gone".to_owned()),
        }
    }

    pub fn ask(&mut self, line: &str) -> String {
        self.say(line);
        self.line()
    }

    /// Asks for something that is granted.
    pub fn lease(&mut self, line: &str) -> LeaseId {
        lease_in(&self.ask(line))
    }

    pub fn signal(&self, signal: i32) {
        send(self.pid(), signal);
    }

    /// Stops it, and comes back when it has stopped.
    pub fn stop(&self) {
        self.signal(libc::SIGSTOP);
        self.await_stop();
    }

    /// Comes back when it has stopped.
    pub fn await_stop(&self) {
        let mut status = 0;
        // SAFETY: waits for a child of ours, and the place is valid.
        let found = unsafe { libc::waitpid(self.pid() as i32, &mut status, libc::WUNTRACED) };
        assert!(found == self.pid() as i32 && libc::WIFSTOPPED(status), "it ended: {status}");
    }

    pub fn go_on(&self) {
        self.signal(libc::SIGCONT);
    }

    /// Kills it, and comes back when it is gone.
    pub fn kill(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for its end by itself, or `None` if that takes so long.
    pub fn end_within(&mut self, time: Duration) -> Option<std::process::ExitStatus> {
        let begun = Instant::now();
        loop {
            match self.child.try_wait().unwrap() {
                None if begun.elapsed() < time => std::thread::sleep(Duration::from_millis(2)),
                status => return status,
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

pub fn send(process: u32, signal: i32) {
    // SAFETY: a signal for a process that a test started, and whose number is not used again before the test has waited for it.
    unsafe { libc::kill(process as i32, signal) };
}

pub fn lease_in(line: &str) -> LeaseId {
    match line.strip_prefix("lease ").and_then(|id| id.parse().ok()) {
        Some(id) => LeaseId(id),
        None => panic!("not a lease: {line}"),
    }
}

/// Says a line to the test.
pub fn say(line: impl std::fmt::Display) {
    // In one piece, and after whatever the harness has printed without a new line.
    let line = format!("\n{MARK}{line}\n");
    let mut out = std::io::stdout().lock();
    out.write_all(line.as_bytes()).and_then(|()| out.flush()).unwrap();
}

/// Which role this process was started for, and its words; `None` if for none.
pub fn role() -> Option<(String, Vec<String>)> {
    let role = std::env::var("TERN_ROLE").ok()?;
    let words = std::env::var("TERN_WORDS").unwrap_or_default();
    Some((role, words.lines().map(str::to_owned).collect()))
}

/// Until a condition holds.
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Random numbers that are the same for the same seed.
pub struct Random(pub u64);

impl Random {
    /// From the environment, or from the clock; printed, so that a failure can be played again.
    pub fn from_environment() -> Self {
        let given = std::env::var("TERN_SEED").ok().and_then(|seed| seed.parse().ok());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let seed = given.unwrap_or(now.as_nanos() as u64);
        println!("seed: TERN_SEED={seed}");
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}
