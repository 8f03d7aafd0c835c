//! The words in which commands are given to a table and answers come back.

use std::fmt;

use super::reason::Reason;

/// A point in time or a length of time, in the unit of the home's clock
/// (microseconds for real clocks, ticks for a manual one).
pub type Time = u64;

/// "Without end": a lease that never expires, a claim that waits for ever.
pub const FOREVER: Time = (1 << 48) - 1;

/// The longest name of a holder or resource, in bytes.
pub const MAX_NAME: usize = 255;

/// How deep leases may hang below one another.
pub const MAX_DEPTH: u32 = 16;

/// What a lease is right now: +1, 0 or -1. An id that is not known has no state; the answer is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i8)]
pub enum LeaseState {
    /// The holder may use it.
    Held = 1,
    /// It ran out, was released, or its holder died.
    Expired = 0,
    /// It was taken away; a [`Reason`] says why.
    Revoked = -1,
}

/// What a claim is right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TicketState {
    /// +1: the claim became this lease.
    Granted(LeaseId),
    /// 0: still in line.
    Waiting,
    /// -1: it will not be granted.
    Refused(Reason),
}

/// How a resource is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i8)]
pub enum Health {
    /// In service.
    Healthy = 1,
    /// Unknown or draining: keeps its leases, gets no new ones.
    Draining = 0,
    /// Out of service: keeps its leases until they are revoked, gets no new ones.
    Failed = -1,
}

/// What a table needs to know about a declared resource beyond its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Traits {
    /// Resources with the same number have fast links to each other. 0: it has none. Less than [`Limits::resources`](super::Limits).
    pub island: u32,
    /// The resource that stands for the machine it is in. While somebody has a lease on that, the machine is there; when the last one
    /// ends, this one has failed.
    pub node: Option<ResourceId>,
    /// When its last lease ends it is draining, until somebody who has looked says that it is healthy.
    pub checked: bool,
}

/// Names one lease for ever: ids only grow and are never used again, so the id
/// is also the fencing token of what the lease protects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct LeaseId(pub u64);

/// Names one waiting claim for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TicketId(pub u64);

/// A declared resource: cheaper to claim by than its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct ResourceId(pub(crate) u32);

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for TicketId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How much of each chosen resource a claim takes. See [`ClaimBuilder::take`](crate::ClaimBuilder::take).
///
/// ```
/// use ternlease::{Error, LeaseManager, Options, Take};
///
/// let manager = LeaseManager::with(Options::ticks());
/// let reader = |name| manager.claim(name).of(&["file"]).take(Take::Shared).try_now();
/// reader("ann")?;
/// reader("bob")?;
/// let writer = manager.claim("eve").of(&["file"]).take(Take::Exclusive).try_now();
/// assert_eq!(writer, Err(Error::Busy)); // while anybody reads
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Take {
    /// The whole resource, alone.
    Exclusive,
    /// Together with any number of other `Shared` leases, and nobody else.
    Shared,
    /// So many slots and so much memory (MiB). At least one of them is not zero.
    Amount {
        /// Slots of the resource.
        slots: u32,
        /// Memory of the resource in MiB.
        memory: u32,
    },
}

impl Take {
    /// One slot, no memory: what a plain lock takes.
    pub const ONE_SLOT: Take = Take::Amount { slots: 1, memory: 0 };
}

/// The resources a claim may be served from, in the order it prefers them.
#[derive(Debug, Clone, Copy)]
pub enum Candidates<'a> {
    /// By name. A name that is not known yet comes into being with one slot.
    Named(&'a [&'a str]),
    /// Resources declared before.
    Declared(&'a [ResourceId]),
}

/// A request for a lease: `count` of `candidates`, `take` of each, all or nothing.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    /// Who asks. Two claims of one holder are taken to be one line of work.
    pub holder: &'a str,
    /// What may serve it.
    pub candidates: Candidates<'a>,
    /// How many of the candidates are needed.
    pub count: u32,
    /// All of one node ([`Traits::node`]). Those without a node count as being of one.
    pub together: bool,
    /// How much of each.
    pub take: Take,
    /// How long the lease lasts without renewal.
    pub ttl: Time,
    /// How long the claim may wait: 0 = not at all, [`FOREVER`] = no limit.
    pub wait: Time,
    /// Higher goes first.
    pub priority: i16,
    /// Use only what nobody waits for, and give it back when somebody does.
    pub spare: bool,
    /// May be taken by a claim of higher priority that asks to preempt.
    pub preemptible: bool,
    /// Take preemptible leases of lower priority rather than wait for their end.
    pub preempt: bool,
    /// The notice this lease gets when it is taken back for others.
    pub grace: Time,
    /// The lease this one hangs on: it ends no later than its parent, and with it.
    pub parent: Option<LeaseId>,
    /// The process for which it is, by a number of the home's; 0: none in particular. A command
    /// ([`Place`](super::command::Place)) takes it from its issuer.
    pub owner: u16,
}

