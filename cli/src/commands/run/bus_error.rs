//! A file that is truncated while this process reads the table in it: the system sends SIGBUS. Its default action ends
//! this process and leaves the program running, on devices that a new process can be granted.

use std::process::ExitCode;

use libc::c_int;

use super::{children, words};
use crate::exit::REVOKED;

/// From now on SIGBUS kills the program and everything below it. The handler starts this executable anew in this process:
/// the children stay its children, and no memory of the table is left that could fail again.
pub fn kill_program_on_bus_error() {
    // SAFETY: sets the action of a signal. The handler only makes calls that are allowed in one.
    unsafe { libc::signal(libc::SIGBUS, restart as *const () as libc::sighandler_t) };
}

extern "C" fn restart(_: c_int) {
    let arguments = [c"ternlease".as_ptr(), c"kill-children".as_ptr(), std::ptr::null()];
    // SAFETY: both strings and the list end with a zero. Does not return unless it fails.
    unsafe {
        libc::execv(c"/proc/self/exe".as_ptr(), arguments.as_ptr());
        libc::_exit(REVOKED.into());
    }
}

/// What `ternlease run` becomes then.
pub fn kill_children() -> ExitCode {
    children::kill_all();
    words::say(
        "the lease is lost: the file of its table was truncated; the program was killed; \
         do not modify or remove that file while it is in use",
    );
    ExitCode::from(REVOKED)
}
