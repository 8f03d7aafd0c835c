//! What is written down of each call: when it was made, when it came back, by a clock that all processes of the machine share, and what was said.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a client asks for. Leases by their ids, tickets by numbers that the clients give them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// A lease, now or not at all.
    Try,
    /// A lease, waiting for it.
    Wait,
    /// To stand in line.
    Join(u64),
    /// What became of standing in line.
    Collect(u64),
    Release(u64),
    Revoke(u64),
    Renew(u64),
    /// The state of a lease of one's own.
    Look(u64),
}

/// What it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// Nothing: the call failed, or did not come back. It may have been done, be done yet, or never.
    Unknown,
    /// Granted.
    Lease(u64),
    Busy,
    /// Stands in line, or has it already.
    Joined,
    /// The wait was in vain.
    Refused,
    Done,
    /// The lease has ended, as everybody knows.
    NotHeld,
    /// The lease is over for its holder, who cannot tell whether the others know.
    Lost,
    Held,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub client: u64,
    pub resource: String,
    pub asked: Asked,
    pub told: Told,
    pub called: u64,
    /// When it came back, or `u64::MAX`.
    pub back: u64,
}

/// Nanoseconds by the clock that goes on while the machine sleeps, the same for all its processes.
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place is valid.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &mut time) }, 0);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Writes down the calls of one process, each before it is made and after it came back: a process that is killed leaves behind what it was at.
pub struct Recorder {
    file: File,
    calls: AtomicU64,
}

impl Recorder {
    pub fn new(path: &Path) -> Recorder {
        let file = File::options().create(true).append(true).open(path).unwrap();
        Recorder { file, calls: AtomicU64::new(0) }
    }

    /// Makes a call.
    pub fn call<T>(
        &self,
        client: u64,
        resource: &str,
        asked: Asked,
        call: impl FnOnce() -> (Told, T),
    ) -> T {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let (word, argument) = asked.words();
        self.line(&format!("call {number} {} {client} {resource} {word} {argument}\n", now()));
        let (told, answer) = call();
        let back = now();
        let (word, id) = told.words();
        self.line(&format!("back {number} {back} {word} {id}\n"));
        answer
    }

    fn line(&self, line: &str) {
        // In one piece.
        assert_eq!((&self.file).write(line.as_bytes()).unwrap(), line.len());
    }
}

impl Asked {
    fn words(self) -> (&'static str, u64) {
        match self {
            Asked::Try => ("try", 0),
            Asked::Wait => ("wait", 0),
            Asked::Join(ticket) => ("join", ticket),
            Asked::Collect(ticket) => ("collect", ticket),
            Asked::Release(lease) => ("release", lease),
            Asked::Revoke(lease) => ("revoke", lease),
            Asked::Renew(lease) => ("renew", lease),
            Asked::Look(lease) => ("look", lease),
        }
    }

    fn parse(word: &str, argument: u64) -> Asked {
        match word {
            "try" => Asked::Try,
            "wait" => Asked::Wait,
            "join" => Asked::Join(argument),
            "collect" => Asked::Collect(argument),
            "release" => Asked::Release(argument),
            "revoke" => Asked::Revoke(argument),
            "renew" => Asked::Renew(argument),
            "look" => Asked::Look(argument),
            other => panic!("not a call: {other}"),
        }
    }
}

impl Told {
    fn words(self) -> (&'static str, u64) {
        match self {
            Told::Unknown => ("unknown", 0),
            Told::Lease(id) => ("lease", id),
            Told::Busy => ("busy", 0),
            Told::Joined => ("joined", 0),
            Told::Refused => ("refused", 0),
            Told::Done => ("done", 0),
            Told::NotHeld => ("not-held", 0),
            Told::Lost => ("lost", 0),
            Told::Held => ("held", 0),
        }
    }

    fn parse(word: &str, id: u64) -> Told {
        match word {
            "unknown" => Told::Unknown,
            "lease" => Told::Lease(id),
            "busy" => Told::Busy,
            "joined" => Told::Joined,
            "refused" => Told::Refused,
            "done" => Told::Done,
            "not-held" => Told::NotHeld,
            "lost" => Told::Lost,
            "held" => Told::Held,
            other => panic!("not an answer: {other}"),
        }
    }
}

/// The calls of all clients.
#[derive(Debug, Clone, Default)]
pub struct History {
    pub calls: Vec<Call>,
}

impl History {
    /// What a process has written down so far.
    pub fn read(path: &Path) -> History {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        let mut calls: Vec<Call> = Vec::new();
        let mut places = std::collections::HashMap::new();
        for line in whole.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |at: usize| words[at].parse::<u64>().unwrap();
            match words[0] {
                "call" => {
                    places.insert(number(1), calls.len());
                    calls.push(Call {
                        client: number(3),
                        resource: words[4].to_owned(),
                        asked: Asked::parse(words[5], number(6)),
                        told: Told::Unknown,
                        called: number(2),
                        back: u64::MAX,
                    });
                }
                _ => {
                    let call = &mut calls[places[&number(1)]];
                    (call.told, call.back) = (Told::parse(words[3], number(4)), number(2));
                }
            }
        }
        History { calls }
    }

    /// How often something was granted.
    pub fn grants(&self) -> usize {
        self.calls.iter().filter(|call| matches!(call.told, Told::Lease(_))).count()
    }

    /// How often that was asked and this was told.
    pub fn count(&self, matches: impl Fn(&Call) -> bool) -> usize {
        self.calls.iter().filter(|call| matches(call)).count()
    }
}
