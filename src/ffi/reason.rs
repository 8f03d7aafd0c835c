//! Reasons: why a lease is over, or a claim was refused.
//!
//! Reasons are numbers in classes: the hundreds are the class, and the class tells what to do next.
//! Numbers and names are stable and never used again, so that they can be stored, logged and compared.

use std::ffi::{CStr, c_char};

use crate::table::Reason;

/// Why a lease is over, or a claim was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum tern_reason_t {
    /// There is none.
    TERN_REASON_NONE = 0,
    /// Revoked to break a deadlock.
    TERN_REASON_DEADLOCK_VICTIM = 101,
    /// A claim of higher priority took it.
    TERN_REASON_PREEMPTED = 102,
    /// Spare capacity was needed by somebody who waited.
    TERN_REASON_SPARE_RECLAIMED = 103,
    /// The holder's share is used up and others need it.
    TERN_REASON_QUOTA = 104,
    /// The longest allowed time is over.
    TERN_REASON_MAX_DURATION = 201,
    /// The budget is spent.
    TERN_REASON_BUDGET = 202,
    /// The holder renews but does not work.
    TERN_REASON_NO_PROGRESS = 301,
    /// The holder uses more than it was given.
    TERN_REASON_OVER_USE = 302,
    /// An earlier notice was ignored.
    TERN_REASON_IGNORED_NOTICE = 303,
    /// The holder acted with a stale or foreign token.
    TERN_REASON_BAD_TOKEN = 304,
    /// The device failed.
    TERN_REASON_DEVICE_FAULT = 401,
    /// The machine is being emptied.
    TERN_REASON_NODE_DRAIN = 402,
    /// The device was repartitioned or swapped.
    TERN_REASON_RECONFIGURED = 403,
    /// An operator asked for it.
    TERN_REASON_OPERATOR = 501,
    /// A newer lease replaces this one.
    TERN_REASON_SUPERSEDED = 502,
    /// The lease it depends on was revoked.
    TERN_REASON_PARENT_REVOKED = 503,
    /// The service is shutting down.
    TERN_REASON_SHUTDOWN = 504,
    /// The time ran out and nobody renewed.
    TERN_REASON_TIMED_OUT = 601,
    /// The holder gave it back.
    TERN_REASON_RELEASED = 602,
    /// The holder is gone.
    TERN_REASON_HOLDER_DIED = 603,
    /// The store that keeps the table was lost.
    TERN_REASON_ENGINE_LOST = 604,
    /// The claim waited as long as it wanted to.
    TERN_REASON_WAIT_TIMED_OUT = 701,
    /// The claimer withdrew the claim.
    TERN_REASON_CANCELLED = 702,
    /// The lease that was to be the parent ended.
    TERN_REASON_PARENT_ENDED = 703,
}

/// What a class of reasons asks a holder to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum tern_reason_class_t {
    /// Somebody else needed it more. Try again.
    TERN_CLASS_CONTENTION = 1,
    /// A limit was reached. Claim again, as a newcomer.
    TERN_CLASS_LIMIT = 2,
    /// The holder misbehaved. Back off and look.
    TERN_CLASS_CONDUCT = 3,
    /// The thing itself is gone or changing. Go elsewhere.
    TERN_CLASS_RESOURCE = 4,
    /// Somebody in charge said so. Stop and ask.
    TERN_CLASS_AUTHORITY = 5,
    /// The lease was not taken away: it ended.
    TERN_CLASS_ENDED = 6,
    /// A claim was not granted.
    TERN_CLASS_REFUSED = 7,
}

use tern_reason_t::*;

