//! Ticket: a claim in line.
//!
//! A ticket is a number, as a lease is. Wait for it with tern_ticket_wait(), or give the descriptor of
//! tern_ticket_fd() to an event loop and ask with a timeout of 0 once it is readable. Whatever was granted and nobody was told of is given
//! back by tern_ticket_cancel().
//!
//!     tern_lease_t lease;
//!     tern_ticket_t ticket;
//!     tern_status_t status = tern_manager_enqueue(manager, &claim, &lease, &ticket, &err);
//!     if (status == TERN_WAITING)
//!         status = tern_ticket_wait(manager, ticket, 5 * TERN_SECOND, &lease, &err);
//!     if (status == TERN_WAITING)
//!         tern_ticket_cancel(manager, ticket, NULL);

use std::ffi::{c_char, c_int};
use std::time::Duration;

use super::boundary::with;
use super::error::{Failure, tern_error_t};
use super::lease::tern_lease_t;
use super::manager::{more_if, tern_manager_t};
use super::sized::{self, Plain};
use super::status::tern_status_t::{self, *};
use super::tern_trit_t;
use super::text::{inline_name, required};
use crate::LeaseManager;
use crate::table::{Cancelled, Error, TicketId, TicketInfo, TicketState};

/// Names one waiting claim for ever. 0 is none.
pub type tern_ticket_t = u64;

/// Everything about one waiting claim. Make it with tern_ticket_info_init().
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_ticket_info_t {
    /// sizeof(tern_ticket_info_t)
    pub struct_size: usize,
    /// Its id.
    pub ticket: tern_ticket_t,
    /// Since when it waits.
    pub queued_at: u64,
    /// Its place in line, from 1.
    pub place: u32,
    /// How many resources it needs.
    pub count: u32,
    /// Out of how many: tern_ticket_resources() tells them.
    pub resource_count: u32,
    /// Its effective priority.
    pub priority: i32,
    /// Who waits.
    pub holder: [c_char; 256],
}

// SAFETY: integers only; 3 times 8, 4 times 4 and 256 bytes have no padding.
unsafe impl Plain for tern_ticket_info_t {}

/// A name. Make it with tern_name_init().
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_name_t {
    /// sizeof(tern_name_t)
    pub struct_size: usize,
    /// The name, terminated.
    pub text: [c_char; 256],
}

// SAFETY: integers only; 8 + 256 bytes have no padding.
unsafe impl Plain for tern_name_t {}

pub(super) fn listed_name(text: &str) -> tern_name_t {
    tern_name_t { struct_size: 0, text: inline_name(text) }
}

fn ticket_info(info: &TicketInfo) -> tern_ticket_info_t {
    tern_ticket_info_t {
        struct_size: 0,
        ticket: info.id.0,
        queued_at: info.queued_at,
        place: info.place,
        count: info.count,
        resource_count: info.candidates.len() as u32,
        priority: info.priority.into(),
        holder: inline_name(&info.holder),
    }
}

/// A time to wait as C gives it, in microseconds whatever clock the manager has.
pub(super) fn timeout(micros: u64) -> Option<Duration> {
    (micros != u64::MAX).then(|| Duration::from_micros(micros))
}

/// The state of a ticket: TERN_GRANTED, TERN_IN_LINE or TERN_DENIED; TERN_TRIT_UNKNOWN if the call failed
/// or nothing is remembered of it. Takes no lock, and is not the end of the ticket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_ticket_state(
    manager: *const tern_manager_t,
    ticket: tern_ticket_t,
    err: *mut tern_error_t,
) -> tern_trit_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| match manager.ticket_state(TicketId(ticket)) {
            Some(TicketState::Granted(_)) => Ok(1),
            Some(TicketState::Waiting) => Ok(0),
            Some(TicketState::Refused(_)) => Ok(-1),
            None => Err(Error::UnknownTicket.into()),
        })
    }
}

