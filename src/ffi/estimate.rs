//! Estimate: how long things take on a machine, and what follows from that.
//!
//! Times are whole nanoseconds; TERN_NEVER is without end, and longer than can be said. None of these functions measures anything or
//! changes the machine.
//!
//!     uint64_t predicted, ttl;
//!     tern_estimate_t time;
//!     if (tern_machine_compute_time(machine, &task, &time, &err) == TERN_OK)
//!         printf("%" PRIu64 " ns, %" PRIu64 " at worst\n", time.mid, time.hi);
//!     // Then run it, and tell how long it took:
//!     tern_machine_untaught_time(machine, &task, &predicted, &err);
//!     tern_learned_record(&task.learned_runs, &task.learned_permille, predicted, 14000000, &err);
//!     tern_machine_suggest_ttl(machine, &task, 60 * TERN_SECOND, &ttl, &err);

use std::time::Duration;

use super::boundary::with;
use super::cost::{estimate, tern_cost_t, tern_estimate_t};
use super::error::{Failure, tern_error_t};
use super::machine::{Machine, tern_machine_t};
use super::manager;
use super::pool::time;
use super::status::tern_status_t::{self, *};
use super::task::{task, tern_task_t};
use super::tern_trit_t;
use super::text::required;

/// How long a task takes here, with what was learned of it and whether or not its memory is there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_machine_compute_time(
    machine: *const tern_machine_t,
    task: *const tern_task_t,
    time: *mut tern_estimate_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(machine, err, |machine: &Machine| {
            required(time, "time")?;
            let found = machine.0.read().compute_time(self::task(task)?);
            time.write_unaligned(found.into());
            Ok(TERN_OK)
        })
    }
}

/// How long a task takes here by the rates alone: what a measured run is to be compared with, in tern_learned_record().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_machine_untaught_time(
    machine: *const tern_machine_t,
    task: *const tern_task_t,
    time_ns: *mut u64,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(machine, err, |machine: &Machine| {
            required(time_ns, "time_ns")?;
            time_ns.write_unaligned(machine.0.read().untaught_time(self::task(task)?));
            Ok(TERN_OK)
        })
    }
}

/// How long fetching so many bytes takes, once it is known that they are there. TERN_NEVER without a network.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_machine_fetch_time(
    machine: *const tern_machine_t,
    bytes: u64,
    time: *mut tern_estimate_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(machine, err, |machine: &Machine| {
            required(time, "time")?;
            time.write_unaligned(estimate(machine.0.read().fetch_time(bytes)));
            Ok(TERN_OK)
        })
    }
}

/// How long keeping so many bytes takes, on the disk with the results.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_machine_store_time(
    machine: *const tern_machine_t,
    bytes: u64,
    time: *mut tern_estimate_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(machine, err, |machine: &Machine| {
            required(time, "time")?;
            time.write_unaligned(machine.0.read().store_time(bytes).into());
            Ok(TERN_OK)
        })
    }
}

/// Is there room for so many bytes on the disk with the results, and some to spare? +1: yes; -1: no; 0: nobody knows, and one may try.
/// TERN_TRIT_UNKNOWN if the call failed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_machine_can_store(
    machine: *const tern_machine_t,
    bytes: u64,
    err: *mut tern_error_t,
) -> tern_trit_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(machine, err, |machine: &Machine| {
            let machine = machine.0.read();
            Ok(match (machine.can_store(bytes), machine.disk_free) {
                (false, _) => -1,
                (true, None) if bytes != 0 => 0,
                (true, _) => 1,
            })
        })
    }
}

/// For how long a result is worth keeping, in microseconds: the longer, the more computing it again costs beside fetching it. From a tenth of
/// `base_us` to a thousand times as long; the longest if it cannot be fetched again, or takes no time to. TERN_FOREVER if that is longer than
/// any lease.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_machine_suggest_ttl(
    machine: *const tern_machine_t,
    task: *const tern_task_t,
    base_us: u64,
    ttl_us: *mut u64,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(machine, err, |machine: &Machine| {
            required(ttl_us, "ttl_us")?;
            let task = self::task(task)?;
            let base = match base_us {
                0 => return Err(Failure::argument(TERN_ERR_ZERO_TTL, "base_us", "is zero")),
                micros => time(micros, Duration::ZERO)?,
            };
            let ttl = match base_us {
                u64::MAX => u64::MAX,
                // At most 2^64 nanoseconds.
                _ => machine.0.read().suggest_ttl(task, base).as_micros() as u64,
            };
            ttl_us.write_unaligned(manager::time(ttl));
            Ok(TERN_OK)
        })
    }
}

/// How large a buffer for rows may be, in bytes: half of what a computation may take, in whole rows. TERN_EMPTY if not even one fits.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_machine_etl_buffer(
    machine: *const tern_machine_t,
    row_bytes: u64,
    buffer_bytes: *mut u64,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(machine, err, |machine: &Machine| {
            required(buffer_bytes, "buffer_bytes")?;
            let too_large = || Failure::new(TERN_EMPTY, "not even one row fits into the memory");
            let bytes = machine.0.read().etl_buffer_bytes(row_bytes).ok_or_else(too_large)?;
            buffer_bytes.write_unaligned(bytes);
            Ok(TERN_OK)
        })
    }
}

/// A cost for something that took so long here: at most so much work, by the rates of this machine. To be compared with other costs, and not the
/// way back to the same time elsewhere: that is tern_learned_record().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_machine_normalize(
    machine: *const tern_machine_t,
    took_ns: u64,
    peak_mem: u64,
    result_bytes: u64,
    cost: *mut tern_cost_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(machine, err, |machine: &Machine| {
            required(cost, "cost")?;
            let took = Duration::from_nanos(took_ns);
            let found = machine.0.read().normalize(took, peak_mem, result_bytes);
            cost.write_unaligned(found.into());
            Ok(TERN_OK)
        })
    }
}

/// What a cached result saves each time it is fetched instead of computed, in nanoseconds; negative if it costs some. INT64_MAX if fetching is
/// the only way, INT64_MIN if it is none; nothing else is either of them. Without the query and the disk, which the score of a
/// verdict counts as well: so of close calls the two may differ.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_machine_cache_value(
    machine: *const tern_machine_t,
    task: *const tern_task_t,
    value_ns: *mut i64,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(machine, err, |machine: &Machine| {
            required(value_ns, "value_ns")?;
            value_ns.write_unaligned(machine.0.read().cache_value_ns(self::task(task)?));
            Ok(TERN_OK)
        })
    }
}
