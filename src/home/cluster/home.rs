//! The home of a table that processes of several machines share through etcd.
//!
//! Each process has a copy of the table. A command runs on the copy, and counts when etcd has taken
//! what it changed (`execute.rs`); what etcd has not taken yet is rolled back if another process was
//! faster. What a process knows of its own leases without asking etcd is in `own.rs`, how it joins and
//! what its ticker does in `member.rs`, how the end of its session is noticed in `session_end.rs`, and
//! what is ended for processes that are gone in `reap.rs`.

use std::task::Waker;
use std::time::{Duration, Instant};

use super::execute::PAUSE;
use super::own::{in_vain, is_own_ticket};
use super::{Conditions, Group, Part, Replica};
use crate::home::clock::Clock;
use crate::home::event_fd::EventFd;
use crate::home::lifecycle::{Lifecycle, Steps};
use crate::home::ticker::Ticker;
use crate::home::waiters::{self, Subscription, Waiters, WakeList, WakerKind};
use crate::home::{ClusterOps, Dropped, EventPosition, Home};
use crate::memory::Arrays;
use crate::rt::{self, Mutex, MutexGuard};
use crate::table::command::{Collected, GrantDetail, Withdraw};
use crate::table::query::{HeldCount, LastEvent, LeaseById};
use crate::table::{
    self, Cancelled, Claim, Command, Error, Event, LeaseId, LeaseInfo, LeaseState, Placed, Query,
    Table, TicketId, TicketState, Time,
};

/// See the module's text.
#[derive(Debug)]
pub(crate) struct ClusterHome {
    pub(super) memory: Arrays<Replica>,
    pub(super) clock: Clock,
    pub(crate) part: Part,
    pub(super) steps: Steps,
    pub(super) state: Mutex<State>,
    pub(super) ticker: Ticker,
    /// Notices the end of the session by the clock of this process.
    pub(super) session_ticker: Ticker,
}

#[derive(Debug)]
pub(super) struct State {
    pub table: Table<Arrays<Replica>>,
    pub waiters: Waiters,
    /// What etcd has not taken yet.
    pub group: Option<Group>,
}

impl State {
    /// May what is in this record be rolled back?
    pub fn is_under_way<T>(&self, record: Option<&T>) -> bool {
        self.group.as_ref().zip(record).is_some_and(|(group, record)| group.is_about(record))
    }

    /// Does a waiter or a subscriber depend on what is due?
    pub fn is_awaited(&self) -> bool {
        self.table.waiting() != 0 || self.waiters.has_subscribers()
    }
}

impl ClusterHome {
    pub(super) fn new(
        table: Table<Arrays<Replica>>,
        clock: Clock,
        part: Part,
        group: Group,
    ) -> Self {
        let memory = table.memory().clone();
        let state = State { table, waiters: Waiters::default(), group: Some(group) };
        ClusterHome {
            memory,
            clock,
            part,
            steps: Steps::default(),
            state: Mutex::new(state),
            ticker: Ticker::default(),
            session_ticker: Ticker::default(),
        }
    }

    /// Reads the copy at a moment when all of it counts.
    pub(super) fn read<T>(&self, read: impl FnOnce(&Table<Arrays<Replica>>) -> T) -> T {
        if self.part.is_forked() {
            return self.read_forked(read);
        }
        read(&self.on_the_ground(&self.part).table)
    }

    /// Reads the copy of a forked child.
    #[cold]
    #[allow(unsafe_code)]
    fn read_forked<T>(&self, read: impl FnOnce(&Table<Arrays<Replica>>) -> T) -> T {
        // SAFETY: a forked child has one thread, and this reads cells, which no thread changes.
        let state = unsafe { &*self.state.data_ptr() };
        state.table.read_unlocked(read)
    }

    /// If etcd cannot be reached, the process gives it back as soon as etcd can be.
    fn or_later<T>(&self, dropped: Dropped, given: Result<T, Error>) -> Result<T, Error> {
        if matches!(given, Err(Error::Unavailable)) {
            self.let_go_later(dropped);
        }
        given
    }

