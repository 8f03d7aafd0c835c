//! Why a lease ended or a claim was refused, in words.

use ternlease::Reason;

/// A few words, as in "ended: the holder died".
pub fn words(reason: Reason) -> String {
    let words = match reason {
        Reason::DeadlockVictim => "revoked to break a deadlock",
        Reason::Preempted => "taken by a claim of higher priority",
        Reason::SpareReclaimed => "it was spare, and somebody waited for it",
        Reason::Quota => "its share is used up and others need it",
        Reason::MaxDuration => "the longest allowed time is over",
        Reason::Budget => "the budget is spent",
        Reason::NoProgress => "it renewed but did not work",
        Reason::OverUse => "it used more than it was given",
        Reason::IgnoredNotice => "it ignored an earlier notice",
        Reason::BadToken => "it acted with a stale or foreign token",
        Reason::DeviceFault => "the device failed",
        Reason::NodeDrain => "the machine is being emptied",
        Reason::Reconfigured => "the device was repartitioned or swapped",
        Reason::Operator => "an operator asked for it",
        Reason::Superseded => "a newer lease replaces it",
        Reason::ParentRevoked => "the lease it hung on was revoked",
        Reason::Shutdown => "the service is shutting down",
        Reason::TimedOut => "its time ran out and nobody renewed it",
        Reason::Released => "the holder gave it back",
        Reason::HolderDied => "the holder died",
        Reason::EngineLost => "the store that kept the table was lost",
        Reason::WaitTimedOut => "it waited as long as it wanted to",
        Reason::Cancelled => "the claimer withdrew it",
        Reason::ParentEnded => "the lease that was to be the parent ended",
        // Reasons are only ever added: a newer library may know more of them.
        other => return other.name().to_lowercase().replace('_', " "),
    };
    words.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_words_of_its_own() {
        let all: std::collections::HashSet<String> =
            Reason::ALL.iter().map(|reason| words(*reason)).collect();
        assert_eq!(all.len(), Reason::ALL.len());
        assert!(Reason::ALL.iter().all(|r| words(*r) != r.name().to_lowercase().replace('_', " ")));
    }
}
