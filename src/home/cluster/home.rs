//! The home of a table that processes of several machines share through etcd.
//!
//! All homes of a process on the same table share one [`Member`]: one session, one replica and one
//! connection. A home knows which leases and tickets it was granted, and gives them back when it is
//! closed. The last one that is closed ends the session.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Waker;
use std::time::{Duration, Instant};

use super::Connect;
use super::etcd::Config;
use super::member::{Member, PAUSE};
use super::own::{LOST, Renewal};
use super::replica::Replica;
use super::shape::{Shape, ShapeError};
use super::store::{Compare, Op, Read, Revision, Store, StoreError, Txn, TxnReply};
use crate::home::actor::cluster_principal;
use crate::home::clock::Clock;
use crate::home::event_fd::EventFd;
use crate::home::lifecycle::{Lifecycle, Steps};
use crate::home::open::{OpenError, OpenErrorKind};
use crate::home::waiters::{self, Subscription, WakerKind};
use crate::home::{ClusterInfo, ClusterOps, Dropped, EventPosition, Home, Metric};
use crate::rt;
use crate::table::command::{
    Collect, Collected, GrantDetail, Place, Release, Renew, RenewLate, Withdraw,
};
use crate::table::query::{HeldCount, LastEvent, LeaseById};
use crate::table::{
    Cancelled, Claim, Command, Error, Event, LeaseId, LeaseInfo, LeaseState, Outcome, Picks,
    Placed, Query, Settings, TicketId, TicketState, Time,
};

/// How often to repeat a write to the registry of nodes if others write at the same time.
const ATTEMPTS: u32 = 16;

/// From so many leases and claims on, a home forgets those that have ended.
const MANY: usize = 64;

/// The first process that opened a table, or 0. A child that it forks shares no members: another
/// thread may have held the lock of [`MEMBERS`] when it forked.
static SHARING: AtomicU32 = AtomicU32::new(0);

fn shares_members() -> bool {
    let process = std::process::id();
    let first = SHARING.compare_exchange(0, process, Ordering::AcqRel, Ordering::Acquire);
    first.map_or_else(|first| first == process, |_| true)
}

/// The members of this process that several homes may use.
static MEMBERS: parking_lot::Mutex<Vec<Arc<Member>>> = parking_lot::Mutex::new(Vec::new());

/// See the module's text.
#[derive(Debug)]
pub(crate) struct ClusterHome {
    member: Arc<Member>,
    steps: Steps,
    /// What this home was granted or waits for, and did not give back.
    granted: parking_lot::Mutex<BTreeSet<Dropped>>,
}

impl ClusterHome {
    /// The home of the table that a URL names. It is made with these settings if there is none.
    pub fn open(
        config: Config,
        settings: Settings,
        connect: Connect<'_>,
    ) -> Result<Arc<Self>, OpenError> {
        let shared = !config.own_member && shares_members();
        if shared && let Some(member) = find_member(&config) {
            return Ok(Self::of(member));
        }
        let store = connect(&config).map_err(|why| OpenError::connect(&config.endpoints, &why))?;
        let member = open_member(store, config, settings)?;
        if !shared {
            return Ok(Self::of(member));
        }
        let mut members = MEMBERS.lock();
        match use_member(&members, &member.config) {
            None => {
                members.push(member.clone());
                Ok(Self::of(member))
            }
            // Another thread has opened it meanwhile.
            Some(other) => {
                drop(members);
                member.leave();
                Ok(Self::of(other))
            }
        }
    }

    fn of(member: Arc<Member>) -> Arc<Self> {
        let granted = parking_lot::Mutex::default();
        Arc::new(ClusterHome { member, steps: Steps::default(), granted })
    }

    fn check_usable(&self) -> Result<(), Error> {
        self.lifecycle().check_open()
    }

    /// A claim cannot be granted any more while the session may have ended.
    fn check_session(&self) -> Result<(), Error> {
        match self.member.session_lasts() {
            true => Ok(()),
            false => Err(self.member.refusal().unwrap_or(Error::Unavailable)),
        }
    }