impl<'a> Claim<'a> {
    /// One slot of one named resource, for ever, without waiting.
    pub fn one(holder: &'a str, resource: &'a [&'a str]) -> Self {
        Claim {
            holder,
            candidates: Candidates::Named(resource),
            count: 1,
            together: false,
            take: Take::ONE_SLOT,
            ttl: FOREVER,
            wait: 0,
            priority: 0,
            spare: false,
            preemptible: false,
            preempt: false,
            grace: 0,
            parent: None,
            owner: 0,
        }
    }
}

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It is a lease now.
    Granted(LeaseId),
    /// It stands in line.
    Waiting(TicketId),
}

/// What became of a revocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Revoked {
    /// The lease is -1 from now on.
    AtOnce,
    /// The holder has been told; the lease is -1 at this time.
    Notified(Time),
    /// A notice was already running and ends no later; nothing changed.
    AlreadyNotified(Time),
}

/// What cancelling a ticket found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cancelled {
    /// It left the line.
    Left,
    /// Too late: it had been granted, and nobody had been told. The lease is still held.
    WasGranted(LeaseId),
    /// Too late: it had been granted, and the lease belongs to whoever was told.
    WasCollected(LeaseId),
    /// Too late: it had been refused.
    WasRefused(Reason),
}

/// What a table does about a deadlock that nobody can resolve by waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DeadlockPolicy {
    /// `find_deadlocks` tells; nothing is revoked.
    #[default]
    Report,
    /// Revoke the proposed victim as soon as a deadlock arises.
    Break,
}

/// Which part of a table is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Part {
    /// Held leases.
    Leases,
    /// Resources taken by leases.
    Holds,
    /// Waiting claims.
    Tickets,
    /// Candidates of waiting claims.
    Candidates,
    /// Resources.
    Resources,
    /// Holders.
    Holders,
    /// Names.
    Names,
    /// Declared wants.
    Wants,
    /// Changes of one command, of a table in a file.
    Changes,
}

