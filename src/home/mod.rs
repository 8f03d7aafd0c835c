//! Homes. A home stores a table, locks it, measures time and wakes waiters; it has no rule of its
//! own.

mod actor;
pub(crate) mod clock;
// For the fuzzer and for tests of the replicated log, also without its engine.
#[cfg(any(feature = "cluster", fuzzing, all(test, not(loom))))]
pub(crate) mod cluster;
#[cfg(target_os = "linux")]
pub(crate) mod event_fd;
#[cfg(target_os = "linux")]
mod host;
pub(crate) mod lifecycle;
mod open;
mod process;
#[cfg(target_os = "linux")]
pub(crate) mod read_committed;
mod ticker;
pub(crate) mod waiters;

use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use crate::table::command::{Collected, GrantDetail, Release, Renew, Withdraw};
use crate::table::query::{EventsSince, LastEvent, LeaseById};
use crate::table::{
    Cancelled, Claim, Command, Error, Event, LeaseId, LeaseInfo, LeaseState, Placed, Query, Reason,
    Settings, TicketId, TicketState, Time,
};
use clock::Clock;
#[cfg(feature = "cluster")]
use cluster::ClusterHome;
#[cfg(ternlease_sim)]
pub(crate) use cluster::Connect;
#[cfg(target_os = "linux")]
use host::{HostHome, real_user};
#[cfg(target_os = "linux")]
pub use host::{HostInfo, Inherited, LockInfo, ProcessInfo, ProcessLife};
use lifecycle::Lifecycle;
pub use open::OpenError;
#[cfg(feature = "capi")]
pub(crate) use open::default_limits;
use process::ProcessHome;
use waiters::{Subscription, WakerKind};

/// A lease or a ticket that its owner gives back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Dropped {
    Lease(LeaseId),
    Ticket(TicketId),
}

/// The position of a reader of events.
#[derive(Debug, Default)]
pub(crate) struct EventPosition {
    /// The number of the last event of the table that was read.
    pub cursor: u64,
    /// Ends of leases that the table does not record yet, to be read after the events of the table.
    pub local: VecDeque<Event>,
    /// The last loss of the session whose leases were reported.
    #[cfg(feature = "cluster")]
    pub losses: u64,
    /// Leases whose end was reported before the table recorded it.
    #[cfg(feature = "cluster")]
    pub reported: std::collections::HashSet<LeaseId>,
}

/// Why a home did not run a command: the table was not touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg(target_os = "linux")]
pub(crate) enum HomeError {
    Closed,
    Forked,
    Poisoned,
    /// This process has the lock of the table and does not run; 0 if it is not known.
    LockTimeout {
        process: u32,
    },
    /// The file of the table is lost.
    EngineLost,
}

#[cfg(target_os = "linux")]
impl From<HomeError> for Error {
    #[cold]
    fn from(error: HomeError) -> Error {
        match error {
            HomeError::Closed => Error::Closed,
            HomeError::Forked => Error::Forked,
            HomeError::Poisoned => Error::Corrupt,
            HomeError::LockTimeout { process } => Error::Stuck(process),
            HomeError::EngineLost => Error::Refused(Reason::EngineLost),
        }
    }
}

/// Operations of the host home.
#[cfg(target_os = "linux")]
pub(crate) trait HostOps {
    fn info(&self) -> HostInfo;
    /// Transfers a held lease to all processes that have the descriptor open.
    fn keep_for_children(&self, lease: LeaseId) -> Result<Inherited, Error>;
    /// Transfers a held lease to another process that uses the table.
    fn transfer(&self, lease: LeaseId, process: u32) -> Result<(), Error>;
}

