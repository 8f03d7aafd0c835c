//! The role in which a process does with a shared table what it is told, line by line.
#![allow(dead_code)] // Not every test needs all of it.

use std::collections::HashMap;
use std::io::BufRead;
use std::os::fd::AsRawFd;
use std::process::{Child, Command};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use ternlease::{Error, Health, Inherited, LeaseId, LeaseManager, Reason, Ticket};

use crate::host::{open, say};

struct Worker {
    manager: LeaseManager,
    queued: HashMap<String, Ticket>,
    kept: Vec<(Inherited, Child)>,
}

/// Opens the file and obeys.
pub fn work(url: &str) {
    let mut worker = Worker { manager: open(url), queued: HashMap::new(), kept: Vec::new() };
    say("open");
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let words: Vec<&str> = line.split(' ').collect();
        let answer = worker.obey(&words);
        say(answer);
    }
}

fn id(word: &str) -> LeaseId {
    LeaseId(word.parse().unwrap())
}

fn told(answer: Result<LeaseId, Error>) -> String {
    match answer {
        Ok(lease) => format!("lease {}", lease.0),
        Err(error) => format!("{error:?}"),
    }
}

fn churn(manager: &LeaseManager, resource: &str, holder: &str) -> ! {
    loop {
        if let Ok(lease) = manager.acquire(resource, holder, Duration::from_secs(3600)) {
            manager.release(lease).unwrap();
        }
    }
}

impl Worker {
    fn obey(&mut self, words: &[&str]) -> String {
        let manager = &self.manager;
        let holder = format!("worker {}", std::process::id());
        match words {
            ["acquire", resource] => {
                told(manager.acquire(resource, &holder, Duration::from_secs(3600)))
            }
            ["wait", resource] => told(manager.claim(&holder).of(&[resource]).wait()),
            ["wait", resource, millis] => {
                let patience = Duration::from_millis(millis.parse().unwrap());
                told(manager.claim(&holder).of(&[resource]).wait_for(patience))
            }
            ["queue", resource] => {
                let ticket = manager.claim(&holder).of(&[resource]).enqueue().unwrap();
                self.queued.insert(resource.to_string(), ticket);
                "queued".to_owned()
            }
            // In four ways: as a thread, as a task, with a descriptor, by the events.
            ["collect", resource] => told(self.queued.remove(*resource).unwrap().wait()),
            ["await", resource] => told(block_on(self.queued.remove(*resource).unwrap())),
            ["poll", resource] => {
                let ticket = self.queued.remove(*resource).unwrap();
                poll(&ticket.fd().unwrap());
                told(ticket.wait())
            }
            ["listen"] => {
                let mut events = manager.events(u64::MAX);
                say("listening");
                assert_eq!(events.wait(None), Ok(true));
                format!("{:?}", events.next().unwrap().what)
            }
            ["release", lease] => format!("{:?}", manager.release(id(lease))),
            ["revoke", lease, by, millis] => {
                let notice = Duration::from_millis(millis.parse().unwrap());
                let revoked = manager.revoke_with(id(lease), Reason::NodeDrain, by, notice);
                format!("{:?}", revoked.map(|_| ()))
            }
            ["health", resource] => {
                format!("{:?}", manager.set_health(resource, Health::Draining))
            }
            ["renew", lease] => format!("{:?}", manager.renew(id(lease)).map(|_| ())),
            ["state", lease] => format!("{:?}", manager.state(id(lease))),
            ["hand", lease, process] => {
                format!("{:?}", manager.hand_to(id(lease), process.parse().unwrap()))
            }
            ["try-keep", lease] => {
                format!("{:?}", manager.keep_for_children(id(lease)).map(|_| ()))
            }
            ["keep", lease] => {
                let kept = manager.keep_for_children(id(lease)).unwrap();
                let child = Command::new("sleep").arg("1000").spawn().unwrap();
                let number = child.id();
                self.kept.push((kept, child));
                number.to_string()
            }
            ["fork", lease] => self.fork(id(lease)),
            // As a program does that closes all descriptors that it does not know, and opens others.
            ["reuse-descriptors"] => {
                // SAFETY: a name that ends with a zero; numbers that are not open are errors.
                unsafe {
                    let other = libc::memfd_create(c"other".as_ptr(), 0);
                    for number in (3..64).filter(|&number| number != other) {
                        if libc::fcntl(number, libc::F_GETFD) != -1 {
                            libc::dup2(other, number);
                        }
                    }
                }
                "done".to_owned()
            }
            // Of all threads: the C library sees to that.
            ["give-up-rights"] => {
                // SAFETY: takes no pointers.
                let given_up =
                    unsafe { libc::chroot(c"/proc".as_ptr()) == 0 && libc::setuid(65_534) == 0 };
                assert!(given_up, "{}", std::io::Error::last_os_error());
                "done".to_owned()
            }
            ["churn", resource] => churn(manager, resource, &holder),
            // Again and again, whenever it is continued.
            ["churn-and-stop", resource] => std::thread::scope(|scope| {
                scope.spawn(|| churn(manager, resource, &holder));
                loop {
                    manager.at_rest(|| {
                        // SAFETY: takes no pointers.
                        unsafe { libc::raise(libc::SIGSTOP) };
                    });
                }
            }),
            other => panic!("not an order: {other:?}"),
        }
    }

    /// A child that has done nothing but to be born: it may use nothing of its parent's, and everything it opens itself. It lives until it is killed.
    fn fork(&mut self, lease: LeaseId) -> String {
        let manager = &self.manager;
        // SAFETY: the child goes on in the library, which is what is tested, and never goes back to the test.
        match unsafe { libc::fork() } {
            0 => {
                let refused = [
                    told(manager.acquire("other", "child", Duration::from_secs(1))),
                    told(manager.claim("child").of(&["other"]).wait()),
                    format!("{:?}", manager.renew(lease).map(|_| ())),
                    format!("{:?}", manager.release(lease)),
                ];
                assert!(refused.iter().all(|answer| answer.contains("Forked")), "{refused:?}");
                let path = format!("host:{}", words_of_role()[0].trim_start_matches("host:"));
                let own = open(&path);
                let theirs = told(own.acquire("child", "child", Duration::from_secs(3600)));
                say(format!("{} {theirs}", std::process::id()));
                loop {
                    // SAFETY: waits for a signal, which ends it.
                    unsafe { libc::pause() };
                }
            }
            -1 => panic!("cannot fork"),
            // The child says the rest.
            _ => "forked".to_owned(),
        }
    }
}

fn words_of_role() -> Vec<String> {
    crate::host::role().unwrap().1
}

/// Sleeps until the descriptor is readable.
fn poll(fd: &impl AsRawFd) {
    let mut ask = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid entry.
    assert_eq!(unsafe { libc::poll(&mut ask, 1, -1) }, 1);
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls only when it was woken.
fn block_on<F: Future + Unpin>(mut future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        let polled = std::pin::Pin::new(&mut future).poll(&mut Context::from_waker(&waker));
        match polled {
            Poll::Ready(answer) => return answer,
            Poll::Pending => std::thread::park(),
        }
    }
}
