//! Claim: asking for several resources, for parts of them, with a wait and a priority.
//!
//! All or nothing: no claim ever holds a part of what it asked for.
//!
//!     tern_text_t gpus[] = { { TERN_STR("gpu0") }, { TERN_STR("gpu1") }, { TERN_STR("gpu2") } };
//!     tern_claim_t claim = tern_claim_init();
//!     claim.holder = "trainer";
//!     claim.holder_len = strlen(claim.holder);
//!     claim.resources = gpus;
//!     claim.resource_count = 3;
//!     claim.count = 2;                  // any two of them
//!     claim.ttl = 60 * TERN_SECOND;
//!     claim.wait = 5 * TERN_SECOND;     // in line, if need be
//!     if (tern_manager_claim(manager, &claim, &lease, &err) != TERN_OK)
//!         die(err.message);

use std::ffi::c_char;

use super::boundary::with;
use super::error::{Failure, tern_error_t};
use super::lease::tern_lease_t;
use super::manager::{length, tern_manager_t};
use super::resource::tern_resource_t;
use super::sized::{self, Plain};
use super::status::tern_status_t::{self, *};
use super::text::{array, name, required};
use super::ticket::tern_ticket_t;
use crate::LeaseManager;
use crate::table::{Candidates, Claim, LeaseId, Outcome, ResourceId, Take};

/// A text: UTF-8, not necessarily terminated.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_text_t {
    /// Its first byte; may be NULL if there are none.
    pub data: *const c_char,
    /// How many bytes.
    pub len: usize,
}

/// A claim. What is zero is as usual; holder, resources and ttl are needed. Make it with tern_claim_init().
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_claim_t {
    /// sizeof(tern_claim_t)
    pub struct_size: usize,
    /// Who asks. Claims of one holder are taken to be one line of work: give each independent job a
    /// name of its own.
    pub holder: *const c_char,
    /// Length of `holder`.
    pub holder_len: usize,
    /// The resources it may be served from, the preferred ones first.
    pub resources: *const tern_text_t,
    /// How many those are.
    pub resource_count: usize,
    /// The same, by their numbers; instead of `resources`, not beside them.
    pub resource_ids: *const tern_resource_t,
    /// How many those are.
    pub resource_id_count: usize,
    /// How long the lease lasts without renewal; TERN_FOREVER: without end.
    pub ttl: u64,
    /// How long to stand in line if need be; 0: not at all, TERN_FOREVER: as long as it takes.
    pub wait: u64,
    /// With TERN_CLAIM_SPARE or TERN_CLAIM_PREEMPTIBLE: the notice that the lease gets when it is taken back.
    pub notice: u64,
    /// The lease ends with this one, and never later; 0: with none.
    pub parent: tern_lease_t,
    /// TERN_CLAIM_…
    pub flags: u64,
    /// How many of the resources it needs; 0: one.
    pub count: u32,
    /// Slots that it takes of each. If memory is 0 too: one.
    pub slots: u32,
    /// Memory that it takes of each, in MiB.
    pub memory_mib: u32,
    /// Higher goes first; from -32768 to 32767.
    pub priority: i32,
}

// SAFETY: integers and pointers only; 12 times 8 and 4 times 4 bytes have no padding.
unsafe impl Plain for tern_claim_t {}

/// Take each resource whole, alone.
pub const TERN_CLAIM_EXCLUSIVE: u64 = 1;
/// Take each resource together with any number of other shared leases, and nobody else.
pub const TERN_CLAIM_SHARED: u64 = 2;
/// Take only what nobody else waits for, and give it back when somebody does.
pub const TERN_CLAIM_SPARE: u64 = 4;
/// A claim of higher priority that asks to preempt may take the lease.
pub const TERN_CLAIM_PREEMPTIBLE: u64 = 8;
/// Take preemptible leases of lower priority rather than wait for their end.
pub const TERN_CLAIM_PREEMPT: u64 = 16;

const KNOWN_FLAGS: u64 = TERN_CLAIM_EXCLUSIVE
    | TERN_CLAIM_SHARED
    | TERN_CLAIM_SPARE
    | TERN_CLAIM_PREEMPTIBLE
    | TERN_CLAIM_PREEMPT;

/// Claims with up to so many resources need no allocation.
const FEW: usize = 16;

fn wrong(argument: &'static str, problem: &'static str) -> Failure {
    Failure::argument(TERN_ERR_BAD_VALUE, argument, problem)
}

