//! What becomes of the lease while the program runs, and what is to be done about it. What happens to leases is the
//! table's decision; this only looks, and translates it into signals.
//!
//! A lease that was taken away leaves the program its notice or its grace. A lease that was lost leaves it nothing: other
//! processes may have the devices already. If etcd does not answer, the program is asked to end while its session lasts,
//! and is killed before the session is over.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use libc::c_int;
use ternlease::{LeaseId, LeaseManager, LeaseState, Reason};

use super::{poll, signals, words};
use crate::exit::{REVOKED, TIMEOUT};
use crate::people::by_words;
use crate::text::units::{duration, remaining};

/// How often to look at a lease that cannot be watched, and at one whose watch says nothing.
const UNWATCHED: Duration = Duration::from_millis(100);
const WATCHED: Duration = Duration::from_secs(1);

/// How long before the end of its session a program is killed: it must be gone before other processes get its devices,
/// and that takes a moment.
const AHEAD: Duration = Duration::from_millis(500);

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
    /// It was asked to end, and is killed when its lease is over, which will be then.
    NoticeRuns(Instant),
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
    /// There may be something that the watch has not told of: it was not looked at before.
    is_new: bool,
    /// It has ended in an ordinary way, and is looked at no more.
    is_over: bool,
    /// By what the command ends if the program does not end by itself.
    code: u8,
}

impl Fate {
    /// Begins to watch. The time that the program may run begins, too.
    pub fn of(lease: Option<(LeaseManager, LeaseId)>, manners: Manners) -> Self {
        // If that fails it is over already, or the system is short of something: it is looked at in any case.
        let watch = lease.as_ref().and_then(|(manager, id)| manager.watch_fd(*id).ok());
        let time_is_up_at = manners.max_time.and_then(|time| Instant::now().checked_add(time));
        let (phase, code) = (Phase::Running, 0);
        Fate { lease, watch, manners, time_is_up_at, phase, is_new: true, is_over: false, code }
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
        let phase = match self.phase {
            Phase::Running => self.time_is_up_at.map(left),
            // Not again and again within the last moment.
            Phase::NoticeRuns(until) => Some(left(until).max(Duration::from_millis(5))),
            Phase::GraceRuns(until) => Some(left(until)),
            Phase::Killed => return None,
        };
        let lease = self.lease.as_ref().map(|(manager, _)| {
            let often = if self.watch.is_some() { WATCHED } else { UNWATCHED };
            // Until the next of the two moments at which something is due if etcd does not answer.
            let due = manager.session_left().map(|left| match self.phase {
                Phase::Running if left > self.notice_at() => left - self.notice_at(),
                _ => left.saturating_sub(AHEAD),
            });
            due.map_or(often, |due| due.clamp(Duration::from_millis(10), often))
        });
        phase.into_iter().chain(lease).min()
    }

    /// Is the lease of a table that is lost when etcd does not answer?
    fn has_session(&self) -> bool {
        self.lease.as_ref().is_some_and(|(manager, _)| manager.session_left().is_some())
    }

    /// How much of the session is left when the program is asked to end.
    fn notice_at(&self) -> Duration {
        self.manners.grace.saturating_add(AHEAD)
    }

    /// Looks; what is to be done?
    pub fn look(&mut self) -> Order {
        let told = self.watch.as_ref().is_none_or(|watch| poll::clear(watch.as_fd()));
        let told = std::mem::take(&mut self.is_new) || told;
        if self.phase == Phase::Killed {
            return Order::GoOn;
        }
        if let Some(what) = self.loss() {
            self.code = self.code().unwrap_or(REVOKED);
            self.phase = Phase::Killed;
            self.say(&format!("is lost: {what}; the program is killed"));
            return Order::Kill;
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
            Phase::Running | Phase::NoticeRuns(_) => self.look_at_the_lease(told),
        }
    }

    /// Why other processes may use the devices now or in a moment, without a notice; `None` if they may not.
    fn loss(&self) -> Option<String> {
        let (manager, id) = self.lease.as_ref()?;
        let silent = manager.jeopardy();
        if let Some(left) = manager.session_left()
            && (left.is_zero() || silent.is_some() && left <= AHEAD)
        {
            let silent = silent.map_or(String::new(), |time| {
                format!(" and has not answered for {}", duration(time))
            });
            return Some(format!(
                "its session with etcd ends{silent}; check the servers and the network"
            ));
        }
        match manager.state(*id) {
            Some(LeaseState::Held) => return None,
            _ if self.is_over => return None,
            None => return Some("its table is not there any more, or damaged".into()),
            Some(_) => {}
        }
        match manager.lease(*id).and_then(|info| info.reason) {
            Some(Reason::EngineLost) if !self.has_session() => Some(
                "its table's file was deleted, replaced or damaged (ENGINE_LOST); other processes \
                 may use the devices already, so let nothing touch that file while it is in use"
                    .into(),
            ),
            Some(Reason::EngineLost) => Some("its session with etcd was over (ENGINE_LOST)".into()),
            Some(Reason::HolderDied) | None => {
                Some("other processes took this one for dead (HOLDER_DIED)".into())
            }
            Some(_) => None,
        }
    }