/// The condition of a table that machines share, and of its etcd:
/// [`LeaseManager::cluster_info`](crate::LeaseManager::cluster_info).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClusterInfo {
    /// The version of the etcd server that answered.
    pub etcd_version: String,
    /// What this server reports to be wrong with etcd, in its words, as `alarm:NOSPACE`.
    pub etcd_problems: Vec<String>,
    /// The size of its database, in bytes.
    pub database_bytes: u64,
    /// The part of the database that is in use, in bytes; `etcdctl defrag` frees the rest.
    pub database_used_bytes: u64,
    /// The size from which on etcd accepts no writes, in bytes. `None` if there is no limit, and in
    /// etcd 3.5, which does not report it.
    pub database_quota_bytes: Option<u64>,
    /// How many revisions etcd keeps. Compaction deletes old ones; etcd does not report whether it
    /// compacts by itself.
    pub revisions: u64,
    /// How long a linearizable read of one key took.
    pub read_time: std::time::Duration,
    /// The wall clocks of the machines that use the table differ by at least this, as far as this
    /// process can see.
    pub clock_difference: std::time::Duration,
    /// How many processes use the table: members with a session.
    pub processes: u32,
    /// How many entries the log has had so far.
    pub entries: u64,
    /// How many of them are later than the snapshot.
    pub entries_since_snapshot: u64,
    /// How many entries etcd still stores.
    pub stored_entries: u64,
}

