//! Starting the program.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use libc::pid_t;
use ternlease::{Env, LeaseId};

use super::signals::{self, Signals};
use super::terminal::Terminal;
use crate::exit::{Failure, NOT_FOUND, NOT_STARTED};

/// Says at once what would fail only after a long time in line: there is no such program, or it cannot be started.
pub fn check(program: &OsStr) -> Result<(), Failure> {
    let candidates: Vec<PathBuf> = match program.as_bytes().contains(&b'/') {
        true => vec![program.into()],
        false => match std::env::var_os("PATH") {
            Some(path) => std::env::split_paths(&path).map(|place| place.join(program)).collect(),
            // Where it is looked for then is up to the system.
            None => return Ok(()),
        },
    };
    if program.is_empty() || !candidates.iter().any(|path| path.exists()) {
        return Err(not_started(program, &io::Error::from(io::ErrorKind::NotFound)));
    }
    match candidates.iter().any(|path| could_be_started(path)) {
        true => Ok(()),
        false => Err(not_started(program, &io::Error::from_raw_os_error(libc::EACCES))),
    }
}

/// A file that somebody may execute. Whether it is us, the system decides.
fn could_be_started(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| {
        found.is_file() && found.permissions().mode() & 0o111 != 0 && found.size() > 0
    })
}

fn not_started(program: &OsStr, error: &io::Error) -> Failure {
    let name = program.to_string_lossy();
    match error.kind() {
        io::ErrorKind::NotFound => Failure::with(
            NOT_FOUND,
            format!("there is no program {name:?}; check its name and PATH"),
        ),
        _ => Failure::with(NOT_STARTED, format!("{name:?} cannot be started: {error}")),
    }
}

/// What the program sees of its lease.
pub fn environment(lease: LeaseId, devices: &Env) -> Env {
    let mut env = devices.clone();
    env.set.push(("TERNLEASE_LEASE", lease.to_string()));
    env
}

/// What a program sees that shall have no devices.
pub fn without_devices() -> Env {
    Env {
        // Numbers that no device has, as CUDA and ROCm both document it.
        set: vec![
            ("CUDA_VISIBLE_DEVICES", "-1".to_owned()),
            ("ROCR_VISIBLE_DEVICES", "-1".to_owned()),
        ],
        remove: vec!["HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "TERNLEASE_LEASE"],
    }
}

/// Starts it in a process group of its own; its number, which is also the group's.
pub fn start(
    words: &[OsString],
    env: &Env,
    signals: &Signals,
    terminal: Option<&Terminal>,
) -> Result<pid_t, Failure> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(Failure::with(2, "there is no program to run"));
    };
    let mut command = Command::new(program);
    command.args(arguments).process_group(0);
    env.apply(&mut command);
    let mask = signals.mask_before();
    let terminal = terminal.and_then(Terminal::for_child);
    // SAFETY: between fork and exec, only calls that are allowed there: masks, and the terminal.
    unsafe {
        command.pre_exec(move || {
            if let Some(terminal) = terminal {
                let quiet = signals::set(&[libc::SIGTTOU]);
                libc::sigprocmask(libc::SIG_BLOCK, &quiet, std::ptr::null_mut());
                libc::tcsetpgrp(terminal, libc::getpid());
            }
            libc::sigprocmask(libc::SIG_SETMASK, &mask, std::ptr::null_mut());
            Ok(())
        });
    }
    let child = command.spawn().map_err(|error| match check(program) {
        // It is there: what is missing is something that it needs, such as its interpreter.
        Ok(()) if error.kind() == io::ErrorKind::NotFound => {
            not_started(program, &io::Error::other("what it needs to start is missing"))
        }
        Ok(()) => not_started(program, &error),
        Err(gone) => gone,
    })?;
    // Waited for by its number, together with all others: the handle has no part in that.
    Ok(child.id().cast_signed())
}
