//! Reading events as they happen: by asking, by waiting, by a descriptor; what is missed is told, and the end is told.

use std::os::fd::AsRawFd;
use std::time::Duration;

use ternlease::{Error, LeaseManager, Limits, Options, What};

fn kinds(reader: &mut ternlease::EventReader) -> Vec<&'static str> {
    reader
        .map(|event| match event.what {
            What::Granted { .. } => "granted",
            What::Ended { .. } => "ended",
            What::Queued { .. } => "queued",
            What::Refused { .. } => "refused",
            _ => "other",
        })
        .collect()
}

fn readable(fd: &impl AsRawFd) -> bool {
    let mut ask = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid entry, and no waiting.
    let found = unsafe { libc::poll(&mut ask, 1, 0) };
    assert!(found >= 0);
    ask.revents & libc::POLLIN != 0
}

#[test]
fn a_reader_starts_where_it_is_told() {
    let leases = LeaseManager::new();
    let id = leases.acquire("a", "x", 5).unwrap();
    let (mut all, mut later) = (leases.events(0), leases.events(u64::MAX));
    leases.release(id).unwrap();
    assert_eq!(kinds(&mut all), ["granted", "ended"]);
    assert_eq!(kinds(&mut later), ["ended"]);
    assert_eq!(all.cursor(), 2);
    assert_eq!(kinds(&mut leases.events(1)), ["ended"]);
    assert_eq!(all.missed(), 0);
}

#[test]
fn the_cursor_is_that_of_what_was_read_not_of_what_was_fetched() {
    let leases = LeaseManager::new();
    leases.acquire("a", "x", 5).unwrap();
    leases.acquire("b", "x", 5).unwrap();
    let mut reader = leases.events(0);
    assert_eq!(reader.cursor(), 0);
    assert_eq!(reader.next().unwrap().number, 1);
    assert_eq!(reader.cursor(), 1);
}

#[test]
fn who_falls_behind_is_told_how_far() {
    let limits = Limits { history: 8, ..Limits::default() };
    let leases = LeaseManager::with(Options::ticks().limits(limits));
    let mut reader = leases.events(0);
    for _ in 0..10 {
        let id = leases.acquire("a", "x", 5).unwrap();
        leases.release(id).unwrap();
    }
    assert_eq!(reader.by_ref().count(), 8);
    assert_eq!(reader.missed(), 12);
}

#[test]
fn waiting_ends_with_an_event_or_with_the_time() {
    let manager = LeaseManager::open("process:").unwrap();
    let mut reader = manager.events(0);
    assert_eq!(reader.wait(Some(Duration::ZERO)), Ok(false));
    std::thread::scope(|scope| {
        let other = scope.spawn(|| manager.acquire("a", "x", Duration::from_secs(60)).unwrap());
        assert_eq!(reader.wait(None), Ok(true));
        other.join().unwrap();
    });
    assert_eq!(kinds(&mut reader), ["granted"]);
}

#[test]
fn a_lease_that_runs_out_wakes_who_waits_though_nobody_calls() {
    let manager = LeaseManager::open("process:").unwrap();
    let mut reader = manager.events(u64::MAX);
    manager.acquire("a", "x", Duration::from_millis(20)).unwrap();
    let mut seen = Vec::new();
    while seen.len() < 2 {
        assert_eq!(reader.wait(None), Ok(true));
        seen.extend(kinds(&mut reader));
    }
    assert_eq!(seen, ["granted", "ended"]);
}

#[test]
fn the_end_of_the_manager_is_told_after_the_last_event() {
    let manager = LeaseManager::open("process:").unwrap();
    let mut reader = manager.events(0);
    manager.acquire("a", "x", Duration::from_secs(60)).unwrap();
    let waiting = std::thread::spawn(move || {
        assert_eq!(reader.wait(None), Ok(true));
        assert_eq!(kinds(&mut reader), ["granted"]);
        assert_eq!(reader.wait(None), Err(Error::Closed));
        assert!(reader.is_closed() && reader.next().is_none());
    });
    drop(manager);
    waiting.join().unwrap();
}

#[test]
fn the_descriptor_is_readable_until_all_is_read() {
    let leases = LeaseManager::new();
    let mut reader = leases.events(0);
    let fd = reader.fd().unwrap().as_raw_fd();
    // It may have been something before the descriptor was there: ask once.
    assert!(reader.next().is_none());
    assert!(!readable(&fd));
    leases.acquire("a", "x", 5).unwrap();
    leases.acquire("b", "x", 5).unwrap();
    assert!(readable(&fd));
    assert!(reader.next().is_some());
    assert!(readable(&fd), "one is left");
    assert!(reader.next().is_some());
    assert!(reader.next().is_none());
    assert!(!readable(&fd));
    leases.acquire("c", "x", 5).unwrap();
    assert!(readable(&fd));
}
