//! Errors: the details of a status.
//!
//! Every function that can fail takes a tern_error_t of the caller's as its last argument, or NULL.
//! It is filled in whenever the status is not TERN_OK, and left alone otherwise. There is no "last
//! error" that another call or another thread could overwrite, and nothing to free. Make it with
//! tern_error_init(), or zero it: a struct_size of 0 stands for the size that tern_error_t had in the
//! first version of the library. Any other size that is not one is TERN_ERR_BAD_STRUCT.
//!
//!     tern_error_t err = tern_error_init();
//!     if (tern_lease_renew(manager, lease, NULL, &err) != TERN_OK)
//!         fprintf(stderr, "%s: %s\n", tern_status_name(err.status), err.message);

use std::ffi::c_char;
use std::fmt::{self, Write};
use std::io::ErrorKind;
use std::mem::offset_of;

use super::sized::{self, Plain};
use super::status::{status_of, tern_status_t};
use crate::PoolError;
use crate::cost::ReadError;
use crate::manager::OpenError;
use crate::table::{Error, Reason};

/// The details of a status. Make it with tern_error_init(); a zero-initialized one is valid as well.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_error_t {
    /// sizeof(tern_error_t), or 0
    pub struct_size: usize,
    /// What the function returned, or would have.
    pub status: i32,
    /// TERN_REASON_…: why a lease is over or a claim was refused; otherwise 0.
    pub reason: i32,
    /// What the operating system said; otherwise 0.
    pub os_errno: i32,
    /// What a device's driver said; otherwise 0.
    pub driver_code: i32,
    /// What happened and what to do, for people. Always terminated.
    pub message: [c_char; 256],
}

// SAFETY: integers only, without padding: four of 32 bits follow a size.
unsafe impl Plain for tern_error_t {}

/// Why a call did not end with `TERN_OK`.
#[derive(Debug)]
pub(super) struct Failure {
    pub status: tern_status_t,
    reason: Option<Reason>,
    os_errno: i32,
    text: Text,
}

#[derive(Debug)]
enum Text {
    Plain(&'static str),
    Argument(&'static str, &'static str),
    Error(Error),
    Open(OpenError),
    Pool(Box<PoolError>),
    Read(Box<ReadError>),
}

impl Failure {
    pub fn new(status: tern_status_t, text: &'static str) -> Self {
        Failure { status, reason: None, os_errno: 0, text: Text::Plain(text) }
    }

    /// Something is wrong with the argument of this name.
    #[cold]
    pub fn argument(status: tern_status_t, name: &'static str, problem: &'static str) -> Self {
        Failure { status, reason: None, os_errno: 0, text: Text::Argument(name, problem) }
    }

