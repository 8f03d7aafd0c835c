//! Signals as something to read, in order with everything else that happens.
//!
//! Handlers note them, so it does not matter which thread of the process the kernel chooses: libraries that are loaded
//! into this process start threads of their own, which may block signals or not.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use libc::c_int;

/// Those that end a program unless it handles them.
const ENDING: [c_int; 6] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2];

/// Those that matter besides once there is a child.
const WITH_A_CHILD: [c_int; 4] = [libc::SIGCHLD, libc::SIGCONT, libc::SIGTSTP, libc::SIGWINCH];

/// Signals that were handled and not read yet: signal n is bit n.
static PENDING: AtomicU64 = AtomicU64::new(0);

/// The end of the pipe that handlers write to, and the process whose handlers do so. Both are set before any handler.
static WAKE: AtomicI32 = AtomicI32::new(-1);
static PROCESS: AtomicI32 = AtomicI32::new(0);

/// Both ends of that pipe. It exists once: handlers of any thread may use it as long as the process lives.
static PIPE: OnceLock<(OwnedFd, OwnedFd)> = OnceLock::new();

/// Signals of this process, read from a descriptor. Those that were ignored when the program began are still ignored.
#[derive(Debug)]
pub struct Signals {
    pipe: BorrowedFd<'static>,
    before: libc::sigset_t,
}

impl Signals {
    /// Those that end a program.
    pub fn of_the_end() -> io::Result<Self> {
        let signals = Self::of(&ENDING)?;
        // SAFETY: signal sets. Messages must not stop this process while another group has the terminal.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set(&[libc::SIGTTOU]), &mut empty()) };
        // A reader of the messages that goes away must not end this process.
        // SAFETY: sets the action of a signal.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
        Ok(signals)
    }

    /// These.
    pub fn of(signals: &[c_int]) -> io::Result<Self> {
        let pipe = match PIPE.get() {
            Some(pipe) => pipe,
            None => {
                let made = pipe()?;
                PIPE.get_or_init(|| made)
            }
        };
        WAKE.store(pipe.1.as_raw_fd(), Ordering::Relaxed);
        PROCESS.store(std::process::id().cast_signed(), Ordering::Release);
        let mut before = empty();
        // SAFETY: asks for the mask of this thread.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &mut before) };
        handle(signals)?;
        Ok(Signals { pipe: pipe.0.as_fd(), before })
    }

    /// From now on also those that matter with a child.
    pub fn watch_a_child(&mut self) -> io::Result<()> {
        // SAFETY: sets the action of a signal: a process that ignores the end of its children cannot wait for them.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
        handle(&WITH_A_CHILD)
    }

    /// What the mask was before this: what a child should have.
    pub fn mask_before(&self) -> libc::sigset_t {
        self.before
    }

    /// The next signal that has come, if there is one.
    pub fn next(&self) -> Option<c_int> {
        let mut wakes = [0u8; 64];
        // Before the look at what is pending: a signal that comes after that look writes again.
        // SAFETY: the descriptor is open and does not block, and there is room for so much.
        while unsafe { libc::read(self.pipe.as_raw_fd(), wakes.as_mut_ptr().cast(), wakes.len()) }
            > 0
        {}
        let lowest = PENDING.load(Ordering::Acquire).trailing_zeros();
        (lowest < u64::BITS).then(|| {
            PENDING.fetch_and(!(1 << lowest), Ordering::AcqRel);
            lowest.cast_signed()
        })
    }

    /// Stops this process as if it did not handle the signal, with its group as a terminal does it. Returns when it is
    /// continued, or at once if it cannot be stopped or was continued meanwhile: Ctrl-Z stops the others of a pipeline
    /// at once, and the shell may have continued all of them while the child was still stopping.
    pub fn stop_by(&self, signal: c_int) {
        if PENDING.load(Ordering::Acquire) & bit(libc::SIGCONT) != 0 {
            return;
        }
        // Others of the group are parts of the same job: a shell sees it stopped if all are. SIGSTOP was meant for one
        // process.
        // SAFETY: takes no pointers.
        let whom = if signal == libc::SIGSTOP { unsafe { libc::getpid() } } else { 0 };
        let (one, mut before) = (set(&[signal]), empty());
        let mut handler = MaybeUninit::uninit();
        // SAFETY: signal sets and actions, and a signal that this process sends to itself. The action that is set again
        // is the one that the first call has filled in.
        unsafe {
            let handled = libc::sigaction(signal, &default_action(), handler.as_mut_ptr()) == 0;
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &one, &mut before);
            libc::kill(whom, signal);
            libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
            if handled {
                libc::sigaction(signal, handler.as_ptr(), std::ptr::null_mut());
            }
        }
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe
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

/// Runs in whichever thread the kernel chooses: calls and touches only what is allowed in a handler.
extern "C" fn note(signal: c_int) {
    // SAFETY: all calls are async-signal-safe, and the thread's errno is restored.
    unsafe {
        let errno = *libc::__errno_location();
        if libc::getpid() == PROCESS.load(Ordering::Acquire) {
            // As the kernel does it: of stopping and continuing, the later one counts.
            let overtaken = match signal {
                libc::SIGCONT => bit(libc::SIGTSTP),
                libc::SIGTSTP => bit(libc::SIGCONT),
                _ => 0,
            };
            PENDING.fetch_and(!overtaken, Ordering::AcqRel);
            PENDING.fetch_or(bit(signal), Ordering::AcqRel);
            // If the pipe is full, the reader will wake anyway.
            libc::write(WAKE.load(Ordering::Relaxed), [0u8].as_ptr().cast(), 1);
        } else {
            // A child that has not started its program yet: the signal is for that program.
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
        *libc::__errno_location() = errno;
    }
}

/// Installs the handler for these, and lets this thread receive them. Those that are ignored stay so.
fn handle(signals: &[c_int]) -> io::Result<()> {
    let mut action = default_action();
    action.sa_sigaction = note as *const () as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    for &signal in signals {
        let mut before = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: actions; the first call fills in the one that is read.
        let done = unsafe {
            libc::sigaction(signal, std::ptr::null(), before.as_mut_ptr()) == 0
                && (before.assume_init().sa_sigaction == libc::SIG_IGN
                    || libc::sigaction(signal, &action, std::ptr::null_mut()) == 0)
        };
        if !done {
            return Err(io::Error::last_os_error());
        }
    }
    // SAFETY: a signal set.
    unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &set(signals), std::ptr::null_mut()) };
    Ok(())
}

fn default_action() -> libc::sigaction {
    // SAFETY: consists of integers and an optional function, for which zeros are values: the default action.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

fn bit(signal: c_int) -> u64 {
    1 << signal
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [-1; 2];
    // SAFETY: there is room for both numbers.
    match unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) } {
        // SAFETY: both were just opened and have no other owner.
        0 => Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) }),
        _ => Err(io::Error::last_os_error()),
    }
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

    /// How a process ends, or stops, that wants to stop by Ctrl-Z after it was continued, or without that.
    fn stops(continued: bool) -> c_int {
        // SAFETY: the child calls only what is allowed after a fork of a process with threads, and is waited for.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                libc::setpgid(0, 0);
                let Ok(mut signals) = Signals::of_the_end() else { libc::_exit(8) };
                if signals.watch_a_child().is_ok() && continued {
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
    fn process_that_was_continued_meanwhile_does_not_stop() {
        assert!(libc::WIFSTOPPED(stops(false)));
        let status = stops(true);
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7, "{status:#x}");
    }
}
