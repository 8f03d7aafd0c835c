//! The processes below this one. It adopts those whose parents die, so that it knows when the last of them is gone.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use libc::{c_int, pid_t};

/// How long to wait for processes that were killed: one that is stuck in a driver may never go.
const PATIENCE: Duration = Duration::from_secs(2);

/// From now on whoever is left behind by a child becomes a child of this process.
pub fn adopt_orphans() {
    // SAFETY: sets a flag of this process.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// A descriptor that is readable when the child has ended, also without SIGCHLD: other code in this process may
/// handle that signal, too. None if the system has no such descriptors (before Linux 5.3), or none left.
pub fn end_of(child: pid_t) -> Option<OwnedFd> {
    // SAFETY: takes no pointers.
    let number = unsafe { libc::syscall(libc::SYS_pidfd_open, child, 0) };
    let number = RawFd::try_from(number).ok().filter(|number| *number >= 0)?;
    // SAFETY: it was just opened and has no other owner. The kernel sets its close-on-exec flag.
    Some(unsafe { OwnedFd::from_raw_fd(number) })
}

/// What has become of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It ended with this number.
    Exited(c_int),
    /// A signal ended it.
    Killed(c_int),
    /// A signal stopped it.
    Stopped(c_int),
}

/// The next change of any child, if there is one.
pub fn next_change() -> Option<(pid_t, Change)> {
    loop {
        let mut status = 0;
        // SAFETY: there is a place for the status.
        let child = unsafe { libc::waitpid(-1, &mut status, libc::WNOHANG | libc::WUNTRACED) };
        match child {
            -1 if std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) => {}
            ..=0 => return None,
            child if libc::WIFEXITED(status) => {
                return Some((child, Change::Exited(libc::WEXITSTATUS(status))));
            }
            child if libc::WIFSIGNALED(status) => {
                return Some((child, Change::Killed(libc::WTERMSIG(status))));
            }
            child if libc::WIFSTOPPED(status) => {
                return Some((child, Change::Stopped(libc::WSTOPSIG(status))));
            }
            _ => {}
        }
    }
}

/// Has other code in this process waited for the child?
pub fn is_reaped(child: pid_t) -> bool {
    // SAFETY: takes no status, and reaps nothing.
    let found = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        libc::waitid(libc::P_PID, child.cast_unsigned(), &mut info, how)
    };
    found == -1 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD)
}

/// Is nobody left? (Who ended meanwhile is not.)
pub fn are_gone() -> bool {
    while next_change().is_some() {}
    // SAFETY: takes no status. Only looks, and reaps nobody.
    let any = unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        libc::waitid(libc::P_ALL, 0, &mut info, libc::WEXITED | libc::WNOHANG | libc::WNOWAIT)
    };
    any == -1 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD)
}

/// Kills everybody who is left, those below them included.
pub fn kill_all() {
    let until = Instant::now() + PATIENCE;
    while !are_gone() && Instant::now() < until {
        for child in list() {
            // SAFETY: a child of ours that has not been reaped: its number is nobody else's.
            unsafe { libc::kill(child, libc::SIGKILL) };
        }
        // Their children become ours as they go, a moment later.
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Kills all processes below this one that are listed; the first that this process may not kill.
/// Does not wait. Who is started meanwhile is found by the next call.
pub fn kill_descendants() -> Option<pid_t> {
    let mut found: Vec<(pid_t, pid_t)> = Vec::new();
    let mut parents = vec![std::process::id().cast_signed()];
    while let Some(parent) = parents.pop() {
        let children = children_of(&parent.to_string());
        parents.extend(&children);
        found.extend(children.into_iter().map(|child| (child, parent)));
    }
    let denied = |&(child, parent): &(pid_t, pid_t)| {
        kill_child_of(child, parent).is_err_and(|error| error.raw_os_error() == Some(libc::EPERM))
    };
    // All of them, also after the first that may not be killed.
    let denied = found.iter().filter(|pair| denied(pair));
    denied.fold(None, |first, (child, _)| first.or(Some(*child)))
}

/// Kills a process if it is a child of this parent. The parent may have reaped it meanwhile, and
/// the number may be another process's; what the descriptor refers to stays the same.
fn kill_child_of(child: pid_t, parent: pid_t) -> std::io::Result<()> {
    let descriptor = end_of(child);
    if parent_of(child.cast_unsigned()) != Some(parent.cast_unsigned()) {
        return Ok(());
    }
    let sent = match &descriptor {
        Some(descriptor) => {
            let number = descriptor.as_raw_fd();
            let info = std::ptr::null::<libc::siginfo_t>();
            // SAFETY: the descriptor is open, and there may be no information about the signal.
            unsafe {
                libc::syscall(libc::SYS_pidfd_send_signal, number, libc::SIGKILL, info, 0) == 0
            }
        }
        // SAFETY: takes no pointers. Before Linux 5.3 nothing better is to be had.
        None => unsafe { libc::kill(child, libc::SIGKILL) == 0 },
    };
    if sent { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// The children of this process, as far as the system lists them.
fn list() -> Vec<pid_t> {
    children_of("self")
}

/// The children of a process, as far as the system lists them.
fn children_of(process: &str) -> Vec<pid_t> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<pid_t>>()
        })
        .collect()
}

/// The parent of a process, if that can be seen.
pub fn parent_of(process: u32) -> Option<u32> {
    stat_field(process, 4)?.parse().ok()
}

/// A field of `/proc/PID/stat`, by the number that its manual page gives it; from the third on.
pub fn stat_field(process: u32, number: usize) -> Option<String> {
    let stat = std::fs::read(format!("/proc/{process}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat).into_owned();
    // The second is a name, in which there may be anything, also brackets.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(number.checked_sub(3)?).map(str::to_owned)
}