    /// Brings the replica up to date, and appends what is due. If the store does not answer, the
    /// replica is read as it is.
    fn bring_up_to_date(&self) {
        if self.member.refresh().is_ok() && self.member.session_lasts() {
            let _ = self.member.expire_own();
            let _ = self.member.advance();
        }
    }

    /// If the store cannot be reached, gives it back later.
    fn or_later<T>(&self, dropped: Dropped, given: Result<T, Error>) -> Result<T, Error> {
        if matches!(given, Err(Error::Unavailable)) {
            let mut state = self.member.lock();
            if state.has(dropped) {
                state.dropped.insert(dropped);
            }
            drop(state);
            self.member.wake_threads();
        } else {
            self.granted.lock().remove(&dropped);
        }
        given
    }

    fn renew_by_entry(&self, lease: LeaseId, ttl: Option<Time>) -> Result<Time, Error> {
        let (own, late) = self.member.begin_renewal(lease)?;
        let renewed = match late {
            Some(end) => self.member.run_command(&RenewLate { lease, ttl, end }),
            // What may be over is not taken over.
            None if !own => {
                self.check_session().and_then(|()| self.member.run_command(&Renew { lease, ttl }))
            }
            None => self.member.run_command(&Renew { lease, ttl }),
        };
        let renewed = match renewed {
            _ if own && !self.member.session_lasts() => Err(LOST),
            Ok(_) if !self.member.session_lasts() => Err(Error::Unavailable),
            renewed => renewed.map(|end| self.member.renewed(lease, end)),
        };
        self.member.end_renewal(lease);
        if renewed.is_ok() {
            self.note_granted(Outcome::Granted(lease));
        }
        renewed
    }

    /// The waiters of this home look at its lifecycle. Those of other homes wait again.
    fn wake_waiters(&self) {
        let alone = self.member.homes.load(Ordering::Acquire) == 1;
        let mut state = self.member.lock();
        if alone { state.wake_all() } else { state.wake_wakers() }
    }

    fn note_granted(&self, outcome: Outcome) {
        let mut granted = self.granted.lock();
        granted.insert(match outcome {
            Outcome::Granted(lease) => Dropped::Lease(lease),
            Outcome::Waiting(ticket) => Dropped::Ticket(ticket),
        });
        if granted.len() < MANY || !granted.len().is_power_of_two() {
            return;
        }
        // Not all that has ended was given back.
        let all = granted.clone();
        drop(granted);
        let state = self.member.lock();
        let ended: Vec<Dropped> = all.into_iter().filter(|it| !state.has(*it)).collect();
        drop(state);
        let mut granted = self.granted.lock();
        granted.retain(|dropped| !ended.contains(dropped));
    }
}

/// The member of this process for a table, for one more home.
fn find_member(config: &Config) -> Option<Arc<Member>> {
    use_member(&MEMBERS.lock(), config)
}

fn use_member(members: &[Arc<Member>], config: &Config) -> Option<Arc<Member>> {
    let usable = |member: &&Arc<Member>| {
        member.config == *config && !member.is_forked() && member.refusal().is_none()
    };
    let member = members.iter().find(usable)?;
    member.homes.fetch_add(1, Ordering::AcqRel);
    Some(member.clone())
}

/// Agrees with other members on the table, reads the log and joins.
fn open_member(
    store: Box<dyn Store>,
    config: Config,
    settings: Settings,
) -> Result<Arc<Member>, OpenError> {
    let (shape, revision) = agree(&*store, &config, settings)?;
    let replica = Replica::try_new(&shape).ok_or_else(OpenError::no_memory)?;
    let user = config.login.as_ref().map(|login| login.user.as_str());
    let principal = cluster_principal(&rt::node_name(), user);
    let member = Member::new(store, config, shape, revision, replica, principal);
    let opened = (|| {
        member
            .catch_up()
            .map_err(|why| OpenError::store("cannot read or write the table in etcd", &why))?;
        if member.refusal().is_some() {
            return Err(damaged());
        }
        let joined = member.join();
        let joined =
            joined.map_err(|why| OpenError::store("cannot register this process in etcd", &why))?;
        member.start(joined)
    })();
    match opened {
        Ok(()) => Ok(member),
        Err(error) => {
            member.leave();
            Err(error)
        }
    }
}