/// The type, the name, the help text and the value of a metric.
pub(crate) type Metric = (&'static str, &'static str, &'static str, f64);

/// Operations of the cluster home.
pub(crate) trait ClusterOps {
    /// For how long etcd has not answered; `None` if it answers.
    fn unreachable_for(&self) -> Option<std::time::Duration>;
    /// How long the session certainly lasts without another answer of etcd.
    fn session_left(&self) -> std::time::Duration;
    /// Replaces the text of a node in the registry of nodes by what `renew` makes of it.
    fn publish(&self, node: &str, renew: &dyn Fn(Option<&str>) -> String) -> Result<(), Error>;
    /// The condition of the table and of etcd.
    fn info(&self) -> Result<ClusterInfo, Error>;
    /// What the member of this process has counted.
    fn metrics(&self) -> Vec<Metric>;
    /// The text of each node in the registry, with its name.
    fn published(&self) -> Result<Vec<(String, String)>, Error>;
}

/// Where a table lives.
pub(crate) trait Home: Debug + Send + Sync + 'static {
    fn clock(&self) -> &Clock;

    /// The number of this process among those that share the table; 0 if it does not share it.
    fn owner(&self) -> u16;

    fn lifecycle(&self) -> Lifecycle;

    /// Has its last user closed it, or is this a forked child? It may be poisoned too.
    fn is_closed(&self) -> bool;

    /// Runs a command, then wakes what it resolved.
    fn execute<C: Command>(&self, command: &C) -> Result<C::Reply, Error>;

    /// Answers a query at the present time. If the table cannot be locked, reads without the lock.
    fn query<Q: Query>(&self, query: &Q) -> Q::Answer;

    /// Answers a query from local data: nothing that is due runs, and no engine is asked.
    fn query_known<Q: Query>(&self, query: &Q) -> Q::Answer;

    /// Claims for this process.
    fn claim<D: GrantDetail>(&self, claim: &Claim<'_>) -> Result<Placed<D>, Error>;

    /// Takes the answer of a resolved ticket.
    fn collect<D: GrantDetail>(&self, ticket: TicketId) -> Collected<D>;

    /// Gives back a lease or a claim. If the engine cannot be reached, that is an error, and the
    /// home gives it back as soon as the engine can be.
    #[inline(always)]
    fn give_back(&self, dropped: Dropped) -> Result<(), Error> {
        match dropped {
            Dropped::Lease(lease) => self.execute(&Release { lease }),
            Dropped::Ticket(ticket) => self.withdraw(ticket).map(drop),
        }
    }

    /// As [`Self::give_back`], for a claim.
    fn withdraw(&self, ticket: TicketId) -> Result<Cancelled, Error> {
        self.execute(&Withdraw { ticket })
    }

    /// The state of a lease, without a lock where the home can.
    #[inline(always)]
    fn state(&self, lease: LeaseId) -> Option<LeaseState> {
        self.state_at(lease, self.clock().now())
    }

    /// The state of a lease at this time, from local data.
    fn state_at(&self, lease: LeaseId, now: Time) -> Option<LeaseState>;

    /// Asks the engine for changes of leases that [`Self::state_at`] is called for next.
    fn ask_about(&self, _leases: &[LeaseId]) {}

    #[inline(always)]
    fn renew(&self, lease: LeaseId) -> Result<Time, Error> {
        self.renew_at(lease, self.clock().now())
    }

    /// Renews a lease at this time, without a lock where the home can.
    fn renew_at(&self, lease: LeaseId, now: Time) -> Result<Time, Error>;

    /// Renews a lease for another time than before.
    fn renew_for(&self, lease: LeaseId, ttl: Time) -> Result<Time, Error> {
        self.execute(&Renew { lease, ttl: Some(ttl) })
    }

    /// How many leases are held.
    fn held(&self) -> u32;

    /// Counts one tick. With a real clock this only runs what is due.
    fn tick(&self);

    fn lease(&self, lease: LeaseId) -> Option<LeaseInfo> {
        self.query(&LeaseById { lease })
    }

    /// As [`Self::lease`], from local data. `None` if that is not committed.
    fn known_lease(&self, lease: LeaseId) -> Option<Option<LeaseInfo>> {
        Some(self.lease(lease))
    }

    /// Changes when leases of this process end, or may be reported again, without an event of the
    /// table: the session ends or begins, or the file is lost.
    fn session_turns(&self) -> u64 {
        0
    }

    /// The position of a reader that has read the events up to this number; `u64::MAX`: all events
    /// so far.
    fn event_position(&self, cursor: u64) -> EventPosition {
        let last = self.query(&LastEvent {});
        EventPosition { cursor: cursor.min(last), ..EventPosition::default() }
    }

    /// Appends the events after a position, and advances the position. Returns how many were
    /// overwritten before they were read. With `ask`, asks an engine for newer events.
    fn events_after(
        &self,
        position: &mut EventPosition,
        _ask: bool,
        events: &mut Vec<Event>,
    ) -> u64 {
        let since = EventsSince { cursor: position.cursor };
        // Nothing becomes due in a home that has ended.
        let (new, missed) = match self.lifecycle().has_ended() {
            true => self.query_known(&since),
            false => self.query(&since),
        };
        position.cursor = new.last().map_or(position.cursor, |event| event.number);
        events.extend(new);
        missed
    }

    /// The state of a ticket, without a lock where the home can.
    fn ticket(&self, ticket: TicketId) -> Option<TicketState>;

    /// Blocks the thread until the ticket is resolved or the time is over.
    fn wait_ticket(
        &self,
        ticket: TicketId,
        kind: WakerKind,
        until: Option<Instant>,
    ) -> Result<Option<TicketState>, Error>;

    /// Registers a waker for a ticket, unless it is resolved.
    fn watch(&self, ticket: TicketId, kind: WakerKind, waker: &Waker) -> Option<TicketState>;

    /// A descriptor that becomes readable when the ticket is resolved. A home has one for each
    /// ticket.
    #[cfg(target_os = "linux")]
    fn ticket_fd(&self, ticket: TicketId) -> Result<std::os::fd::OwnedFd, Error>;

    /// Calls `waker` after each command that had events, until [`Self::unsubscribe`].
    fn subscribe(&self, waker: Waker) -> Subscription;

    fn unsubscribe(&self, subscription: Subscription);

    /// An error if the system refused to start the ticker: descriptors would never become readable.
    #[cfg(target_os = "linux")]
    fn check_ticker(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Until when a thread may sleep before it runs what is due itself.
    fn poll_deadline(&self, until: Option<Instant>) -> Option<Instant> {
        until
    }

    /// A panic has cut short a command. All waiters are woken.
    fn poison(&self);

    /// The last user is gone: ends the claims and leases of this process, and its threads.
    fn close(&self);

    /// After [`Self::close`]: waits for the end of the ticker.
    #[cfg(feature = "capi")]
    fn join_ticker(&self) {}

    /// Calls `act` while no thread of this process has the lock.
    #[cfg(target_os = "linux")]
    fn at_rest(&self, act: &mut dyn FnMut());

    #[cfg(target_os = "linux")]
    fn host(&self) -> Option<&dyn HostOps> {
        None
    }

    fn cluster(&self) -> Option<&dyn ClusterOps> {
        None
    }
}

/// Any home. Its methods are those of the trait.
#[derive(Debug, Clone)]
pub(crate) enum AnyHome {
    Process(Arc<ProcessHome>),
    #[cfg(target_os = "linux")]
    Host(Arc<HostHome>),
    #[cfg(feature = "cluster")]
    Cluster(Arc<ClusterHome>),
}

/// Passes each method on to the home.
macro_rules! dispatch {
    ($($(#[$meta:meta])* fn $name:ident $(<$kind:ident: $bound:ident>)?
        (&self $(, $arg:ident: $type:ty)* $(,)?) $(-> $answer:ty)?;)*) => {$(
        $(#[$meta])*
        #[inline(always)]
        fn $name $(<$kind: $bound>)? (&self $(, $arg: $type)*) $(-> $answer)? {
            match self {
                AnyHome::Process(home) => home.$name($($arg),*),
                #[cfg(target_os = "linux")]
                AnyHome::Host(home) => home.$name($($arg),*),
                #[cfg(feature = "cluster")]
                AnyHome::Cluster(home) => home.$name($($arg),*),
            }
        }
    )*};
}

impl Home for AnyHome {
    dispatch! {
        fn clock(&self) -> &Clock;
        fn owner(&self) -> u16;
        fn lifecycle(&self) -> Lifecycle;
        fn is_closed(&self) -> bool;
        fn execute<C: Command>(&self, command: &C) -> Result<C::Reply, Error>;
        fn query<Q: Query>(&self, query: &Q) -> Q::Answer;
        fn query_known<Q: Query>(&self, query: &Q) -> Q::Answer;
        fn claim<D: GrantDetail>(&self, claim: &Claim<'_>) -> Result<Placed<D>, Error>;
        fn collect<D: GrantDetail>(&self, ticket: TicketId) -> Collected<D>;
        fn give_back(&self, dropped: Dropped) -> Result<(), Error>;
        fn withdraw(&self, ticket: TicketId) -> Result<Cancelled, Error>;
        fn state(&self, lease: LeaseId) -> Option<LeaseState>;
        fn state_at(&self, lease: LeaseId, now: Time) -> Option<LeaseState>;
        fn ask_about(&self, leases: &[LeaseId]);
        fn renew(&self, lease: LeaseId) -> Result<Time, Error>;
        fn renew_at(&self, lease: LeaseId, now: Time) -> Result<Time, Error>;
        fn renew_for(&self, lease: LeaseId, ttl: Time) -> Result<Time, Error>;
        fn held(&self) -> u32;
        fn tick(&self);
        fn lease(&self, lease: LeaseId) -> Option<LeaseInfo>;
        fn known_lease(&self, lease: LeaseId) -> Option<Option<LeaseInfo>>;
        fn session_turns(&self) -> u64;
        fn event_position(&self, cursor: u64) -> EventPosition;
        fn events_after(
            &self,
            position: &mut EventPosition,
            ask: bool,
            events: &mut Vec<Event>,
        ) -> u64;
        fn ticket(&self, ticket: TicketId) -> Option<TicketState>;
        fn wait_ticket(
            &self,
            ticket: TicketId,
            kind: WakerKind,
            until: Option<Instant>,
        ) -> Result<Option<TicketState>, Error>;
        fn watch(&self, ticket: TicketId, kind: WakerKind, waker: &Waker) -> Option<TicketState>;
        #[cfg(target_os = "linux")]
        fn ticket_fd(&self, ticket: TicketId) -> Result<std::os::fd::OwnedFd, Error>;
        fn subscribe(&self, waker: Waker) -> Subscription;
        fn unsubscribe(&self, subscription: Subscription);
        #[cfg(target_os = "linux")]
        fn check_ticker(&self) -> Result<(), Error>;
        fn poll_deadline(&self, until: Option<Instant>) -> Option<Instant>;
        fn poison(&self);
        fn close(&self);
        #[cfg(feature = "capi")]
        fn join_ticker(&self);
        #[cfg(target_os = "linux")]
        fn at_rest(&self, act: &mut dyn FnMut());
        #[cfg(target_os = "linux")]
        fn host(&self) -> Option<&dyn HostOps>;
        fn cluster(&self) -> Option<&dyn ClusterOps>;
    }
}

impl AnyHome {
    /// A table of this process; `None` if the system does not provide the memory.
    pub fn try_new(settings: Settings, real_clock: bool) -> Option<AnyHome> {
        ProcessHome::try_new(settings, real_clock).map(AnyHome::Process)
    }

    /// Do other processes use the table too?
    pub fn is_shared(&self) -> bool {
        !matches!(self, AnyHome::Process(_))
    }
}
