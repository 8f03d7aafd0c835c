//! `ternlease hold`: a small process that holds a lease for another one that knows nothing of leases, until that one ends. `claim` and `adopt` start it.

mod owner;

use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

use ternlease::{Inherited, LeaseId, LeaseManager, LeaseState};

pub use owner::Owner;

use super::run::poll::{Ready, await_any, clear};
use super::run::signals::Signals;
use crate::exit::Failure;
use crate::place::Place;

/// What `claim` and `adopt` leave to it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The lease
    #[arg(long)]
    lease: u64,
    /// The descriptor that keeps it
    #[arg(long)]
    lease_descriptor: RawFd,
    /// The process for which it is
    #[arg(long)]
    owner: u32,
    /// The descriptor of that process
    #[arg(long)]
    owner_descriptor: RawFd,
    /// What to send to that process with a notice
    #[arg(long)]
    notice_signal: Option<i32>,
}

/// Holds it.
pub fn run(place: &Place, args: &Args) -> Result<ExitCode, Failure> {
    let owner = Owner::inherited(args.owner, args.owner_descriptor)?;
    // SAFETY: takes no pointers. A number that is not open is an error.
    if unsafe { libc::fcntl(args.lease_descriptor, libc::F_SETFD, libc::FD_CLOEXEC) } == -1 {
        return Err(std::io::Error::last_os_error().into());
    }
    // SAFETY: it is open, and was left to us alone. The lease is held while it is.
    let kept = unsafe { OwnedFd::from_raw_fd(args.lease_descriptor) };
    let signals = Signals::of_the_end()?;
    let manager = place.manager()?;
    let id = LeaseId(args.lease);
    hold(&manager, id, &owner, &signals, args.notice_signal);
    // If it is over already there is nothing to give back.
    let _ = manager.release(id);
    drop(kept);
    Ok(ExitCode::SUCCESS)
}

/// Until the owner or the lease has ended, or somebody ends us.
fn hold(
    manager: &LeaseManager,
    id: LeaseId,
    owner: &Owner,
    signals: &Signals,
    mut notice_signal: Option<i32>,
) {
    // One that is over cannot be watched.
    let Ok(watch) = manager.watch_fd(id) else { return };
    loop {
        let descriptors = [Some(signals.as_fd()), Some(owner.as_fd()), Some(watch.as_fd())];
        let ready = await_any(&descriptors, None);
        if ready.contains(Ready(0)) || ready.contains(Ready(1)) {
            return;
        }
        clear(watch.as_fd());
        if manager.state(id) != Some(LeaseState::Held) {
            // Without a notice before, this is the notice.
            notice_signal.into_iter().for_each(|signal| owner.send(signal));
            return;
        }
        if manager.lease(id).is_some_and(|info| info.revoking) {
            notice_signal.take().into_iter().for_each(|signal| owner.send(signal));
        }
    }
}

/// Starts one, in a session of its own and without a terminal; its number. From then on it alone keeps the lease.
pub fn start(
    place: &Place,
    kept: Inherited,
    owner: &Owner,
    notice_signal: Option<i32>,
) -> Result<u32, Failure> {
    let (lease, process) = (kept.as_fd().as_raw_fd(), owner.as_fd().as_raw_fd());
    // Not by its name: that may be another program by now, or none.
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0("ternlease")
        .args(["--pool", &place.url(), "hold"])
        .args(["--lease", &kept.lease().to_string()])
        .args(["--lease-descriptor", &lease.to_string()])
        .args(["--owner", &owner.pid().to_string()])
        .args(["--owner-descriptor", &process.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .current_dir("/");
    if let Some(signal) = notice_signal {
        command.args(["--notice-signal", &signal.to_string()]);
    }
    // SAFETY: between fork and exec, only calls that are allowed there.
    unsafe {
        command.pre_exec(move || {
            libc::setsid();
            // Whatever else the caller has open, a pipe that somebody reads to its end, must not stay open for longer. Old systems cannot do that.
            libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
            for needed in [lease, process] {
                if libc::fcntl(needed, libc::F_SETFD, 0) == -1 {
                    return Err(std::io::Error::last_os_error());
                }
            }
            Ok(())
        });
    }
    let started = command.spawn();
    drop(kept);
    let holder = started.map_err(|error| {
        Failure::new(format!("the process that is to hold the lease cannot be started: {error}"))
    })?;
    Ok(holder.id())
}
