//! Leases that live as long as any process of a tree.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

use super::attach::take_slot;
use super::layout::slot_state;
use super::liveness::try_keep_byte;
use super::{Host, file, owner_of};
use crate::home::open::OpenErrorKind;
use crate::table::{Error, LeaseId, Time};

/// A lease that is held as long as any process has this descriptor open: this one, or those that have inherited it. Closing the descriptor, or dropping this, gives up
/// this process's part in it. [`LeaseManager::keep_for_children`](crate::LeaseManager::keep_for_children) gives it.
///
/// ```
/// # let file = std::env::temp_dir().join(format!("ternlease-doc-tree-{}", std::process::id()));
/// # let url = format!("host:{}", file.display());
/// use ternlease::{LeaseManager, Span};
///
/// let manager = LeaseManager::open(&url)?;
/// let lease = manager.acquire("gpu0", "launcher", Span::Forever)?;
/// let kept = manager.keep_for_children(lease)?;
/// let mut child = std::process::Command::new("true").spawn()?; // has the lease, too
/// drop(kept); // from now on it is the child's alone
/// child.wait()?;
/// # drop(manager);
/// # std::fs::remove_file(file)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Inherited {
    lease: LeaseId,
    descriptor: OwnedFd,
}

impl Inherited {
    pub(crate) fn new(lease: LeaseId, descriptor: OwnedFd) -> Self {
        Inherited { lease, descriptor }
    }

    /// The lease.
    pub fn lease(&self) -> LeaseId {
        self.lease
    }
}

impl AsFd for Inherited {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// The descriptor alone, for who keeps it in ways of its own.
impl From<Inherited> for OwnedFd {
    fn from(inherited: Inherited) -> OwnedFd {
        inherited.descriptor
    }
}

impl Host {
    /// A slot that is kept by every process that has the descriptor, which programs that this process starts inherit.
    /// Such a program may have given up the right to write to the table, so the descriptor does not give it back.
    pub fn new_tree(&self) -> Result<(OwnedFd, usize), Error> {
        let refused = |error: std::io::Error| Error::System(error.raw_os_error().unwrap_or(0));
        let descriptor = file::reopen_read_only(&self.place, self.file).map_err(refused)?;
        let slot =
            take_slot(&descriptor, self.file, try_keep_byte).map_err(|why| match why.kind {
                OpenErrorKind::System(number) => Error::System(number),
                _ => Error::System(libc::EMFILE),
            })?;
        self.file.slots[slot].generation.fetch_add(1, Ordering::AcqRel);
        // SAFETY: the descriptor is open.
        unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_SETFD, 0) };
        Ok((descriptor.into(), slot))
    }

    /// Whoever had the slot before is reaped. Only with the lock.
    pub fn settle_tree(&self, slot: usize, now: Time) -> u16 {
        self.settle_into(slot, slot_state::TREE, now);
        owner_of(slot)
    }

    /// The owner that stands for the process with this number, as it sees itself: one of the caller's PID namespace, or else of the only one in which there is such a
    /// process. One that uses the table several times has several, of which any will do.
    pub fn owner_with(&self, process: u32) -> Option<u16> {
        let found = self.used_slots().filter(|(index, slot)| {
            slot.state.load(Ordering::Acquire) == slot_state::PROCESS
                && slot.process.load(Ordering::Relaxed) == process
                && self.is_taken(*index)
        });
        let found: Vec<_> = found
            .map(|(index, slot)| (slot.space.load(Ordering::Relaxed), owner_of(index)))
            .collect();
        let near = found.iter().find(|(space, _)| *space == self.space && *space != 0);
        let &(space, owner) = near.or(found.first())?;
        (near.is_some() || found.iter().all(|(other, _)| *other == space)).then_some(owner)
    }
}
