//! What the system refuses to the command, or disturbs it with: no panic and no silence, but the exit code of a failure, and words if there is anybody to hear them.
//! Nothing is half written, and no signal too many ends anything.
#![cfg(target_os = "linux")]

mod common;
#[path = "../../tests/common/mounts.rs"]
mod mounts;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{Directory, Pool, text};

/// A device that is always full.
fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").unwrap().into()
}

/// All that write something and end.
const COMMANDS: [&[&str]; 20] = [
    &["status"],
    &["status", "--json"],
    &["queue"],
    &["queue", "--json"],
    &["devices"],
    &["devices", "--json"],
    &["events"],
    &["events", "--json"],
    &["timeline"],
    &["timeline", "--svg", "-"],
    &["deadlocks"],
    &["deadlocks", "--json"],
    &["metrics"],
    &["doctor"],
    &["cap", "--no-bench"],
    &["cap", "--no-bench", "--json"],
    &["verdict", "--no-bench", "--sort", "1000000,64,1000"],
    &["completions", "bash"],
    &["man"],
    &["ctest-spec"],
];

#[test]
fn output_that_cannot_be_written_is_a_failure_that_is_told() {
    let pool = Pool::new(2);
    // Something to tell of.
    assert!(pool.run(&["run", "--", "true"]).status.success());
    for words in COMMANDS.into_iter().chain([&["claim"][..]]) {
        let told = pool.command(words).stdin(Stdio::null()).stdout(full()).output().unwrap();
        let errors = text(&told.stderr);
        assert_eq!(told.status.code(), Some(1), "{words:?}: {errors}");
        assert!(
            errors.starts_with("ternlease: the output cannot be written"),
            "{words:?}: {errors}"
        );
        let mut silent = pool.command(words);
        silent.stdin(Stdio::null()).stdout(full()).stderr(full());
        assert_eq!(silent.status().unwrap().code(), Some(1), "{words:?}, and nobody hears it");
    }
    // Nobody has what nobody was told of.
    common::wait_until("the claims are given back", || pool.manager().active_count() == 0);
}

#[test]
fn output_that_was_closed_is_nobodys_loss() {
    let pool = Pool::new(1);
    for words in COMMANDS {
        let mut command = pool.command(words);
        // SAFETY: closes a descriptor of the child, between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::close(1);
                Ok(())
            })
        };
        let code = command.stdin(Stdio::null()).stderr(Stdio::null()).status().unwrap().code();
        assert!(matches!(code, Some(0 | 1)), "{words:?}: {code:?}");
    }
}

/// What is measured of the machine, and pictures: wholly, or not at all.
#[test]
fn files_are_written_wholly_or_not_at_all() {
    if !mounts::are_possible() {
        return;
    }
    let directory = Directory::new("cli-full");
    mounts::memory(&directory.0, "size=64k");
    let fill = || {
        let mut ballast = File::create(directory.join("ballast")).unwrap();
        while ballast.write_all(&[1; 512]).is_ok() {}
    };
    let pool = Pool::new(2);
    let picture = directory.join("picture.svg");
    let run = |words: &[&str]| {
        let mut command: Command = pool.command(words);
        command.env("XDG_CACHE_HOME", &directory.0).stdin(Stdio::null()).output().unwrap()
    };
    let refused = |words: &[&str], why: &str| {
        let told = run(words);
        let errors = text(&told.stderr);
        assert_eq!(told.status.code(), Some(1), "{words:?}: {errors}");
        assert!(errors.contains(why), "{words:?}: {errors}");
    };
    let only_ballast = || {
        let files = fs::read_dir(&directory.0).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|path| path.is_file()).all(|path| path.ends_with("ballast"))
    };
    let draw = ["timeline", "--svg", picture.to_str().unwrap()];
    let measure = ["cap", "--keep", "--json"];
    fill();
    refused(&draw, "No space left on device");
    assert!(only_ballast());
    refused(&measure, "No space left on device");
    assert!(only_ballast() && !holds_files(&directory.join("ternlease")));
    fs::remove_file(directory.join("ballast")).unwrap();
    assert!(run(&draw).status.success());
    mounts::forbid_writing(&directory.0);
    refused(&draw, "Read-only file system");
    assert!(picture.exists(), "it is as it was");
    mounts::unmount(&directory.0);
    mounts::unmount(&directory.0);
}

fn holds_files(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut found| found.next().is_some())
}

/// From none to enough: it works, or says what it lacks.
#[test]
fn without_descriptors_it_says_so() {
    let pool = Pool::new(1);
    for words in [&["status"][..], &["events"], &["run", "--", "true"]] {
        let mut worked = false;
        for most in 3..24 {
            let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
            let mut command = pool.command(words);
            // SAFETY: sets a limit of the child, between fork and exec.
            unsafe {
                command.pre_exec(move || match libc::setrlimit(libc::RLIMIT_NOFILE, &limit) {
                    0 => Ok(()),
                    _ => Err(std::io::Error::last_os_error()),
                })
            };
            let told = command.stdin(Stdio::null()).output().unwrap();
            let (code, errors) = (told.status.code(), text(&told.stderr));
            // Too few for the loader, which has a code of its own.
            let not_begun = errors.contains("error while loading shared libraries");
            let said = errors.starts_with("ternlease: ") && errors.contains("Too many open files");
            worked = code == Some(0);
            assert!(worked || not_begun || said, "{words:?} with {most}: {code:?} {errors}");
        }
        assert!(worked, "{words:?}");
    }
}

/// Signals that mean nothing, one after the other, while it waits in line and while its program runs.
#[test]
fn signals_in_large_numbers_change_nothing() {
    let pool = Pool::new(1);
    let held = pool.open().try_claim().unwrap();
    let manager = pool.manager();
    let mut waits = pool.start(&["run", "--", "sh", "-c", "echo here; read line; exit 7"]);
    common::wait_until("it waits", || manager.pending_claimers() == 1);
    let storm = |process: &common::Started| {
        for _ in 0..1000 {
            process.send(libc::SIGWINCH);
            process.send(libc::SIGCONT);
            std::thread::yield_now();
        }
    };
    storm(&waits);
    assert_eq!(manager.pending_claimers(), 1);
    drop(held);
    assert_eq!(waits.line(), "here");
    storm(&waits);
    assert_eq!(waits.end(), (Some(7), None));
}
