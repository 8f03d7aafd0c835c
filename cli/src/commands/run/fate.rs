//! What becomes of the lease while the program runs, and what is to be done about it. What happens to leases is the table's decision; this only
//! looks, and translates it into signals.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use libc::c_int;
use ternlease::{LeaseId, LeaseManager, LeaseState, Reason};

use super::{poll, signals, words};
use crate::exit::{REVOKED, TIMEOUT};
use crate::text::units::duration;

/// How often to look at a lease that cannot be watched.
const UNWATCHED: Duration = Duration::from_millis(100);

/// How the program is to be ended if it must be.
#[derive(Debug, Clone, Copy)]
pub struct Manners {
    /// The signal that asks it to end.
    pub notice_signal: c_int,
    /// How long it has after that, if the lease does not say.
    pub grace: Duration,
    /// How long it may run.
    pub max_time: Option<Duration>,
}

/// What is to be done now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Nothing.
    GoOn,
    /// Send it this signal.
    Ask(c_int),
    /// Kill it.
    Kill,
}

/// How far it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// All is well.
    Running,
    /// It was asked to end, and is killed when its lease is over.
    NoticeRuns,
    /// It was asked to end, and is killed then.
    GraceRuns(Instant),
    /// It was killed.
    Killed,
}

/// The lease of a running program; none if it has no devices.
#[derive(Debug)]
pub struct Fate {
    lease: Option<(LeaseManager, LeaseId)>,
    watch: Option<OwnedFd>,
    manners: Manners,
    time_is_up_at: Option<Instant>,
    phase: Phase,
    /// By what the command ends if the program does not end by itself.
    code: u8,
}

impl Fate {
    /// Begins to watch. The time that the program may run begins, too.
    pub fn of(lease: Option<(LeaseManager, LeaseId)>, manners: Manners) -> Self {
        // If that fails it is over already, or the system is short of something: it is looked at in any case.
        let watch = lease.as_ref().and_then(|(manager, id)| manager.watch_fd(*id).ok());
        let time_is_up_at = manners.max_time.and_then(|time| Instant::now().checked_add(time));
        Fate { lease, watch, manners, time_is_up_at, phase: Phase::Running, code: 0 }
    }

    /// Acts while this process is at work on no table: nobody waits for one that stops then.
    pub fn at_rest(&self, act: impl FnOnce()) {
        match &self.lease {
            Some((manager, _)) => manager.at_rest(act),
            None => act(),
        }
    }

    /// Readable when there is something to look at.
    pub fn watch(&self) -> Option<BorrowedFd<'_>> {
        self.watch.as_ref().map(AsFd::as_fd)
    }

    /// Was the program asked to end? Then what it ends with says little; this is what the command ends with.
    pub fn code(&self) -> Option<u8> {
        (self.phase != Phase::Running).then_some(self.code)
    }

    /// When to look again, at the latest.
    pub fn look_within(&self) -> Option<Duration> {
        let left = |at: Instant| at.saturating_duration_since(Instant::now());
        match self.phase {
            Phase::Running if self.watch.is_none() && self.lease.is_some() => Some(UNWATCHED),
            Phase::Running => self.time_is_up_at.map(left),
            Phase::NoticeRuns => self.left_of_the_lease(),
            Phase::GraceRuns(until) => Some(left(until)),
            Phase::Killed => None,
        }
    }

    /// The watch tells of the end; this is for when it does not.
    fn left_of_the_lease(&self) -> Option<Duration> {
        let (manager, id) = self.lease.as_ref()?;
        let end = manager.lease(*id)?.end;
        // Not again and again within the last moment.
        let left = Duration::from_micros(end.saturating_sub(manager.tick_count()));
        Some(left.max(Duration::from_millis(1)))
    }

    /// Looks; what is to be done?
    pub fn look(&mut self) -> Order {
        if let Some(watch) = &self.watch {
            poll::clear(watch.as_fd());
        }
        if self.phase == Phase::Running && self.time_is_up_at.is_some_and(|at| Instant::now() >= at)
        {
            return self.end_for_time();
        }
        match self.phase {
            Phase::GraceRuns(until) if Instant::now() >= until => {
                self.phase = Phase::Killed;
                Order::Kill
            }
            Phase::GraceRuns(_) | Phase::Killed => Order::GoOn,
            Phase::Running | Phase::NoticeRuns => self.look_at_the_lease(),
        }
    }

    fn look_at_the_lease(&mut self) -> Order {
        let Some((manager, id)) = &self.lease else { return Order::GoOn };
        let info = manager.lease(*id);
        let held = manager.state(*id) == Some(LeaseState::Held);
        match (self.phase, held, info) {
            (Phase::Running, true, Some(info)) if info.revoking => {
                let left = Duration::from_micros(info.end.saturating_sub(manager.tick_count()));
                let why = told(info.reason, info.revoker.as_deref());
                self.say(&format!("is being taken away{why}: {} left", duration(left)));
                self.ask_to_end(Phase::NoticeRuns, REVOKED)
            }
            (_, true, _) => Order::GoOn,
            (Phase::NoticeRuns, false, _) => {
                self.phase = Phase::Killed;
                Order::Kill
            }
            (_, false, info) => {
                let (reason, revoker) =
                    info.map_or((None, None), |info| (info.reason, info.revoker));
                let why = told(reason, revoker.as_deref());
                let what = match reason.is_some_and(Reason::is_revocation) {
                    true => "was taken away",
                    false => "is over",
                };
                self.say(&format!("{what}{why}: {} left", duration(self.manners.grace)));
                let until = Instant::now() + self.manners.grace;
                self.ask_to_end(Phase::GraceRuns(until), REVOKED)
            }
        }
    }

    /// The program has run as long as it may. The table is told, so that others see why.
    fn end_for_time(&mut self) -> Order {
        let time = duration(self.manners.max_time.unwrap_or_default());
        let grace = self.manners.grace;
        words::say(&format!("the time is up ({time}): {} left to end", duration(grace)));
        let until = Instant::now() + grace;
        let noticed = match &self.lease {
            Some((manager, id)) => {
                manager.revoke_with(*id, Reason::MaxDuration, "--max-time", grace).is_ok()
            }
            None => false,
        };
        match noticed && !grace.is_zero() {
            true => self.ask_to_end(Phase::NoticeRuns, TIMEOUT),
            false => self.ask_to_end(Phase::GraceRuns(until), TIMEOUT),
        }
    }

    fn ask_to_end(&mut self, phase: Phase, code: u8) -> Order {
        (self.phase, self.code) = (phase, code);
        Order::Ask(self.manners.notice_signal)
    }

    fn say(&self, what: &str) {
        let id = self.lease.as_ref().map_or(String::new(), |(_, id)| format!(" {id}"));
        let signal = signals::name(self.manners.notice_signal);
        words::say(&format!("lease{id} {what}; the program gets {signal}, then SIGKILL"));
    }
}

/// The reason, and who did it, as a part of a sentence.
fn told(reason: Option<Reason>, by: Option<&str>) -> String {
    let by = by.filter(|by| !by.is_empty()).map_or(String::new(), |by| format!(" by {by}"));
    let reason = reason.map_or(String::new(), |reason| format!(" ({reason})"));
    format!("{by}{reason}")
}