/// Why a command was not carried out. Nothing has changed then. As text each says what to do instead.
///
/// ```
/// use ternlease::{LeaseManager, Options, Reason};
///
/// let manager = LeaseManager::with(Options::ticks());
/// let lease = manager.acquire("gpu0", "trainer", 9)?;
/// manager.revoke_with(lease, Reason::DeviceFault, "", 0)?;
/// let error = manager.renew(lease).unwrap_err();
/// assert_eq!(error.to_string(), "the lease was revoked (DEVICE_FAULT): claim something else");
/// # Ok::<(), ternlease::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Error {
    /// A name is empty.
    EmptyName,
    /// A name is longer than [`MAX_NAME`] bytes.
    NameTooLong,
    /// A lease of no length was asked for.
    ZeroTtl,
    /// A time or length of time is beyond what a table can express.
    TimeTooLarge,
    /// The time given is before a time given earlier.
    TimeBackwards,
    /// A claim for none of its candidates.
    CountIsZero,
    /// A claim for more resources than it names.
    CountExceedsCandidates,
    /// A claim names a resource twice.
    DuplicateCandidate,
    /// A claim takes nothing of each resource, or a resource has nothing to take.
    ZeroAmount,
    /// No such resource is declared. (Ids of another table can be told only if this one has no such record.)
    UnknownResource,
    /// The claim asks for more than there is. Waiting would not help.
    Impossible,
    /// Not free now, and the claim does not wait.
    Busy,
    /// No lease of that id is remembered.
    UnknownLease,
    /// No ticket of that id is remembered.
    UnknownTicket,
    /// The lease has ended.
    NotHeld(LeaseState, Reason),
    /// This reason is not one for a revocation.
    NotARevocation(Reason),
    /// The parent lease is not held.
    ParentNotHeld,
    /// Leases may not hang deeper than [`MAX_DEPTH`].
    TooDeep,
    /// A resource that is in use cannot change its size or its node.
    InUse,
    /// The holder has declared no such want.
    UnknownWant,
    /// That part of the table has no room left.
    Full(Part),
    /// The table's memory does not make sense.
    Corrupt,
    /// The claim waited and was not granted.
    Refused(Reason),
    /// The number of an island is beyond what the table has room for.
    UnknownIsland,
    /// Ticks were given to a manager with a real clock, or a duration to one that counts ticks.
    WrongClock,
    /// The system would not give what is needed: an error number of the operating system.
    System(i32),
    /// The store of the table does not answer. A claim, if this was one, may have been granted: the
    /// library gives back such a lease when the store answers again.
    Unavailable,
    /// The manager is gone.
    Closed,
    /// The manager was opened before this process was forked.
    Forked,
    /// A process that holds the lock of a shared table does not go on; 0 if it is not known which.
    Stuck(u32),
    /// No process of that number uses the table.
    UnknownProcess,
    /// The table lives in this process alone: no other can share it.
    NotShared,
    /// The lease belongs to another principal ([`Actor`](super::Actor)), which alone may transfer it.
    OtherPrincipal,
    /// etcd answers with a smaller revision (`found`) than this process has seen: it was restored
    /// from an older backup, or replaced.
    StoreWentBack {
        /// The highest revision that this process has seen.
        seen: i64,
        /// The revision of the answer.
        found: i64,
    },
    /// etcd has another history of the table than this process has read, or is another cluster.
    OtherStore,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Error::EmptyName => "the name is empty; give it at least one byte",
            Error::NameTooLong => "the name is longer than 255 bytes",
            Error::ZeroTtl => "a lease must last at least one unit of time",
            Error::TimeTooLarge => "the time does not fit into 48 bits",
            Error::TimeBackwards => "the time given is earlier than one given before",
            Error::CountIsZero => "the claim asks for none of its candidates",
            Error::CountExceedsCandidates => "the claim asks for more resources than it names",
            Error::DuplicateCandidate => "the claim names a resource twice",
            Error::ZeroAmount => "at least one slot or some memory is needed",
            Error::UnknownResource => "no such resource is declared",
            Error::Impossible => "the claim asks for more than exists; waiting would not help",
            Error::Busy => "not free now; claim with a wait to stand in line",
            Error::UnknownLease => "no lease of that id is remembered",
            Error::UnknownTicket => "no ticket of that id is remembered",
            Error::NotHeld(LeaseState::Revoked, reason) => {
                return write!(f, "the lease was revoked ({reason}): {}", reason.class().advice());
            }
            Error::NotHeld(_, reason) => {
                return write!(f, "the lease has ended ({reason}): {}", reason.class().advice());
            }
            Error::NotARevocation(reason) => {
                return write!(f, "{reason} is not a reason to revoke a lease");
            }
            Error::ParentNotHeld => "the parent lease is not held",
            Error::TooDeep => "leases hang at most 16 deep",
            Error::InUse => "the resource is in use and cannot change its size or its node",
            Error::UnknownWant => "the holder has declared no such want",
            Error::Full(part) => {
                return write!(f, "the table has no room left for {part:?}; build it larger");
            }
            Error::Corrupt => "the table's memory does not make sense",
            Error::Refused(reason) => {
                return write!(f, "the claim was not granted ({reason})");
            }
            Error::UnknownIsland => {
                "the number of an island is larger than the table's limit of resources"
            }
            Error::WrongClock => {
                "give ticks to a manager that counts ticks, durations to any other"
            }
            Error::Closed => "the manager was closed",
            Error::Forked => "the manager was opened before this process was forked; open it again",
            Error::Stuck(process) => {
                return write!(
                    f,
                    "process {process} holds the table's lock and does not go on; continue or end it"
                );
            }
            Error::UnknownProcess => "no process of that number uses the table",
            Error::NotShared => "the table lives in this process alone; open `host:` to share one",
            Error::OtherPrincipal => {
                "the lease belongs to another user; transfer it as that user or as root, or revoke it"
            }
            Error::StoreWentBack { seen, found } => {
                return write!(
                    f,
                    "etcd went back from revision {seen} to {found}: it was restored from an older backup, or replaced; \
                     end all programs that use this table and start them again"
                );
            }
            Error::OtherStore => {
                "etcd does not contain the table that this process used: it was restored from an older backup, or another cluster \
                 answers; end all programs that use this table and start them again"
            }
            Error::Unavailable => {
                "etcd does not answer; check that it runs and can be reached, and try again"
            }
            Error::System(number) => {
                let cause = std::io::Error::from_raw_os_error(*number);
                return write!(f, "the system refused: {cause}");
            }
        };
        f.write_str(text)
    }
}

impl std::error::Error for Error {}
