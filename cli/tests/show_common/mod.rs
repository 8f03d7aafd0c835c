//! Pools for the tests of what shows them, each in a file of its own that goes with it.

// Not every test needs all of it.
#![allow(dead_code)]

#[path = "../common/signals.rs"]
mod signals;

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;
use ternlease::{GpuPool, Outcome, PoolOptions, TicketId};

/// A pool that only this test uses.
pub struct Pool {
    pub path: PathBuf,
    pub devices: String,
}

impl Pool {
    /// With so many devices that do not exist.
    pub fn fake(count: u32) -> Self {
        Self::of(&format!("fake:{count}"))
    }

    /// With the devices that this names.
    pub fn of(devices: &str) -> Self {
        signals::as_usual();
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("tern-show-{}-{count}", std::process::id());
        Pool { path: PathBuf::from("/dev/shm").join(name), devices: devices.to_owned() }
    }

    pub fn url(&self) -> String {
        format!("host:{}", self.path.display())
    }

    /// As another program that uses it.
    pub fn open(&self) -> GpuPool {
        GpuPool::open_with(&self.url(), PoolOptions::from_spec(&self.devices).unwrap()).unwrap()
    }

    /// The command, for this pool.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ternlease"));
        command.args(["--pool", &self.url(), "--devices", &self.devices]).args(words);
        for name in ["COLUMNS", "NO_COLOR", "TERNLEASE_POOL", "TERNLEASE_DEVICES"] {
            command.env_remove(name);
        }
        command
    }

    /// What it prints, at this width, if all goes well.
    pub fn text(&self, width: u32, words: &[&str]) -> String {
        let output = self.command(words).env("COLUMNS", width.to_string()).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What it prints for programs.
    pub fn json(&self, words: &[&str]) -> Value {
        let output = self.command(words).arg("--json").output().unwrap();
        assert!(output.status.code().is_some_and(|code| code <= 1), "{words:?}: {output:?}");
        assert!(!output.stdout.iter().any(|byte| byte.is_ascii_control() && *byte != b'\n'));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Everything that was written, for all who want to look for something in it.
pub fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A name that would clear the screen, colour what follows and write it backwards.
pub const NASTY: &str = "evil\x1b[2J\x1b[31m\u{9b}5m\r\n\u{202e}name";

/// Puts a claim for so many devices in line.
pub fn queue(pool: &GpuPool, holder: &str, devices: u32) -> TicketId {
    match pool.claim().holder(holder).devices(devices).submit().unwrap() {
        Some(Outcome::Waiting(ticket)) => ticket,
        other => panic!("{holder} should wait: {other:?}"),
    }
}

/// Nothing in it could move a cursor or change a colour.
pub fn assert_plain(text: &str) {
    let odd = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!text.contains(odd), "{text:?}");
}

/// Every line fits.
pub fn assert_fits(text: &str, width: usize) {
    for line in text.lines() {
        assert!(line.chars().count() <= width, "{} > {width}: {line}", line.chars().count());
    }
}

/// The keys of an object, in the order in which they are written.
pub fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}
