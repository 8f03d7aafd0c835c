//! A pool of its own for each test, and the command on it.
// Not every test needs all of it.
#![allow(dead_code, missing_docs)]

#[path = "../common/signals.rs"]
mod signals;
pub mod xml;

use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use ternlease::{GpuClaim, GpuPool, LeaseId, LeaseManager, Outcome, PoolOptions};

pub const TERNLEASE: &str = env!("CARGO_BIN_EXE_ternlease");

/// A pool of devices that do not exist, in a file that goes with it.
pub struct Pool {
    pub pool: GpuPool,
    path: String,
    spec: String,
}

impl Pool {
    pub fn new(devices: u32) -> Self {
        Self::of(&format!("fake:{devices}"))
    }

    pub fn of(spec: &str) -> Self {
        signals::as_usual();
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = format!("/dev/shm/ternlease-report-{}-{number}", std::process::id());
        let _ = std::fs::remove_file(&path);
        let options = PoolOptions::from_spec(spec).unwrap();
        let pool = GpuPool::open_with(&format!("host:{path}"), options).unwrap();
        Pool { pool, path, spec: spec.to_owned() }
    }

    pub fn manager(&self) -> &LeaseManager {
        self.pool.manager()
    }

    /// What the table calls a device.
    pub fn key(&self, place: usize) -> String {
        self.pool.key(place).unwrap().to_owned()
    }

    /// A lease by its number, so that it does not end before the test says so.
    pub fn lease(&self, holder: &str, devices: u32) -> LeaseId {
        self.granted(self.pool.claim().holder(holder).devices(devices))
    }

    pub fn granted(&self, claim: GpuClaim<'_>) -> LeaseId {
        match claim.submit().unwrap() {
            Some(Outcome::Granted(id)) => id,
            other => panic!("not granted: {other:?}"),
        }
    }

    /// So that commands find it without being told.
    pub fn put_into(&self, command: &mut Command) {
        clear(command);
        command.env("TERNLEASE_POOL", format!("host:{}", self.path));
        command.env("TERNLEASE_DEVICES", &self.spec);
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(TERNLEASE);
        self.put_into(&mut command);
        command.args(args);
        command
    }

    /// What the command printed; it must have been content.
    pub fn prints(&self, args: &[&str]) -> String {
        printed(&mut self.command(args))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Without what the shell around the tests may have set.
pub fn clear(command: &mut Command) {
    for name in [
        "TERNLEASE_POOL",
        "TERNLEASE_DEVICES",
        "TERNLEASE_LEASE",
        "CUDA_VISIBLE_DEVICES",
        "COLUMNS",
    ] {
        command.env_remove(name);
    }
    command.env("TZ", "UTC");
}

pub fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} ended with {}: {errors}", output.status);
    assert_eq!(errors, "", "{command:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// What the command printed without a pool.
pub fn run(args: &[&str]) -> Output {
    let mut command = Command::new(TERNLEASE);
    clear(&mut command);
    command.args(args).output().unwrap()
}

/// `PATH` with the command in it.
pub fn path_of_the_command() -> String {
    let folder = std::path::Path::new(TERNLEASE).parent().unwrap();
    format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default())
}
