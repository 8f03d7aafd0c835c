//! Processes that are killed while they come to a table, make it, or leave it, several at once, at moments that nobody chose; and those that end in every other way
//! without leaving. `tests/host_kill.rs` kills one process at each instruction of the same; here several are at it, with all their threads.
//!
//! `TERN_SEED=42` begins with the same moments; `TERN_TORTURE=full` tries a hundred times as often.
#![cfg(target_os = "linux")]

#[path = "common/host.rs"]
mod host;

use std::hint::spin_loop;
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use host::{Place, Random, until};
use ternlease::{LeaseManager, Limits, Options, Reason, What};

/// Small, so that a table is quickly made.
const LIMITS: Limits = Limits { leases: 16, tickets: 16, resources: 16, history: 64 };

const HOUR: Duration = Duration::from_secs(3600);

/// What was forked beside a thread that is opening a table should not open one itself.
static ALONE: Mutex<()> = Mutex::new(());

/// As many are at it at once.
const CROWD: usize = 3;

fn open(place: &Place) -> LeaseManager {
    LeaseManager::open_with(&place.url(), Options::real().limits(LIMITS)).unwrap()
}

/// A process that does this, and ends with 0 if it did not fail. It does not outlive its parent, nor its patience.
fn start(work: impl FnOnce()) -> libc::pid_t {
    // SAFETY: the child does its work and ends without going back to the test; the allocator is fit for that.
    let pid = unsafe { libc::fork() };
    assert_ne!(pid, -1, "cannot fork: {}", std::io::Error::last_os_error());
    if pid == 0 {
        // SAFETY: asks for signals, sets a limit, and ends the process.
        unsafe {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            libc::alarm(host::PATIENCE.as_secs() as u32);
            libc::setrlimit(libc::RLIMIT_CORE, &libc::rlimit { rlim_cur: 0, rlim_max: 0 });
            let done = catch_unwind(AssertUnwindSafe(work)).is_ok();
            libc::_exit(i32::from(!done));
        }
    }
    pid
}

fn kill(pid: libc::pid_t) {
    // SAFETY: this process, or a child of ours that nobody has waited for.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0);
}

fn end_of(pid: libc::pid_t) -> i32 {
    let mut status = 0;
    // SAFETY: a child of ours, and a valid place.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    status
}

/// Comes, takes something, leaves, again and again; now and then with a child or a program between.
fn come_and_go(place: &Place, number: usize) {
    let name = format!("gpu{number}");
    for round in 0.. {
        let manager = open(place);
        let lease = manager.acquire(&name, "victim", HOUR).unwrap();
        if round % 4 == 3 {
            let child = start(|| ());
            assert_eq!(end_of(child), 0);
        }
        if round % 2 == 1 {
            manager.release(lease).unwrap();
        }
    }
}

/// Whoever comes next finds everything in order, and nobody.
fn look(place: &Place) {
    let manager = open(place);
    until("the dead are still there", || {
        drop(manager.leases());
        manager.host().unwrap().processes.len() == 1
    });
    manager.verify().unwrap();
    assert_eq!((manager.active_count(), manager.pending_claimers()), (0, 0));
    for number in 0..CROWD {
        manager.acquire(&format!("gpu{number}"), "next", HOUR).unwrap();
    }
}

#[test]
fn killed_while_they_come_and_go() {
    let _alone = ALONE.lock();
    let mut random = Random::from_environment();
    let full = std::env::var("TERN_TORTURE").is_ok_and(|word| word == "full");
    for round in 0..if full { 10_000 } else { 100 } {
        let place = Place::new();
        let mut crowd: Vec<_> =
            (0..CROWD).map(|number| start(|| come_and_go(&place, number))).collect();
        while !crowd.is_empty() {
            let moment = Instant::now() + Duration::from_micros(random.below(3000));
            while Instant::now() < moment {
                spin_loop();
            }
            let victim = crowd.swap_remove(random.below(crowd.len() as u64) as usize);
            kill(victim);
            let status = end_of(victim);
            assert!(
                libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL,
                "{status}"
            );
        }
        assert_eq!(end_of(start(|| look(&place))), 0, "round {round}");
    }
}

/// Ends that are no leaving: the table notices each of them.
#[test]
fn however_a_process_ends_what_it_had_is_free() {
    let _alone = ALONE.lock();
    let ends: [(&str, fn()); 5] = [
        ("by a signal", || kill(std::process::id() as libc::pid_t)),
        ("by abort()", || std::process::abort()),
        ("by exit(), with its handlers", || std::process::exit(0)),
        // SAFETY: ends the process.
        ("by _exit()", || unsafe { libc::_exit(0) }),
        ("by exec()", || panic!("it goes on: {}", Command::new("true").exec())),
    ];
    let place = Place::new();
    let manager = open(&place);
    for (name, end) in ends {
        let before = manager.events_since(0).0.len();
        let pid = start(|| {
            let manager = open(&place);
            manager.acquire("gpu0", "victim", HOUR).unwrap();
            end();
        });
        end_of(pid);
        let died = |what: &What| matches!(*what, What::Died { process, leases: 1, .. } if process == pid as u32);
        until("its end is not noticed", || {
            drop(manager.leases());
            manager.events_since(0).0[before..].iter().any(|event| died(&event.what))
        });
        let lease = manager.claim("next").of(&["gpu0"]).wait_for(host::PATIENCE).expect(name);
        manager.release(lease).unwrap();
        let events = manager.events_since(0).0;
        let ended = |what: &What| matches!(what, What::Ended { reason: Reason::HolderDied, .. });
        assert!(events[before..].iter().any(|event| ended(&event.what)), "{name}");
    }
    manager.verify().unwrap();
}