/// Reads what the members of a table agree on. The first member decides.
fn agree(
    store: &dyn Store,
    config: &Config,
    settings: Settings,
) -> Result<(Shape, Revision), OpenError> {
    let key = super::keys::Keys::new(&config.name).shape();
    let wanted = Shape::new(settings);
    let txn = Txn {
        compare: vec![Compare::Created(key.clone(), 0)],
        then: vec![Op::Put { key: key.clone(), value: wanted.encode(), session: None }],
        otherwise: vec![Read::key(key)],
    };
    match store.txn(&txn).map_err(|why| OpenError::connect(&config.endpoints, &why))? {
        TxnReply::Done { revision, .. } => Ok((wanted, revision)),
        TxnReply::Failed(found) => {
            let found = found.into_iter().flatten().next().ok_or_else(damaged)?;
            match Shape::decode(&found.value) {
                Ok(shape) => Ok((shape, found.modified)),
                Err(ShapeError::Malformed) => Err(damaged()),
                Err(ShapeError::Version { .. }) => {
                    let problem = "another version of ternlease made the table; use one version \
                                   on all machines, or another name for the table";
                    Err(OpenError::new(OpenErrorKind::Invalid, problem))
                }
            }
        }
    }
}

fn damaged() -> OpenError {
    let problem = "the table in etcd is damaged; delete its keys once no process uses it";
    OpenError::new(OpenErrorKind::Corrupt, problem)
}

impl Home for ClusterHome {
    fn clock(&self) -> &Clock {
        &self.member.clock
    }

    fn owner(&self) -> u16 {
        match self.member.is_forked() {
            true => 0,
            false => self.member.lock().session.owner,
        }
    }

    fn lifecycle(&self) -> Lifecycle {
        match self.steps.get() {
            _ if self.member.is_forked() => Lifecycle::Forked,
            Lifecycle::Open if self.member.refusal() == Some(Error::Corrupt) => Lifecycle::Poisoned,
            Lifecycle::Open if !self.member.session_lasts() => Lifecycle::SessionLost,
            lifecycle => lifecycle,
        }
    }

    fn is_closed(&self) -> bool {
        self.member.is_forked() || self.steps.is_closed()
    }

    fn execute<C: Command>(&self, command: &C) -> Result<C::Reply, Error> {
        self.check_usable()?;
        self.member.run_command(command)
    }

    fn query<Q: Query>(&self, query: &Q) -> Q::Answer {
        if !self.member.is_forked() {
            self.bring_up_to_date();
        }
        self.query_known(query)
    }

    fn query_known<Q: Query>(&self, query: &Q) -> Q::Answer {
        if self.member.is_forked() {
            let read = |replica: &Replica| replica.table.read_unlocked(|table| query.answer(table));
            return self.member.read_forked(read);
        }
        let state = self.member.lock();
        let mut answer = query.answer(&state.replica.table);
        Q::set_ends(&mut answer, &|lease| state.end_of(lease));
        answer
    }

    fn claim<D: GrantDetail>(&self, claim: &Claim<'_>) -> Result<Placed<D>, Error> {
        self.check_usable()?;
        let is_busy = || self.member.lock().replica.table.is_busy(claim, self.clock().now());
        // A refusal needs no entry: one read confirms it.
        if claim.wait == 0 && is_busy() && self.member.refresh().is_ok() {
            // If that fails, the claim fails too.
            let _ = self.member.expire_own();
            if is_busy() {
                return Err(Error::Busy);
            }
        }
        let placed: Placed<Picks> = self.member.run_command(&Place::new(claim))?;
        self.note_granted(placed.outcome);
        if let Outcome::Waiting(ticket) = placed.outcome {
            self.member.lock().tickets.insert(ticket);
            self.member.wake_threads();
        }
        self.check_session()?;
        Ok(Placed { outcome: placed.outcome, detail: D::from_picks(placed.detail) })
    }

