//! The home of a table that one process uses.
//!
//! One mutex guards the table and the waiters. A command runs under it to its end. The tickets that
//! it resolved are taken from the table before unlock, and their wakers are called after. A woken
//! waiter reads its lease from the ticket without the lock.
//!
//! Reads that need no lock read the table's memory: the state of a lease, of a ticket, and a plain
//! renewal (`table/slot.rs` has the argument).
//!
//! The ticker starts with the first waiter or subscriber, if the clock is real. `ticker_until` says
//! until when it sleeps, so that a command wakes it only if something is due earlier.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::{Duration, Instant};

use super::clock::Clock;
#[cfg(target_os = "linux")]
use super::event_fd::EventFd;
use super::lifecycle::{Lifecycle, Steps};
use super::ticker::{Ticked, Ticker};
use super::waiters::{self, Subscription, Waiters, WakeList, WakerKind};
use super::{Home, actor};
use crate::memory::{Arrays, try_new_table};
use crate::rt::{self, Mutex, MutexGuard};
use crate::table::command::{Collected, GrantDetail, Place, Renew};
use crate::table::query::HeldCount;
use crate::table::{
    self, Claim, Command, Error, FOREVER, Issuer, LeaseId, LeaseState, Placed, Query, Settings,
    Table, TicketId, TicketState, Time, first_sequence,
};

/// The longest sleep of the ticker. A timed sleep does not count the time for which the machine was
/// suspended, so this bounds how late the ticker is after it.
const SLEEP_MAX: Duration = Duration::from_secs(1);

/// The shortest: a table that cannot run what is due must not keep a processor busy.
const SLEEP_MIN: Duration = Duration::from_millis(10);

/// The interval at which a waiter reads the clock if the system refused to start the ticker.
const NO_TICKER_POLL: Duration = Duration::from_millis(10);

/// No id of any table of this process is larger.
static LAST_ID: AtomicU64 = AtomicU64::new(0);

/// Numbers for the ids of one table. No other table of this process gets them, so that an id of one
/// table is unknown to all others.
fn numbers(bits: u32) -> Range<u64> {
    // As many ids as a clock passes in 1/64 of a second.
    let count = (1 << 25 >> bits).max(16);
    let range = |last: u64| (last >> bits) + 1..(last >> bits) + 1 + count;
    let next = |last| Some(range(last).end << bits);
    let (Ok(last) | Err(last)) = LAST_ID.fetch_update(Ordering::AcqRel, Ordering::Acquire, next);
    range(last)
}

/// See the module's text.
#[derive(Debug)]
pub(crate) struct ProcessHome {
    /// For the ticker, which any command may start.
    me: Weak<ProcessHome>,
    memory: Arrays,
    issuer: Issuer,
    clock: Clock,
    steps: Steps,
    state: Mutex<State>,
    ticker: Ticker,
    ticker_refused: AtomicBool,
}

#[derive(Debug)]
struct State {
    table: Table<Arrays>,
    waiters: Waiters,
    /// Until when the ticker sleeps; `None` while it does not run.
    ticker_until: Option<Time>,
}

impl State {
    /// Does a waiter or a subscriber depend on what is due?
    fn is_awaited(&self) -> bool {
        self.table.waiting() != 0 || self.waiters.has_subscribers()
    }
}

impl ProcessHome {
    /// A new table; `None` if the system does not provide the memory. With a real clock, ids grow
    /// from table to table: they start above the wall clock and above every id of this process.
    pub fn try_new(mut settings: Settings, real_clock: bool) -> Option<Arc<Self>> {
        settings.numbers = Some(numbers);
        if real_clock {
            let bits = settings.limits.sizes().id_bits();
            let first = first_sequence(settings.limits, rt::since_1970()) << bits;
            LAST_ID.fetch_max(first, Ordering::AcqRel);
        }
        let table = try_new_table(settings)?;
        let memory = table.memory().clone();
        let clock = if real_clock { Clock::Real } else { Clock::Ticks(AtomicU64::new(0)) };
        let state = State { table, waiters: Waiters::default(), ticker_until: None };
        Some(Arc::new_cyclic(|me| ProcessHome {
            me: me.clone(),
            memory,
            issuer: Issuer::new(0, actor::of_process()),
            clock,
            steps: Steps::default(),
            state: Mutex::new(state),
            ticker: Ticker::default(),
            ticker_refused: AtomicBool::new(false),
        }))
    }