    /// The lock, at a moment when what is known of a ticket may be reported.
    fn lock_ticket(&self, ticket: TicketId) -> MutexGuard<'_, State> {
        let part = &self.part;
        let is_own = |state: &State| is_own_ticket(part, state, ticket);
        self.lock_about(part, self.ticket_record(ticket), is_own)
    }

    /// An error if a ticket will never be resolved.
    fn check_open(&self) -> Result<(), Error> {
        match self.lifecycle() {
            Lifecycle::Poisoned => Err(Error::Corrupt),
            Lifecycle::Closed | Lifecycle::Forked => Err(Error::Closed),
            _ => Ok(()),
        }
    }
}

impl Home for ClusterHome {
    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn owner(&self) -> u16 {
        self.part.owner()
    }

    fn lifecycle(&self) -> Lifecycle {
        match self.steps.get() {
            _ if self.part.is_forked() => Lifecycle::Forked,
            Lifecycle::Open if !self.part.is_sure() => Lifecycle::SessionLost,
            lifecycle => lifecycle,
        }
    }

    fn is_closed(&self) -> bool {
        self.part.is_forked() || self.steps.is_closed()
    }

    fn execute<C: Command>(&self, command: &C) -> Result<C::Reply, Error> {
        let run =
            |table: &Table<Arrays<Replica>>, now| table.apply(self.part.issuer(), command, now);
        self.run_clustered(&self.part, Conditions::default, run)
    }

    fn query<Q: Query>(&self, query: &Q) -> Q::Answer {
        if !self.part.is_forked() {
            self.bring_up_to_date(&self.part);
        }
        self.query_known(query)
    }

    fn query_known<Q: Query>(&self, query: &Q) -> Q::Answer {
        self.read(|table| query.answer(table))
    }

    fn claim<D: GrantDetail>(&self, claim: &Claim<'_>) -> Result<Placed<D>, Error> {
        self.claim_clustered(&self.part, claim)
    }

    fn collect<D: GrantDetail>(&self, ticket: TicketId) -> Collected<D> {
        self.collect_clustered(&self.part, ticket)
    }

    fn give_back(&self, dropped: Dropped) -> Result<(), Error> {
        let run = |table: &Table<Arrays<Replica>>, now| {
            super::reap::give_back(dropped, table, self.part.issuer(), now)
        };
        self.or_later(dropped, self.run_clustered(&self.part, Conditions::default, run))
    }

    fn withdraw(&self, ticket: TicketId) -> Result<Cancelled, Error> {
        self.or_later(Dropped::Ticket(ticket), self.execute(&Withdraw { ticket }))
    }

    fn state(&self, lease: LeaseId) -> Option<LeaseState> {
        let read = || table::lease_state(&self.memory, lease, || self.clock.now());
        self.clustered_state(&self.part, lease, read, true)
    }

    fn state_at(&self, lease: LeaseId, now: Time) -> Option<LeaseState> {
        let read = || table::lease_state(&self.memory, lease, || now);
        self.clustered_state(&self.part, lease, read, false)
    }

    fn ask_about(&self, leases: &[LeaseId]) {
        self.ask_about_clustered(&self.part, leases);
    }

    fn renew_at(&self, lease: LeaseId, _: Time) -> Result<Time, Error> {
        self.renew_clustered(&self.part, lease, None)
    }

    fn renew_for(&self, lease: LeaseId, ttl: Time) -> Result<Time, Error> {
        self.renew_clustered(&self.part, lease, Some(ttl))
    }

    fn held(&self) -> u32 {
        self.query(&HeldCount {})
    }

    fn tick(&self) {
        self.query(&HeldCount {});
    }

    fn lease(&self, lease: LeaseId) -> Option<LeaseInfo> {
        match self.part.is_forked() {
            true => self.query_known(&LeaseById { lease }),
            false => self.clustered_lease(&self.part, lease),
        }
    }

