//! Information about a file and its processes, for users.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use super::layout::slot_state;
use super::{Attachment, lock, owner_of};
use crate::memory::{Arrays, UndoLog};
use crate::table::{Table, Time};

/// A shared file and the processes that use it: [`LeaseManager::host`](crate::LeaseManager::host).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostInfo {
    /// Its path.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Every process that uses it.
    pub processes: Vec<ProcessInfo>,
    /// The owner of its lock now. A process that has it for long is not running.
    pub lock: Option<LockInfo>,
    /// The number of commands that were rolled back because their process died.
    pub roll_backs: u64,
    /// The number of processes that were found dead.
    pub deaths: u64,
    /// The table is damaged.
    pub corrupt: bool,
}

/// A process that uses a shared file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessInfo {
    /// Its process id in its own PID namespace: processes in different containers may have the
    /// same.
    pub process: u32,
    /// Is it in the PID namespace of the caller? If not, its number means another process here.
    pub here: bool,
    /// The number under which the table knows it, see [`Claim::owner`](crate::table::Claim::owner).
    pub owner: u16,
    /// Whether it lives.
    pub life: Life,
    /// Since when it uses the file.
    pub since: Time,
    /// The number of leases that it holds.
    pub leases: u32,
    /// The number of its claims that wait.
    pub tickets: u32,
}

/// Whether a process lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Life {
    /// It lives.
    Lives,
    /// It is dying: its memory is being freed, its files may still be open.
    Dying,
    /// It is gone, and its leases were not released yet.
    Gone,
    /// All processes that have inherited a lease.
    Tree,
}

/// The owner of the lock of a shared file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockInfo {
    /// The process, as it sees itself.
    pub process: u32,
    /// Since when.
    pub since: Time,
}

impl Attachment {
    /// The owner of the lock.
    pub fn lock_info(&self) -> Option<LockInfo> {
        let word = self.file.preamble.word.get();
        lock::slot_in(word)?;
        let since = self.file.preamble.since.load(Ordering::Relaxed);
        Some(LockInfo { process: self.process_of(word), since })
    }

    pub fn info<U: UndoLog>(&self, table: &Table<Arrays<U>>, lock: Option<LockInfo>) -> HostInfo {
        let (leases, tickets) = (table.leases(), table.tickets());
        let processes = self.used_slots().filter_map(|(index, slot)| {
            let taken = self.is_taken(index);
            let life = match slot.state.load(Ordering::Acquire) {
                slot_state::FREE => return None,
                _ if !taken => Life::Gone,
                slot_state::INHERITED => Life::Tree,
                _ if !slot.life.is_alive() => Life::Dying,
                _ => Life::Lives,
            };
            let owner = owner_of(index);
            Some(ProcessInfo {
                process: slot.process.load(Ordering::Relaxed),
                here: self.space != 0 && slot.space.load(Ordering::Relaxed) == self.space,
                owner,
                life,
                since: slot.since.load(Ordering::Relaxed),
                leases: leases.iter().filter(|lease| lease.owner == owner).count() as u32,
                tickets: tickets.iter().filter(|ticket| ticket.owner == owner).count() as u32,
            })
        });
        HostInfo {
            path: self.path.path.clone(),
            bytes: self.file.size as u64,
            processes: processes.collect(),
            lock,
            roll_backs: self.file.preamble.roll_backs.load(Ordering::Acquire),
            deaths: self.file.preamble.deaths.load(Ordering::Acquire),
            corrupt: self.is_corrupt(),
        }
    }
}
