//! What becomes of the lease while the program runs, and what is to be done about it. What happens to leases is the
//! table's decision; this only looks, and translates it into signals.
//!
//! A lease that was taken away leaves the program its notice or its grace. A lease that was lost leaves it nothing: other
//! processes may have the devices already. If etcd does not answer, the program is asked to end while its session lasts,
//! and is killed before the session is over.
//!
//! No deadline depends on a call that can block. They are kept by the local clock. The details of
//! the lease are read on another thread, because the table can be locked by a stopped process, or
//! wait for etcd.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use libc::c_int;
use ternlease::{LeaseId, LeaseInfo, LeaseManager, LeaseState, Reason};

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

/// How often SIGKILL is repeated until the program is gone.
const KILL_AGAIN: Duration = Duration::from_millis(100);

/// How long one look waits for the details of the lease. It does not delay signals by more.
const READ_WAIT: Duration = Duration::from_millis(10);

/// How long a read of the details may take: for a lease that has ended, before the program is
/// killed; for a program that has ended, before the command ends.
const READ_TIMEOUT: Duration = Duration::from_secs(1);

/// Why a lease of a table in a file is lost.
const LOST_FILE: &str = "the file of the lease table was deleted, replaced or damaged \
                         (ENGINE_LOST); other processes may use the devices already; do not \
                         modify or remove that file while it is in use";

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
    /// Kill it, and all below it. Repeated until it is gone.
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
    /// The lease may have changed since its details were read.
    has_news: bool,
    /// The details of the lease, which another thread reads, and since when.
    reading: Option<(Receiver<Option<LeaseInfo>>, Instant)>,
    /// To be printed once the order is carried out: printing can block.
    unsaid: Option<String>,
    /// It has ended in an ordinary way, and is looked at no more.
    is_over: bool,
    /// By what the command ends if the program does not end by itself.
    code: u8,
}

impl Drop for Fate {
    /// The thread that reads the lease has a handle of the table. Only after it has dropped that
    /// handle does this process leave the table before it exits.
    fn drop(&mut self) {
        if let Some((answer, _)) = self.reading.take() {
            let _ = answer.recv_timeout(READ_TIMEOUT);
        }
    }
}

impl Fate {
    /// Begins to watch. The time that the program may run begins, too.
    pub fn of(lease: Option<(LeaseManager, LeaseId)>, manners: Manners) -> Self {
        // If that fails it is over already, or the system is short of something: it is looked at in any case.
        let watch = lease.as_ref().and_then(|(manager, id)| manager.watch_fd(*id).ok());
        let time_is_up_at = manners.max_time.and_then(|time| Instant::now().checked_add(time));
        Fate {
            lease,
            watch,
            manners,
            time_is_up_at,
            phase: Phase::Running,
            has_news: true,
            reading: None,
            unsaid: None,
            is_over: false,
            code: 0,
        }
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
            Phase::Killed => return Some(KILL_AGAIN),
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
        let reading = self.reading.is_some().then_some(READ_WAIT);
        phase.into_iter().chain(lease).chain(reading).min()
    }

    /// Is the lease of a table that is lost when etcd does not answer?
    fn has_session(&self) -> bool {
        self.lease.as_ref().is_some_and(|(manager, _)| manager.session_left().is_some())
    }

    /// How much of the session is left when the program is asked to end.
    fn notice_at(&self) -> Duration {
        self.manners.grace.saturating_add(AHEAD)
    }

    /// Looks; what is to be done? [`Self::explain`] says why, after that.
    pub fn look(&mut self) -> Order {
        let told = self.watch.as_ref().is_none_or(|watch| poll::clear(watch.as_fd()));
        self.has_news |= told;
        if self.phase == Phase::Killed {
            return Order::Kill;
        }
        if let Some(why) = self.loss() {
            return self.kill_for_loss(&why);
        }
        let now = Instant::now();
        if self.phase == Phase::Running && self.time_is_up_at.is_some_and(|at| now >= at) {
            return self.end_for_time();
        }
        match self.phase {
            // A notice is never extended, so whether the table knows of its end does not matter.
            Phase::GraceRuns(until) | Phase::NoticeRuns(until) if now >= until => self.kill(),
            _ => self.look_at_the_lease(),
        }
    }

    /// Prints what the last order was for. After it was carried out: a reader of standard error
    /// that does not read must not delay it.
    pub fn explain(&mut self) {
        if let Some(text) = self.unsaid.take() {
            words::say(&text);
        }
    }

    /// Why other processes may use the devices now or in a moment, without a notice; `None` if they
    /// may not. By what this process knows itself: never blocks.
    fn loss(&self) -> Option<String> {
        let (manager, _) = self.lease.as_ref()?;
        if let Some(left) = manager.session_left() {
            let silent = manager.jeopardy();
            if !left.is_zero() && (silent.is_none() || left > AHEAD) {
                return None;
            }
            let what = if left.is_zero() { "has ended" } else { "is ending" };
            let silent = silent.map_or(String::new(), |time| {
                format!("; etcd has not answered for {}", duration(time))
            });
            return Some(format!(
                "the etcd session {what}{silent}; check the servers and the network"
            ));
        }
        (manager.is_lost() && !self.is_over).then(|| LOST_FILE.to_owned())
    }

