//! Verdict: compute a result here, or fetch it?
//!
//!     tern_verdict_t verdict = tern_verdict_init();
//!     if (tern_machine_verdict(machine, &task, &verdict, &err) != TERN_OK)
//!         die(err.message);
//!     printf("%s, %s\n", verdict.words, verdict.decisive ? "surely" : "a close call");
//!     if (verdict.trit == TERN_FETCH)
//!         come_back_later();
//!     else if (verdict.trit != TERN_TRIT_UNKNOWN)
//!         compute_on_the_cpu();

use std::ffi::c_char;

use super::boundary::{UNKNOWN, with};
use super::cost::{estimate, tern_estimate_t};
use super::error::tern_error_t;
use super::machine::{Machine, tern_machine_t};
use super::manager::more_if;
use super::sized::{self, Plain};
use super::status::tern_status_t::{self, *};
use super::task::{task, tern_task_t};
use super::tern_trit_t;
use super::text::{inline_text, put_text, required};
use crate::Verdict;
use crate::cost::{Answer, Bottleneck, Estimate, Obstacle};

/// What to do about a result that somebody else may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum tern_answer_t {
    /// Compute it here.
    TERN_ANSWER_COMPUTE = -1,
    /// It makes no difference.
    TERN_ANSWER_BREAK_EVEN = 0,
    /// Fetch it.
    TERN_ANSWER_FETCH = 1,
    /// Neither can be done here.
    TERN_ANSWER_IMPOSSIBLE = 2,
}

/// Why something cannot be done here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum tern_obstacle_t {
    /// It can be done.
    TERN_OBSTACLE_NONE = 0,
    /// It needs more memory than one computation may take here.
    TERN_OBSTACLE_MEMORY = 1,
    /// It never ends.
    TERN_OBSTACLE_ENDLESS = 2,
    /// There is no network.
    TERN_OBSTACLE_NETWORK = 3,
    /// There is no room for the result.
    TERN_OBSTACLE_DISK = 4,
    /// There is no device that the claim could get.
    TERN_OBSTACLE_NO_DEVICE = 5,
    /// It needs more memory than the devices of the claim have.
    TERN_OBSTACLE_DEVICE_MEMORY = 6,
    /// The devices of the claim do not say how fast they are, or how much memory they have.
    TERN_OBSTACLE_DEVICE_SPEED = 7,
}

/// What a computation waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum tern_bottleneck_t {
    /// For nothing: there is nothing to do.
    TERN_BOTTLENECK_NONE = 0,
    /// For arithmetic.
    TERN_BOTTLENECK_COMPUTE = 1,
    /// For memory.
    TERN_BOTTLENECK_MEMORY = 2,
}

use tern_answer_t::*;
use tern_bottleneck_t::*;
use tern_obstacle_t::*;

/// Compute a result here or fetch it: the answer, and all that it rests on. Make it with tern_verdict_init().
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_verdict_t {
    /// sizeof(tern_verdict_t)
    pub struct_size: usize,
    /// How long computing takes; TERN_NEVER if it cannot be done.
    pub t_compute: tern_estimate_t,
    /// How long fetching takes with all that belongs to it: asking, two round trips, the bytes, and keeping the result. TERN_NEVER if it
    /// cannot be done.
    pub t_fetch: tern_estimate_t,
    /// How long keeping the result takes.
    pub t_store: tern_estimate_t,
    /// Nanoseconds that fetching saves; negative if it costs some. INT64_MAX if only fetching can be done, INT64_MIN if only computing; 0 if
    /// neither, and then the trit is unknown.
    pub score_ns: i64,
    /// TERN_ANSWER_…: what to do.
    pub answer: i32,
    /// TERN_OBSTACLE_…: why it cannot be computed.
    pub why_not_compute: i32,
    /// TERN_OBSTACLE_…: why it cannot be fetched.
    pub why_not_fetch: i32,
    /// TERN_BOTTLENECK_…: what computing would wait for.
    pub bottleneck: i32,
    /// How much the owner of such a machine would rather not compute on it, in thousandths: no part of any of the times.
    pub bias_permille: u32,
    /// TERN_FETCH, TERN_BREAK_EVEN or TERN_COMPUTE; TERN_TRIT_UNKNOWN if neither can be done.
    pub trit: tern_trit_t,
    /// 1 if it can be computed here, otherwise 0.
    pub can_compute: u8,
    /// 1 if there is room to keep the result, otherwise 0.
    pub can_store: u8,
    /// 1 if it can be fetched, otherwise 0.
    pub can_fetch: u8,
    /// 1 if the better way is better even if it goes badly and the other one well. Otherwise 0: begin with both, and take what comes first.
    pub decisive: u8,
    /// Zero.
    pub reserved: [u8; 7],
    /// The answer in words: "fetch", "compute", "break-even", "must fetch (insufficient RAM)", "impossible (insufficient RAM, no network)".
    pub words: [c_char; 128],
}

