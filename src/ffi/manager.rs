//! Manager: a table of leases on named resources.
//!
//! The URL picks the home of the table; "process:" is a table of its own, shared by the threads of this process; "host:", "host:NAME" and
//! "host:/PATH" are tables that all processes of this machine share, made by the first that opens them.
//! Every function is safe to call from any thread. Closing must be the last use of a manager:
//! no other call with it may be running, and none may follow.
//!
//! Times are counted in the manager's own unit: microseconds since the machine started, or, with
//! TERN_OPTION_TICKS, calls of tern_manager_tick(). TERN_FOREVER is without end.
//!
//!     tern_manager_t *manager = NULL;
//!     tern_error_t err = tern_error_init();
//!     if (tern_manager_open(TERN_STR("process:"), NULL, &manager, &err) != TERN_OK)
//!         die(err.message);
//!     use(manager);
//!     tern_manager_close(manager);

use std::ffi::c_char;

use super::boundary::{close, with, without};
use super::error::{Failure, tern_error_t};
use super::handle::{Closed, Handle, Object};
use super::sized::{self, Plain};
use super::status::tern_status_t::{self, *};
use super::text::{required, text};
use crate::manager::{Span, default_limits};
use crate::table::{DeadlockPolicy, FOREVER, Limits};
use crate::{LeaseManager, Options};

/// A table of leases on named resources.
pub struct tern_manager_t {
    _private: [u8; 0],
}

/// How a new table is made; what is zero is as usual. Make it with tern_options_init().
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_options_t {
    /// sizeof(tern_options_t)
    pub struct_size: usize,
    /// TERN_OPTION_…
    pub flags: u64,
    /// Leases held at the same time; 0: 65,536, or 4,096 if processes share the table.
    pub leases: u32,
    /// Claims waiting at the same time; 0: 16,384, or 4,096 if processes share the table.
    pub tickets: u32,
    /// Resources known at the same time; 0: 65,536, or 4,096 if processes share the table.
    pub resources: u32,
    /// Ended leases, decided tickets and events that are remembered; 0: 1,024.
    pub history: u32,
}

/// Time is counted in calls of tern_manager_tick(), not in microseconds.
pub const TERN_OPTION_TICKS: u64 = 1;
/// tern_lease_acquire() never refuses: any number of holders may have a lease on one name, and every
/// holder is taken to want the resource that bears its own name.
pub const TERN_OPTION_OPEN_HOUSE: u64 = 2;
/// A deadlock is broken as soon as it arises: the proposed victim is revoked.
pub const TERN_OPTION_BREAK_DEADLOCKS: u64 = 4;

// SAFETY: integers only; 8 + 8 + 4 times 4 bytes have no padding.
unsafe impl Plain for tern_options_t {}

impl Object for LeaseManager {
    type Opaque = tern_manager_t;
    const KIND: u32 = 0x7e41_0001;

    fn closed() -> &'static Closed<Self> {
        static CLOSED: Closed<LeaseManager> = Closed::new();
        &CLOSED
    }

    fn poison(&self) {
        LeaseManager::poison(self);
    }

    /// A callback may be using the manager: it ends first.
    fn finish(&self) {
        self.leave();
    }
}

/// A length of time as C gives it, in the manager's own unit.
#[inline(always)]
pub(super) fn length(units: u64) -> u64 {
    if units == u64::MAX { FOREVER } else { units }
}

#[inline(always)]
pub(super) fn span(units: u64) -> Span {
    Span::Units(length(units))
}

/// A time as C gets it.
#[inline(always)]
pub(super) fn time(time: u64) -> u64 {
    if time >= FOREVER { u64::MAX } else { time }
}

const LONGEST_URL: usize = 4096;

/// A caller's URL.
///
/// # Safety
/// The caller's contract; `'a` ends with the call.
pub(super) unsafe fn url<'a>(data: *const c_char, len: usize) -> Result<&'a str, Failure> {
    if len > LONGEST_URL {
        return Err(Failure::argument(TERN_ERR_BAD_URL, "url", "is too long"));
    }
    // SAFETY: as required.
    unsafe { text(data, len, "url") }
}

/// Gives a manager into the hands of C.
pub(super) fn hand_out(manager: LeaseManager) -> *mut tern_manager_t {
    manager.enter();
    Handle::open(manager)
}

/// Opens the table that a URL names; without one (`url_len` is 0), "host:". `options` may be NULL; a table that others have made keeps its limits. Close it with tern_manager_close().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_manager_open(
    url: *const c_char,
    url_len: usize,
    options: *const tern_options_t,
    manager: *mut *mut tern_manager_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        without(err, || {
            required(manager, "manager")?;
            let url = self::url(url, url_len)?;
            let options = match options.is_null() {
                true => Options::real(),
                false => sized::with(options, "options", |options| read(url, options))?,
            };
            let opened = LeaseManager::open_with(url, options)?;
            manager.write_unaligned(hand_out(opened));
            Ok(TERN_OK)
        })
    }
}

fn read(url: &str, options: &tern_options_t) -> Result<Options, Failure> {
    let has = |flag| options.flags & flag != 0;
    let known = TERN_OPTION_TICKS | TERN_OPTION_OPEN_HOUSE | TERN_OPTION_BREAK_DEADLOCKS;
    if options.flags & !known != 0 {
        return Err(Failure::argument(TERN_ERR_BAD_VALUE, "options.flags", "has unknown bits"));
    }
    let usual = default_limits(url);
    let limit = |given, usual| match given {
        0 => Ok(usual),
        given if given <= Limits::MAX => Ok(given),
        _ => Err(Failure::argument(TERN_ERR_BAD_VALUE, "options", "has a limit above 16777216")),
    };
    let limits = Limits {
        leases: limit(options.leases, usual.leases)?,
        tickets: limit(options.tickets, usual.tickets)?,
        resources: limit(options.resources, usual.resources)?,
        history: limit(options.history, usual.history)?,
    };
    let mut made = if has(TERN_OPTION_TICKS) { Options::ticks() } else { Options::real() };
    if has(TERN_OPTION_OPEN_HOUSE) {
        made = made.open_house();
    }
    if has(TERN_OPTION_BREAK_DEADLOCKS) {
        made = made.deadlocks(DeadlockPolicy::Break);
    }
    Ok(made.limits(limits))
}

/// Closes a manager. Its leases are gone with it (of a shared table: those of this process), callbacks have ended when this returns (unless one of
/// them calls it), and the handle must not be used again. NULL is allowed. While a pool, or another manager that a pool gave out, is
/// open on the same table, only the handle ends, after the callback that may be running: the table goes with the last of them. In a forked child, too, only the handle ends: what
/// the parent holds it keeps.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_manager_close(manager: *mut tern_manager_t) {
    // SAFETY: the caller's contract.
    unsafe { close::<LeaseManager>(manager) }
}

/// Counts one tick. With a real clock: only brings the table up to date.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_manager_tick(
    manager: *const tern_manager_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            // A callback that this tick causes may close the manager before this call has ended.
            manager.clone().tick();
            Ok(TERN_OK)
        })
    }
}

/// `TERN_MORE` or `TERN_OK`.
pub(super) fn more_if(more: bool) -> Result<tern_status_t, Failure> {
    match more {
        true => Err(Failure::new(TERN_MORE, "there is more than the buffer has room for")),
        false => Ok(TERN_OK),
    }
}
