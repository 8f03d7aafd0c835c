//! Host: tables that all processes of a machine share.
//!
//! A manager of "host:", "host:NAME" or "host:/PATH" has its table in a file that other processes open too; the first one makes it. What a
//! process holds is given back when it is gone, however it ended. A child of fork() opens the table again. With all other managers,
//! and on systems that are not Linux, the functions here are TERN_ERR_UNSUPPORTED.
//!
//!     tern_process_info_t processes[64] = { tern_process_info_init() };
//!     size_t count = 0;
//!     if (tern_manager_processes(manager, processes, 64, &count, &err) == TERN_OK)
//!         for (size_t i = 0; i < count; i++)
//!             printf("%" PRIu32 " holds %" PRIu32 "\n", processes[i].process, processes[i].leases);

use std::ffi::{c_char, c_int};

use super::boundary::with;
use super::error::tern_error_t;
use super::lease::tern_lease_t;
use super::manager::{more_if, tern_manager_t};
use super::sized::{self, Plain};
use super::status::tern_status_t::{self, *};
use super::text::required;
use crate::LeaseManager;
use crate::table::{Error, LeaseId};

/// How a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum tern_life_t {
    /// It lives.
    TERN_LIFE_LIVES = 1,
    /// It is dying: its memory is being freed, its files may still be open.
    TERN_LIFE_DYING = 2,
    /// It is gone, and nobody has taken note yet.
    TERN_LIFE_GONE = 3,
    /// Not one process but all that have inherited a lease: tern_lease_keep_for_children().
    TERN_LIFE_TREE = 4,
}

/// A shared table, and how it is. Make it with tern_host_info_init().
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_host_info_t {
    /// sizeof(tern_host_info_t)
    pub struct_size: usize,
    /// How large its file is.
    pub bytes: u64,
    /// Changes that were undone because their author died, so far.
    pub roll_backs: u64,
    /// Processes that were found dead, so far.
    pub deaths: u64,
    /// Since when its lock is taken, by the manager's clock; otherwise 0.
    pub lock_since: u64,
    /// Who had its lock when this was asked, by the number that it has for itself; 0: nobody. A process that has it for long does not go on.
    pub lock_process: u32,
    /// How many processes use it: tern_manager_processes() tells them.
    pub process_count: u32,
    /// 1 if the table makes no sense any more, otherwise 0.
    pub corrupt: u8,
    /// Zero.
    pub reserved: [u8; 7],
    /// Where its file is; cut if it is longer.
    pub path: [c_char; 1024],
}

// SAFETY: integers only; 5 times 8, 2 times 4, 8 times 1 and 1024 bytes have no padding.
unsafe impl Plain for tern_host_info_t {}

/// A process that uses a shared table. Make it with tern_process_info_init().
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct tern_process_info_t {
    /// sizeof(tern_process_info_t)
    pub struct_size: usize,
    /// Since when it uses the table, by the manager's clock.
    pub since: u64,
    /// Its number, as it sees itself: processes in different containers may have the same.
    pub process: u32,
    /// The number under which the table knows it.
    pub owner: u32,
    /// TERN_LIFE_…
    pub life: i32,
    /// How many leases it holds.
    pub leases: u32,
    /// How many claims of its wait.
    pub tickets: u32,
    /// Zero.
    pub reserved: u32,
}

// SAFETY: integers only; 2 times 8 and 6 times 4 bytes have no padding.
unsafe impl Plain for tern_process_info_t {}

/// What a manager does, in the words of C.
#[cfg(target_os = "linux")]
mod shared {
    use std::os::fd::{IntoRawFd, OwnedFd};

    use super::*;
    use crate::ffi::manager::time;
    use crate::ffi::text::inline_text;
    use crate::{HostInfo, ProcessInfo, ProcessLife};

    pub fn hand_to(manager: &LeaseManager, lease: LeaseId, process: u32) -> Result<(), Error> {
        manager.hand_to(lease, process)
    }

    pub fn keep_for_children(manager: &LeaseManager, lease: LeaseId) -> Result<c_int, Error> {
        Ok(OwnedFd::from(manager.keep_for_children(lease)?).into_raw_fd())
    }