    fn collect<D: GrantDetail>(&self, ticket: TicketId) -> Collected<D> {
        if self.member.is_forked() {
            return Collected::default();
        }
        let mut state = self.member.lock_noted();
        if !self.member.session_lasts() && state.is_own_ticket(ticket) {
            return Collected::default();
        }
        let found = state.replica.table.ticket(ticket);
        if !state.is_own_ticket(ticket) || state.withdrawing.contains(&ticket) {
            drop(state);
            let collected = self.member.run_command(&Collect::<D>::new(ticket));
            return collected.unwrap_or_default();
        }
        let mut granted = self.granted.lock();
        granted.remove(&Dropped::Ticket(ticket));
        if let Some(TicketState::Granted(lease)) = found {
            granted.insert(Dropped::Lease(lease));
        }
        drop(granted);
        let withdrawn = state.replica.table.is_withdrawn(ticket);
        if !withdrawn && found.is_some_and(|found| found != TicketState::Waiting) {
            state.collect(ticket);
        }
        Collected { withdrawn, detail: D::of_ticket(&state.replica.table, ticket) }
    }

    fn give_back(&self, dropped: Dropped) -> Result<(), Error> {
        self.check_usable()?;
        match dropped {
            Dropped::Lease(lease) => self.or_later(dropped, self.execute(&Release { lease })),
            Dropped::Ticket(ticket) => self.withdraw(ticket).map(drop),
        }
    }

    fn withdraw(&self, ticket: TicketId) -> Result<Cancelled, Error> {
        self.check_usable()?;
        self.member.lock().withdrawing.insert(ticket);
        let withdrawn = self.member.run_command(&Withdraw { ticket });
        self.member.lock().withdrawing.remove(&ticket);
        self.or_later(Dropped::Ticket(ticket), withdrawn)
    }

    fn state(&self, lease: LeaseId) -> Option<LeaseState> {
        if self.member.is_forked() {
            return None;
        }
        self.ask_about(&[lease]);
        self.state_at(lease, self.clock().now())
    }

    fn state_at(&self, lease: LeaseId, now: Time) -> Option<LeaseState> {
        if self.member.is_forked() {
            return None;
        }
        let state = self.member.lock_noted();
        state.state_at(lease, now, self.member.session_lasts())
    }

    fn ask_about(&self, leases: &[LeaseId]) {
        if self.member.is_forked() {
            return;
        }
        let state = self.member.lock_noted();
        let lost = |lease| state.lost.as_ref().is_some_and(|lost| lost.has(lease));
        let known = leases.iter().all(|lease| state.is_own(*lease) || lost(*lease));
        drop(state);
        if !known {
            // If the store does not answer, the answer is what was known last.
            let _ = self.member.refresh();
        }
    }

    fn renew_at(&self, lease: LeaseId, _: Time) -> Result<Time, Error> {
        self.check_usable()?;
        match self.member.renew_here(lease)? {
            Renewal::Done(end) => Ok(end),
            Renewal::Append => self.renew_by_entry(lease, None),
        }
    }

    fn renew_for(&self, lease: LeaseId, ttl: Time) -> Result<Time, Error> {
        self.check_usable()?;
        self.renew_by_entry(lease, Some(ttl))
    }

    fn held(&self) -> u32 {
        self.query(&HeldCount {})
    }

    fn tick(&self) {
        self.query(&HeldCount {});
    }

