//! Pool: devices, to be claimed.
//!
//! A pool finds its devices when it is opened. It is a view on a table: each device is a resource there, each claim a lease. What there is to
//! ask of leases, tickets and events is asked of the manager that tern_pool_manager() gives. A machine without GPUs is no special case:
//! there every claim is TERN_EMPTY at once, and tern_pool_absence() says why.
//!
//!     tern_pool_t *pool = NULL;
//!     if (tern_pool_open(TERN_STR("host:"), NULL, &pool, &err) != TERN_OK)
//!         die(err.message);
//!     tern_status_t status = tern_pool_try_claim(pool, &lease, &err);
//!     if (status == TERN_EMPTY)
//!         compute_on_the_cpu();
//!     else if (status == TERN_OK)
//!         compute_on_the_gpu(pool, lease);
//!     tern_pool_close(pool);

use std::ffi::c_char;
use std::fmt::Write;
use std::time::Duration;

use super::boundary::{close, with, without};
use super::error::{Failure, tern_error_t};
use super::handle::{Closed, Handle, Object};
use super::manager::{hand_out, length, more_if, tern_manager_t, url};
use super::sized::{self, Plain};
use super::status::tern_status_t::{self, *};
use super::text::{put_text, required, text};
use crate::inventory::Found;
use crate::table::{DeadlockPolicy, FOREVER};
use crate::{GpuPool, LeaseManager, PoolOptions, Rules};

/// Devices, to be claimed.
pub struct tern_pool_t {
    _private: [u8; 0],
}

/// How a pool is made; what is zero is as usual. Make it with tern_pool_options_init(). Times are in microseconds, whatever clock
/// a manager has.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_pool_options_t {
    /// sizeof(tern_pool_options_t)
    pub struct_size: usize,
    /// Which devices: "host" for those of this machine, "fake:8" for eight that do not exist, "file:/path" for those that a file
    /// declares, "none". If it has no length: what the environment variable TERNLEASE_DEVICES says in these words, else "host".
    pub devices: *const c_char,
    /// Length of `devices`.
    pub devices_len: usize,
    /// TERN_POOL_…
    pub flags: u64,
    /// How often to look at the devices when nothing happens; 0: every second, TERN_FOREVER: never.
    pub poll_us: u64,
    /// With TERN_POOL_CHECK_USE: a device that is still used so long after its last lease has failed; 0: a minute.
    pub drain_limit_us: u64,
    /// A device that had a fault is healthy again after so long without another; 0: 30 seconds.
    pub recovery_us: u64,
    /// How many claims for one slot may share a device; 0: one.
    pub slots: u32,
    /// With TERN_POOL_CHECK_USE: a device is clean if no more of its memory is used, in MiB; 0: 512.
    pub clean_memory_mib: u32,
}

// SAFETY: integers and pointers only; 7 times 8 and 2 times 4 bytes have no padding.
unsafe impl Plain for tern_pool_options_t {}

/// Hand out a device only after having seen that nobody uses it, and look again after each lease. For leases that are used by other processes,
/// which end with them: a process that keeps its CUDA context would wait for itself.
pub const TERN_POOL_CHECK_USE: u64 = 1;
/// A deadlock is broken as soon as it arises: the proposed victim is revoked. For pools with a table of their own.
pub const TERN_POOL_BREAK_DEADLOCKS: u64 = 2;

impl Object for GpuPool {
    type Opaque = tern_pool_t;
    const KIND: u32 = 0x7e41_0004;

    fn closed() -> &'static Closed<Self> {
        static CLOSED: Closed<GpuPool> = Closed::new();
        &CLOSED
    }

    /// The panic may have left the table half done.
    fn poison(&self) {
        self.manager().poison();
    }

    fn finish(&self) {
        self.manager().leave();
    }
}

const LONGEST_SPEC: usize = 4096;

/// How a caller wants a pool; by default if it does not say.
///
/// # Safety
/// The caller's contract.
unsafe fn options(from: *const tern_pool_options_t, allowed: u64) -> Result<PoolOptions, Failure> {
    if from.is_null() {
        return Ok(PoolOptions::from_env()?);
    }
    // SAFETY: as required, for both.
    unsafe {
        sized::with(from, "options", |options| {
            if options.flags & !allowed != 0 {
                let problem = "has bits that are unknown, or not for this function";
                return Err(Failure::argument(TERN_ERR_BAD_VALUE, "options.flags", problem));
            }
            let usual = Rules::default();
            let rules = Rules {
                clean_memory: or(options.clean_memory_mib, usual.clean_memory),
                drain_limit: time(options.drain_limit_us, usual.drain_limit)?,
                recovery: time(options.recovery_us, usual.recovery)?,
            };
            let poll = time(options.poll_us, Duration::from_secs(1))?;
            let made = match options.devices_len {
                0 => PoolOptions::from_env()?,
                1..=LONGEST_SPEC => {
                    let named = text(options.devices, options.devices_len, "options.devices")?;
                    PoolOptions::from_spec(named)?
                }
                _ => {
                    let problem = "is too long";
                    return Err(Failure::argument(TERN_ERR_BAD_VALUE, "options.devices", problem));
                }
            };
            let deadlocks = match options.flags & TERN_POOL_BREAK_DEADLOCKS {
                0 => DeadlockPolicy::Report,
                _ => DeadlockPolicy::Break,
            };
            let check_use = options.flags & TERN_POOL_CHECK_USE != 0;
            let made = made.slots(or(options.slots, 1)).deadlocks(deadlocks).check_use(check_use);
            Ok(made.poll(poll).rules(rules))
        })
    }
}