    fn host(manager: &LeaseManager) -> Result<HostInfo, Error> {
        manager.host().ok_or(Error::NotShared)
    }

    pub fn info(manager: &LeaseManager) -> Result<tern_host_info_t, Error> {
        let host = host(manager)?;
        Ok(tern_host_info_t {
            struct_size: 0,
            bytes: host.bytes,
            roll_backs: host.roll_backs,
            deaths: host.deaths,
            lock_since: host.lock.map_or(0, |lock| lock.since),
            lock_process: host.lock.map_or(0, |lock| lock.process),
            process_count: host.processes.len() as u32,
            corrupt: host.corrupt.into(),
            reserved: [0; 7],
            path: inline_text(&host.path.to_string_lossy()),
        })
    }

    pub fn processes(manager: &LeaseManager) -> Result<Vec<tern_process_info_t>, Error> {
        Ok(host(manager)?.processes.iter().map(process).collect())
    }

    fn process(process: &ProcessInfo) -> tern_process_info_t {
        let life = match process.life {
            ProcessLife::Lives => tern_life_t::TERN_LIFE_LIVES,
            ProcessLife::Dying => tern_life_t::TERN_LIFE_DYING,
            ProcessLife::Gone => tern_life_t::TERN_LIFE_GONE,
            ProcessLife::Tree => tern_life_t::TERN_LIFE_TREE,
        };
        tern_process_info_t {
            struct_size: 0,
            since: time(process.since),
            process: process.process,
            owner: process.owner.into(),
            life: life as i32,
            leases: process.leases,
            tickets: process.tickets,
            reserved: 0,
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod shared {
    use super::*;

    pub fn hand_to(_: &LeaseManager, _: LeaseId, _: u32) -> Result<(), Error> {
        Err(Error::NotShared)
    }

    pub fn keep_for_children(_: &LeaseManager, _: LeaseId) -> Result<c_int, Error> {
        Err(Error::NotShared)
    }

    pub fn info(_: &LeaseManager) -> Result<tern_host_info_t, Error> {
        Err(Error::NotShared)
    }

    pub fn processes(_: &LeaseManager) -> Result<Vec<tern_process_info_t>, Error> {
        Err(Error::NotShared)
    }
}

/// Hands a held lease to another process that uses the table, by the number that it has for itself: it ends with that process, and no
/// longer with this one. TERN_ERR_UNKNOWN_PROCESS if no process of that number uses the table.
/// TERN_ERR_OTHER_PRINCIPAL if the lease belongs to another user, unless this process is root's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_lease_hand_to(
    manager: *const tern_manager_t,
    lease: tern_lease_t,
    process: u32,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            shared::hand_to(manager, LeaseId(lease), process)?;
            Ok(TERN_OK)
        })
    }
}

/// Makes a held lease one of a tree of processes: it is held as long as any process has the descriptor open that this gives, and ends as if
/// its holder had died when the last of them has closed it or is gone. Children and programs that this process starts from now on inherit
/// it. It is the caller's, who closes it to leave the lease to them. It is for nothing else: do not read from it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_lease_keep_for_children(
    manager: *const tern_manager_t,
    lease: tern_lease_t,
    fd: *mut c_int,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            required(fd, "fd")?;
            fd.write_unaligned(shared::keep_for_children(manager, LeaseId(lease))?);
            Ok(TERN_OK)
        })
    }
}

/// Where the table is, and whether all is well.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_manager_host(
    manager: *const tern_manager_t,
    info: *mut tern_host_info_t,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            let size = sized::room(info, "info")?;
            sized::store(info, size, &shared::info(manager)?);
            Ok(TERN_OK)
        })
    }
}

/// Every process that uses the table, this one included. `needed` as for all lists.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_manager_processes(
    manager: *const tern_manager_t,
    processes: *mut tern_process_info_t,
    capacity: usize,
    needed: *mut usize,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        with(manager, err, |manager: &LeaseManager| {
            sized::check_list(processes, capacity, "processes")?;
            let found = shared::processes(manager)?;
            more_if(!sized::store_list(processes, capacity, needed, &found, "processes")?)
        })
    }
}
