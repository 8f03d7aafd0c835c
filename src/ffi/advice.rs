//! Advice: where to do a task, with the line in front of the devices taken into account.
//!
//! A snapshot: nothing is claimed, and by the time somebody claims, another may have been faster.
//!
//!     tern_gpu_claim_t one = tern_gpu_claim_init();
//!     tern_advice_t advice = tern_advice_init();
//!     if (tern_machine_advise(machine, &task, pool, &one, &advice, &err) != TERN_OK)
//!         die(err.message);
//!     if (advice.choice == TERN_CHOICE_GPU_WAIT)
//!         one.wait = 2 * advice.wait_ns / 1000;
//!     if (advice.choice == TERN_CHOICE_CPU)
//!         compute_on_the_cpu();
//!     else if (tern_pool_claim(pool, &one, &lease, &err) == TERN_OK)
//!         compute_on_the_gpu(pool, lease);

use std::ffi::c_char;

use super::boundary::{with, with_both};
use super::cost::{estimate, tern_estimate_t};
use super::error::tern_error_t;
use super::gpu_claim::{tern_gpu_claim_t, with_claim};
use super::machine::{Machine, tern_machine_t};
use super::manager::more_if;
use super::pool::tern_pool_t;
use super::sized::{self, Plain};
use super::status::tern_status_t::{self, *};
use super::task::{task, tern_task_t};
use super::text::{inline_text, put, put_text, required};
use super::ticket::tern_ticket_t;
use super::verdict::obstacle;
use crate::cost::Choice;
use crate::table::{Error, TicketId};
use crate::{Advice, ExpectedWait, GpuPool};

/// Where to do a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum tern_choice_t {
    /// It can be done in no way that is known here.
    TERN_CHOICE_INFEASIBLE = 0,
    /// On the processor of this machine, now.
    TERN_CHOICE_CPU = 1,
    /// On a GPU, which is free.
    TERN_CHOICE_GPU_NOW = 2,
    /// On a GPU, after waiting for it.
    TERN_CHOICE_GPU_WAIT = 3,
    /// Nowhere: fetch the result.
    TERN_CHOICE_FETCH = 4,
}

/// How long a claim would wait, as far as that can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum tern_expected_wait_t {
    /// Not at all.
    TERN_EXPECTED_WAIT_NONE = 0,
    /// About so long, if the holders keep to what they usually do.
    TERN_EXPECTED_WAIT_ABOUT = 1,
    /// Somebody who holds what is needed has no end and no history.
    TERN_EXPECTED_WAIT_UNKNOWN = 2,
    /// The pool has no devices: nobody waits there, and nobody gets one.
    TERN_EXPECTED_WAIT_NO_DEVICES = 3,
}

use tern_choice_t::*;
use tern_expected_wait_t::*;

/// How long a task takes in each way, the best of them, and why. A way that there is not has TERN_NEVER. Make it with tern_advice_init().
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_advice_t {
    /// sizeof(tern_advice_t)
    pub struct_size: usize,
    /// On the processor.
    pub cpu: tern_estimate_t,
    /// On the devices of the claim once it has them: starting, carrying the input there, computing, carrying the result back.
    pub gpu: tern_estimate_t,
    /// The same, if they are free now.
    pub gpu_now: tern_estimate_t,
    /// The same, if they are not free yet, the waiting included.
    pub gpu_wait: tern_estimate_t,
    /// Fetching the result.
    pub fetch: tern_estimate_t,
    /// How long the claim would wait; TERN_NEVER if that cannot be told.
    pub wait_ns: u64,
    /// TERN_CHOICE_…: the best way.
    pub choice: i32,
    /// TERN_EXPECTED_WAIT_…: what is known of the wait.
    pub wait: i32,
    /// TERN_OBSTACLE_…: why it cannot be computed on the processor.
    pub why_not_cpu: i32,
    /// TERN_OBSTACLE_…: why it cannot be computed on the devices, however long one waits.
    pub why_not_gpu: i32,
    /// TERN_OBSTACLE_…: why it cannot be fetched.
    pub why_not_fetch: i32,
    /// 1 if the best is the best even if it goes badly and the next one well. Otherwise 0: begin with the second while the first is under way.
    pub decisive: u8,
    /// Zero.
    pub reserved: [u8; 3],
    /// All of it in words, a line for each way, the best first; cut if it is longer.
    pub words: [c_char; 512],
}

// SAFETY: integers only; 17 times 8, 5 times 4, 4 times 1 and 512 bytes have no padding.
unsafe impl Plain for tern_advice_t {}

/// What is known of a wait, and how long it is in nanoseconds.
fn expected(wait: ExpectedWait) -> (i32, u64) {
    let (kind, nanoseconds) = match wait {
        ExpectedWait::None => (TERN_EXPECTED_WAIT_NONE, 0),
        ExpectedWait::About(wait) => {
            (TERN_EXPECTED_WAIT_ABOUT, u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX))
        }
        ExpectedWait::Unknown => (TERN_EXPECTED_WAIT_UNKNOWN, u64::MAX),
        ExpectedWait::NoDevices => (TERN_EXPECTED_WAIT_NO_DEVICES, u64::MAX),
    };
    (kind as i32, nanoseconds)
}

