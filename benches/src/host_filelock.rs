//! The lock file that Python programs use: the package `filelock`, in a Python of its own that measures itself.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::host_place::{Place, Problem};

/// Says `ready`, and then, for each number it reads, the nanoseconds that so many times cost, each.
const PROGRAM: &str = "\
import sys, time
from filelock import FileLock
lock = FileLock(sys.argv[1])
print('ready', flush=True)
for line in sys.stdin:
    count = int(line)
    start = time.thread_time_ns()
    for _ in range(count):
        lock.acquire()
        lock.release()
    print((time.thread_time_ns() - start) / count, flush=True)
";

/// So many times are long enough for a clock, and short beside a round.
const BATCH: usize = 50;

pub struct FileLock {
    python: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl FileLock {
    /// An error if there is no Python, or none that knows the package.
    pub fn start(place: &Place) -> Result<FileLock, Problem> {
        let mut python = Command::new("python3")
            .args(["-c", PROGRAM])
            .arg(place.file("filelock"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("python3 does not start: {error}"))?;
        let orders = python.stdin.take();
        let answers = python.stdout.take().ok_or("python3 has no output")?;
        let mut peer = FileLock { python, orders, answers: BufReader::new(answers) };
        match peer.answer().as_str() {
            "ready" => Ok(peer),
            _ => Err("python3 cannot import the package filelock".into()),
        }
    }

    /// Nanoseconds for taking and giving back.
    pub fn measure(&mut self) -> f64 {
        if let Some(orders) = &mut self.orders
            && writeln!(orders, "{BATCH}").is_ok()
        {
            return self.answer().parse().unwrap_or(f64::NAN);
        }
        f64::NAN
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        // What cannot be read is no answer.
        let _ = self.answers.read_line(&mut line);
        line.trim().to_owned()
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // It ends when it has nothing more to read.
        self.orders = None;
        let _ = self.python.wait();
    }
}
