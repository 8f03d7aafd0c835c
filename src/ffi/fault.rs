//! Faults on purpose, for the tests of what happens then. Not in any library that is built without asking for it.

use super::boundary::with;
use super::error::tern_error_t;
use super::manager::tern_manager_t;
use super::status::tern_status_t;
use crate::LeaseManager;

/// Panics in the middle of a command, with the lock taken.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_test_panic(
    manager: *const tern_manager_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe { with(manager, err, |manager: &LeaseManager| manager.panic_in_a_command()) }
}