    fn lease(&self, lease: LeaseId) -> Option<LeaseInfo> {
        if self.member.is_forked() {
            return self.query_known(&LeaseById { lease });
        }
        if let Some(lost) = self.member.lost_lease(lease) {
            return Some(lost);
        }
        let found = self.query(&LeaseById { lease });
        // The session may have ended while the store was asked.
        self.member.lost_lease(lease).or(found)
    }

    fn known_lease(&self, lease: LeaseId) -> Option<Option<LeaseInfo>> {
        if self.member.is_forked() {
            return Some(self.query_known(&LeaseById { lease }));
        }
        let lost = self.member.lost_lease(lease);
        Some(lost.or_else(|| self.query_known(&LeaseById { lease })))
    }

    fn session_turns(&self) -> u64 {
        self.member.turns.load(Ordering::Acquire)
    }

    fn event_position(&self, cursor: u64) -> EventPosition {
        let mut position = EventPosition {
            cursor: cursor.min(self.query(&LastEvent {})),
            ..EventPosition::default()
        };
        if cursor == u64::MAX
            && let Some(lost) = &self.member.lock_noted().lost
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
        if self.member.is_forked() {
            let cursor = position.cursor;
            let missed = self.member.read_forked(|replica| {
                replica.table.read_unlocked(|table| table.events_since(cursor, events))
            });
            position.cursor = events.last().map_or(cursor, |event| event.number);
            return missed;
        }
        let silent = self.member.silent_since.load(Ordering::Acquire) != 0;
        if ask && !self.steps.is_closed() && self.member.session_lasts() && !silent {
            self.bring_up_to_date();
        }
        self.member.events_after(position, events)
    }

    fn ticket(&self, ticket: TicketId) -> Option<TicketState> {
        if self.member.is_forked() {
            return None;
        }
        let state = self.member.lock_noted();
        let known = state.is_own_ticket(ticket) || state.lost_tickets.contains(&ticket);
        drop(state);
        if !known {
            // If the store does not answer, the answer is what was known last.
            let _ = self.member.refresh();
        }
        self.member.lock_noted().ticket_at(ticket, self.member.session_lasts())
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
            match self.lifecycle() {
                Lifecycle::Poisoned => return Err(Error::Corrupt),
                Lifecycle::Closed | Lifecycle::Forked => return Err(Error::Closed),
                _ => {}
            }
            if is_over() {
                break;
            }
            let left = until.map(|until| until.saturating_duration_since(rt::instant()));
            let session = self.member.session_left().max(PAUSE);
            rt::park_timeout(session.min(left.unwrap_or(Duration::MAX)));
            // Whatever has woken the thread has taken its waker.
            found = self.watch(ticket, kind, &waiters::park_waker());
        }
        Ok(found)
    }

    fn watch(&self, ticket: TicketId, kind: WakerKind, waker: &Waker) -> Option<TicketState> {
        if self.member.is_forked() {
            return None;
        }
        let waker = waker.clone();
        let mut state = self.member.lock_noted();
        let found = state.ticket_at(ticket, self.member.session_lasts());
        let place = state.replica.table.place_of(ticket);
        let unused = match found {
            Some(TicketState::Waiting) => state.waiters.add(place, kind, waker),
            _ => Some(waker),
        };
        drop(state);
        self.member.wake_threads();
        drop(unused);
        found
    }

    fn ticket_fd(&self, ticket: TicketId) -> Result<std::os::fd::OwnedFd, Error> {
        if self.member.is_forked() {
            return Err(Error::Forked);
        }
        let mut fd = EventFd::new()?;
        let mut state = self.member.lock_noted();
        match state.ticket_at(ticket, self.member.session_lasts()) {
            None => return Err(Error::UnknownTicket),
            Some(TicketState::Waiting) => {
                let place = state.replica.table.place_of(ticket);
                fd = state.waiters.descriptor(place, fd);
            }
            Some(_) => fd.notify(),
        }
        drop(state);
        self.member.wake_threads();
        fd.share()
    }

    fn subscribe(&self, waker: Waker) -> Subscription {
        if self.member.is_forked() {
            return Subscription::default();
        }
        let mut state = self.member.lock();
        let last = state.replica.table.last_event();
        let subscription = state.waiters.subscribe(last, waker);
        drop(state);
        self.member.wake_threads();
        subscription
    }

    fn unsubscribe(&self, subscription: Subscription) {
        if !self.member.is_forked() {
            let waker = self.member.lock().waiters.unsubscribe(subscription);
            drop(waker);
        }
    }

    fn poison(&self) {
        if !self.member.is_forked() {
            // The member stays in use until the home is closed: only this process ends its leases
            // in time for the other members.
            self.steps.poison();
            self.wake_waiters();
        }
    }

    fn close(&self) {
        if self.member.is_forked() || self.steps.is_closed() {
            return;
        }
        self.steps.close();
        self.wake_waiters();
        let mut members = shares_members().then(|| MEMBERS.lock());
        let last = self.member.homes.fetch_sub(1, Ordering::AcqRel) == 1;
        if last && let Some(members) = &mut members {
            members.retain(|member| !Arc::ptr_eq(member, &self.member));
        }
        drop(members);
        if last {
            return self.member.leave();
        }
        let granted = std::mem::take(&mut *self.granted.lock());
        self.member.give_back(granted);
    }

    fn at_rest(&self, act: &mut dyn FnMut()) {
        let _state = (!self.member.is_forked()).then(|| self.member.lock());
        act();
    }

    fn cluster(&self) -> Option<&dyn ClusterOps> {
        Some(self)
    }
}

