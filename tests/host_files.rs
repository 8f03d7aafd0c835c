//! What may lie where a shared table should: other files, other versions, files of before the machine started. `host_lost.rs` has files that are taken away while in use.
#![cfg(target_os = "linux")]

#[path = "common/host.rs"]
mod host;
#[path = "common/host_worker.rs"]
mod host_worker;

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::time::Duration;

use host::{LIMITS, Place, Process, until};
use ternlease::{LeaseManager, Options};

const HOUR: Duration = Duration::from_secs(3600);

#[test]
#[ignore = "the other processes of these tests"]
fn role() {
    let Some((role, words)) = host::role() else { return };
    if role == "worker" {
        return host_worker::work(&words[0]);
    }
    // Says what comes of opening a file: in a process of its own, which may crash or hang.
    host::say(match try_open(&words[0]) {
        Ok(manager) => format!("{:?}", manager.acquire("gpu0", "me", HOUR).map(|_| ())),
        Err(why) => why,
    });
}

fn try_open(url: &str) -> Result<LeaseManager, String> {
    LeaseManager::open_with(url, Options::real().limits(LIMITS)).map_err(|why| why.to_string())
}

/// What another process says about opening the file and acquiring `gpu0`.
fn opened(place: &Place) -> String {
    let mut process = Process::start("open", &[&place.url()]);
    let answer = process.line();
    let status = process.end_within(host::PATIENCE).expect("it does not end");
    assert!(status.success(), "{status}: {answer}");
    answer
}

/// Another process makes the file anew as soon as nobody has it. For a moment that may be a process which another test starts: until it is one of its own, it
/// has all that this one has open.
fn is_made_anew(place: &Place) {
    until("it is not made anew", || opened(place) == "Ok(())");
}

/// A file that a manager has made and left.
fn made() -> Place {
    let place = Place::new();
    drop(place.open());
    place
}

fn write(place: &Place, at: u64, bytes: &[u8]) {
    OpenOptions::new().write(true).open(&place.0).unwrap().write_all_at(bytes, at).unwrap();
}

/// Where the beginning of the file has this word: the test does not know its layout.
fn find(place: &Place, word: &[u8]) -> u64 {
    let bytes = fs::read(&place.0).unwrap();
    let found = bytes[..256].windows(word.len()).position(|found| found == word);
    found.expect("it is not there") as u64
}

fn boot_id() -> [u8; 16] {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    let half = |from: usize| u64::from_str_radix(&digits[from..from + 16], 16).unwrap();
    let mut both = [0; 16];
    both[..8].copy_from_slice(&half(0).to_ne_bytes());
    both[8..].copy_from_slice(&half(16).to_ne_bytes());
    both
}

#[test]
fn what_is_no_file_of_ternleases_is_refused_and_left_as_it_is() {
    let place = Place::new();
    for content in [&b"x"[..], b"#!/bin/sh\nexit 0\n", &[0xa5; 100_000]] {
        fs::write(&place.0, content).unwrap();
        assert!(opened(&place).contains("not one of ternlease's"));
        assert_eq!(fs::read(&place.0).unwrap(), content);
    }
}

#[test]
fn an_empty_file_becomes_a_table() {
    for content in [&b""[..], &[0; 5000]] {
        let place = Place::new();
        fs::write(&place.0, content).unwrap();
        assert_eq!(opened(&place), "Ok(())");
    }
}

#[test]
fn what_is_not_a_file_is_refused() {
    let place = Place::new();
    fs::create_dir(&place.0).unwrap();
    assert!(opened(&place).contains("cannot open"));
    fs::remove_dir(&place.0).unwrap();
    let other = made();
    symlink(&other.0, &place.0).unwrap();
    assert!(opened(&place).contains("cannot open"));
    fs::remove_file(&place.0).unwrap();
    symlink("/nowhere/at/all", &place.0).unwrap();
    assert!(opened(&place).contains("cannot open"));
    fs::remove_file(&place.0).unwrap();
    let path = std::ffi::CString::new(place.0.to_str().unwrap()).unwrap();
    // SAFETY: a path that ends with a zero.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
    assert!(opened(&place).contains("cannot open"));
    let nowhere = Place("/nowhere/at/all".into());
    assert!(opened(&nowhere).contains("cannot open"));
}

#[test]
fn a_file_that_may_not_be_written_to_is_refused() {
    let place = made();
    fs::set_permissions(&place.0, fs::Permissions::from_mode(0o400)).unwrap();
    let answer = opened(&place);
    // SAFETY: takes and changes nothing.
    match unsafe { libc::geteuid() } {
        0 => println!("skipped: the superuser may write to every file"),
        _ => assert!(answer.contains("cannot be opened"), "{answer}"),
    }
}

#[test]
fn a_new_file_is_its_makers_alone() {
    let place = made();
    assert_eq!(fs::metadata(&place.0).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn a_file_of_another_length_is_damaged() {
    let place = made();
    let whole = fs::metadata(&place.0).unwrap().len();
    for len in [whole - 1, whole / 2, 4096, 200, 60, 7, whole + 1, 2 * whole] {
        let file = OpenOptions::new().write(true).open(&place.0).unwrap();
        file.set_len(len).unwrap();
        let answer = opened(&place);
        assert!(answer.contains("damaged") || answer.contains("not one of"), "{len}: {answer}");
        // Cutting it has made zeros of the rest.
        drop(place.open_anew());
    }
}

#[test]
fn a_file_of_another_version_is_made_anew_if_nobody_uses_it() {
    let place = made();
    // The version follows the first word, which every version begins with.
    let version = find(&place, b"ternlea") + 8;
    let user = place.open();
    write(&place, version, &77u32.to_ne_bytes());
    let answer = opened(&place);
    assert!(answer.contains("another version"), "{answer}");
    drop(user);
    is_made_anew(&place);
}

#[test]
fn a_file_of_before_the_machine_started_is_made_anew() {
    let place = made();
    {
        let manager = place.open();
        manager.declare("gpu0", 7, 0).unwrap();
    }
    write(&place, find(&place, &boot_id()), &[1; 16]);
    is_made_anew(&place);
    assert_eq!(place.open().resource("gpu0").unwrap().slots, 1, "what was there is gone");
}

#[test]
fn a_file_of_before_the_machine_started_that_is_in_use_is_damaged() {
    let place = made();
    let _user = place.open();
    write(&place, find(&place, &boot_id()), &[1; 16]);
    assert!(opened(&place).contains("damaged"));
}

#[test]
fn a_file_whose_maker_died_is_made_anew() {
    let place = made();
    let size = fs::metadata(&place.0).unwrap().len();
    // The mark that the file is ready is the last that its maker writes, and it stands before the size.
    let ready = find(&place, &size.to_ne_bytes()) - 8;
    write(&place, ready, &[0; 4]);
    is_made_anew(&place);
}