// SAFETY: integers only; 11 times 8 + 8, 5 times 4, 12 times 1 and 128 bytes have no padding.
unsafe impl Plain for tern_verdict_t {}

/// Why there is no such time.
pub(super) fn obstacle(time: Result<Estimate, Obstacle>) -> i32 {
    (match time {
        Ok(_) => TERN_OBSTACLE_NONE,
        Err(Obstacle::Memory) => TERN_OBSTACLE_MEMORY,
        Err(Obstacle::Endless) => TERN_OBSTACLE_ENDLESS,
        Err(Obstacle::Network) => TERN_OBSTACLE_NETWORK,
        Err(Obstacle::Disk) => TERN_OBSTACLE_DISK,
        Err(Obstacle::NoDevice) => TERN_OBSTACLE_NO_DEVICE,
        Err(Obstacle::DeviceMemory) => TERN_OBSTACLE_DEVICE_MEMORY,
        Err(Obstacle::DeviceSpeed) => TERN_OBSTACLE_DEVICE_SPEED,
    }) as i32
}

fn verdict(verdict: &Verdict) -> tern_verdict_t {
    let answer = match verdict.answer {
        Answer::Fetch => TERN_ANSWER_FETCH,
        Answer::BreakEven => TERN_ANSWER_BREAK_EVEN,
        Answer::Compute => TERN_ANSWER_COMPUTE,
        Answer::Impossible => TERN_ANSWER_IMPOSSIBLE,
    };
    let bottleneck = match verdict.bottleneck {
        Bottleneck::Compute => TERN_BOTTLENECK_COMPUTE,
        Bottleneck::Memory => TERN_BOTTLENECK_MEMORY,
        Bottleneck::None => TERN_BOTTLENECK_NONE,
    };
    tern_verdict_t {
        struct_size: 0,
        t_compute: estimate(verdict.t_compute.ok()),
        t_fetch: estimate(verdict.t_fetch.ok()),
        t_store: verdict.t_store.into(),
        score_ns: verdict.score_ns().unwrap_or(0),
        answer: answer as i32,
        why_not_compute: obstacle(verdict.t_compute),
        why_not_fetch: obstacle(verdict.t_fetch),
        bottleneck: bottleneck as i32,
        bias_permille: verdict.bias_permille,
        trit: verdict.trit().unwrap_or(UNKNOWN),
        can_compute: verdict.can_compute().into(),
        can_store: verdict.can_store.into(),
        can_fetch: verdict.can_fetch().into(),
        decisive: verdict.decisive.into(),
        reserved: [0; 7],
        words: inline_text(&verdict.words()),
    }
}

/// Compute the result of a task here, or fetch it from where tern_machine_route() leads?
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_machine_verdict(
    machine: *const tern_machine_t,
    task: *const tern_task_t,
    verdict: *mut tern_verdict_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(machine, err, |machine: &Machine| {
            let size = sized::room(verdict, "verdict")?;
            let found = machine.0.read().verdict(self::task(task)?);
            sized::store(verdict, size, &self::verdict(&found));
            Ok(TERN_OK)
        })
    }
}

/// The same as JSON: what cannot be done has no time, and a reason beside it. `needed` as in tern_manager_metrics().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_machine_verdict_json(
    machine: *const tern_machine_t,
    task: *const tern_task_t,
    buffer: *mut c_char,
    capacity: usize,
    needed: *mut usize,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(machine, err, |machine: &Machine| {
            if capacity != 0 {
                required(buffer, "buffer")?;
            }
            let json = machine.0.read().verdict(self::task(task)?).to_json();
            more_if(!put_text(buffer, capacity, needed, &json, "buffer")?)
        })
    }
}
