//! GPU claim: asking a pool for devices.
//!
//! All or nothing: no claim ever holds a part of what it asked for. The lease is a number as every other; give it back with
//! tern_gpu_lease_release().
//!
//!     tern_gpu_claim_t wanted = tern_gpu_claim_init();
//!     wanted.count = 4;                   // linked to each other, if that can be
//!     wanted.min_memory_mib = 40000;
//!     wanted.wait = 60 * TERN_SECOND;
//!     if (tern_pool_claim(pool, &wanted, &lease, &err) != TERN_OK)
//!         die(err.message);
//!     compute_on_the_gpu(pool, lease);
//!     tern_gpu_lease_release(pool, lease, NULL);

use std::ffi::c_char;

use super::boundary::with;
use super::claim::{TERN_CLAIM_PREEMPT, TERN_CLAIM_PREEMPTIBLE, TERN_CLAIM_SPARE, tern_text_t};
use super::device::tern_vendor_t::TERN_VENDOR_ANY;
use super::device::vendor_code;
use super::error::{Failure, tern_error_t};
use super::lease::tern_lease_t;
use super::manager::span;
use super::pool::tern_pool_t;
use super::sized::{self, Plain};
use super::status::tern_status_t::{self, *};
use super::text::{array, name, required};
use super::ticket::tern_ticket_t;
use crate::table::{LeaseId, Outcome};
use crate::{GpuClaim, GpuPool, Span, Vendor};

/// A claim for devices. What is zero is as usual: any one device, alone, without end, now or not at all. Make it with
/// tern_gpu_claim_init(). Times are in the unit of the pool's manager.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_gpu_claim_t {
    /// sizeof(tern_gpu_claim_t)
    pub struct_size: usize,
    /// Who asks. If it has no length, the claim gets a name of its own. Give all claims of one line of work the same name if it claims more
    /// while it holds some, so that deadlocks are seen.
    pub holder: *const c_char,
    /// Length of `holder`.
    pub holder_len: usize,
    /// Only these devices, the preferred ones first: by UUID (or how it begins), PCI address, vendor and number ("nvidia:0"), or number.
    pub devices: *const tern_text_t,
    /// How many those are; 0: any device will do.
    pub device_count: usize,
    /// How long the lease lasts without renewal; 0: without end, as TERN_FOREVER.
    pub ttl: u64,
    /// How long to stand in line if need be; 0: not at all, TERN_FOREVER: as long as it takes.
    pub wait: u64,
    /// With TERN_CLAIM_SPARE or TERN_CLAIM_PREEMPTIBLE: the notice that the lease gets when it is taken back.
    pub notice: u64,
    /// The lease ends with this one, and never later; 0: with none.
    pub parent: tern_lease_t,
    /// TERN_CLAIM_SPARE, TERN_CLAIM_PREEMPTIBLE, TERN_CLAIM_PREEMPT, TERN_CLAIM_KEEP_ALIVE.
    pub flags: u64,
    /// How many devices; 0: one.
    pub count: u32,
    /// Slots that it takes of each, together with others. If memory is 0 too: all of each device, alone.
    pub slots: u32,
    /// Memory that it takes of each, in MiB, together with others. Nothing but the leases keeps anybody from using more.
    pub memory_mib: u32,
    /// Only devices with at least so much memory in all, in MiB.
    pub min_memory_mib: u32,
    /// Only devices of at least this compute capability, as NVIDIA counts it: 8 of 8.6.
    pub min_compute_major: u32,
    /// 6 of 8.6.
    pub min_compute_minor: u32,
    /// TERN_VENDOR_…: only devices of this one.
    pub vendor: i32,
    /// Higher goes first; from -32768 to 32767.
    pub priority: i32,
}

// SAFETY: integers and pointers only; 10 times 8 and 8 times 4 bytes have no padding.
unsafe impl Plain for tern_gpu_claim_t {}

/// Of claims for devices: a thread of the library's own renews the lease in time while the pool is open. Should the process hang as a whole, the
/// lease ends. Needs a manager with a real clock.
pub const TERN_CLAIM_KEEP_ALIVE: u64 = 32;

const KNOWN_FLAGS: u64 =
    TERN_CLAIM_SPARE | TERN_CLAIM_PREEMPTIBLE | TERN_CLAIM_PREEMPT | TERN_CLAIM_KEEP_ALIVE;

fn wrong(argument: &'static str, problem: &'static str) -> Failure {
    Failure::argument(TERN_ERR_BAD_VALUE, argument, problem)
}