    /// The time of a command. Another thread may have read the clock later and have got the lock
    /// earlier.
    #[inline(always)]
    fn now(&self, state: &State) -> Time {
        self.clock.now().max(state.table.now())
    }

    #[inline(always)]
    fn unlock(&self, state: MutexGuard<'_, State>) {
        if state.table.any_decided() || state.is_awaited() {
            self.unlock_and_wake(state);
        }
    }

    #[cold]
    fn unlock_and_wake(&self, mut state: MutexGuard<'_, State>) {
        let needs_ticker = !self.steps.is_closed() && state.is_awaited();
        if needs_ticker && state.table.next_due() != FOREVER {
            let now = self.now(&state);
            if now >= state.table.next_due() {
                // Fails only for a time beyond all times, which the next command reports.
                let _ = state.table.advance(now);
            }
        }
        let mut wake = WakeList::default();
        let State { table, waiters, ticker_until } = &mut *state;
        table.take_decided(|place| waiters.take(place, &mut wake));
        waiters.take_subscribers(table.last_event(), &mut wake);
        let mut start_ticker = false;
        if needs_ticker && self.clock.is_real() {
            match *ticker_until {
                None => {
                    *ticker_until = Some(0);
                    start_ticker = true;
                }
                Some(until) if table.next_due() < until => self.ticker.wake(),
                Some(_) => {}
            }
        }
        drop(state);
        if start_ticker {
            self.start_ticker();
        }
        wake.wake();
    }

    /// If the system refuses, the next command that needs the ticker tries again.
    fn start_ticker(&self) {
        let started =
            self.me.upgrade().is_some_and(|home| self.ticker.start("tern-ticker", home).is_ok());
        self.ticker_refused.store(!started, Ordering::Release);
        if !started {
            self.state.lock().ticker_until = None;
        }
    }

    /// Runs what is due.
    fn advance(&self) {
        let state = self.state.lock();
        // Fails only for a time beyond all times, which the next command reports.
        let _ = state.table.advance(self.now(&state));
        self.unlock(state);
    }
}

impl Ticked for ProcessHome {
    fn run_due(&self) -> bool {
        self.advance();
        let mut state = self.state.lock();
        if self.steps.is_closed() {
            return false;
        }
        let due = if state.is_awaited() { state.table.next_due() } else { FOREVER };
        state.ticker_until = Some(due);
        drop(state);
        if due == FOREVER {
            rt::park();
        } else {
            let sleep = match due.saturating_sub(self.clock.now()) {
                0 => SLEEP_MIN,
                left => Duration::from_micros(left).min(SLEEP_MAX),
            };
            rt::park_timeout(sleep);
        }
        true
    }
}

impl Home for ProcessHome {
    fn clock(&self) -> &Clock {
        &self.clock
    }

    #[inline(always)]
    fn owner(&self) -> u16 {
        0
    }

    fn lifecycle(&self) -> Lifecycle {
        self.steps.get()
    }

    fn is_closed(&self) -> bool {
        self.steps.is_closed()
    }

    #[inline(always)]
    fn execute<C: Command>(&self, command: &C) -> Result<C::Reply, Error> {
        let state = self.state.lock();
        let reply = state.table.apply(self.issuer, command, self.now(&state));
        self.unlock(state);
        reply
    }

    #[inline(always)]
    fn query<Q: Query>(&self, query: &Q) -> Q::Answer {
        let state = self.state.lock();
        // Fails only for a time beyond all times, and then the answer is still right.
        let _ = state.table.advance(self.now(&state));
        let answer = query.answer(&state.table);
        self.unlock(state);
        answer
    }

    #[inline(always)]
    fn query_known<Q: Query>(&self, query: &Q) -> Q::Answer {
        query.answer(&self.state.lock().table)
    }

    #[inline(always)]
    fn claim<D: GrantDetail>(&self, claim: &Claim<'_>) -> Result<Placed<D>, Error> {
        self.execute(&Place::new(claim))
    }

    fn collect<D: GrantDetail>(&self, ticket: TicketId) -> Collected<D> {
        Collected::of(&self.state.lock().table, ticket)
    }

    #[inline(always)]
    fn state_at(&self, lease: LeaseId, now: Time) -> Option<LeaseState> {
        table::lease_state(&self.memory, lease, || now)
    }

    #[inline(always)]
    fn state(&self, lease: LeaseId) -> Option<LeaseState> {
        table::lease_state(&self.memory, lease, || self.clock.now())
    }

