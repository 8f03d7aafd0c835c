//! Homes: where a table lives and how its waiters wake. A home stores, locks, tells the time and wakes; it has no rule of its own.

mod actor;
mod arrays;
pub(crate) mod atomic;
pub(crate) mod clock;
// Without its engine for the fuzzer, which is built faster then.
#[cfg(any(feature = "cluster", fuzzing))]
pub(crate) mod cluster;
#[cfg(fuzzing)]
pub use cluster::fuzzed;
mod core;
#[cfg(target_os = "linux")]
pub(crate) mod host;
pub mod process;
pub(crate) mod refused;
#[cfg(target_os = "linux")]
pub(crate) mod settled;
#[cfg(target_os = "linux")]
pub(crate) mod signal_fd;
#[cfg(all(test, feature = "cluster", unix))]
pub(crate) mod simulation;
pub(crate) mod thread;
pub(crate) mod wake;
pub(crate) mod world;

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Instant;

use crate::table::command::{Collected, GrantDetail};
use crate::table::{
    Cancelled, Claim, Command, Error, Event, LeaseId, LeaseInfo, LeaseState, Memory, Placed, Query,
    Settings, Table, TicketId, TicketState, Time,
};
use arrays::NoUndo;
use clock::Clock;
use core::Core;
#[cfg(target_os = "linux")]
use host::{HostInfo, Inherited, Journal, Place};
#[cfg(target_os = "linux")]
use refused::Refused;
use wake::{Listener, Role};

/// What nobody has any use for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Dropped {
    Lease(LeaseId),
    Ticket(TicketId),
}

impl Dropped {
    #[inline(always)]
    fn give_back<M: Memory>(self, table: &Table<M>, now: Time) -> Result<(), Error> {
        match self {
            Dropped::Lease(id) => table.release(now, id),
            Dropped::Ticket(id) => table.withdraw(now, id).map(drop),
        }
    }
}

/// How far a reader of events has come.
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

/// Where a table lives. What it does is [`Core`]'s, compiled for each kind: a table in one process pays nothing for being able to share.
#[derive(Debug, Clone)]
pub(crate) enum Home {
    Process(Arc<Core<NoUndo>>),
    #[cfg(target_os = "linux")]
    Host(Arc<Core<Journal>>),
    #[cfg(feature = "cluster")]
    Cluster(Arc<Core<cluster::Replica>>),
}

/// Works on the core of whichever kind.
macro_rules! on_core {
    ($home:expr, $core:ident => $work:expr) => {
        match $home {
            $crate::home::Home::Process($core) => $work,
            #[cfg(target_os = "linux")]
            $crate::home::Home::Host($core) => $work,
            #[cfg(feature = "cluster")]
            $crate::home::Home::Cluster($core) => $work,
        }
    };
}

