//! What a program under `run` inherits: it stands for the lease, and does not let a program that has given up its user
//! write, truncate or lock the table.
#![allow(missing_docs)]

mod common;

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use common::{Directory, Started, kill, lives, wait_until};

const GROUP: u32 = 61_000;

/// The program that attacks.
fn attacker() -> PathBuf {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/attack/inherited.c");
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("attack-inherited");
    let built = Command::new("cc").arg("-o").arg(&program).arg(source).status();
    assert!(built.expect("the C compiler that links Rust programs is there").success());
    program
}

#[test]
fn program_that_has_changed_its_user_cannot_write_or_lock_the_table() {
    // SAFETY: takes no pointers.
    if unsafe { libc::geteuid() } != 0 {
        println!("skipped: only the superuser can become another user");
        assert!(std::env::var_os("CI").is_none(), "needed where all is tested");
        return;
    }
    let directory = Directory::new("descriptors");
    chown(&directory.0, None, Some(GROUP)).unwrap();
    std::fs::set_permissions(&directory.0, Permissions::from_mode(0o2770)).unwrap();
    let table = directory.join("pool");
    let url = format!("host:{}", table.display());
    let command = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ternlease"));
        command.env_remove("TERNLEASE_LEASE").args(["--pool", &url, "--devices", "fake:1"]);
        command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let is_free = || command(&["run", "--now", "--", "true"]).status().unwrap().success();
    let attacker = attacker();
    let words = ["run", "--", attacker.to_str().unwrap(), table.to_str().unwrap()];
    let mut run = Started::new(command(&words));
    let mut succeeded = Vec::new();
    let below = loop {
        match run.line() {
            line if line == "attacked" => break run.number(),
            line if line.is_empty() => panic!("the program has failed: {}", run.errors()),
            line => succeeded.push(line),
        }
    };
    let ended = run.end();
    let held = lives(below) && !is_free();
    kill(below, libc::SIGKILL);
    assert_eq!(succeeded, [""; 0]);
    assert_eq!(ended, (Some(0), None));
    assert!(held, "the lease is held while a process that the program has started lives");
    wait_until("the device is free", is_free);
}
