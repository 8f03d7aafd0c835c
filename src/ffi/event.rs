//! Events: the history, as it is made.
//!
//! Every change is one event with a growing number. A reader has a place in the history of its own; one
//! that falls too far behind is told how many events it missed. It may outlive its manager, and ends with tern_events_close().
//! Its calls may come from any thread, but take turns: while one waits, others wait for it. On a real clock the first reader starts
//! a thread of the library's own.
//!
//!     tern_events_t *events = NULL;
//!     tern_event_t event = tern_event_init();
//!     tern_events_open(manager, 0, &events, &err);
//!     while (tern_events_wait(events, TERN_FOREVER, &err) == TERN_OK)
//!         while (tern_events_next(events, &event, &err) == TERN_OK)
//!             if (event.kind == TERN_EVENT_ENDED)
//!                 bill(event.lease, event.duration);
//!     tern_events_close(events);

use std::ffi::{c_char, c_int};

use parking_lot::Mutex;

use super::boundary::{close, with};
use super::error::{Failure, tern_error_t};
use super::handle::{Closed, Handle, Object};
use super::lease::tern_lease_t;
use super::manager::{tern_manager_t, time};
use super::sized::{self, Plain};
use super::status::tern_status_t::{self, *};
use super::text::{inline_name, required};
use super::ticket::{tern_ticket_t, timeout};
use super::{reason, tern_trit_t};
use crate::table::{Error, Event, Reason, What};
use crate::{EventReader, LeaseManager};

/// A reader of events.
pub struct tern_events_t {
    _private: [u8; 0],
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum tern_event_kind_t {
    /// A claim became a lease, after standing in line if there is a ticket.
    TERN_EVENT_GRANTED = 1,
    /// A lease was renewed in the last quarter of its time; it ends at `until`.
    TERN_EVENT_RENEWED_LATE = 2,
    /// The holder was told that its lease will be revoked at `until`, for a reason.
    TERN_EVENT_REVOKING = 3,
    /// A lease ended for a reason; it was held for `duration`.
    TERN_EVENT_ENDED = 4,
    /// A claim took its place in line.
    TERN_EVENT_QUEUED = 5,
    /// A claim left the line without a lease, for a reason; it had waited for `duration`.
    TERN_EVENT_REFUSED = 6,
    /// The health of a resource changed.
    TERN_EVENT_HEALTH = 7,
    /// A process that shared the table was found dead, and what it had was given back.
    TERN_EVENT_DIED = 8,
    /// A process died in the middle of a change, which was undone.
    TERN_EVENT_ROLLED_BACK = 9,
}

use tern_event_kind_t::*;

/// One event. Make it with tern_event_init().
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_event_t {
    /// sizeof(tern_event_t)
    pub struct_size: usize,
    /// Grows by one with each event.
    pub number: u64,
    /// How many events this reader has missed so far, because it fell behind.
    pub missed: u64,
    /// When it happened.
    pub at: u64,
    /// The lease it is about, or 0.
    pub lease: tern_lease_t,
    /// The ticket it is about, or 0.
    pub ticket: tern_ticket_t,
    /// A time, where the kind says so.
    pub until: u64,
    /// A length of time, where the kind says so.
    pub duration: u64,
    /// TERN_EVENT_…; there may be kinds in the future that are not known today.
    pub kind: i32,
    /// TERN_REASON_…, or 0.
    pub reason: i32,
    /// TERN_EVENT_HEALTH: TERN_HEALTHY, TERN_DRAINING or TERN_FAILED.
    pub health: tern_trit_t,
    /// Zero.
    pub reserved: [u8; 7],
    /// TERN_EVENT_HEALTH: the name of the resource; otherwise empty.
    pub resource: [c_char; 256],
    /// TERN_EVENT_DIED, TERN_EVENT_ROLLED_BACK: the process, by the number that it had for itself; otherwise 0.
    pub process: u32,
    /// Zero.
    pub reserved2: u32,
    /// The principal of the process whose command did it: on one machine its user id. Only if
    /// `actor_process` is not 0.
    pub actor_principal: u32,
    /// The process whose command did it; in a cluster the owner number of its session. 0: the table
    /// did it by itself.
    pub actor_process: u32,
    /// TERN_EVENT_FLAG_…
    pub flags: u64,
}

// SAFETY: integers only; 8 times 8, 2 times 4, 8 times 1, 256 bytes, 4 times 4 and 8 have no padding.
unsafe impl Plain for tern_event_t {}

/// TERN_EVENT_ENDED: the lease was revoked with notice, and its holder released it before that ended.
pub const TERN_EVENT_FLAG_ACKNOWLEDGED: u64 = 1;

type Reader = Mutex<EventReader>;

impl Object for Reader {
    type Opaque = tern_events_t;
    const KIND: u32 = 0x7e41_0002;

    fn closed() -> &'static Closed<Self> {
        static CLOSED: Closed<Reader> = Closed::new();
        &CLOSED
    }

    /// The panic may have left the table half done.
    fn poison(&self) {
        self.lock().poison();
    }