/// What a core does, whichever kind it is of.
macro_rules! delegate {
    ($($(#[$meta:meta])* fn $name:ident(&self $(, $arg:ident: $type:ty)*) $(-> $answer:ty)?;)*) => {
        impl Home {
            $($(#[$meta])*
            #[inline(always)]
            pub fn $name(&self $(, $arg: $type)*) $(-> $answer)? {
                on_core!(self, core => core.$name($($arg),*))
            })*
        }
    };
}

delegate! {
    fn clock(&self) -> &Clock;
    fn is_shared(&self) -> bool;
    fn owner(&self) -> u16;
    fn state(&self, id: LeaseId) -> Option<LeaseState>;
    fn ask_about(&self, ids: &[LeaseId]);
    #[cfg(feature = "cluster")]
    fn silent_for(&self) -> Option<std::time::Duration>;
    #[cfg(feature = "cluster")]
    fn session_left(&self) -> Option<std::time::Duration>;
    fn session_turns(&self) -> u64;
    fn lease(&self, id: LeaseId) -> Option<LeaseInfo>;
    fn known_lease(&self, id: LeaseId) -> Option<Option<LeaseInfo>>;
    fn event_position(&self, cursor: u64) -> EventPosition;
    fn events_after(&self, position: &mut EventPosition, ask: bool, events: &mut Vec<Event>) -> u64;
    fn state_at(&self, id: LeaseId, now: Time) -> Option<LeaseState>;
    fn let_go(&self, dropped: Dropped) -> Result<(), Error>;
    fn withdraw(&self, id: TicketId) -> Result<Cancelled, Error>;
    fn renew(&self, id: LeaseId) -> Result<Time, Error>;
    fn renew_at(&self, id: LeaseId, now: Time) -> Result<Time, Error>;
    fn renew_for(&self, id: LeaseId, ttl: Time) -> Result<Time, Error>;
    fn held(&self) -> u32;
    fn tick(&self);
    fn ticket(&self, id: TicketId) -> Option<TicketState>;
    fn await_ticket(&self, id: TicketId, role: Role, until: Option<Instant>) -> Result<Option<TicketState>, Error>;
    fn watch(&self, id: TicketId, role: Role, waker: &Waker) -> Option<TicketState>;
    #[cfg(target_os = "linux")]
    fn ticket_fd(&self, id: TicketId) -> Result<std::os::fd::OwnedFd, Error>;
    fn listen(&self, waker: Waker) -> Listener;
    fn unlisten(&self, listener: Listener);
    fn look_by(&self, until: Option<Instant>) -> Option<Instant>;
    #[cfg(target_os = "linux")]
    fn check_keeper(&self) -> Result<(), Error>;
    fn is_closed(&self) -> bool;
    fn is_abandoned(&self) -> bool;
    fn abandon(&self);
    fn close(&self);
    #[cfg(feature = "capi")]
    fn await_keeper(&self);
    #[cfg(target_os = "linux")]
    fn at_rest(&self, act: &mut dyn FnMut());
    #[cfg(target_os = "linux")]
    fn host_info(&self) -> Option<HostInfo>;
    #[cfg(target_os = "linux")]
    fn keep_for_children(&self, id: LeaseId) -> Result<Inherited, Error>;
    #[cfg(target_os = "linux")]
    fn hand_to(&self, id: LeaseId, process: u32) -> Result<(), Error>;
    #[cfg(feature = "cluster")]
    fn is_clustered(&self) -> bool;
    #[cfg(feature = "cluster")]
    fn publish(&self, node: &str, renew: &dyn Fn(Option<&str>) -> String) -> Result<(), Error>;
    #[cfg(feature = "cluster")]
    fn published(&self) -> Result<Vec<(String, String)>, Error>;
}

impl Home {
    /// Runs a command.
    #[inline(always)]
    pub fn execute<C: Command>(&self, command: &C) -> Result<C::Reply, Error> {
        on_core!(self, core => core.execute(command))
    }

    /// Asks for a lease, for this process.
    #[inline(always)]
    pub fn claim<D: GrantDetail>(&self, claim: &Claim<'_>) -> Result<Placed<D>, Error> {
        on_core!(self, core => core.claim(claim))
    }

    /// Takes the answer of a resolved ticket.
    #[inline(always)]
    pub fn collect<D: GrantDetail>(&self, id: TicketId) -> Collected<D> {
        on_core!(self, core => core.collect(id))
    }

    /// Answers a query at the present time.
    #[inline(always)]
    pub fn query<Q: Query>(&self, query: &Q) -> Q::Answer {
        on_core!(self, core => core.query(query))
    }

    /// Answers a query by what is known here: time does not move on, and no other machine is asked.
    #[inline(always)]
    pub fn query_known<Q: Query>(&self, query: &Q) -> Q::Answer {
        on_core!(self, core => core.query_known(query))
    }

    /// A table of this process; `None` if the system does not give the memory.
    pub fn try_new(settings: Settings, real_clock: bool) -> Option<Home> {
        Core::try_new(settings, real_clock).map(Home::Process)
    }

    /// The table in a file, which is made with these settings if there is none.
    #[cfg(target_os = "linux")]
    pub fn open_host(place: Place, settings: Settings) -> Result<Home, Refused> {
        Core::open_host(place, settings).map(Home::Host)
    }

    /// The table that etcd keeps, which is made with these settings if there is none.
    #[cfg(feature = "cluster")]
    pub fn open_cluster(
        config: cluster::etcd::Config,
        settings: Settings,
    ) -> Result<Home, Refused> {
        Core::open_cluster(config, settings).map(Home::Cluster)
    }

    pub fn downgrade(&self) -> WeakHome {
        match self {
            Home::Process(core) => WeakHome::Process(Arc::downgrade(core)),
            #[cfg(target_os = "linux")]
            Home::Host(core) => WeakHome::Host(Arc::downgrade(core)),
            #[cfg(feature = "cluster")]
            Home::Cluster(core) => WeakHome::Cluster(Arc::downgrade(core)),
        }
    }
}

/// A home that is not kept.
#[derive(Debug)]
pub(crate) enum WeakHome {
    Process(Weak<Core<NoUndo>>),
    #[cfg(target_os = "linux")]
    Host(Weak<Core<Journal>>),
    #[cfg(feature = "cluster")]
    Cluster(Weak<Core<cluster::Replica>>),
}

impl WeakHome {
    pub fn upgrade(&self) -> Option<Home> {
        match self {
            WeakHome::Process(core) => core.upgrade().map(Home::Process),
            #[cfg(target_os = "linux")]
            WeakHome::Host(core) => core.upgrade().map(Home::Host),
            #[cfg(feature = "cluster")]
            WeakHome::Cluster(core) => core.upgrade().map(Home::Cluster),
        }
    }
}
