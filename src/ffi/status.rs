//! Status: what became of a call.
//!
//! One enumeration for the whole library. Zero is success; a positive status is a normal outcome
//! that is not success (nothing is wrong: try later, or read on); a negative one is a failure.
//! Whatever is not TERN_OK has changed nothing, unless its description says otherwise.
//! Numbers are never changed or used again.

use std::ffi::c_char;

use crate::table::{Error, Reason};

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum tern_status_t {
    /// It was done.
    TERN_OK = 0,
    /// Not free now, and the claim does not wait.
    TERN_BUSY = 1,
    /// The time came first. A claim that waited has left the line.
    TERN_TIMEOUT = 2,
    /// There is nothing now: ask again later. Of a pool: it has no devices, so do without.
    TERN_EMPTY = 3,
    /// The claim stands in line.
    TERN_WAITING = 4,
    /// The claim waited and will not be granted; the error's reason says why.
    TERN_REFUSED = 5,
    /// It was so already.
    TERN_UNCHANGED = 6,
    /// The caller's buffer was filled, and there is more: the needed size was told.
    TERN_MORE = 7,

    /// A pointer that must not be NULL is NULL.
    TERN_ERR_NULL = -1,
    /// The pointer is not a handle of this kind.
    TERN_ERR_BAD_HANDLE = -2,
    /// The handle, or the manager behind it, was closed.
    TERN_ERR_CLOSED = -3,
    /// The handle was opened before this process was forked. Open a new one.
    TERN_ERR_FORKED = -4,
    /// An earlier call panicked. Close the handle.
    TERN_ERR_POISONED = -5,
    /// The library has a bug and noticed. The handle is poisoned.
    TERN_ERR_PANIC = -6,
    /// A struct's size makes no sense, or it says something that this version does not know.
    TERN_ERR_BAD_STRUCT = -7,
    /// A text is not UTF-8, or a name has a zero byte in it.
    TERN_ERR_BAD_TEXT = -8,
    /// A number or word is none of those that are allowed there.
    TERN_ERR_BAD_VALUE = -9,
    /// The URL names no home that there is.
    TERN_ERR_BAD_URL = -10,
    /// This system, or this build of the library, cannot do that.
    TERN_ERR_UNSUPPORTED = -11,
    /// The program was compiled for another version of the library.
    TERN_ERR_VERSION = -12,
    /// The operating system refused; the error's os_errno says why.
    TERN_ERR_SYSTEM = -13,
    /// The table's memory does not make sense.
    TERN_ERR_CORRUPT = -14,
    /// The table has no room left. Open it with larger limits.
    TERN_ERR_FULL = -15,
    /// A process that has the lock of a shared table does not go on. Continue or end it.
    TERN_ERR_STUCK = -16,

    /// A name is empty.
    TERN_ERR_EMPTY_NAME = -20,
    /// A name is longer than TERN_NAME_MAX bytes.
    TERN_ERR_NAME_TOO_LONG = -21,
    /// A lease of no length was asked for. Without end is TERN_FOREVER.
    TERN_ERR_ZERO_TTL = -22,
    /// A time does not fit into 48 bits, or a notice is without end. A lease or wait without end is TERN_FOREVER.
    TERN_ERR_TIME_TOO_LARGE = -23,
    /// The claim asks for more resources than it names.
    TERN_ERR_TOO_FEW_RESOURCES = -24,
    /// The claim names a resource twice.
    TERN_ERR_DUPLICATE_RESOURCE = -25,
    /// A resource must have, or a claim take, at least one slot or some memory.
    TERN_ERR_ZERO_AMOUNT = -26,
    /// No such resource is declared.
    TERN_ERR_UNKNOWN_RESOURCE = -27,
    /// The claim asks for more than there is. Waiting would not help.
    TERN_ERR_IMPOSSIBLE = -28,
    /// No lease of that id is remembered.
    TERN_ERR_UNKNOWN_LEASE = -29,
    /// No ticket of that id is remembered.
    TERN_ERR_UNKNOWN_TICKET = -30,
    /// The lease is over; the error's reason says why.
    TERN_ERR_NOT_HELD = -31,
    /// That is not a reason to revoke a lease.
    TERN_ERR_NOT_A_REVOCATION = -32,
    /// The parent lease is not held.
    TERN_ERR_PARENT_NOT_HELD = -33,
    /// Leases hang at most 16 deep.
    TERN_ERR_TOO_DEEP = -34,
    /// A resource that is in use cannot change its size.
    TERN_ERR_IN_USE = -35,
    /// The holder has declared no such want.
    TERN_ERR_UNKNOWN_WANT = -36,
    /// No process of that number uses the table.
    TERN_ERR_UNKNOWN_PROCESS = -37,
    /// The lease belongs to another user: only that user or root may transfer it.
    TERN_ERR_OTHER_PRINCIPAL = -38,
}