    #[inline(always)]
    fn renew_at(&self, lease: LeaseId, now: Time) -> Result<Time, Error> {
        match table::renew_quickly(&self.memory, lease, now) {
            Some(end) => Ok(end),
            None => self.execute(&Renew { lease, ttl: None }),
        }
    }

    #[inline(always)]
    fn held(&self) -> u32 {
        let (held, next_due) = table::held_and_due(&self.memory);
        if next_due == FOREVER || self.clock.now() < next_due {
            return held;
        }
        self.query(&HeldCount {})
    }

    #[inline(always)]
    fn tick(&self) {
        let now = match &self.clock {
            Clock::Ticks(count) => count.fetch_add(1, Ordering::AcqRel) + 1,
            _ => self.clock.now(),
        };
        if now >= table::held_and_due(&self.memory).1 {
            self.advance();
        }
    }

    fn ticket(&self, ticket: TicketId) -> Option<TicketState> {
        table::ticket_state(&self.memory, ticket)
    }

    fn wait_ticket(
        &self,
        ticket: TicketId,
        kind: WakerKind,
        until: Option<Instant>,
    ) -> Result<Option<TicketState>, Error> {
        let is_over = || until.is_some_and(|until| rt::instant() >= until);
        let mut found = self.ticket(ticket);
        if found != Some(TicketState::Waiting) || is_over() {
            return Ok(found);
        }
        found = self.watch(ticket, kind, &waiters::park_waker());
        // The thread may be unparked for other reasons.
        while found == Some(TicketState::Waiting) {
            self.lifecycle().check_open()?;
            if is_over() {
                break;
            }
            match self.poll_deadline(until) {
                Some(deadline) => {
                    rt::park_timeout(deadline.saturating_duration_since(rt::instant()));
                    self.advance();
                }
                None => rt::park(),
            }
            found = self.ticket(ticket);
        }
        Ok(found)
    }

    fn watch(&self, ticket: TicketId, kind: WakerKind, waker: &Waker) -> Option<TicketState> {
        let waker = waker.clone();
        let mut state = self.state.lock();
        let found = state.table.ticket(ticket);
        let place = state.table.place_of(ticket);
        let unused = match found {
            Some(TicketState::Waiting) => state.waiters.add(place, kind, waker),
            _ => Some(waker),
        };
        drop(state);
        drop(unused);
        found
    }

    #[cfg(target_os = "linux")]
    fn ticket_fd(&self, ticket: TicketId) -> Result<std::os::fd::OwnedFd, Error> {
        self.check_ticker()?;
        let mut fd = EventFd::new()?;
        let mut state = self.state.lock();
        match state.table.ticket(ticket) {
            None => return Err(Error::UnknownTicket),
            Some(TicketState::Waiting) => {
                let place = state.table.place_of(ticket);
                fd = state.waiters.descriptor(place, fd);
            }
            Some(_) => fd.notify(),
        }
        drop(state);
        fd.share()
    }

    fn subscribe(&self, waker: Waker) -> Subscription {
        let mut state = self.state.lock();
        let last = state.table.last_event();
        let subscription = state.waiters.subscribe(last, waker);
        self.unlock(state);
        subscription
    }

    fn unsubscribe(&self, subscription: Subscription) {
        let waker = self.state.lock().waiters.unsubscribe(subscription);
        drop(waker);
    }

    #[cfg(target_os = "linux")]
    fn check_ticker(&self) -> Result<(), Error> {
        match self.ticker_refused.load(Ordering::Acquire) {
            true => Err(Error::System(libc::EAGAIN)),
            false => Ok(()),
        }
    }

    fn poll_deadline(&self, until: Option<Instant>) -> Option<Instant> {
        if !self.ticker_refused.load(Ordering::Acquire) {
            return until;
        }
        let soon = rt::instant() + NO_TICKER_POLL;
        Some(until.map_or(soon, |until| until.min(soon)))
    }

    fn poison(&self) {
        let mut wake = WakeList::default();
        let mut state = self.state.lock();
        state.table.mark_corrupt();
        self.steps.poison();
        state.waiters.take_all(&mut wake);
        drop(state);
        wake.wake();
    }

    fn close(&self) {
        let mut wake = WakeList::default();
        self.steps.close();
        self.state.lock().waiters.take_all(&mut wake);
        self.ticker.wake();
        wake.wake();
    }

    #[cfg(feature = "capi")]
    fn join_ticker(&self) {
        self.ticker.join();
    }

    #[cfg(target_os = "linux")]
    fn at_rest(&self, act: &mut dyn FnMut()) {
        let _state = self.state.lock();
        act();
    }
}