const NAMES: [(tern_reason_t, &CStr); 25] = [
    (TERN_REASON_NONE, c"NONE"),
    (TERN_REASON_DEADLOCK_VICTIM, c"DEADLOCK_VICTIM"),
    (TERN_REASON_PREEMPTED, c"PREEMPTED"),
    (TERN_REASON_SPARE_RECLAIMED, c"SPARE_RECLAIMED"),
    (TERN_REASON_QUOTA, c"QUOTA"),
    (TERN_REASON_MAX_DURATION, c"MAX_DURATION"),
    (TERN_REASON_BUDGET, c"BUDGET"),
    (TERN_REASON_NO_PROGRESS, c"NO_PROGRESS"),
    (TERN_REASON_OVER_USE, c"OVER_USE"),
    (TERN_REASON_IGNORED_NOTICE, c"IGNORED_NOTICE"),
    (TERN_REASON_BAD_TOKEN, c"BAD_TOKEN"),
    (TERN_REASON_DEVICE_FAULT, c"DEVICE_FAULT"),
    (TERN_REASON_NODE_DRAIN, c"NODE_DRAIN"),
    (TERN_REASON_RECONFIGURED, c"RECONFIGURED"),
    (TERN_REASON_OPERATOR, c"OPERATOR"),
    (TERN_REASON_SUPERSEDED, c"SUPERSEDED"),
    (TERN_REASON_PARENT_REVOKED, c"PARENT_REVOKED"),
    (TERN_REASON_SHUTDOWN, c"SHUTDOWN"),
    (TERN_REASON_TIMED_OUT, c"TIMED_OUT"),
    (TERN_REASON_RELEASED, c"RELEASED"),
    (TERN_REASON_HOLDER_DIED, c"HOLDER_DIED"),
    (TERN_REASON_ENGINE_LOST, c"ENGINE_LOST"),
    (TERN_REASON_WAIT_TIMED_OUT, c"WAIT_TIMED_OUT"),
    (TERN_REASON_CANCELLED, c"CANCELLED"),
    (TERN_REASON_PARENT_ENDED, c"PARENT_ENDED"),
];

/// The name of a reason, such as "DEADLOCK_VICTIM"; "UNKNOWN" for a number that is none. The text is constant.
#[unsafe(no_mangle)]
pub extern "C" fn tern_reason_name(reason: i32) -> *const c_char {
    let found = NAMES.iter().find(|(known, _)| *known as i32 == reason);
    found.map_or(c"UNKNOWN", |(_, name)| *name).as_ptr()
}

/// The class of a reason, a tern_reason_class_t; 0 for a number that is none.
#[unsafe(no_mangle)]
pub extern "C" fn tern_reason_class(reason: i32) -> i32 {
    from_code(reason).map_or(0, |reason| reason.class() as i32)
}

pub(super) fn from_code(code: i32) -> Option<Reason> {
    u16::try_from(code).ok().and_then(Reason::from_code)
}

pub(super) fn code(reason: Option<Reason>) -> i32 {
    reason.map_or(0, |reason| reason.code().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::ReasonClass;

    #[test]
    fn the_same_reasons_as_in_rust() {
        assert_eq!(NAMES.len(), Reason::ALL.len() + 1);
        for (reason, (known, name)) in Reason::ALL.iter().zip(&NAMES[1..]) {
            assert_eq!(reason.code() as i32, *known as i32);
            assert_eq!(reason.name(), name.to_str().unwrap());
            assert_eq!(format!("{known:?}"), format!("TERN_REASON_{reason}"));
            assert_eq!(tern_reason_class(*known as i32), reason.class() as i32);
        }
    }

    #[test]
    fn the_same_classes_as_in_rust() {
        use tern_reason_class_t::*;
        for (c, rust) in [
            (TERN_CLASS_CONTENTION, ReasonClass::Contention),
            (TERN_CLASS_LIMIT, ReasonClass::Limit),
            (TERN_CLASS_CONDUCT, ReasonClass::Conduct),
            (TERN_CLASS_RESOURCE, ReasonClass::Resource),
            (TERN_CLASS_AUTHORITY, ReasonClass::Authority),
            (TERN_CLASS_ENDED, ReasonClass::Ended),
            (TERN_CLASS_REFUSED, ReasonClass::Refused),
        ] {
            assert_eq!(c as i32, rust as i32);
        }
        assert_eq!(tern_reason_class(0), 0);
        assert_eq!(tern_reason_class(-1), 0);
        assert_eq!(tern_reason_class(65_536 + 101), 0);
    }
}
