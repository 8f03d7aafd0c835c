//! Signals as something to read, so that they come one after the other with everything else that happens.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::process::ExitCode;

use libc::c_int;

/// Those that end a program unless it says otherwise.
const ENDING: [c_int; 6] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2];

/// Those that matter besides once there is a child.
const WITH_A_CHILD: [c_int; 4] = [libc::SIGCHLD, libc::SIGCONT, libc::SIGTSTP, libc::SIGWINCH];

/// Signals of this process, blocked and read from a descriptor. What was ignored when the program began is still ignored.
#[derive(Debug)]
pub struct Signals {
    descriptor: OwnedFd,
    blocked: libc::sigset_t,
    before: libc::sigset_t,
}

impl Signals {
    /// Those that end a program. To be called by the only thread that signals are delivered to.
    pub fn of_the_end() -> io::Result<Self> {
        let (blocked, before) = (set(&ENDING), empty());
        let mut signals = Signals { descriptor: descriptor(-1, &blocked)?, blocked, before };
        // SAFETY: both are signal sets.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &signals.blocked, &mut signals.before) };
        // SAFETY: as above. Messages must not stop this process while another group has the terminal.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set(&[libc::SIGTTOU]), &mut empty()) };
        // Somebody who does not read what is said must not end the one who says it.
        // SAFETY: sets the action of a signal.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
        Ok(signals)
    }

    /// From now on also those that matter with a child.
    pub fn watch_a_child(&mut self) -> io::Result<()> {
        // SAFETY: sets the action of a signal: who ignores the end of its children is never told of it.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
        for signal in WITH_A_CHILD {
            // SAFETY: a signal set, and a number of a signal.
            unsafe { libc::sigaddset(&mut self.blocked, signal) };
        }
        // SAFETY: a signal set.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &self.blocked, std::ptr::null_mut()) };
        // The same descriptor, for more.
        // SAFETY: the descriptor is open, and the set is one.
        match unsafe { libc::signalfd(self.descriptor.as_raw_fd(), &self.blocked, 0) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }

    /// What the mask was before this: what a child should have.
    pub fn mask_before(&self) -> libc::sigset_t {
        self.before
    }

    /// The next signal that has come, if there is one.
    pub fn next(&self) -> Option<c_int> {
        let mut info = MaybeUninit::<libc::signalfd_siginfo>::zeroed();
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: the descriptor is open, and there is room for so much.
        let got =
            unsafe { libc::read(self.descriptor.as_raw_fd(), info.as_mut_ptr().cast(), size) };
        // SAFETY: consists of integers, for which zeros and whatever the kernel wrote are values.
        (got == size as isize).then(|| unsafe { info.assume_init() }.ssi_signo as c_int)
    }

    /// Stops this process as if it did not handle the signal, with its group as a terminal does it; returns when it is continued, or at once if it cannot
    /// be stopped, or was told to go on meanwhile: Ctrl-Z stops the others of a pipeline at once, and the shell may have gone on with all of them while
    /// the child was still stopping.
    pub fn stop_by(&self, signal: c_int) {
        // A signal that stops takes a SIGCONT that waits away with it, so it would be too late to ask afterwards.
        if has_come(libc::SIGCONT) {
            return;
        }
        // Others of the group are parts of the same job: a shell sees it stopped if all are. SIGSTOP comes from somebody who meant one process.
        // SAFETY: takes no pointers.
        let whom = if signal == libc::SIGSTOP { unsafe { libc::getpid() } } else { 0 };
        let (one, mut before) = (set(&[signal]), empty());
        // SAFETY: signal sets, and a signal that this process sends to itself.
        unsafe {
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &one, &mut before);
            libc::kill(whom, signal);
            libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Ends this process by the signal that ended its child, so that whoever started it sees the same as without it: for a shell, 128 + n.
pub fn die_by(signal: c_int) -> ExitCode {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: plain calls with valid places. One core is enough: the child's.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        libc::signal(signal, libc::SIG_DFL);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set(&[signal]), std::ptr::null_mut());
        libc::kill(libc::getpid(), signal);
    }
    // Only if the signal does not end processes.
    ExitCode::from(128u8.saturating_add(u8::try_from(signal).unwrap_or(0)))
}

/// Reads the name of a signal: `TERM`, `SIGTERM` or its number.
pub fn parse(text: &str) -> Result<c_int, String> {
    let name = text.to_ascii_uppercase();
    let name = name.strip_prefix("SIG").unwrap_or(&name);
    let known = NAMES.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
    let number = known.or_else(|| name.parse().ok().filter(|number| (1..=64).contains(number)));
    number.ok_or_else(|| format!("{text:?} is no signal; use TERM, INT, USR1 or a number"))
}

/// The name of a signal.
pub fn name(signal: c_int) -> String {
    let known = NAMES.iter().find(|(_, number)| *number == signal);
    known.map_or_else(|| format!("signal {signal}"), |(name, _)| format!("SIG{name}"))
}

const NAMES: [(&str, c_int); 12] = [
    ("HUP", libc::SIGHUP),
    ("INT", libc::SIGINT),
    ("QUIT", libc::SIGQUIT),
    ("KILL", libc::SIGKILL),
    ("USR1", libc::SIGUSR1),
    ("USR2", libc::SIGUSR2),
    ("TERM", libc::SIGTERM),
    ("ALRM", libc::SIGALRM),
    ("CONT", libc::SIGCONT),
    ("STOP", libc::SIGSTOP),
    ("TSTP", libc::SIGTSTP),
    ("WINCH", libc::SIGWINCH),
];

fn descriptor(old: c_int, signals: &libc::sigset_t) -> io::Result<OwnedFd> {
    // SAFETY: the set is one; -1 asks for a new descriptor.
    let number = unsafe { libc::signalfd(old, signals, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    match number {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: it was just opened, and belongs to nobody else.
        number => Ok(unsafe { OwnedFd::from_raw_fd(number) }),
    }
}

/// Does this signal, which is blocked, wait to be read?
fn has_come(signal: c_int) -> bool {
    let mut pending = empty();
    // SAFETY: a set, and a number of a signal.
    unsafe { libc::sigpending(&mut pending) == 0 && libc::sigismember(&pending, signal) == 1 }
}

fn empty() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: fills the set.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}

/// A set of these signals.
pub fn set(signals: &[c_int]) -> libc::sigset_t {
    let mut set = empty();
    for &signal in signals {
        // SAFETY: a set, and a number of a signal.
        unsafe { libc::sigaddset(&mut set, signal) };
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a process ends, or stops, that wants to stop by Ctrl-Z after it was told to go on, or without that.
    fn stops(told_to_go_on: bool) -> c_int {
        let mut signals = Signals::of_the_end().unwrap();
        // SAFETY: the child only calls what is allowed after a fork of a process with threads, and is waited for.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::setpgid(0, 0);
                if signals.watch_a_child().is_ok() && told_to_go_on {
                    libc::kill(libc::getpid(), libc::SIGCONT);
                }
                signals.stop_by(libc::SIGTSTP);
                libc::_exit(7);
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &mut status, libc::WUNTRACED), child);
            if libc::WIFSTOPPED(status) {
                libc::kill(child, libc::SIGKILL);
                libc::waitpid(child, std::ptr::null_mut(), 0);
            }
            status
        }
    }

    #[test]
    fn who_was_told_to_go_on_meanwhile_does_not_stop() {
        assert!(libc::WIFSTOPPED(stops(false)));
        let status = stops(true);
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7, "{status:#x}");
    }
}
