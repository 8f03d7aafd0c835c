//! Signals as they usually are: a shell that starts tests in the background makes them, and all that they start, ignore Ctrl-C.

/// Undoes that for this process, and so for those that it starts from now on.
pub fn as_usual() {
    for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
        // SAFETY: sets the default action of a signal.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}