/// Reads a caller's claim and does something with it.
///
/// # Safety
/// The caller's contract.
#[inline(always)]
unsafe fn with_claim<R>(
    claim: *const tern_claim_t,
    work: impl FnOnce(&Claim<'_>) -> Result<R, Failure>,
) -> Result<R, Failure> {
    // SAFETY: the caller's contract, for this block. A `ResourceId` is a `u32` and nothing else.
    unsafe {
        sized::with(claim, "claim", |claim| {
            let holder = name(claim.holder, claim.holder_len, "claim.holder")?;
            let texts = array(claim.resources, claim.resource_count, "claim.resources")?;
            let ids: *const ResourceId = claim.resource_ids.cast();
            let ids = array(ids, claim.resource_id_count, "claim.resource_ids")?;
            let mut few;
            let many: Vec<&str>;
            let named = |text: &tern_text_t| name(text.data, text.len, "claim.resources");
            let candidates = match (texts.is_empty(), ids.is_empty()) {
                (true, false) => Candidates::Declared(ids),
                (true, true) => {
                    return Err(wrong("claim.resources", "is empty; name at least one"));
                }
                (false, false) => {
                    let problem = "is given beside claim.resources; give one of them";
                    return Err(wrong("claim.resource_ids", problem));
                }
                (false, true) if texts.len() <= FEW => {
                    few = [""; FEW];
                    for (to, text) in few.iter_mut().zip(texts) {
                        *to = named(text)?;
                    }
                    Candidates::Named(&few[..texts.len()])
                }
                (false, true) => {
                    many = texts.iter().map(named).collect::<Result<_, _>>()?;
                    Candidates::Named(&many)
                }
            };
            work(&assemble(holder, candidates, claim)?)
        })
    }
}

/// The claim as the table knows it.
#[inline(always)]
fn assemble<'a>(
    holder: &'a str,
    candidates: Candidates<'a>,
    claim: &tern_claim_t,
) -> Result<Claim<'a>, Failure> {
    let has = |flag| claim.flags & flag != 0;
    if claim.flags & !KNOWN_FLAGS != 0 {
        return Err(wrong("claim.flags", "has unknown bits"));
    }
    let amount = Take::Amount { slots: claim.slots, memory: claim.memory_mib };
    let no_amount = claim.slots | claim.memory_mib == 0;
    let take = match claim.flags & (TERN_CLAIM_EXCLUSIVE | TERN_CLAIM_SHARED) {
        0 if no_amount => Take::ONE_SLOT,
        0 => amount,
        TERN_CLAIM_EXCLUSIVE if no_amount => Take::Exclusive,
        TERN_CLAIM_SHARED if no_amount => Take::Shared,
        _ => return Err(wrong("claim", "can have one of EXCLUSIVE, SHARED and an amount")),
    };
    if claim.notice != 0 && !has(TERN_CLAIM_SPARE | TERN_CLAIM_PREEMPTIBLE) {
        return Err(wrong("claim.notice", "is for spare and preemptible claims only"));
    }
    let Ok(priority) = i16::try_from(claim.priority) else {
        return Err(wrong("claim.priority", "is beyond 16 bits"));
    };
    Ok(Claim {
        holder,
        candidates,
        count: claim.count.max(1),
        take,
        ttl: length(claim.ttl),
        wait: length(claim.wait),
        priority,
        spare: has(TERN_CLAIM_SPARE),
        preemptible: has(TERN_CLAIM_PREEMPTIBLE),
        preempt: has(TERN_CLAIM_PREEMPT),
        grace: length(claim.notice),
        parent: (claim.parent != 0).then_some(LeaseId(claim.parent)),
        owner: 0,
        together: false,
    })
}

/// Asks for a lease and waits for it as long as the claim says. TERN_BUSY if the claim does not wait,
/// TERN_TIMEOUT if it waited in vain, TERN_REFUSED if it left the line for another reason. Blocks the
/// thread; to wait with an event loop, use tern_manager_enqueue(). With ticks somebody else has to count them meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_manager_claim(
    manager: *const tern_manager_t,
    claim: *const tern_claim_t,
    lease: *mut tern_lease_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            required(lease, "lease")?;
            let (granted, ()) = with_claim(claim, |claim| Ok(manager.submit_and_wait(claim)?))?;
            // Now that nobody looks at the claim any more: the caller may have put the lease into it.
            lease.write_unaligned(granted.0);
            Ok(TERN_OK)
        })
    }
}

/// Asks for a lease and returns at once. TERN_OK: `lease` is granted. TERN_WAITING: the claim stands in
/// line as `ticket`, for as long as it says. A ticket must come to an end with tern_ticket_wait() or tern_ticket_cancel():
/// until then it keeps its place in the table. TERN_BUSY if the claim does not wait.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_manager_enqueue(
    manager: *const tern_manager_t,
    claim: *const tern_claim_t,
    lease: *mut tern_lease_t,
    ticket: *mut tern_ticket_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            required(lease, "lease")?;
            required(ticket, "ticket")?;
            let placed = with_claim(claim, |claim| Ok(manager.submit::<()>(claim)?))?;
            match placed.outcome {
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
