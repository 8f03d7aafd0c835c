//! Threads of the library.
#![cfg_attr(unix, allow(unsafe_code))]

use std::io;
use std::thread::{Builder, JoinHandle, Scope, ScopedJoinHandle};

/// With a stack size, so that the standard library does not read one from the environment.
fn builder(name: &str) -> Builder {
    Builder::new().name(name.into()).stack_size(2 << 20)
}

/// Starts a thread that gets no signals: those are for the threads of the program.
pub(crate) fn spawn(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    without_signals(|| builder(name).spawn(work))
}

/// As [`spawn`], for a scoped thread.
pub(crate) fn spawn_scoped<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> io::Result<ScopedJoinHandle<'scope, T>> {
    without_signals(|| builder(name).spawn_scoped(scope, work))
}

/// Runs `start` with all signals blocked. A new thread inherits the signal mask of its parent.
#[cfg(unix)]
pub(crate) fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    use std::mem::MaybeUninit;
    let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: both are valid for writes. `all` is filled before it is read, and `before` is read
    // only if the first call has filled it.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        // Faults of the thread itself stay unblocked: a crash reporter of the program handles them.
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
        // SAFETY: reads the mask of this thread into `now`, which is valid for writes.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), now.as_mut_ptr());
            libc::sigismember(now.as_ptr(), signal) == 1
        }
    }

    #[test]
    fn started_thread_blocks_signals_except_its_own_faults() {
        let seen = || (is_blocked(libc::SIGUSR1), is_blocked(libc::SIGSEGV));
        let before = seen();
        let in_scope = std::thread::scope(|scope| {
            spawn_scoped(scope, "t", seen)?.join().map_err(|_| io::ErrorKind::Other.into())
        });
        assert_eq!(in_scope.map_err(|error: io::Error| error.kind()), Ok((true, false)));
        assert_eq!(seen(), before);
    }
}