    /// It is not lost: is it to end, or over?
    fn look_at_the_lease(&mut self) -> Order {
        let Some((manager, id)) = &self.lease else { return Order::GoOn };
        // In a cluster the state of a lease that has ended is a question to etcd. The watch tells
        // of that end, and until then the lease is held.
        let held = self.has_session() || manager.state(*id) == Some(LeaseState::Held);
        if !held && matches!(self.phase, Phase::NoticeRuns(_)) {
            return self.kill();
        }
        self.has_news |= !held && !self.is_over;
        if let Some(info) = self.read() {
            let order = self.judge(info, held);
            if order != Order::GoOn {
                return order;
            }
        } else if !held
            && !self.is_over
            && self.reading.as_ref().is_some_and(|(_, since)| since.elapsed() >= READ_TIMEOUT)
        {
            return self.kill_for_loss("it has ended, and the lease table does not answer");
        }
        let Some((manager, _)) = &self.lease else { return Order::GoOn };
        match (manager.jeopardy(), manager.session_left()) {
            (Some(_), Some(left)) if self.phase == Phase::Running && left <= self.notice_at() => {
                self.end_for_silence(left)
            }
            _ => Order::GoOn,
        }
    }

    /// The details of the lease, if there may be news and they are known in time: otherwise a later
    /// look gets them. The thread that reads them can be blocked while a stopped process has the
    /// table locked, or while etcd does not answer a command of this process.
    fn read(&mut self) -> Option<Option<LeaseInfo>> {
        if self.reading.is_none() {
            if !std::mem::take(&mut self.has_news) {
                return None;
            }
            let (manager, id) = self.lease.clone()?;
            let (send, receive) = channel();
            let read = move || {
                let info = manager.known_lease(id);
                // Before the answer is sent: the last handle that is dropped closes the table.
                drop(manager);
                let _ = send.send(info);
            };
            if std::thread::Builder::new().spawn(read).is_err() {
                let (manager, id) = self.lease.as_ref()?;
                return Some(manager.known_lease(*id));
            }
            self.reading = Some((receive, Instant::now()));
        }
        let answer = self.reading.as_ref()?.0.recv_timeout(READ_WAIT);
        match answer {
            Ok(info) => {
                self.reading = None;
                Some(info)
            }
            Err(RecvTimeoutError::Timeout) => None,
            // It has panicked.
            Err(RecvTimeoutError::Disconnected) => {
                (self.reading, self.has_news) = (None, true);
                None
            }
        }
    }

    /// What the details of the lease demand. `held` is false if it is known to have ended.
    fn judge(&mut self, info: Option<LeaseInfo>, held: bool) -> Order {
        let Some((manager, _)) = &self.lease else { return Order::GoOn };
        if self.is_over {
            return Order::GoOn;
        }
        let Some(info) = info else {
            return self.kill_for_loss("the lease table is missing or corrupt");
        };
        let left = Duration::from_micros(info.end.saturating_sub(manager.tick_count()));
        let by = by_words(info.ended_by, info.revoker.as_deref(), self.has_session());
        let why = info.reason.map_or(by.clone(), |reason| format!("{by} ({reason})"));
        if held && info.state == LeaseState::Held {
            return match self.phase {
                Phase::Running if info.revoking => {
                    self.say_asked(&format!("is being taken away{why}: {} left", remaining(left)));
                    self.ask_to_end(Phase::NoticeRuns(Instant::now() + left), REVOKED)
                }
                Phase::NoticeRuns(_) => {
                    self.phase = Phase::NoticeRuns(Instant::now() + left);
                    Order::GoOn
                }
                _ => Order::GoOn,
            };
        }
        match info.reason {
            Some(Reason::EngineLost) => {
                let session = "the etcd session has ended (ENGINE_LOST)";
                self.kill_for_loss(if self.has_session() { session } else { LOST_FILE })
            }
            Some(Reason::HolderDied) | None => {
                self.kill_for_loss("another process declared this process dead (HOLDER_DIED)")
            }
            Some(reason) => match self.phase {
                Phase::NoticeRuns(_) => self.kill(),
                Phase::Running => {
                    self.is_over = true;
                    let what = match reason.is_revocation() {
                        true => "was taken away",
                        false => "is over",
                    };
                    let grace = self.manners.grace;
                    self.say_asked(&format!("{what}{why}: {} left", duration(grace)));
                    self.ask_to_end(Phase::GraceRuns(Instant::now() + grace), REVOKED)
                }
                Phase::GraceRuns(_) | Phase::Killed => {
                    self.is_over = true;
                    Order::GoOn
                }
            },
        }
    }

    fn kill_for_loss(&mut self, why: &str) -> Order {
        self.say(&format!("is lost: {why}; the program is killed"));
        self.kill()
    }

    fn kill(&mut self) -> Order {
        self.code = self.code().unwrap_or(REVOKED);
        self.phase = Phase::Killed;
        Order::Kill
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
        self.unsaid = Some(format!("the time is up ({time}): {} left to end", duration(grace)));
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
    fn say_asked(&mut self, what: &str) {
        let signal = signals::name(self.manners.notice_signal);
        self.say(&format!("{what}; the program gets {signal}, then SIGKILL"));
    }

    /// With [`Self::explain`].
    fn say(&mut self, what: &str) {
        let id = self.lease.as_ref().map_or(String::new(), |(_, id)| format!(" {id}"));
        self.unsaid = Some(format!("lease{id} {what}"));
    }
}