    pub fn null(name: &'static str) -> Self {
        Self::argument(tern_status_t::TERN_ERR_NULL, name, "is NULL")
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let (reason, os_errno) = match error {
            Error::NotHeld(_, reason) | Error::Refused(reason) | Error::NotARevocation(reason) => {
                (Some(reason), 0)
            }
            Error::System(number) => (None, number),
            Error::Unavailable => (None, libc::EHOSTUNREACH),
            _ => (None, 0),
        };
        Failure { status: status_of(&error), reason, os_errno, text: Text::Error(error) }
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        let (status, os_errno) = match error.os_errno() {
            0 if error.is_corrupt() => (tern_status_t::TERN_ERR_CORRUPT, 0),
            0 if error.is_stuck() => (tern_status_t::TERN_ERR_STUCK, 0),
            0 if error.is_unsupported() => (tern_status_t::TERN_ERR_UNSUPPORTED, 0),
            0 => (tern_status_t::TERN_ERR_BAD_URL, 0),
            number => (tern_status_t::TERN_ERR_SYSTEM, number),
        };
        Failure { status, reason: None, os_errno, text: Text::Open(error) }
    }
}

impl From<PoolError> for Failure {
    fn from(error: PoolError) -> Self {
        let status = match error {
            PoolError::Lease(error) => return error.into(),
            PoolError::Open(error) => return error.into(),
            PoolError::UnknownDevice { .. } => tern_status_t::TERN_ERR_UNKNOWN_RESOURCE,
            PoolError::TooFew { .. } => tern_status_t::TERN_ERR_IMPOSSIBLE,
            PoolError::Elsewhere(_) => tern_status_t::TERN_ERR_UNSUPPORTED,
            PoolError::Declaration(_) => tern_status_t::TERN_ERR_BAD_VALUE,
            PoolError::NoAnswer(_) => tern_status_t::TERN_ERR_SYSTEM,
        };
        Failure { status, reason: None, os_errno: 0, text: Text::Pool(Box::new(error)) }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        let (ReadError::Store { cause, .. } | ReadError::Cache { cause, .. }) = &error;
        let (status, os_errno) = match (cause.raw_os_error(), cause.kind()) {
            (Some(number), _) => (tern_status_t::TERN_ERR_SYSTEM, number),
            (None, ErrorKind::NotADirectory) => (tern_status_t::TERN_ERR_SYSTEM, libc::ENOTDIR),
            (None, ErrorKind::Unsupported) => (tern_status_t::TERN_ERR_UNSUPPORTED, 0),
            // There is no place to keep anything.
            (None, _) => (tern_status_t::TERN_ERR_BAD_VALUE, 0),
        };
        Failure { status, reason: None, os_errno, text: Text::Read(Box::new(error)) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Text::Plain(text) => f.write_str(text),
            Text::Argument(name, problem) => write!(f, "{name} {problem}"),
            Text::Error(error) => error.fmt(f),
            Text::Open(error) => error.fmt(f),
            Text::Pool(error) => error.fmt(f),
            Text::Read(error) => error.fmt(f),
        }
    }
}

const TEXT: usize = offset_of!(tern_error_t, message);

/// The size of the struct in the first version of the library: what a program that left the size
/// zero has room for, whatever header it was compiled with. It stays when the struct grows.
const FIRST: usize = 280;

/// The size of the caller's struct.
///
/// # Safety
/// `err` can be read for a `usize`.
unsafe fn size_of_callers(err: *const tern_error_t) -> usize {
    // SAFETY: as required.
    match unsafe { sized::size_at(err.cast()) } {
        0 => FIRST,
        size => size,
    }
}

/// Can the details be written there, if there are any?
///
/// # Safety
/// The caller's contract.
#[inline(always)]
pub(super) unsafe fn is_usable(err: *const tern_error_t) -> bool {
    // SAFETY: not NULL, so by the caller's contract at least the size can be read.
    err.is_null() || unsafe { (TEXT + 1..=sized::LONGEST).contains(&size_of_callers(err)) }
}

/// Writes the details, as far as the caller's struct goes.
///
/// # Safety
/// The caller's contract, and [`is_usable`].
#[cold]
pub(super) unsafe fn tell(err: *mut tern_error_t, failure: &Failure) {
    if err.is_null() {
        return;
    }
    let mut told = tern_error_t {
        struct_size: 0,
        status: failure.status as i32,
        reason: failure.reason.map_or(0, |reason| reason.code().into()),
        os_errno: failure.os_errno,
        driver_code: 0,
        message: [0; 256],
    };
    // SAFETY: `err` is usable, so its size can be read.
    let size = unsafe { size_of_callers(err) };
    let room = (size - TEXT).min(told.message.len());
    let mut message = Message { buffer: &mut told.message[..room], len: 0 };
    // It stops when it is full.
    let _ = write!(message, "{failure}");
    // SAFETY: `err` is writable for its size by the caller's contract, and the size is in range.
    unsafe { sized::store(err, size, &told) };
}

/// Text that is cut at a character when it does not fit, with room for the final zero.
struct Message<'a> {
    buffer: &'a mut [c_char],
    len: usize,
}

impl Write for Message<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.buffer.len() - 1 - self.len;
        let fits = text.floor_char_boundary(room);
        for (to, from) in self.buffer[self.len..].iter_mut().zip(text[..fits].bytes()) {
            *to = from as c_char;
        }
        self.len += fits;
        if fits == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}
