//! `ternlease run` when the file of its table is deleted, renamed, replaced or truncated: processes that come after that
//! use another table, so its program is killed at once.
#![allow(missing_docs)]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Directory, Started, kill, lives, wait_until};

/// A table in a file that the test does something to.
struct Table {
    directory: Directory,
    file: PathBuf,
}

/// A program that must not outlive its test if the command fails to end it.
struct Program(i32);

impl Drop for Program {
    fn drop(&mut self) {
        if lives(self.0) {
            kill(self.0, libc::SIGKILL);
        }
    }
}

impl Table {
    fn new(name: &str) -> Table {
        let directory = Directory::new(name);
        let file = directory.join("pool");
        Table { directory, file }
    }

    fn start(&self, words: &[&str]) -> Started {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ternlease"));
        command.env_remove("TERNLEASE_LEASE").env_remove("TERNLEASE_SLOTS");
        command.arg("--pool").arg(format!("host:{}", self.file.display()));
        command.args(["--devices", "fake:1"]).args(words);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Started::new(command)
    }
}

/// A program runs that does not end when asked to, and a process below it that has left its group; something happens to
/// the file: both are killed without the time that a notice would give them, and the command says why.
#[track_caller]
fn is_killed_after(name: &str, happens: impl FnOnce(&Table)) {
    let table = Table::new(name);
    let script =
        "trap '' TERM; setsid sleep 1000 & echo $$ $!; while :; do sleep 1 & wait $!; done";
    let mut run = table.start(&["run", "--grace", "1h", "--", "sh", "-c", script]);
    let numbers = run.line();
    let (program, below) = numbers.split_once(' ').expect("the program has started");
    let [program, below] = [program, below].map(|number| Program(number.parse().unwrap()));
    // SAFETY: takes no pointers.
    wait_until("it has left the group", || unsafe { libc::getpgid(below.0) } == below.0);

    happens(&table);
    wait_until("the program is killed", || !lives(program.0));
    assert_eq!(run.end(), (Some(121), None));
    assert!(!lives(below.0));
    let said = run.errors();
    assert!(said.contains(" is lost: ") && said.contains("killed"), "{said}");
}

/// A process that comes after that gets the device.
fn next_is_granted(table: &Table) {
    let mut next = table.start(&["run", "--", "echo", "mine"]);
    assert_eq!(next.line(), "mine");
    assert_eq!(next.end(), (Some(0), None));
}

fn rename(from: &Path, to: PathBuf) {
    std::fs::rename(from, to).unwrap();
}

#[test]
fn program_is_killed_when_the_file_is_deleted() {
    is_killed_after("deleted", |table| std::fs::remove_file(&table.file).unwrap());
}

#[test]
fn program_is_killed_when_the_file_is_deleted_and_another_process_makes_it_again() {
    is_killed_after("made-again", |table| {
        std::fs::remove_file(&table.file).unwrap();
        next_is_granted(table);
    });
}

#[test]
fn program_is_killed_when_the_file_is_renamed() {
    is_killed_after("renamed", |table| {
        rename(&table.file, table.directory.join("elsewhere"));
        next_is_granted(table);
    });
}

#[test]
fn program_is_killed_when_the_file_is_replaced() {
    is_killed_after("replaced", |table| {
        let copy = table.directory.join("copy");
        std::fs::copy(&table.file, &copy).unwrap();
        rename(&copy, table.file.clone());
    });
}

#[test]
fn program_is_killed_when_the_file_is_truncated() {
    is_killed_after("truncated", |table| {
        let file = std::fs::File::options().write(true).open(&table.file).unwrap();
        file.set_len(0).unwrap();
    });
}
