//! Which files can have a table in them.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use super::place::Place;
use crate::home::open::OpenError;

/// File locks and shared memory must mean the same to all: on one machine, in its own file systems.
pub(super) fn check(file: &File, place: &Place) -> Result<(), OpenError> {
    let found = file
        .metadata()
        .map_err(|error| OpenError::system("its file cannot be looked at", &error))?;
    if !found.is_file() {
        return Err(OpenError::invalid("there is something that is not a file"));
    }
    if !is_trustworthy(&found, place) {
        return Err(OpenError::invalid(
            "its file was made by another user, where everybody can make files; use a directory of your own or of a group",
        ));
    }
    // SAFETY: integers, of which zero is a value.
    let mut system: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor is open, and `system` a valid place for the answer.
    if unsafe { libc::fstatfs(file.as_raw_fd(), &mut system) } != 0 {
        return Err(OpenError::system(
            "its file system cannot be looked at",
            &io::Error::last_os_error(),
        ));
    }
    // NFS, SMB (three), CODA, AFS, Ceph, Lustre, GPFS, 9p, FUSE.
    const OF_OTHER_MACHINES: [u32; 11] = [
        0x6969,
        0x517b,
        0xff53_4d42,
        0xfe53_4d42,
        0x7375_7245,
        0x5346_414f,
        0x00c3_6400,
        0x0bd0_0bd0,
        0x4750_4653,
        0x0102_1997,
        0x6573_5546,
    ];
    if OF_OTHER_MACHINES.contains(&(system.f_type as u32)) {
        return Err(OpenError::invalid(
            "its file is on a file system that other machines may share, where locks cannot be relied on; use one in /dev/shm or /run",
        ));
    }
    Ok(())
}

/// Who owns a file can shorten it at any time, which kills whoever has it in memory. Where everybody can make files (and remove only their own), one of somebody else's
/// may have been put there for that. This is the rule that the kernel has for files that are made there (`protected_regular`).
fn is_trustworthy(file: &Metadata, place: &Place) -> bool {
    const EVERYBODYS: u32 = 0o1002;
    let Some(directory) = place.path.parent().and_then(|path| fs::metadata(path).ok()) else {
        return true;
    };
    // SAFETY: cannot fail, takes and changes nothing.
    let user = unsafe { libc::geteuid() };
    directory.mode() & EVERYBODYS != EVERYBODYS || [user, directory.uid()].contains(&file.uid())
}
