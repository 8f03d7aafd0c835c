//! Actors: the process that makes a change. The home determines it; the caller cannot choose it.
//!
//! A home passes the [`Issuer`] of a command to [`Table::apply`]. The table knows it only while the
//! command runs, so that nothing depends on which process issued the command before.

use std::cell::Cell;
use std::fmt;

use super::layout::flag;
use super::memory::Memory;
use super::owner::owner_in;
use super::types::Error;
use super::{Reason, Table};

/// The process that made a change. The home supplies it. The name that the caller claims
/// ([`LeaseInfo::revoker`](crate::LeaseInfo::revoker)) is kept apart from it.
///
/// | home | `principal` | `process` |
/// |---|---|---|
/// | process | the user id of this process | its process id |
/// | host | the real user id | the process id, as the process sees it itself |
/// | cluster | a number derived from the node name and the etcd user | the owner number of the session |
///
/// ```
/// use ternlease::{LeaseManager, Options, Reason};
///
/// let manager = LeaseManager::with(Options::ticks());
/// let lease = manager.acquire("gpu0", "trainer", 10)?;
/// manager.revoke_with(lease, Reason::Operator, "root", 0)?;
/// let (events, _) = manager.events_since(0);
/// assert_eq!(events[1].actor.unwrap().process, std::process::id());
/// # Ok::<(), ternlease::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Actor {
    /// The user on whose behalf the process acts. Equal for all processes of one user.
    pub principal: u32,
    /// The process. Never 0.
    pub process: u32,
}

impl Actor {
    /// As stored; 0 stands for no actor.
    #[inline(always)]
    pub(super) fn packed(actor: Option<Actor>) -> u64 {
        actor.map_or(0, |actor| (actor.principal as u64) << 32 | actor.process as u64)
    }

    #[inline(always)]
    pub(super) fn unpacked(word: u64) -> Option<Actor> {
        let (principal, process) = ((word >> 32) as u32, word as u32);
        (process != 0).then_some(Actor { principal, process })
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "principal {} (process {})", self.principal, self.process)
    }
}

/// The process that issues a command: its owner number in this table and its actor. The default is
/// the table itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Issuer {
    /// The packed actor.
    actor: u64,
    owner: u16,
}

impl Issuer {
    /// The process that has this owner number.
    pub fn new(owner: u16, actor: Actor) -> Self {
        Issuer { actor: Actor::packed(Some(actor)), owner }
    }

    /// The owner number; 0 if the process does not share the table.
    #[inline(always)]
    pub fn owner(self) -> u16 {
        self.owner
    }

    pub(super) fn with_owner(self, owner: u16) -> Self {
        Issuer { owner, ..self }
    }

    fn principal(self) -> u32 {
        (self.actor >> 32) as u32
    }
}

/// Forgets the issuer.
pub(super) struct CommandEnd<'a>(&'a Cell<Issuer>);

impl Drop for CommandEnd<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.set(Issuer::default());
    }
}

impl<M: Memory> Table<M> {
    /// Attributes changes to a process until the guard is dropped. A guard and no closure, so that
    /// the reply of a command is not copied.
    #[inline(always)]
    pub(super) fn begin_command(&self, issuer: Issuer) -> CommandEnd<'_> {
        self.issuer.set(issuer);
        CommandEnd(&self.issuer)
    }

    /// Calls a function as a command of a process. For tests of what is no
    /// [`Command`](super::Command).
    #[doc(hidden)]
    pub fn issued_by<T>(&self, issuer: Issuer, run: impl FnOnce(&Self) -> T) -> T {
        let _end = self.begin_command(issuer);
        run(self)
    }

    /// Records the principal of the issuer as that of an owner number.
    pub(super) fn set_principal(&self, owner: u16) {
        let principal = self.issuer.get().principal();
        if let Some(cell) = self.memory.owners().get(owner as usize)
            && !self.corrupt.get()
            && cell.get() != principal
        {
            self.set(cell, principal);
        }
    }

    /// The packed actor of the command.
    #[inline(always)]
    pub(super) fn actor(&self) -> u64 {
        self.issuer.get().actor
    }

    /// Is this lease one of the issuer?
    #[inline(always)]
    pub(super) fn is_own(&self, lease: u32) -> bool {
        owner_in(self.lease_record(lease).flags.get()) == self.issuer.get().owner
    }

    /// Does this lease belong to another principal than that of the issuer?
    #[inline(always)]
    pub(super) fn is_foreign(&self, lease: u32) -> bool {
        !self.is_own(lease) && self.is_of_other_principal(lease)
    }

    #[cold]
    fn is_of_other_principal(&self, lease: u32) -> bool {
        self.principal_of(lease) != Some(self.issuer.get().principal())
    }

    /// May the issuer transfer this lease? Its own principal may, and principal 0 (root).
    pub(super) fn may_transfer(&self, lease: u32) -> Result<(), Error> {
        match self.issuer.get().principal() != 0 && self.is_foreign(lease) {
            true => Err(Error::OtherPrincipal),
            false => Ok(()),
        }
    }

    /// Records which process ends a lease. A notice keeps the process that gave it, also if the
    /// holder or the end of the parent comes first.
    #[inline(always)]
    pub(super) fn record_ender(&self, lease: u32, reason: Reason, actor: u64) {
        let flags = self.lease_record(lease).flags.get();
        let by_notice = flags & flag::ACKNOWLEDGED != 0
            || flags & flag::REVOKING != 0 && reason == Reason::ParentRevoked;
        if !by_notice && (flags & flag::EXTRA != 0 || !self.is_own(lease)) {
            self.set_ender(lease, actor);
        }
    }

    /// Records which process ends or revokes a lease, unless it is the process of its owner.
    pub(super) fn set_ender(&self, lease: u32, actor: u64) {
        let by_owner = actor == self.actor() && self.is_own(lease);
        let actor = if by_owner { 0 } else { actor };
        if self.ender(lease) != actor {
            self.ensure_extra(lease);
            self.set(&self.extra_record(lease).ender, actor);
        }
    }

    /// The packed actor that ended or revokes a lease; 0 if it is its owner or the table.
    #[inline(always)]
    pub(super) fn ender(&self, lease: u32) -> u64 {
        match self.lease_record(lease).flags.get() & flag::EXTRA {
            0 => 0,
            _ => self.extra_record(lease).ender.get(),
        }
    }

    /// Counts a revocation by another principal than that of the lease's owner.
    pub(super) fn count_foreign(&self, lease: u32) {
        let Some(ender) = Actor::unpacked(self.ender(lease)) else { return };
        if self.principal_of(lease) != Some(ender.principal) {
            self.increment(&self.header().foreign_revocations);
        }
    }

    fn principal_of(&self, lease: u32) -> Option<u32> {
        let owner = owner_in(self.lease_record(lease).flags.get());
        self.memory.owners().get(owner as usize).map(|cell| cell.get())
    }

    /// How many leases were revoked by another principal than that of their owner.
    pub fn foreign_revocations(&self) -> u64 {
        self.header().foreign_revocations.get()
    }
}