    fn finish(&self) {}
}

fn convert(event: &Event, missed: u64) -> tern_event_t {
    let mut out = tern_event_t {
        struct_size: 0,
        number: event.number,
        missed,
        at: event.at,
        lease: 0,
        ticket: 0,
        until: 0,
        duration: 0,
        kind: 0,
        reason: 0,
        health: 0,
        reserved: [0; 7],
        resource: [0; 256],
        process: 0,
        reserved2: 0,
        actor_principal: event.actor.map_or(0, |actor| actor.principal),
        actor_process: event.actor.map_or(0, |actor| actor.process),
        flags: 0,
    };
    let code = |reason: &Reason| reason::code(Some(*reason));
    match &event.what {
        What::Granted { lease, ticket } => {
            out.kind = TERN_EVENT_GRANTED as i32;
            out.lease = lease.0;
            out.ticket = ticket.map_or(0, |ticket| ticket.0);
        }
        What::RenewedLate { lease, until } => {
            out.kind = TERN_EVENT_RENEWED_LATE as i32;
            out.lease = lease.0;
            out.until = time(*until);
        }
        What::Revoking { lease, reason, until } => {
            out.kind = TERN_EVENT_REVOKING as i32;
            out.lease = lease.0;
            out.reason = code(reason);
            out.until = time(*until);
        }
        What::Ended { lease, reason, held, acknowledged } => {
            out.kind = TERN_EVENT_ENDED as i32;
            out.lease = lease.0;
            out.reason = code(reason);
            out.duration = *held;
            out.flags = if *acknowledged { TERN_EVENT_FLAG_ACKNOWLEDGED } else { 0 };
        }
        What::Queued { ticket } => {
            out.kind = TERN_EVENT_QUEUED as i32;
            out.ticket = ticket.0;
        }
        What::Refused { ticket, reason, waited } => {
            out.kind = TERN_EVENT_REFUSED as i32;
            out.ticket = ticket.0;
            out.reason = code(reason);
            out.duration = *waited;
        }
        What::Health { resource, health } => {
            out.kind = TERN_EVENT_HEALTH as i32;
            out.health = *health as tern_trit_t;
            out.resource = inline_name(resource);
        }
        What::Died { process, .. } => {
            out.kind = TERN_EVENT_DIED as i32;
            out.process = *process;
        }
        What::RolledBack { process } => {
            out.kind = TERN_EVENT_ROLLED_BACK as i32;
            out.process = *process;
        }
    }
    out
}

/// Reads the events after number `cursor`; 0: from the oldest that is remembered, TERN_FOREVER: from now on.
/// Close it with tern_events_close().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_events_open(
    manager: *const tern_manager_t,
    cursor: u64,
    events: *mut *mut tern_events_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            required(events, "events")?;
            events.write_unaligned(Handle::open(Mutex::new(manager.events(cursor))));
            Ok(TERN_OK)
        })
    }
}

/// Closes a reader. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_events_close(events: *mut tern_events_t) {
    // SAFETY: the caller's contract.
    unsafe { close::<Reader>(events) }
}

/// The next event. TERN_EMPTY if there is none now; TERN_ERR_CLOSED if there is none and the manager is gone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_events_next(
    events: *const tern_events_t,
    event: *mut tern_event_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(events, err, |reader: &Reader| {
            let size = sized::room(event, "event")?;
            let mut reader = reader.lock();
            match reader.next() {
                Some(found) => {
                    sized::store(event, size, &convert(&found, reader.missed()));
                    Ok(TERN_OK)
                }
                None if reader.is_poisoned() => Err(Error::Corrupt.into()),
                None if reader.is_closed() => Err(Error::Closed.into()),
                None => Err(Failure::new(TERN_EMPTY, "there is no event now")),
            }
        })
    }
}

/// Blocks the thread until there is an event to read, for `timeout_us` microseconds at most
/// (TERN_FOREVER: as long as it takes): TERN_TIMEOUT. TERN_ERR_CLOSED if there is none and the manager is gone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_events_wait(
    events: *const tern_events_t,
    timeout_us: u64,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(events, err, |reader: &Reader| match reader.lock().wait(timeout(timeout_us))? {
            true => Ok(TERN_OK),
            false => Err(Failure::new(TERN_TIMEOUT, "there was no event in that time")),
        })
    }
}

/// A descriptor that is readable while there may be something to read: from an event until
/// tern_events_next() has said TERN_EMPTY, and for ever once the manager is gone. It belongs to the reader: do not close it, nor read from it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_events_fd(
    events: *const tern_events_t,
    fd: *mut c_int,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(events, err, |reader: &Reader| {
            required(fd, "fd")?;
            #[cfg(target_os = "linux")]
            {
                use std::os::fd::AsRawFd;
                fd.write_unaligned(reader.lock().fd()?.as_raw_fd());
                Ok(TERN_OK)
            }
            #[cfg(not(target_os = "linux"))]
            {
                let _ = reader;
                Err(Failure::new(TERN_ERR_UNSUPPORTED, "descriptors exist on Linux only"))
            }
        })
    }
}
