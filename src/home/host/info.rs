//! What a file and the processes that use it look like, for people.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use super::layout::slot_state;
use super::{Attachment, lock, owner_of};
use crate::home::arrays::{Arrays, Undo};
use crate::table::{Table, Time};

/// A shared file, and who uses it, as [`LeaseManager::host`](crate::LeaseManager::host) tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostInfo {
    /// Where it is.
    pub path: PathBuf,
    /// How large it is.
    pub bytes: u64,
    /// Every process that uses it.
    pub processes: Vec<ProcessInfo>,
    /// Who has its lock now, if anybody has: a process that has it for long does not go on.
    pub lock: Option<LockInfo>,
    /// Changes that were undone because their author died, so far.
    pub roll_backs: u64,
    /// Processes that were found dead, so far.
    pub deaths: u64,
    /// The table makes no sense any more.
    pub corrupt: bool,
}

/// A process that uses a shared file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessInfo {
    /// Its number, as it sees itself: processes in different containers may have the same.
    pub process: u32,
    /// Its number is the same here: it is in the PID namespace of the process that asks. If not, what has that number here is another process.
    pub here: bool,
    /// The number under which the table knows it, see [`Claim::owner`](crate::table::Claim::owner).
    pub owner: u16,
    /// How it is.
    pub life: Life,
    /// Since when it uses the file.
    pub since: Time,
    /// How many leases it holds.
    pub leases: u32,
    /// How many claims of its wait.
    pub tickets: u32,
}

/// How a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Life {
    /// It lives.
    Lives,
    /// It is dying: its memory is being freed, its files may still be open.
    Dying,
    /// It is gone, and nobody has taken note yet.
    Gone,
    /// Not one process but all that have inherited a lease.
    Tree,
}

/// Who has the lock of a shared file.
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

    pub fn info<U: Undo>(&self, table: &Table<Arrays<U>>, lock: Option<LockInfo>) -> HostInfo {
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
