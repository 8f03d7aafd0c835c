//! Standing in line: telling where, and leaving it when told to.

use std::io::{IsTerminal, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use libc::c_int;
use ternlease::{
    Error, GpuClaim, GpuPool, LeaseId, LeaseState, Outcome, PoolError, TicketId, TicketState,
};

use super::poll::{Ready, await_any};
use super::signals::Signals;
use super::words;
use crate::text::units::duration;

/// How often the line on a terminal is written anew, and how often a log looks whether there is something to write.
const ON_A_TERMINAL: Duration = Duration::from_millis(400);
const IN_A_LOG: Duration = Duration::from_secs(1);

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The devices are ours.
    Granted(LeaseId),
    /// The pool has no devices.
    NoDevices,
    /// A signal came first. Nothing was left behind.
    Interrupted(c_int),
    /// The one for whom it is has ended. Nothing was left behind.
    NobodyThere,
}

/// Asks, and waits as long as the claim says. `owner` becomes readable if nobody needs the answer any more.
pub fn stand(
    pool: &GpuPool,
    claim: GpuClaim<'_>,
    signals: &Signals,
    owner: Option<BorrowedFd<'_>>,
    quiet: bool,
) -> Result<Answer, PoolError> {
    let ticket = match claim.submit()? {
        None => return Ok(Answer::NoDevices),
        Some(Outcome::Granted(lease)) => return Ok(Answer::Granted(lease)),
        Some(Outcome::Waiting(id)) => Waiting { pool, id, decided: false },
    };
    if !quiet && let Some(around) = lease_around(pool) {
        words::say(&format!(
            "this runs within lease {around}, which keeps its devices meanwhile; to use those, start \
             the program without `ternlease run`"
        ));
    }
    ticket.wait(signals, owner, &mut Teller::new(quiet))
}

/// The lease of the program that has started this, if it is still held: to wait for its devices would be to wait for oneself.
fn lease_around(pool: &GpuPool) -> Option<LeaseId> {
    let id = LeaseId(std::env::var("TERNLEASE_LEASE").ok()?.parse().ok()?);
    (pool.manager().state(id) == Some(LeaseState::Held)).then_some(id)
}

/// A place in line, which is left when this goes.
struct Waiting<'a> {
    pool: &'a GpuPool,
    id: TicketId,
    decided: bool,
}

impl Waiting<'_> {
    fn wait(
        mut self,
        signals: &Signals,
        owner: Option<BorrowedFd<'_>>,
        teller: &mut Teller,
    ) -> Result<Answer, PoolError> {
        let manager = self.pool.manager();
        let decided = manager.ticket_fd(self.id)?;
        loop {
            let pause = teller.tell(self.pool, self.id);
            let ready = await_any(&[Some(signals.as_fd()), Some(decided.as_fd()), owner], pause);
            if ready.contains(Ready(0))
                && let Some(signal) = signals.next()
            {
                teller.wipe();
                return Ok(Answer::Interrupted(signal));
            }
            if ready.contains(Ready(1)) {
                match manager.wait_for_ticket(self.id, Some(Duration::ZERO))? {
                    TicketState::Waiting => {}
                    TicketState::Granted(lease) => {
                        self.decided = true;
                        teller.tell_end(self.pool, lease);
                        return Ok(Answer::Granted(lease));
                    }
                    TicketState::Refused(reason) => {
                        self.decided = true;
                        teller.wipe();
                        return Err(Error::Refused(reason).into());
                    }
                }
            }
            if ready.contains(Ready(2)) {
                teller.wipe();
                return Ok(Answer::NobodyThere);
            }
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.decided {
            // What it was granted at this very moment is given back. It fails only if the table is of no use any more.
            let _ = self.pool.manager().cancel_ticket(self.id);
        }
    }
}

/// Tells where in line we are.
struct Teller {
    since: Instant,
    style: Style,
    told: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Silent,
    /// One line, written again and again.
    Terminal,
    /// A line whenever the place has changed.
    Log,
}

impl Teller {
    fn new(quiet: bool) -> Self {
        let style = match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Style::Silent,
            (false, true) => Style::Terminal,
            (false, false) => Style::Log,
        };
        Teller { since: Instant::now(), style, told: None }
    }

    /// Tells what is new; how long to wait before the next time.
    fn tell(&mut self, pool: &GpuPool, ticket: TicketId) -> Option<Duration> {
        let pause = match self.style {
            Style::Silent => return None,
            Style::Terminal => ON_A_TERMINAL,
            Style::Log => IN_A_LOG,
        };
        let place = pool.manager().ticket_place(ticket);
        let Some(place) = place else { return Some(pause) };
        if self.style == Style::Log && self.told == Some(place) {
            return Some(pause);
        }
        let expected = words::expected(pool.expected_wait_of(ticket));
        let waited = match self.since.elapsed().as_secs() {
            0 => String::new(),
            seconds => format!(", waited {}", duration(Duration::from_secs(seconds))),
        };
        let text = format!("waiting, place {place} in line{expected}{waited}");
        match self.style {
            Style::Terminal => {
                let _ = write!(std::io::stderr(), "\r\x1b[Kternlease: {text}");
            }
            _ => words::say(&text),
        }
        self.told = Some(place);
        Some(pause)
    }

    /// Nothing is left of the line on the terminal.
    fn wipe(&self) {
        if self.style == Style::Terminal && self.told.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }

    fn tell_end(&self, pool: &GpuPool, lease: LeaseId) {
        self.wipe();
        if self.style == Style::Log && self.told.is_some() {
            let taken = pool.manager().lease(lease).map_or(Vec::new(), |info| info.takes);
            let names = (0..pool.capacity()).filter(|&place| {
                pool.key(place).is_some_and(|key| taken.iter().any(|one| one.resource == key))
            });
            let names: Vec<String> =
                names.map(|place| words::device_name(&pool.devices()[place])).collect();
            words::say(&format!(
                "got {} after {}",
                names.join(", "),
                duration(self.since.elapsed())
            ));
        }
    }
}