/// Reads a caller's claim and does something with it.
///
/// # Safety
/// The caller's contract.
pub(super) unsafe fn with_claim<R>(
    pool: &GpuPool,
    claim: *const tern_gpu_claim_t,
    work: impl FnOnce(GpuClaim<'_>, &tern_gpu_claim_t) -> Result<R, Failure>,
) -> Result<R, Failure> {
    // SAFETY: the caller's contract, for this block.
    unsafe {
        sized::with(claim, "claim", |claim| {
            let holder = name(claim.holder, claim.holder_len, "claim.holder")?;
            let texts = array(claim.devices, claim.device_count, "claim.devices")?;
            let named = |text: &tern_text_t| name(text.data, text.len, "claim.devices");
            let names: Vec<&str> = texts.iter().map(named).collect::<Result<_, _>>()?;
            let made = assemble(pool, claim)?;
            let made = if names.is_empty() { made } else { made.named(&names) };
            work(if holder.is_empty() { made } else { made.holder(holder) }, claim)
        })
    }
}

/// The claim as a pool knows it, but for the texts in it.
fn assemble<'a>(pool: &'a GpuPool, claim: &tern_gpu_claim_t) -> Result<GpuClaim<'a>, Failure> {
    let has = |flag| claim.flags & flag != 0;
    if claim.flags & !KNOWN_FLAGS != 0 {
        return Err(wrong("claim.flags", "has bits that are unknown, or not for devices"));
    }
    if claim.notice != 0 && !has(TERN_CLAIM_SPARE | TERN_CLAIM_PREEMPTIBLE) {
        return Err(wrong("claim.notice", "is for spare and preemptible claims only"));
    }
    let Ok(priority) = i16::try_from(claim.priority) else {
        return Err(wrong("claim.priority", "is beyond 16 bits"));
    };
    let mut made = pool.claim().devices(claim.count.max(1)).priority(priority);
    made = made.patience(span(claim.wait)).min_memory(claim.min_memory_mib);
    made = made.ttl(if claim.ttl == 0 { Span::Forever } else { span(claim.ttl) });
    if claim.slots != 0 {
        made = made.slots(claim.slots);
    }
    if claim.memory_mib != 0 {
        made = made.memory(claim.memory_mib);
    }
    let (major, minor) = (claim.min_compute_major, claim.min_compute_minor);
    if (major, minor) != (0, 0) {
        made = made.min_compute_capability(major, minor);
    }
    match claim.vendor {
        vendor if vendor == TERN_VENDOR_ANY as i32 => {}
        vendor => made = made.vendor(vendor_of(vendor)?),
    }
    if has(TERN_CLAIM_SPARE) {
        made = made.spare(span(claim.notice));
    }
    if has(TERN_CLAIM_PREEMPTIBLE) {
        made = made.preemptible(span(claim.notice));
    }
    if has(TERN_CLAIM_PREEMPT) {
        made = made.preempt();
    }
    if claim.parent != 0 {
        made = made.child_of(LeaseId(claim.parent));
    }
    if has(TERN_CLAIM_KEEP_ALIVE) {
        if !pool.manager().has_real_time() {
            let problem = "asks to keep a lease alive, which a manager that counts ticks cannot";
            return Err(wrong("claim.flags", problem));
        }
        made = made.keep_alive();
    }
    Ok(made)
}

fn vendor_of(code: i32) -> Result<Vendor, Failure> {
    [Vendor::Nvidia, Vendor::Amd, Vendor::Intel, Vendor::Other]
        .into_iter()
        .find(|&vendor| vendor_code(vendor) == code)
        .ok_or_else(|| wrong("claim.vendor", "is none that is known"))
}

fn no_devices() -> Failure {
    Failure::new(TERN_EMPTY, "the pool has no devices; the pool's absence says why")
}

/// Asks for devices and waits for them as long as the claim says. TERN_BUSY if the claim does not wait, TERN_TIMEOUT if it waited in vain,
/// TERN_REFUSED if it left the line for another reason, TERN_EMPTY if the pool has no devices at all, TERN_ERR_IMPOSSIBLE if it has not so
/// many of that kind, TERN_ERR_UNKNOWN_RESOURCE if it has none of that name. Blocks the thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_pool_claim(
    pool: *const tern_pool_t,
    claim: *const tern_gpu_claim_t,
    lease: *mut tern_lease_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(pool, err, |pool: &GpuPool| {
            required(lease, "lease")?;
            let granted = with_claim(pool, claim, |claim, _| Ok(claim.wait_for_id()?))?;
            lease.write_unaligned(granted.ok_or_else(no_devices)?.0);
            Ok(TERN_OK)
        })
    }
}

/// Any one device, alone and without end, if one is free now and nobody waits for it: TERN_BUSY if not, TERN_EMPTY if the pool has no devices.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_pool_try_claim(
    pool: *const tern_pool_t,
    lease: *mut tern_lease_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(pool, err, |pool: &GpuPool| {
            required(lease, "lease")?;
            let (id, ()) = pool.claim_default()?.ok_or_else(no_devices)?;
            lease.write_unaligned(id.0);
            Ok(TERN_OK)
        })
    }
}

/// Asks for devices and returns at once. TERN_OK: `lease` is granted. TERN_WAITING: the claim stands in line as `ticket`, for as long as
/// it says; it comes to an end with tern_ticket_wait() or tern_ticket_cancel() and the pool's manager. Otherwise as
/// tern_pool_claim(). TERN_CLAIM_KEEP_ALIVE is not for this: see tern_gpu_lease_keep_alive().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_pool_enqueue(
    pool: *const tern_pool_t,
    claim: *const tern_gpu_claim_t,
    lease: *mut tern_lease_t,
    ticket: *mut tern_ticket_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(pool, err, |pool: &GpuPool| {
            required(lease, "lease")?;
            required(ticket, "ticket")?;
            let outcome = with_claim(pool, claim, |made, claim| {
                if claim.flags & TERN_CLAIM_KEEP_ALIVE != 0 {
                    let problem = "asks to keep a lease alive that is not there yet; \
                                   keep the lease alive once it is granted";
                    return Err(wrong("claim.flags", problem));
                }
                Ok(made.submit()?)
            })?;
            match outcome.ok_or_else(no_devices)? {
                Outcome::Granted(id) => {
                    lease.write_unaligned(id.0);
                    Ok(TERN_OK)
                }
                Outcome::Waiting(id) => {
                    ticket.write_unaligned(id.0);
                    Err(Failure::new(TERN_WAITING, "the claim stands in line"))
                }
            }
        })
    }
}