impl ClusterOps for ClusterHome {
    fn unreachable_for(&self) -> Option<Duration> {
        let since = self.member.silent_since.load(Ordering::Acquire);
        (since != 0).then(|| Duration::from_micros(Clock::Real.now().saturating_sub(since)))
    }

    fn session_left(&self) -> Duration {
        match !self.member.is_forked() && self.member.session_lasts() {
            true => self.member.session_left(),
            false => Duration::ZERO,
        }
    }

    fn publish(&self, node: &str, renew: &dyn Fn(Option<&str>) -> String) -> Result<(), Error> {
        self.check_usable()?;
        let key = self.member.keys.node(node);
        for _ in 0..ATTEMPTS {
            let reads = [Read::key(key.clone())];
            let (found, _) = self.member.store.read(&reads).map_err(unavailable)?;
            let found = found.into_iter().flatten().next();
            let before = found.as_ref().and_then(|entry| std::str::from_utf8(&entry.value).ok());
            let after = renew(before);
            if before == Some(&after) {
                return Ok(());
            }
            let revision = found.as_ref().map_or(0, |entry| entry.modified);
            let txn = Txn {
                compare: vec![Compare::Modified(key.clone(), revision)],
                then: vec![Op::Put { key: key.clone(), value: after.into(), session: None }],
                otherwise: Vec::new(),
            };
            if let TxnReply::Done { .. } = self.member.store.txn(&txn).map_err(unavailable)? {
                return Ok(());
            }
        }
        Err(Error::Unavailable)
    }

    fn info(&self) -> Result<ClusterInfo, Error> {
        self.check_usable()?;
        self.member.info().map_err(unavailable)
    }

    fn metrics(&self) -> Vec<Metric> {
        if self.member.is_forked() { Vec::new() } else { self.member.metrics() }
    }

    fn published(&self) -> Result<Vec<(String, String)>, Error> {
        self.check_usable()?;
        let reads = [Read::all(self.member.keys.nodes())];
        let (found, _) = self.member.store.read(&reads).map_err(unavailable)?;
        let named = found.into_iter().flatten().filter_map(|entry| {
            let node = self.member.keys.node_of(&entry.key)?.to_owned();
            Some((node, String::from_utf8_lossy(&entry.value).into_owned()))
        });
        Ok(named.collect())
    }
}

fn unavailable(_: StoreError) -> Error {
    Error::Unavailable
}