    /// It is not lost: is it to end, or over?
    fn look_at_the_lease(&mut self, told: bool) -> Order {
        let Some((manager, id)) = &self.lease else { return Order::GoOn };
        let held = manager.state(*id) == Some(LeaseState::Held);
        let silent = manager.jeopardy().is_some();
        match self.phase {
            Phase::NoticeRuns(until) if !held || silent && Instant::now() >= until => {
                self.phase = Phase::Killed;
                return Order::Kill;
            }
            Phase::Running if held && silent => {
                let left = manager.session_left().unwrap_or(Duration::MAX);
                return if left <= self.notice_at() {
                    self.end_for_silence(left)
                } else {
                    Order::GoOn
                };
            }
            // What else there is to know costs a question to etcd, and takes long if it does not answer.
            _ if held && (silent || !told && self.has_session()) => {
                return Order::GoOn;
            }
            _ => {}
        }
        let Some(info) = manager.lease(*id) else { return Order::GoOn };
        let left = Duration::from_micros(info.end.saturating_sub(manager.tick_count()));
        let by = by_words(info.ended_by, info.revoker.as_deref(), self.has_session());
        let why = info.reason.map_or(by.clone(), |reason| format!("{by} ({reason})"));
        match (self.phase, held) {
            (Phase::Running, true) if info.revoking => {
                self.say_asked(&format!("is being taken away{why}: {} left", remaining(left)));
                self.ask_to_end(Phase::NoticeRuns(Instant::now() + left), REVOKED)
            }
            (Phase::NoticeRuns(_), true) => {
                self.phase = Phase::NoticeRuns(Instant::now() + left);
                Order::GoOn
            }
            (_, true) => Order::GoOn,
            (_, false) => {
                self.is_over = true;
                let what = match info.reason.is_some_and(Reason::is_revocation) {
                    true => "was taken away",
                    false => "is over",
                };
                self.say_asked(&format!("{what}{why}: {} left", duration(self.manners.grace)));
                let until = Instant::now() + self.manners.grace;
                self.ask_to_end(Phase::GraceRuns(until), REVOKED)
            }
        }
    }

    /// etcd has not answered for so long that only the grace is left of the session. Once the program was asked to end,
    /// it has to, also if etcd answers again: then it has its whole grace.
    fn end_for_silence(&mut self, left: Duration) -> Order {
        let left = duration(left.saturating_sub(AHEAD).min(self.manners.grace));
        self.say_asked(&format!(
            "ends with its session, because etcd does not answer: {left} left"
        ));
        let until = Instant::now() + self.manners.grace;
        self.ask_to_end(Phase::GraceRuns(until), REVOKED)
    }

    /// The program has run as long as it may. The table is told, so that others see why.
    fn end_for_time(&mut self) -> Order {
        let time = duration(self.manners.max_time.unwrap_or_default());
        let grace = self.manners.grace;
        words::say(&format!("the time is up ({time}): {} left to end", duration(grace)));
        let until = Instant::now() + grace;
        if let Some((manager, id)) = &self.lease {
            let (manager, id) = (manager.clone(), *id);
            let note = move || {
                // For others to see. If it fails, the program ends all the same.
                let _ = manager.revoke_with(id, Reason::MaxDuration, "--max-time", grace);
            };
            // Asking etcd may take long, and nothing here may wait for it.
            match self.has_session() {
                true => drop(std::thread::Builder::new().spawn(note)),
                false => note(),
            }
        }
        self.ask_to_end(Phase::GraceRuns(until), TIMEOUT)
    }

    fn ask_to_end(&mut self, phase: Phase, code: u8) -> Order {
        (self.phase, self.code) = (phase, code);
        Order::Ask(self.manners.notice_signal)
    }

    /// Says what becomes of the lease, and that the program is asked to end.
    fn say_asked(&self, what: &str) {
        let signal = signals::name(self.manners.notice_signal);
        self.say(&format!("{what}; the program gets {signal}, then SIGKILL"));
    }

    fn say(&self, what: &str) {
        let id = self.lease.as_ref().map_or(String::new(), |(_, id)| format!(" {id}"));
        words::say(&format!("lease{id} {what}"));
    }
}
