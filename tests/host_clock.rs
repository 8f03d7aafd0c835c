//! The time of day may jump: nothing that is shared depends on it once a file is made.
//!
//! This program has a `clock_gettime` of its own, which the standard library and ternlease call instead of the C library's. It asks the kernel, and moves the time of
//! day, and no other clock, as far as the test says. Each process has its own: some are years ahead of others.
#![cfg(target_os = "linux")]

#[path = "common/host.rs"]
mod host;
#[path = "common/host_worker.rs"]
mod host_worker;

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use host::{Place, Process, until};
use ternlease::{Error, LeaseState, Reason};

const HOUR: Duration = Duration::from_secs(3600);
const TEN_YEARS: i64 = 10 * 365 * 86_400;

/// By so many seconds the time of day is moved.
static JUMP: AtomicI64 = AtomicI64::new(0);
/// How often it was asked for.
static ASKED: AtomicU64 = AtomicU64::new(0);

/// # Safety
/// As for the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> i32 {
    // SAFETY: the caller's place for the answer is valid.
    let answer = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) };
    if clock == libc::CLOCK_REALTIME || clock == libc::CLOCK_REALTIME_COARSE {
        ASKED.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { (*time).tv_sec += JUMP.load(Ordering::Relaxed) };
    }
    answer as i32
}

#[test]
#[ignore = "the other processes of these tests"]
fn role() {
    if let Some((role, words)) = host::role() {
        let years = if role == "ahead" { 1 } else { -1 };
        JUMP.store(years * TEN_YEARS, Ordering::Relaxed);
        host_worker::work(&words[0]);
    }
}

fn start(role: &str, place: &Place) -> Process {
    let process = Process::start(role, &[&place.url()]);
    assert_eq!(process.line(), "open");
    process
}

#[test]
fn the_time_of_day_does_not_matter() {
    let real = SystemTime::now();
    JUMP.store(TEN_YEARS, Ordering::Relaxed);
    let moved = SystemTime::now().duration_since(real).unwrap();
    assert!(moved >= Duration::from_secs(TEN_YEARS as u64), "the test moves nothing");
    JUMP.store(0, Ordering::Relaxed);

    let place = Place::new();
    // Made by one who takes it for much later than the others do.
    let mut ahead = start("ahead", &place);
    let mut behind = start("behind", &place);
    let manager = place.open();
    let asked = ASKED.load(Ordering::Relaxed);

    let lease = ahead.lease("acquire gpu0");
    assert_eq!(behind.ask("acquire gpu0"), "Busy");
    assert_eq!(behind.ask(&format!("state {}", lease.0)), "Some(Held)");
    assert_eq!(behind.ask("wait gpu0 20"), "Refused(WaitTimedOut)");

    let mine = manager.acquire("gpu1", "me", HOUR).unwrap();
    let ticket = manager.claim("me").of(&["gpu0"]).patience(HOUR).enqueue().unwrap();
    for jump in [TEN_YEARS, -TEN_YEARS, 0, -86_400, 3600] {
        JUMP.store(jump, Ordering::Relaxed);
        // What should last lasts, and what should end ends.
        assert_eq!(manager.state(mine), Some(LeaseState::Held));
        manager.renew(mine).unwrap();
        assert_eq!(ticket.place(), Some(1));
        let short = manager.acquire("gpu2", "me", Duration::from_millis(20)).unwrap();
        until("it does not end", || manager.state(short) == Some(LeaseState::Expired));
        let refused = manager.claim("you").of(&["gpu1"]).wait_for(Duration::from_millis(20));
        assert_eq!(refused, Err(Error::Refused(Reason::WaitTimedOut)));
        // The ends that others see are the same.
        assert_eq!(behind.ask(&format!("state {}", short.0)), "Some(Expired)");
        assert_eq!(ahead.ask(&format!("state {}", mine.0)), "Some(Held)");
    }
    ahead.kill();
    let next = ticket.wait().unwrap();
    assert!(next > lease, "ids grow");
    manager.verify().unwrap();
    assert_eq!(ASKED.load(Ordering::Relaxed), asked, "nobody asks for the time of day");
}
