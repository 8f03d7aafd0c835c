//! The other processes of tests of the cluster home: one that does what it is told line by line, and one that claims, renews, releases and revokes at
//! random and writes down what it was told.
#![allow(dead_code)] // Not every test needs all of it.

use std::io::BufRead;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use ternlease::{Error, LeaseId, LeaseManager, LeaseState, Reason};

use crate::cluster_history::{Asked, Recorder, Told, now};
use crate::fence::Writer;
use crate::host::{Random, say};

/// Longer than any test.
const HOUR: Duration = Duration::from_secs(3600);

/// Works in the role that this process was started in.
pub fn work(role: &str, words: &[String]) {
    match role {
        "obey" => obey(&words[0], &words[1]),
        "storm" => storm(words),
        other => panic!("not a role: {other}"),
    }
}

fn open(url: &str) -> LeaseManager {
    LeaseManager::open(url).unwrap_or_else(|error| panic!("{error}"))
}

fn told(answer: Result<LeaseId, Error>) -> String {
    match answer {
        Ok(lease) => format!("lease {}", lease.0),
        Err(error) => format!("{error:?}"),
    }
}

/// Does what it is told.
fn obey(url: &str, fenced: &str) {
    let manager = open(url);
    let mut writer = (fenced != "-").then(|| Writer::new(Path::new(fenced)));
    say("open");
    let id = |word: &str| LeaseId(word.parse().unwrap());
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let words: Vec<&str> = line.split(' ').collect();
        let holder = format!("process {}", std::process::id());
        say(match words[..] {
            ["acquire", resource] => told(manager.acquire(resource, &holder, HOUR)),
            ["wait", resource, millis] => {
                let patience = Duration::from_millis(millis.parse().unwrap());
                told(manager.claim(&holder).of(&[resource]).ttl(HOUR).wait_for(patience))
            }
            ["wait", resource] => told(manager.claim(&holder).of(&[resource]).ttl(HOUR).wait()),
            ["release", lease] => format!("{:?}", manager.release(id(lease))),
            ["renew", lease] => format!("{:?}", manager.renew(id(lease)).map(|_| ())),
            ["state", lease] => format!("{:?}", manager.state(id(lease))),
            ["reason", lease] => {
                format!("{:?}", manager.lease(id(lease)).and_then(|lease| lease.reason))
            }
            ["watch", lease] => watch(&manager, id(lease)),
            ["write", resource, lease] => {
                let accepted = writer.as_mut().unwrap().write(resource, id(lease).0);
                (if accepted { "accepted" } else { "refused" }).to_owned()
            }
            ref other => panic!("not an order: {other:?}"),
        });
    }
}

/// Looks at a lease without a pause until it is over: when it looked last and was told that it is held, and what it was told then.
fn watch(manager: &LeaseManager, lease: LeaseId) -> String {
    say("watching");
    let mut held = 0;
    loop {
        let looked = now();
        match manager.state(lease) {
            Some(LeaseState::Held) => held = looked,
            other => return format!("{held} {other:?}"),
        }
    }
}

/// How many of them a process has, which share its manager.
const CLIENTS: u64 = 2;

/// One of those who do as they like.
struct Client<'a> {
    manager: &'a LeaseManager,
    recorder: &'a Recorder,
    random: Random,
    writer: Option<Writer>,
    number: u64,
    tickets: &'a AtomicU64,
    resources: Vec<&'a str>,
}

/// Until the test says that it is over. The words: URL, file for the history, socket of a fenced resource or nothing, number, seed, resources.
fn storm(words: &[String]) {
    static OVER: AtomicBool = AtomicBool::new(false);
    let [url, history, fenced, number, seed, resources] = words else { panic!("{words:?}") };
    let manager = open(url);
    let recorder = Recorder::new(Path::new(history));
    let (number, seed): (u64, u64) = (number.parse().unwrap(), seed.parse().unwrap());
    let tickets = AtomicU64::new(number << 32);
    say("plays");
    std::thread::spawn(|| {
        // Anything, or the end of it.
        let _ = std::io::stdin().read_line(&mut String::new());
        OVER.store(true, Ordering::Release);
    });
    std::thread::scope(|scope| {
        for thread in 0..CLIENTS {
            let number = number * CLIENTS + thread;
            let mut client = Client {
                manager: &manager,
                recorder: &recorder,
                random: Random(seed ^ number << 32),
                writer: (fenced != "-").then(|| Writer::new(Path::new(fenced))),
                number,
                tickets: &tickets,
                resources: resources.split(',').collect(),
            };
            scope.spawn(move || {
                while !OVER.load(Ordering::Acquire) {
                    client.turn();
                }
            });
        }
    });
    say("rests");
}

