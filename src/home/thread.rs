//! Threads of the library's own.
#![cfg_attr(unix, allow(unsafe_code))]

use std::io;
use std::thread::{Builder, JoinHandle};

/// Starts a thread that no signal of the program is delivered to: those are for the program's own threads.
pub(crate) fn spawn(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    // A size of its own: otherwise the environment would be asked for one.
    without_signals(|| Builder::new().name(name.into()).stack_size(2 << 20).spawn(work))
}

/// A new thread begins with the signal mask of the one that starts it.
#[cfg(unix)]
fn without_signals<T>(start: impl FnOnce() -> T) -> T {
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
fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    start()
}
