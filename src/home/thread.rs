//! Threads of the library's own.
#![cfg_attr(unix, allow(unsafe_code))]

use std::io;
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

/// A size of its own: otherwise the environment would be asked for one.
fn builder(name: &str) -> Builder {
    Builder::new().name(name.into()).stack_size(2 << 20)
}

/// Starts a thread that no signal of the program is delivered to: those are for the program's own threads.
pub(crate) fn spawn(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    without_signals(|| builder(name).spawn(work))
}

/// As [`spawn`], for a thread that does not outlive what it uses.
pub(crate) fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    without_signals(|| builder(name).spawn_scoped(scope, work))
}

/// Does something while no signal of the program is delivered to this thread. A new thread begins with the signal mask of the one that starts it.
#[cfg(unix)]
pub(crate) fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    use std::mem::MaybeUninit;
    let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: both are places for a signal set; the first is filled before it is used, and the second is only used if it was filled.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        // What a thread brings upon itself is for whoever handles that in the program: its crash reporter, for example.
        for own in [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGFPE,
            libc::SIGILL,
            libc::SIGTRAP,
            libc::SIGSYS,
            libc::SIGABRT,
        ] {
            libc::sigdelset(all.as_mut_ptr(), own);
        }
        let masked =
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) == 0;
        let started = start();
        if masked {
            libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
        }
        started
    }
}

#[cfg(not(unix))]
pub(crate) fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    start()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::mem::MaybeUninit;

    /// Is the signal blocked in this thread?
    fn is_blocked(signal: i32) -> bool {
        let mut now = MaybeUninit::uninit();
        // SAFETY: asks for the mask of this thread, and has room for it.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), now.as_mut_ptr());
            libc::sigismember(now.as_ptr(), signal) == 1
        }
    }

    #[test]
    fn signals_of_the_program_are_not_for_threads_of_ours() {
        let seen = || (is_blocked(libc::SIGUSR1), is_blocked(libc::SIGSEGV));
        let before = seen();
        let in_scope = std::thread::scope(|scope| {
            spawn_scoped(scope, "t", seen)?.join().map_err(|_| io::ErrorKind::Other.into())
        });
        assert_eq!(in_scope.map_err(|error: io::Error| error.kind()), Ok((true, false)));
        assert_eq!(seen(), before);
    }
}