    fn known_lease(&self, lease: LeaseId) -> Option<Option<LeaseInfo>> {
        match self.part.is_forked() {
            true => Some(self.query_known(&LeaseById { lease })),
            false => self.known_clustered(&self.part, lease),
        }
    }

    fn session_turns(&self) -> u64 {
        self.part.session_turns()
    }

    fn event_position(&self, cursor: u64) -> EventPosition {
        let mut position = EventPosition {
            cursor: cursor.min(self.query(&LastEvent {})),
            ..EventPosition::default()
        };
        if cursor == u64::MAX
            && let Some(lost) = self.part.lost_session()
        {
            position.losses = lost.number;
        }
        position
    }

    fn events_after(
        &self,
        position: &mut EventPosition,
        ask: bool,
        events: &mut Vec<Event>,
    ) -> u64 {
        match self.part.is_forked() {
            true => {
                let missed = self.read_forked(|table| table.events_since(position.cursor, events));
                position.cursor = events.last().map_or(position.cursor, |event| event.number);
                missed
            }
            false => self.clustered_events(&self.part, position, ask, events),
        }
    }

    fn ticket(&self, ticket: TicketId) -> Option<TicketState> {
        self.clustered_ticket(&self.part, ticket)
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
            self.check_open()?;
            if is_over() {
                break;
            }
            let left = until.map(|until| until.saturating_duration_since(rt::instant()));
            let sure = self.part.sure_for().max(PAUSE);
            rt::park_timeout(sure.min(left.unwrap_or(Duration::MAX)));
            found = self.ticket(ticket);
        }
        Ok(found)
    }

    fn watch(&self, ticket: TicketId, kind: WakerKind, waker: &Waker) -> Option<TicketState> {
        if self.part.is_forked() {
            return None;
        }
        let waker = waker.clone();
        let mut state = self.lock_ticket(ticket);
        let found = in_vain(&self.part, &state, ticket, self.ticket_record(ticket));
        let place = state.table.place_of(ticket);
        let unused = match found {
            Some(TicketState::Waiting) => state.waiters.add(place, kind, waker),
            _ => Some(waker),
        };
        drop(state);
        drop(unused);
        found
    }

    fn ticket_fd(&self, ticket: TicketId) -> Result<std::os::fd::OwnedFd, Error> {
        if self.part.is_forked() {
            return Err(Error::Forked);
        }
        let mut fd = EventFd::new()?;
        let mut state = self.lock_ticket(ticket);
        match in_vain(&self.part, &state, ticket, self.ticket_record(ticket)) {
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
        if self.part.is_forked() {
            return Subscription::default();
        }
        let mut state = self.on_the_ground(&self.part);
        let last = state.table.last_event();
        let subscription = state.waiters.subscribe(last, waker);
        drop(state);
        self.part.hearing.wake_ticker();
        subscription
    }

    fn unsubscribe(&self, subscription: Subscription) {
        if !self.part.is_forked() {
            let waker = self.on_the_ground(&self.part).waiters.unsubscribe(subscription);
            drop(waker);
        }
    }

    fn poison(&self) {
        if self.part.is_forked() {
            return;
        }
        let mut wake = WakeList::default();
        let mut state = self.on_the_ground(&self.part);
        // The replica stays in use until the home is closed: only this process ends its leases in
        // time for the other members.
        self.steps.poison();
        state.waiters.take_all(&mut wake);
        drop(state);
        wake.wake();
    }

    fn close(&self) {
        if self.part.is_forked() {
            return;
        }
        let mut wake = WakeList::default();
        self.steps.close();
        self.state.lock().waiters.take_all(&mut wake);
        self.ticker.wake();
        wake.wake();
        self.leave_cluster(&self.part);
    }

    fn at_rest(&self, act: &mut dyn FnMut()) {
        let _state = (!self.part.is_forked()).then(|| self.state.lock());
        act();
    }

    fn cluster(&self) -> Option<&dyn ClusterOps> {
        Some(self)
    }
}
