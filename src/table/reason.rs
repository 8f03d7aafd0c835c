//! Why a lease ended or a claim was refused.
//!
//! Reasons are numbers in classes: the hundreds digit is the class. The numbers
//! are stable and append-only, so that they can be stored, logged and compared
//! across versions and languages.

/// The family a [`Reason`] belongs to; it tells the holder what to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u16)]
#[non_exhaustive]
pub enum ReasonClass {
    /// Somebody else needed it more. Try again.
    Contention = 1,
    /// A limit was reached. Claim again, as a newcomer.
    Limit = 2,
    /// The holder misbehaved. Back off and look.
    Conduct = 3,
    /// The thing itself is gone or changing. Go elsewhere.
    Resource = 4,
    /// Somebody in charge said so. Stop and ask.
    Authority = 5,
    /// The lease was not taken away: it ended.
    Ended = 6,
    /// A claim was not granted.
    Refused = 7,
}

impl ReasonClass {
    /// What the holder should do, in a few words.
    pub(crate) const fn advice(self) -> &'static str {
        match self {
            ReasonClass::Contention => "claim again",
            ReasonClass::Limit => "claim again, as a newcomer",
            ReasonClass::Conduct => "back off, and look at what the holder does",
            ReasonClass::Resource => "claim something else",
            ReasonClass::Authority => "stop, and ask who did it",
            ReasonClass::Ended | ReasonClass::Refused => "claim again if it is still needed",
        }
    }
}

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $code:literal $text:literal,)*) => {
        /// Why a lease ended or a claim was refused. The [class](Reason::class) tells the holder what to do next.
        ///
        /// ```
        /// use ternlease::{Reason, ReasonClass};
        ///
        /// let reason = Reason::from_code(401).unwrap();
        /// assert_eq!((reason, reason.name()), (Reason::DeviceFault, "DEVICE_FAULT"));
        /// assert_eq!(reason.class(), ReasonClass::Resource); // go elsewhere
        /// assert!(reason.is_revocation() && !Reason::TimedOut.is_revocation());
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        #[non_exhaustive]
        pub enum Reason { $($(#[$doc])* $name = $code,)* }

        impl Reason {
            /// Every reason, in the order of their numbers.
            pub const ALL: &'static [Reason] = &[$(Reason::$name,)*];

            /// The reason with this number, if there is one.
            pub const fn from_code(code: u16) -> Option<Reason> {
                match code { $($code => Some(Reason::$name),)* _ => None }
            }

            /// The stable name, as written in logs and JSON.
            pub const fn name(self) -> &'static str {
                match self { $(Reason::$name => $text,)* }
            }
        }
    };
}

reasons! {
    /// Revoked to break a deadlock.
    DeadlockVictim = 101 "DEADLOCK_VICTIM",
    /// A claim of higher priority took it.
    Preempted = 102 "PREEMPTED",
    /// Spare capacity was needed by somebody who waited.
    SpareReclaimed = 103 "SPARE_RECLAIMED",
    /// The holder's share is used up and others need it.
    Quota = 104 "QUOTA",
    /// The longest allowed time is over.
    MaxDuration = 201 "MAX_DURATION",
    /// The budget is spent.
    Budget = 202 "BUDGET",
    /// The holder renews but does not work.
    NoProgress = 301 "NO_PROGRESS",
    /// The holder uses more than it was given.
    OverUse = 302 "OVER_USE",
    /// An earlier notice was ignored.
    IgnoredNotice = 303 "IGNORED_NOTICE",
    /// The holder acted with a stale or foreign token.
    BadToken = 304 "BAD_TOKEN",
    /// The device failed.
    DeviceFault = 401 "DEVICE_FAULT",
    /// The machine is being emptied.
    NodeDrain = 402 "NODE_DRAIN",
    /// The device was repartitioned or swapped.
    Reconfigured = 403 "RECONFIGURED",
    /// An operator asked for it.
    Operator = 501 "OPERATOR",
    /// A newer lease replaces this one.
    Superseded = 502 "SUPERSEDED",
    /// The lease it depends on was revoked.
    ParentRevoked = 503 "PARENT_REVOKED",
    /// The service is shutting down.
    Shutdown = 504 "SHUTDOWN",
    /// The time ran out and nobody renewed.
    TimedOut = 601 "TIMED_OUT",
    /// The holder gave it back.
    Released = 602 "RELEASED",
    /// The holder is gone.
    HolderDied = 603 "HOLDER_DIED",
    /// The store that keeps the table was lost.
    EngineLost = 604 "ENGINE_LOST",
    /// The claim waited as long as it wanted to.
    WaitTimedOut = 701 "WAIT_TIMED_OUT",
    /// The claimer withdrew the claim.
    Cancelled = 702 "CANCELLED",
    /// The lease that was to be the parent ended.
    ParentEnded = 703 "PARENT_ENDED",
}

impl Reason {
    /// The stable number.
    pub const fn code(self) -> u16 {
        self as u16
    }

    /// The family of this reason.
    pub const fn class(self) -> ReasonClass {
        match self.code() / 100 {
            1 => ReasonClass::Contention,
            2 => ReasonClass::Limit,
            3 => ReasonClass::Conduct,
            4 => ReasonClass::Resource,
            5 => ReasonClass::Authority,
            6 => ReasonClass::Ended,
            _ => ReasonClass::Refused,
        }
    }

    /// True if a lease that ends for this reason is revoked (-1), not expired (0).
    pub const fn is_revocation(self) -> bool {
        self.code() < 600
    }

    /// Where the counter of this reason lives: by class, then by number within it.
    #[inline(always)]
    pub(crate) const fn place(self) -> (usize, usize) {
        let code = self.code() as usize;
        ((code / 100 - 1) % Self::CLASSES, (code % 100 - 1) % Self::PER_CLASS)
    }

    pub(crate) const CLASSES: usize = 7;
    pub(crate) const PER_CLASS: usize = 8;
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_sorted_and_round_trip() {
        for pair in Reason::ALL.windows(2) {
            assert!(pair[0].code() < pair[1].code());
        }
        let mut places = std::collections::BTreeSet::new();
        for reason in Reason::ALL {
            assert_eq!(Reason::from_code(reason.code()), Some(*reason));
            assert!(places.insert(reason.place()), "two reasons share a counter");
        }
        assert_eq!(Reason::from_code(0), None);
        assert_eq!(Reason::from_code(105), None);
    }

    #[test]
    fn classes_follow_the_hundreds() {
        for reason in Reason::ALL {
            assert_eq!(reason.class() as u16, reason.code() / 100, "{reason}");
            assert_eq!(reason.is_revocation(), reason.class() < ReasonClass::Ended, "{reason}");
        }
    }

    #[test]
    fn each_class_has_an_advice_of_its_own() {
        let all: std::collections::BTreeSet<_> =
            Reason::ALL.iter().map(|reason| reason.class().advice()).collect();
        // What ended and what was refused are the same to who still needs it.
        assert_eq!(all.len(), 6);
        assert!(all.iter().all(|advice| advice.len() > 5));
    }
}