fn or(given: u32, usual: u32) -> u32 {
    if given == 0 { usual } else { given }
}

/// A length of real time as C gives it.
pub(super) fn time(micros: u64, usual: Duration) -> Result<Duration, Failure> {
    match length(micros) {
        0 => Ok(usual),
        micros @ ..=FOREVER => Ok(Duration::from_micros(micros)),
        _ => {
            let problem =
                "has a time that does not fit into 48 bits of microseconds; give a shorter one";
            Err(Failure::argument(TERN_ERR_TIME_TOO_LARGE, "options", problem))
        }
    }
}

fn hand_out_pool(pool: GpuPool) -> *mut tern_pool_t {
    pool.manager().enter();
    Handle::open(pool)
}

/// Opens a pool with a table in the home that a URL names: "host:", or no URL (`url_len` is 0), is the pool that all processes of this
/// machine share; "process:" is a private one, which does not know what other programs use. `options` may be NULL. Close
/// it with tern_pool_close(). Reads the environment: TERNLEASE_DEVICES, and for devices of this machine the variables that hide
/// some, such as CUDA_VISIBLE_DEVICES. May take a while, as it asks drivers; one that hangs is given up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_pool_open(
    url: *const c_char,
    url_len: usize,
    options: *const tern_pool_options_t,
    pool: *mut *mut tern_pool_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        without(err, || {
            required(pool, "pool")?;
            let url = self::url(url, url_len)?;
            let options = self::options(options, TERN_POOL_CHECK_USE | TERN_POOL_BREAK_DEADLOCKS)?;
            let opened = GpuPool::open_with(url, options)?;
            pool.write_unaligned(hand_out_pool(opened));
            Ok(TERN_OK)
        })
    }
}

/// As tern_pool_open(), on the table of a manager, so that deadlocks through devices and other resources together are seen. The pool may
/// outlive the manager: the table is there until the last handle on it is closed. If the table has no room for all devices, or one of
/// them is in use with other slots, some may have been declared.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_pool_on(
    manager: *const tern_manager_t,
    options: *const tern_pool_options_t,
    pool: *mut *mut tern_pool_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            required(pool, "pool")?;
            let options = self::options(options, TERN_POOL_CHECK_USE)?;
            let opened = GpuPool::on_with(manager, options)?;
            pool.write_unaligned(hand_out_pool(opened));
            Ok(TERN_OK)
        })
    }
}

/// Closes a pool. From then on nobody watches its devices or keeps its leases alive. They are gone with it, unless a manager or
/// another pool is open on the same table. The handle must not be used again. NULL is allowed. In a forked child only the handle ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_pool_close(pool: *mut tern_pool_t) {
    // SAFETY: the caller's contract.
    unsafe { close::<GpuPool>(pool) }
}

/// A manager on the pool's table, for leases, tickets and events by the functions that take one. It may outlive the pool. Close it with
/// tern_manager_close().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_pool_manager(
    pool: *const tern_pool_t,
    manager: *mut *mut tern_manager_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(pool, err, |pool: &GpuPool| {
            required(manager, "manager")?;
            manager.write_unaligned(hand_out(pool.manager().clone()));
            Ok(TERN_OK)
        })
    }
}

/// How many devices there are. Their places are the numbers below this.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_pool_capacity(
    pool: *const tern_pool_t,
    count: *mut u64,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(pool, err, |pool: &GpuPool| {
            required(count, "count")?;
            count.write_unaligned(pool.capacity() as u64);
            Ok(TERN_OK)
        })
    }
}

/// How many claims wait for devices of this pool.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_pool_pending_claimers(
    pool: *const tern_pool_t,
    count: *mut u64,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(pool, err, |pool: &GpuPool| {
            required(count, "count")?;
            count.write_unaligned(pool.pending_claimers() as u64);
            Ok(TERN_OK)
        })
    }
}

/// What is not there, and why, for people: a line for each source of devices that has none, for each device that a variable hides,
/// and for each thing that was unclear. Empty if there is nothing to say. `needed` as in tern_manager_metrics().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_pool_absence(
    pool: *const tern_pool_t,
    buffer: *mut c_char,
    capacity: usize,
    needed: *mut usize,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(pool, err, |pool: &GpuPool| {
            more_if(!put_text(buffer, capacity, needed, &lines(pool.found()), "buffer")?)
        })
    }
}

fn lines(found: &Found) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    for absence in &found.absences {
        let _ = writeln!(text, "{absence}");
    }
    for hidden in &found.hidden {
        let (key, name) = (hidden.device.key(), &hidden.device.name);
        let _ = writeln!(text, "{key} ({name}) is hidden by {}", hidden.mask);
    }
    for warning in &found.warnings {
        let _ = writeln!(text, "{warning}");
    }
    text
}