use tern_status_t::*;

/// All of them, with their names.
const NAMES: [(tern_status_t, &std::ffi::CStr); 43] = [
    (TERN_OK, c"TERN_OK"),
    (TERN_BUSY, c"TERN_BUSY"),
    (TERN_TIMEOUT, c"TERN_TIMEOUT"),
    (TERN_EMPTY, c"TERN_EMPTY"),
    (TERN_WAITING, c"TERN_WAITING"),
    (TERN_REFUSED, c"TERN_REFUSED"),
    (TERN_UNCHANGED, c"TERN_UNCHANGED"),
    (TERN_MORE, c"TERN_MORE"),
    (TERN_ERR_NULL, c"TERN_ERR_NULL"),
    (TERN_ERR_BAD_HANDLE, c"TERN_ERR_BAD_HANDLE"),
    (TERN_ERR_CLOSED, c"TERN_ERR_CLOSED"),
    (TERN_ERR_FORKED, c"TERN_ERR_FORKED"),
    (TERN_ERR_POISONED, c"TERN_ERR_POISONED"),
    (TERN_ERR_PANIC, c"TERN_ERR_PANIC"),
    (TERN_ERR_BAD_STRUCT, c"TERN_ERR_BAD_STRUCT"),
    (TERN_ERR_BAD_TEXT, c"TERN_ERR_BAD_TEXT"),
    (TERN_ERR_BAD_VALUE, c"TERN_ERR_BAD_VALUE"),
    (TERN_ERR_BAD_URL, c"TERN_ERR_BAD_URL"),
    (TERN_ERR_UNSUPPORTED, c"TERN_ERR_UNSUPPORTED"),
    (TERN_ERR_VERSION, c"TERN_ERR_VERSION"),
    (TERN_ERR_SYSTEM, c"TERN_ERR_SYSTEM"),
    (TERN_ERR_CORRUPT, c"TERN_ERR_CORRUPT"),
    (TERN_ERR_FULL, c"TERN_ERR_FULL"),
    (TERN_ERR_STUCK, c"TERN_ERR_STUCK"),
    (TERN_ERR_EMPTY_NAME, c"TERN_ERR_EMPTY_NAME"),
    (TERN_ERR_NAME_TOO_LONG, c"TERN_ERR_NAME_TOO_LONG"),
    (TERN_ERR_ZERO_TTL, c"TERN_ERR_ZERO_TTL"),
    (TERN_ERR_TIME_TOO_LARGE, c"TERN_ERR_TIME_TOO_LARGE"),
    (TERN_ERR_TOO_FEW_RESOURCES, c"TERN_ERR_TOO_FEW_RESOURCES"),
    (TERN_ERR_DUPLICATE_RESOURCE, c"TERN_ERR_DUPLICATE_RESOURCE"),
    (TERN_ERR_ZERO_AMOUNT, c"TERN_ERR_ZERO_AMOUNT"),
    (TERN_ERR_UNKNOWN_RESOURCE, c"TERN_ERR_UNKNOWN_RESOURCE"),
    (TERN_ERR_IMPOSSIBLE, c"TERN_ERR_IMPOSSIBLE"),
    (TERN_ERR_UNKNOWN_LEASE, c"TERN_ERR_UNKNOWN_LEASE"),
    (TERN_ERR_UNKNOWN_TICKET, c"TERN_ERR_UNKNOWN_TICKET"),
    (TERN_ERR_NOT_HELD, c"TERN_ERR_NOT_HELD"),
    (TERN_ERR_NOT_A_REVOCATION, c"TERN_ERR_NOT_A_REVOCATION"),
    (TERN_ERR_PARENT_NOT_HELD, c"TERN_ERR_PARENT_NOT_HELD"),
    (TERN_ERR_TOO_DEEP, c"TERN_ERR_TOO_DEEP"),
    (TERN_ERR_IN_USE, c"TERN_ERR_IN_USE"),
    (TERN_ERR_UNKNOWN_WANT, c"TERN_ERR_UNKNOWN_WANT"),
    (TERN_ERR_UNKNOWN_PROCESS, c"TERN_ERR_UNKNOWN_PROCESS"),
    (TERN_ERR_OTHER_PRINCIPAL, c"TERN_ERR_OTHER_PRINCIPAL"),
];