/// Blocks the thread until the ticket is decided, for `timeout_us` microseconds at most (TERN_FOREVER:
/// as long as it takes; 0: just ask). TERN_OK: `lease` is the caller's. TERN_TIMEOUT or TERN_REFUSED: there will be none.
/// Both are the end of the ticket, and asking again gives the same as long as it is remembered. TERN_WAITING: the time of
/// this call is over, and the ticket still in line. The time is real time, whatever clock the manager has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_ticket_wait(
    manager: *const tern_manager_t,
    ticket: tern_ticket_t,
    timeout_us: u64,
    lease: *mut tern_lease_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            required(lease, "lease")?;
            match manager.wait_for_ticket(TicketId(ticket), timeout(timeout_us))? {
                TicketState::Granted(id) => {
                    lease.write_unaligned(id.0);
                    Ok(TERN_OK)
                }
                TicketState::Waiting => {
                    Err(Failure::new(TERN_WAITING, "the claim still stands in line"))
                }
                TicketState::Refused(reason) => Err(Error::Refused(reason).into()),
            }
        })
    }
}

/// Withdraws a claim; the end of the ticket. What it was granted meanwhile is given back.
/// TERN_UNCHANGED if it had come to its end before: a lease that tern_ticket_wait() told of stays the caller's.
/// TERN_ERR_SYSTEM if machines share the table and its engine cannot be reached: it is withdrawn as soon as it can be.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_ticket_cancel(
    manager: *const tern_manager_t,
    ticket: tern_ticket_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            match manager.cancel_ticket(TicketId(ticket))? {
                Cancelled::Left | Cancelled::WasGranted(_) => Ok(TERN_OK),
                Cancelled::WasCollected(_) | Cancelled::WasRefused(_) => {
                    Err(Failure::new(TERN_UNCHANGED, "the ticket had come to its end before"))
                }
            }
        })
    }
}

/// A descriptor that becomes readable once the ticket is decided, and stays so. It is the caller's, who closes it and does not read from it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_ticket_fd(
    manager: *const tern_manager_t,
    ticket: tern_ticket_t,
    fd: *mut c_int,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            required(fd, "fd")?;
            #[cfg(target_os = "linux")]
            {
                use std::os::fd::IntoRawFd;
                fd.write_unaligned(manager.ticket_fd(TicketId(ticket))?.into_raw_fd());
                Ok(TERN_OK)
            }
            #[cfg(not(target_os = "linux"))]
            {
                let _ = (manager, ticket);
                Err(Failure::new(TERN_ERR_UNSUPPORTED, "descriptors exist on Linux only"))
            }
        })
    }
}

/// Everything about a ticket that waits. TERN_EMPTY once it is decided.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_ticket_info(
    manager: *const tern_manager_t,
    ticket: tern_ticket_t,
    info: *mut tern_ticket_info_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            let size = sized::room(info, "info")?;
            let found = waiting(manager, ticket)?;
            sized::store(info, size, &ticket_info(&found));
            Ok(TERN_OK)
        })
    }
}

/// The resources that a waiting ticket may be served from.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_ticket_resources(
    manager: *const tern_manager_t,
    ticket: tern_ticket_t,
    names: *mut tern_name_t,
    capacity: usize,
    needed: *mut usize,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            sized::check_list(names, capacity, "names")?;
            let found = waiting(manager, ticket)?;
            let found: Vec<tern_name_t> =
                found.candidates.iter().map(|name| listed_name(name)).collect();
            more_if(!sized::store_list(names, capacity, needed, &found, "names")?)
        })
    }
}

fn waiting(manager: &LeaseManager, ticket: tern_ticket_t) -> Result<TicketInfo, Failure> {
    let id = TicketId(ticket);
    manager.ticket(id).ok_or_else(|| match manager.ticket_state(id) {
        None => Error::UnknownTicket.into(),
        Some(_) => Failure::new(TERN_EMPTY, "the ticket no longer stands in line"),
    })
}

/// All waiting claims, in order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_manager_tickets(
    manager: *const tern_manager_t,
    infos: *mut tern_ticket_info_t,
    capacity: usize,
    needed: *mut usize,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            let found: Vec<tern_ticket_info_t> =
                manager.tickets().iter().map(ticket_info).collect();
            more_if(!sized::store_list(infos, capacity, needed, &found, "infos")?)
        })
    }
}