impl Client<'_> {
    /// Claims one resource in one of three ways, uses it and gives it back; or revokes what somebody has.
    fn turn(&mut self) {
        let resource = self.resources[self.random.below(self.resources.len() as u64) as usize];
        let lease = match self.random.below(10) {
            0..3 => self.claim(resource, Asked::Try),
            3..6 => self.claim(resource, Asked::Wait),
            6..9 => self.stand_in_line(resource),
            _ => return self.revoke(resource),
        };
        if let Some(lease) = lease {
            self.hold(resource, lease);
        }
    }

    fn claim(&mut self, resource: &str, asked: Asked) -> Option<LeaseId> {
        let holder = format!("client {}", self.number);
        let patience = Duration::from_millis(200 + self.random.below(2000));
        self.recorder.call(self.number, resource, asked, || {
            let claim = self.manager.claim(&holder).of(std::slice::from_ref(&resource)).ttl(HOUR);
            answer(match asked {
                Asked::Try => claim.try_now(),
                _ => claim.wait_for(patience),
            })
        })
    }

    fn stand_in_line(&mut self, resource: &str) -> Option<LeaseId> {
        let holder = format!("client {}", self.number);
        let number = self.tickets.fetch_add(1, Ordering::Relaxed);
        let patience = Duration::from_millis(200 + self.random.below(2000));
        let ticket = self.recorder.call(self.number, resource, Asked::Join(number), || {
            let names = [resource];
            let claim = self.manager.claim(&holder).of(&names).ttl(HOUR).patience(patience);
            match claim.enqueue() {
                Ok(ticket) => (Told::Joined, Some(ticket)),
                Err(_) => (Told::Unknown, None),
            }
        })?;
        self.recorder.call(self.number, resource, Asked::Collect(number), || answer(ticket.wait()))
    }

    fn hold(&mut self, resource: &str, lease: LeaseId) {
        for _ in 0..self.random.below(4) {
            let held = match self.random.below(2) {
                0 => self.look(resource, lease),
                _ => self.renew(resource, lease),
            };
            // Between the look and the write anything may happen, which is what a fence is for.
            if held
                && let Some(writer) = &mut self.writer
                && !writer.write(resource, lease.0)
            {
                // Somebody else has written: the lease is over, and that will be known here, too.
                while self.look(resource, lease) {
                    std::thread::yield_now();
                }
            }
            std::thread::sleep(Duration::from_millis(self.random.below(10)));
        }
        // A release that failed is tried again for as long as the lease is there: else it would last for an hour.
        while self.release(resource, lease) && self.look(resource, lease) {
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn look(&self, resource: &str, lease: LeaseId) -> bool {
        self.recorder.call(self.number, resource, Asked::Look(lease.0), || {
            match self.manager.state(lease) {
                Some(LeaseState::Held) => (Told::Held, true),
                Some(LeaseState::Revoked) => (Told::NotHeld, false),
                _ => (Told::Lost, false),
            }
        })
    }

    fn renew(&self, resource: &str, lease: LeaseId) -> bool {
        self.recorder.call(self.number, resource, Asked::Renew(lease.0), || {
            let told = done(self.manager.renew(lease).map(|_| ()));
            (told, told == Told::Done)
        })
    }

    /// False if it is known what became of it.
    fn release(&self, resource: &str, lease: LeaseId) -> bool {
        self.recorder.call(self.number, resource, Asked::Release(lease.0), || {
            let told = done(self.manager.release(lease));
            (told, told == Told::Unknown)
        })
    }

    fn revoke(&self, resource: &str) {
        let Some(&lease) = self.manager.leases_on(resource).first() else { return };
        let by = format!("client {}", self.number);
        self.recorder.call(self.number, resource, Asked::Revoke(lease.0), || {
            let told = self.manager.revoke_with(lease, Reason::Operator, &by, Duration::ZERO);
            (done(told.map(|_| ())), ())
        });
    }
}

fn answer(claimed: Result<LeaseId, Error>) -> (Told, Option<LeaseId>) {
    match claimed {
        Ok(lease) => (Told::Lease(lease.0), Some(lease)),
        Err(Error::Busy) => (Told::Busy, None),
        Err(Error::Refused(Reason::WaitTimedOut)) => (Told::Refused, None),
        // The engine is away, or was.
        Err(Error::Unavailable | Error::Refused(_)) => {
            std::thread::sleep(Duration::from_millis(20));
            (Told::Unknown, None)
        }
        Err(other) => panic!("{other:?}"),
    }
}

fn done(answer: Result<(), Error>) -> Told {
    match answer {
        Ok(()) => Told::Done,
        Err(Error::NotHeld(_, Reason::EngineLost | Reason::HolderDied)) => Told::Lost,
        Err(Error::NotHeld(..)) => Told::NotHeld,
        Err(Error::Unavailable) => Told::Unknown,
        Err(other) => panic!("{other:?}"),
    }
}