/// The name of a status, such as "TERN_ERR_NULL"; "TERN_STATUS_UNKNOWN" for a number that is none.
/// The text is constant and always there.
#[unsafe(no_mangle)]
pub extern "C" fn tern_status_name(status: i32) -> *const c_char {
    let found = NAMES.iter().find(|(known, _)| *known as i32 == status);
    found.map_or(c"TERN_STATUS_UNKNOWN", |(_, name)| *name).as_ptr()
}

/// The status that stands for an error of the library.
pub(super) fn status_of(error: &Error) -> tern_status_t {
    match error {
        Error::EmptyName => TERN_ERR_EMPTY_NAME,
        Error::NameTooLong => TERN_ERR_NAME_TOO_LONG,
        Error::ZeroTtl => TERN_ERR_ZERO_TTL,
        Error::TimeTooLarge => TERN_ERR_TIME_TOO_LARGE,
        Error::CountExceedsCandidates => TERN_ERR_TOO_FEW_RESOURCES,
        Error::DuplicateCandidate => TERN_ERR_DUPLICATE_RESOURCE,
        Error::ZeroAmount => TERN_ERR_ZERO_AMOUNT,
        Error::UnknownResource => TERN_ERR_UNKNOWN_RESOURCE,
        Error::Impossible => TERN_ERR_IMPOSSIBLE,
        Error::Busy => TERN_BUSY,
        Error::UnknownLease => TERN_ERR_UNKNOWN_LEASE,
        Error::UnknownTicket => TERN_ERR_UNKNOWN_TICKET,
        Error::NotHeld(..) => TERN_ERR_NOT_HELD,
        Error::NotARevocation(_) => TERN_ERR_NOT_A_REVOCATION,
        Error::ParentNotHeld => TERN_ERR_PARENT_NOT_HELD,
        Error::TooDeep => TERN_ERR_TOO_DEEP,
        Error::InUse => TERN_ERR_IN_USE,
        Error::UnknownWant => TERN_ERR_UNKNOWN_WANT,
        Error::Full(_) => TERN_ERR_FULL,
        Error::Refused(Reason::WaitTimedOut) => TERN_TIMEOUT,
        Error::Refused(_) => TERN_REFUSED,
        Error::System(_) | Error::Unavailable => TERN_ERR_SYSTEM,
        Error::Closed => TERN_ERR_CLOSED,
        Error::Forked => TERN_ERR_FORKED,
        Error::Stuck(_) => TERN_ERR_STUCK,
        Error::UnknownProcess => TERN_ERR_UNKNOWN_PROCESS,
        Error::NotShared => TERN_ERR_UNSUPPORTED,
        Error::OtherPrincipal => TERN_ERR_OTHER_PRINCIPAL,
        // The boundary gives times in the manager's own unit, at least one resource, and no islands: these cannot come from a caller.
        Error::Corrupt
        | Error::StoreWentBack { .. }
        | Error::OtherStore
        | Error::TimeBackwards
        | Error::WrongClock
        | Error::CountIsZero
        | Error::UnknownIsland => TERN_ERR_CORRUPT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CStr;

    #[test]
    fn names_are_those_of_the_variants_and_numbers_are_distinct() {
        let mut numbers = std::collections::BTreeSet::new();
        for (status, name) in NAMES {
            assert_eq!(name.to_str().unwrap(), format!("{status:?}"));
            assert!(numbers.insert(status as i32));
            // SAFETY: the function returns constant, terminated texts.
            assert_eq!(unsafe { CStr::from_ptr(tern_status_name(status as i32)) }, name);
        }
        // SAFETY: as above.
        let unknown = unsafe { CStr::from_ptr(tern_status_name(i32::MIN)) };
        assert_eq!(unknown, c"TERN_STATUS_UNKNOWN");
    }
}