fn advice(advice: &Advice) -> tern_advice_t {
    let choice = match advice.choice {
        Choice::Cpu => TERN_CHOICE_CPU,
        Choice::GpuNow => TERN_CHOICE_GPU_NOW,
        Choice::GpuWait => TERN_CHOICE_GPU_WAIT,
        Choice::Fetch => TERN_CHOICE_FETCH,
        Choice::Infeasible => TERN_CHOICE_INFEASIBLE,
    };
    let (wait, wait_ns) = expected(advice.wait);
    tern_advice_t {
        struct_size: 0,
        cpu: estimate(advice.cpu.ok()),
        gpu: estimate(advice.gpu.ok()),
        gpu_now: estimate(advice.gpu_now()),
        gpu_wait: estimate(advice.gpu_wait()),
        fetch: estimate(advice.fetch.ok()),
        wait_ns,
        choice: choice as i32,
        wait,
        why_not_cpu: obstacle(advice.cpu),
        why_not_gpu: obstacle(advice.gpu),
        why_not_fetch: obstacle(advice.fetch),
        decisive: advice.decisive.into(),
        reserved: [0; 3],
        words: inline_text(&advice.to_string()),
    }
}

/// Where to do a task: here, on a device that the claim would get now or later, or nowhere because its result can be fetched? Claims nothing.
/// What is checked of the claim: as in tern_pool_expected_wait(). Of a pool without devices the advice says so.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_machine_advise(
    machine: *const tern_machine_t,
    task: *const tern_task_t,
    pool: *const tern_pool_t,
    claim: *const tern_gpu_claim_t,
    advice: *mut tern_advice_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with_both(machine, pool, err, |machine: &Machine, pool: &GpuPool| {
            let size = sized::room(advice, "advice")?;
            let task = self::task(task)?;
            // A copy, so that nobody who teaches the machine waits for the pool.
            let machine = machine.0.read().clone();
            let found = with_claim(pool, claim, |claim, _| Ok(machine.advise(task, &claim)?))?;
            sized::store(advice, size, &self::advice(&found));
            Ok(TERN_OK)
        })
    }
}

/// The same as JSON: what cannot be done has no time, and a reason beside it. `needed` as in tern_manager_metrics(); as the line moves, the
/// next answer may be a little longer or shorter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_machine_advise_json(
    machine: *const tern_machine_t,
    task: *const tern_task_t,
    pool: *const tern_pool_t,
    claim: *const tern_gpu_claim_t,
    buffer: *mut c_char,
    capacity: usize,
    needed: *mut usize,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with_both(machine, pool, err, |machine: &Machine, pool: &GpuPool| {
            if capacity != 0 {
                required(buffer, "buffer")?;
            }
            let task = self::task(task)?;
            let machine = machine.0.read().clone();
            let found = with_claim(pool, claim, |claim, _| Ok(machine.advise(task, &claim)?))?;
            more_if(!put_text(buffer, capacity, needed, &found.to_json(), "buffer")?)
        })
    }
}

/// How long a claim would wait now: TERN_EXPECTED_WAIT_… into `wait`, and the time in nanoseconds into `wait_ns`, which may be NULL; TERN_NEVER there
/// if it cannot be told. Asks for nothing, and changes nothing. A claim for more devices, slots or memory than there are is refused as by
/// tern_pool_claim(). Its times and its parent are not looked at.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_pool_expected_wait(
    pool: *const tern_pool_t,
    claim: *const tern_gpu_claim_t,
    wait: *mut i32,
    wait_ns: *mut u64,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(pool, err, |pool: &GpuPool| {
            required(wait, "wait")?;
            let found = with_claim(pool, claim, |claim, _| Ok(claim.expected_wait()?))?;
            let (kind, nanoseconds) = expected(found);
            wait.write_unaligned(kind);
            put(wait_ns, nanoseconds);
            Ok(TERN_OK)
        })
    }
}

/// How much longer a claim that stands in line will wait, as above; not at all if it is decided. What waits for nothing of this pool is
/// TERN_EXPECTED_WAIT_UNKNOWN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_pool_expected_wait_of(
    pool: *const tern_pool_t,
    ticket: tern_ticket_t,
    wait: *mut i32,
    wait_ns: *mut u64,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(pool, err, |pool: &GpuPool| {
            required(wait, "wait")?;
            let id = TicketId(ticket);
            pool.manager().ticket_state(id).ok_or(Error::UnknownTicket)?;
            let (kind, nanoseconds) = expected(pool.expected_wait_of(id));
            wait.write_unaligned(kind);
            put(wait_ns, nanoseconds);
            Ok(TERN_OK)
        })
    }
}
