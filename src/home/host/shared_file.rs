//! The file of a table: its path, its rights, and how it is made, mapped and checked.
//!
//! Data structure: a [`HostPath`] names a file; a [`SharedFile`] is the file in the memory of this
//! process. Each file is mapped once and never unmapped, because threads may sleep on words in it.
//!
//! Locking rule: a byte of the file ([`OPENING`]) is locked while a process makes it or checks it
//! for the first time. After that the memory is used as atomics only.
//!
//! Invariants:
//!
//! 1. *A file is complete before it is used:* `ready` is the last word that its maker writes. A
//!    file that is not ready, is from before the machine started, was lost or is of another version
//!    is made anew, unless a process uses it.
//! 2. *Nothing in a file is trusted before it was checked:* its size must follow from its limits.
//! 3. *All of its memory is allocated at once.* Otherwise the first access to what is missing would
//!    end the process.
//! 4. *A file that is deleted, replaced or truncated in use is lost for all that use it*, and never
//!    used again. No event announces that, so each process checks every [`FILE_CHECK_INTERVAL`].

use std::ffi::CString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::journal::Journal;
use super::layout::{MAGIC, Parts, Preamble, SLOTS, Slot, VERSION, status};
use super::leaked_list::LeakedList;
use super::liveness::{self, OPENING};
use super::{Attachment, FILE_CHECK_INTERVAL};
use crate::home::clock::Clock;
use crate::home::open::{OpenError, OpenErrorKind};
use crate::memory::{Arrays, Region, UndoLog};
use crate::rt::thread::without_signals;
use crate::table::{Limits, Settings, Table, Time};
use crate::zeroed::ZeroedArray;

/// The directory of tables that several users share. `ternlease setup --group` makes it
/// (`docs/homes.md`).
const SHARED: &str = "/run/ternlease";

/// The path of a file, and the mode with which it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostPath {
    pub path: PathBuf,
    pub mode: u32,
}

/// For the user who makes the file.
const OWN: u32 = 0o600;
/// For the group of the directory, too.
const GROUP: u32 = 0o660;

impl HostPath {
    /// The path that the rest of a URL after `host:` names: nothing, a name, or the path of a file.
    pub fn find(rest: &str) -> Result<HostPath, OpenError> {
        if rest.starts_with('/') {
            return Ok(HostPath { path: PathBuf::from(rest), mode: OWN });
        }
        let name = if rest.is_empty() { "default" } else { rest };
        if !is_name(name) {
            return Err(OpenError::invalid(
                "`host:` takes a path that begins with `/`, or a name of letters, digits, `-`, \
                 `_` and `.`",
            ));
        }
        Self::named(name, Path::new(SHARED), Path::new("/dev/shm"))
    }

    fn named(name: &str, shared: &Path, memory: &Path) -> Result<HostPath, OpenError> {
        if shared.is_dir() {
            check_group(shared)?;
            return Ok(HostPath { path: shared.join(name), mode: GROUP });
        }
        // SAFETY: cannot fail, takes and changes nothing.
        let user = unsafe { libc::geteuid() };
        let own = memory.join(format!("ternlease-{user}"));
        match fs::DirBuilder::new().mode(0o700).create(&own) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(OpenError::system("its directory in /dev/shm cannot be made", &error));
            }
            _ => {}
        }
        // Any user can make directories there: it must belong to this one.
        let found = fs::symlink_metadata(&own).map_err(|error| {
            OpenError::system("its directory in /dev/shm cannot be looked at", &error)
        })?;
        if !found.is_dir() || found.uid() != user || found.mode() & 0o022 != 0 {
            return Err(OpenError::invalid("its directory in /dev/shm is not this user's alone"));
        }
        Ok(HostPath { path: own.join(name), mode: OWN })
    }
}

/// A user who cannot create files in the shared directory cannot use any pool there. The error
/// names the group that may, because "Permission denied" alone does not say what to do.
fn check_group(shared: &Path) -> Result<(), OpenError> {
    let Ok(path) = CString::new(shared.as_os_str().as_bytes()) else { return Ok(()) };
    // SAFETY: `path` is a string that ends with a zero and outlives the call.
    let allowed = unsafe {
        libc::faccessat(libc::AT_FDCWD, path.as_ptr(), libc::W_OK | libc::X_OK, libc::AT_EACCESS)
    } == 0;
    let denied = io::Error::last_os_error();
    if allowed || denied.raw_os_error() != Some(libc::EACCES) {
        // Any other failure gets its own error when the file is opened.
        return Ok(());
    }
    let found = fs::metadata(shared).map(|found| (found.gid(), found.mode() & 0o020 != 0));
    let problem = match found {
        Ok((group, true)) if group != 0 => format!(
            "{} is for members of the group {} only; an administrator can add this user to the \
             group, and then the user must log in again",
            shared.display(),
            group_name(group).unwrap_or_else(|| group.to_string()),
        ),
        _ => format!(
            "no group of users can write to {}; an administrator can change that with \
             `ternlease setup --group GROUP`",
            shared.display()
        ),
    };
    Err(OpenError::new(OpenErrorKind::System(libc::EACCES), problem))
}

fn group_name(id: u32) -> Option<String> {
    let groups = fs::read("/etc/group").ok()?;
    String::from_utf8_lossy(&groups).lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(id)).then(|| name.to_owned())
    })
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    name.len() <= 100 && !name.starts_with('.') && name.chars().all(fits)
}

/// See the module's text.
#[derive(Debug)]
pub(crate) struct SharedFile {
    pub preamble: &'static Preamble,
    pub slots: ZeroedArray<Slot>,
    pub arrays: Arrays<Journal>,
    pub journal: Journal,
    pub limits: Limits,
    pub size: usize,
    device: u64,
    inode: u64,
    /// Private memory has replaced that of the file.
    replaced: AtomicBool,
    /// Locked while that happens.
    replacing: Mutex<()>,
}

impl SharedFile {
    fn is(&self, found: &Metadata) -> bool {
        (found.dev(), found.ino()) == (self.device, self.inode)
    }

    fn is_replaced(&self) -> bool {
        self.replaced.load(Ordering::Acquire)
    }

    /// Replaces the memory of a truncated file by private memory, which says that the table is
    /// lost, so that no later access ends the process by SIGBUS. A thread that touches the memory
    /// before this still gets SIGBUS: a library that installs no signal handlers cannot prevent
    /// that. If the system refuses, the next check tries again.
    fn replace_memory(&self) {
        let _replacing = self.replacing.lock();
        if self.is_replaced() {
            return;
        }
        // SAFETY: new private memory at a place of the kernel's choice.
        let fresh = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                self.size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if fresh == libc::MAP_FAILED {
            return;
        }
        // SAFETY: it is large enough, aligned to a page and zeroed, which is a value of the type.
        let preamble = unsafe { &*fresh.cast::<Preamble>() };
        preamble.status.store(status::LOST, Ordering::Release);
        let start = std::ptr::from_ref(self.preamble).cast_mut().cast::<libc::c_void>();
        // SAFETY: the kernel exchanges the two mappings, which are equally long, in one step. What
        // was mapped before is shared memory that any process may change at any time, and is used
        // as atomics only: for its users this is one more such change.
        let moved = unsafe {
            let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
            libc::mremap(fresh, self.size, self.size, flags, start)
        };
        if moved == libc::MAP_FAILED {
            // SAFETY: mapped above, and used by nothing else.
            unsafe { libc::munmap(fresh, self.size) };
            return;
        }
        self.replaced.store(true, Ordering::Release);
    }
}

/// All files that this process has mapped.
static MAPPED: LeakedList<SharedFile> = LeakedList::new();

/// How long another process may take to make or check the file.
const OPEN_TIMEOUT: Duration = Duration::from_secs(10);

/// Opens the file, which is made with these settings if there is none or if it cannot be used any
/// more.
pub(super) fn open(
    path: &HostPath,
    settings: Settings,
) -> Result<(File, &'static SharedFile), OpenError> {
    loop {
        let file = open_or_create(path)?;
        check_compatible(&file, path)?;
        lock_for_opening(&file)?;
        // The file may have been replaced while this waited.
        let own = file
            .metadata()
            .map_err(|error| OpenError::system("its file cannot be looked at", &error))?;
        match fs::symlink_metadata(&path.path) {
            Ok(there) if (there.dev(), there.ino()) == (own.dev(), own.ino()) => {}
            _ => continue,
        }
        let prepared = prepare(&file, path, settings);
        // Also if it failed: the mapping keeps the description, and with it the lock, forever.
        liveness::unlock_byte(&file, OPENING);
        return prepared.map(|mapped| (file, mapped));
    }
}

/// Another open description of the same file.
pub(super) fn reopen(path: &HostPath, mapped: &SharedFile, writable: bool) -> io::Result<File> {
    let file = options().write(writable).open(&path.path)?;
    match mapped.is(&file.metadata()?) {
        true => Ok(file),
        false => Err(io::Error::from_raw_os_error(libc::ESTALE)),
    }
}

/// The condition of a file in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condition {
    /// As far as this process can see, new processes find it.
    InPlace,
    /// New processes find another file, or none.
    Gone,
    /// A part of the mapped memory has no file behind it any more.
    Truncated,
}

/// Where a thread looks up paths: device and inode of its root directory, and its mount namespace.
pub(super) type RootId = (u64, u64, u64);

pub(super) fn root() -> Option<RootId> {
    let root = fs::metadata("/").ok()?;
    let mounts = fs::metadata("/proc/thread-self/ns/mnt").map_or(0, |found| found.ino());
    Some((root.dev(), root.ino(), mounts))
}

/// A process that has given up rights, or has changed its root directory or mount namespace, may
/// not see the path any more: that alone does not end the leases of all others. `file` is a
/// descriptor of the mapped file, unless the program has closed it and opened another file under
/// its number.
fn condition(
    path: &HostPath,
    file: &File,
    mapped: &SharedFile,
    root_before: Option<RootId>,
) -> Condition {
    let Ok(own) = file.metadata() else { return Condition::InPlace };
    if !mapped.is(&own) {
        return Condition::InPlace;
    }
    if own.len() < mapped.size as u64 {
        return Condition::Truncated;
    }
    if own.nlink() == 0 {
        return Condition::Gone;
    }
    if root() != root_before {
        return Condition::InPlace;
    }
    match fs::symlink_metadata(&path.path) {
        Ok(found) if mapped.is(&found) => Condition::InPlace,
        Ok(_) => Condition::Gone,
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Condition::Gone,
            _ => Condition::InPlace,
        },
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_CLOEXEC | libc::O_NOFOLLOW);
    options
}

fn open_or_create(path: &HostPath) -> Result<File, OpenError> {
    loop {
        match options().open(&path.path) {
            Ok(file) => return Ok(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(OpenError::system("its file cannot be opened", &error)),
        }
        match options().create_new(true).mode(path.mode).open(&path.path) {
            Ok(file) => {
                // The umask of the process must not apply.
                // SAFETY: the descriptor is open.
                unsafe { libc::fchmod(file.as_raw_fd(), path.mode) };
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(OpenError::system("its file cannot be made", &error)),
        }
    }
}

fn lock_for_opening(file: &File) -> Result<(), OpenError> {
    let begun = Instant::now();
    loop {
        match liveness::try_lock_byte(file, OPENING) {
            Ok(true) => return Ok(()),
            Ok(false) if begun.elapsed() < OPEN_TIMEOUT => {
                std::thread::sleep(Duration::from_millis(1))
            }
            Ok(false) => {
                return Err(OpenError::lock_timeout(
                    "another process has begun to open it and is not responding",
                ));
            }
            Err(error) => return Err(OpenError::system("its file cannot be locked", &error)),
        }
    }
}

/// Checks the file, or makes it. With the file locked for opening.
fn prepare(
    file: &File,
    path: &HostPath,
    settings: Settings,
) -> Result<&'static SharedFile, OpenError> {
    let unreadable = |error: io::Error| OpenError::system("its file cannot be read", &error);
    let metadata = file.metadata().map_err(unreadable)?;
    let mut found = Preamble::default();
    // SAFETY: the bytes of a value of atomic integers, which may be any, and which nothing else
    // uses.
    let bytes = unsafe {
        std::slice::from_raw_parts_mut((&raw mut found).cast::<u8>(), size_of::<Preamble>())
    };
    // From the beginning: the file was just opened.
    let mut reader = file.take(bytes.len() as u64);
    let read = io::copy(&mut reader, &mut &mut bytes[..]).map_err(unreadable)? as usize;
    let is_empty = bytes[..read].iter().all(|&byte| byte == 0);
    // Why it cannot be used, if it is to be made anew.
    let unusable = if is_empty {
        // New, or its maker died at once, or it was truncated in use.
        Some(lost_in_use())
    } else if read < size_of::<Preamble>() || found.magic.load(Ordering::Relaxed) != MAGIC {
        return Err(OpenError::invalid("its file is not one of ternlease's, and is left as it is"));
    } else if found.boot() != boot()? || found.ready.load(Ordering::Relaxed) == 0 {
        // From before the machine started, or its maker died. In use, it is damaged.
        Some(OpenError::corrupt())
    } else if found.status.load(Ordering::Relaxed) & status::LOST != 0 {
        Some(lost_in_use())
    } else if found.version.load(Ordering::Relaxed) != VERSION {
        Some(OpenError::invalid(
            "processes with another version of ternlease use it; end them, use the same version, \
             or another name",
        ))
    } else {
        None
    };
    if let Some(why) = unusable {
        return match liveness::is_in_use(file) {
            false => make(file, path, settings),
            true => Err(why),
        };
    }
    let (limits, len) = (found.limits(), metadata.len());
    if limits.clamped() != limits
        || Parts::of(&limits).total as u64 != len
        || found.size.load(Ordering::Relaxed) != len
    {
        return Err(OpenError::corrupt());
    }
    allocate_holes(file, &metadata).map_err(|error| {
        OpenError::system("its file has holes, for which there is no room", &error)
    })?;
    map(file, limits)
}

fn lost_in_use() -> OpenError {
    OpenError::invalid(
        "its file was moved, deleted or truncated while in use; end the programs that used it then",
    )
}

/// The id of this start of the machine.
fn boot() -> Result<[u64; 2], OpenError> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map_err(|error| OpenError::system("the id of this boot cannot be read", &error))?;
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    let part =
        |from: usize| digits.get(from..from + 16).and_then(|d| u64::from_str_radix(d, 16).ok());
    match (part(0), part(16)) {
        (Some(high), Some(low)) => Ok([high, low]),
        _ => Err(OpenError::invalid("the id of this boot cannot be read")),
    }
}

/// Makes an empty table in the file.
fn make(
    file: &File,
    path: &HostPath,
    settings: Settings,
) -> Result<&'static SharedFile, OpenError> {
    let refused = |error: io::Error| OpenError::system("its file cannot be given its size", &error);
    let boot = boot()?;
    let limits = settings.limits.clamped();
    let parts = Parts::of(&limits);
    file.set_len(0).map_err(refused)?;
    if let Err(error) = allocate(file, parts.total) {
        let _ = file.set_len(0);
        return Err(refused(error));
    }
    // SAFETY: the descriptor is open.
    unsafe { libc::fchmod(file.as_raw_fd(), path.mode) };
    let mapped = map(file, limits)?;
    let preamble = mapped.preamble;
    preamble.magic.store(MAGIC, Ordering::Release);
    preamble.version.store(VERSION, Ordering::Relaxed);
    for (cell, word) in preamble.boot.iter().zip(boot) {
        cell.store(word, Ordering::Relaxed);
    }
    preamble.leases.store(limits.leases, Ordering::Relaxed);
    preamble.tickets.store(limits.tickets, Ordering::Relaxed);
    preamble.resources.store(limits.resources, Ordering::Relaxed);
    preamble.history.store(limits.history, Ordering::Relaxed);
    preamble.size.store(parts.total as u64, Ordering::Relaxed);
    Table::try_new(mapped.arrays.clone(), settings).ok_or_else(OpenError::no_memory)?;
    mapped.journal.commit();
    preamble.ready.store(1, Ordering::Release);
    Ok(mapped)
}

/// Maps the file, unless this process has it mapped.
fn map(file: &File, limits: Limits) -> Result<&'static SharedFile, OpenError> {
    let refused = |error: io::Error| OpenError::system("its file cannot be mapped", &error);
    let found = file.metadata().map_err(refused)?;
    let usable =
        |file: &&SharedFile| file.is(&found) && file.limits == limits && !file.is_replaced();
    if let Some(mapped) = MAPPED.iter().find(usable) {
        return Ok(mapped);
    }
    let parts = Parts::of(&limits);
    // SAFETY: a new mapping at a place of the kernel's choice, of a descriptor that is open.
    let start = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            parts.total,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return Err(refused(io::Error::last_os_error()));
    }
    let start = NonNull::new(start.cast::<u8>()).ok_or_else(OpenError::no_memory)?;
    // SAFETY: the mapping is that long, begins at a page, is never unmapped, and is used as atomics
    // only.
    let mut region = unsafe { Region::new(start, parts.table) };
    let short = || OpenError::corrupt();
    let preamble = region.array::<Preamble>(1).ok_or_else(short)?;
    let slots = region.array::<Slot>(SLOTS).ok_or_else(short)?;
    let notes = region.array(parts.notes).ok_or_else(short)?;
    // SAFETY: the array has one value, in memory that stays forever.
    let preamble: &'static Preamble = unsafe { &*(preamble.one() as *const Preamble) };
    // SAFETY: the table's part of the mapping.
    let table = unsafe { start.add(parts.table) };
    // SAFETY: the table begins at a page, and is all of this and no more.
    let journal = unsafe { Journal::new(preamble, notes, table, parts.table_bytes) };
    // SAFETY: as for the first part.
    let mut region = unsafe { Region::new(table, parts.table_bytes) };
    let arrays =
        Arrays::in_region(&limits.sizes(), &mut region, journal.clone()).ok_or_else(short)?;
    Ok(MAPPED.push(SharedFile {
        preamble,
        slots,
        arrays,
        journal,
        limits,
        size: parts.total,
        device: found.dev(),
        inode: found.ino(),
        replaced: AtomicBool::new(false),
        replacing: Mutex::new(()),
    }))
}

/// The condition of the table.
impl Attachment {
    /// Is the table neither damaged nor lost? One load, for the fast paths.
    #[inline(always)]
    pub fn is_sound(&self) -> bool {
        self.file.preamble.status.load(Ordering::Acquire) == 0
    }

    #[inline(always)]
    fn has_status(&self, bit: u32) -> bool {
        self.file.preamble.status.load(Ordering::Acquire) & bit != 0
    }

    pub fn is_corrupt(&self) -> bool {
        self.has_status(status::CORRUPT)
    }

    pub fn mark_corrupt(&self) {
        self.file.preamble.status.fetch_or(status::CORRUPT, Ordering::AcqRel);
    }

    /// All leases of a lost table are over.
    #[inline(always)]
    pub fn is_lost(&self) -> bool {
        self.has_status(status::LOST)
    }

    /// Was the memory of the table replaced, because its file was truncated? Then its records are
    /// gone.
    pub fn is_replaced(&self) -> bool {
        self.file.is_replaced()
    }

    /// Marks the table lost if new processes do not find its file. A thread that has slept calls
    /// this before it touches the table: a truncated file would end the process by SIGBUS.
    pub fn check_file(&self) {
        self.checked.store(Clock::Real.now(), Ordering::Relaxed);
        match condition(&self.path, &self.probe, self.file, self.root) {
            // With another generation in the slot, the file was truncated and made anew.
            Condition::InPlace if self.is_detached() || self.has_own_slot() => {}
            Condition::InPlace | Condition::Truncated => self.file.replace_memory(),
            Condition::Gone => {
                self.file.preamble.status.fetch_or(status::LOST, Ordering::AcqRel);
            }
        }
    }

    /// As [`Self::check_file`], but not after each short park in a busy table.
    pub(super) fn check_file_after_park(&self, begun: Time) {
        let now = Clock::Real.now();
        let passed = |since: Time| Duration::from_micros(now.saturating_sub(since));
        if passed(begun) >= Duration::from_millis(1)
            || passed(self.checked.load(Ordering::Relaxed)) >= FILE_CHECK_INTERVAL
        {
            self.check_file();
        }
    }
}

/// File locks and shared memory must mean the same to all processes: on one machine, in its own
/// file systems.
fn check_compatible(file: &File, path: &HostPath) -> Result<(), OpenError> {
    let found = file
        .metadata()
        .map_err(|error| OpenError::system("its file cannot be looked at", &error))?;
    if !found.is_file() {
        return Err(OpenError::invalid("there is something that is not a file"));
    }
    if !is_trustworthy(&found, path) {
        return Err(OpenError::invalid(
            "its file was made by another user, where all users can make files; use a directory of \
             your own or of a group",
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
    #[rustfmt::skip]
    const OF_OTHER_MACHINES: [u32; 11] = [
        0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x7375_7245, 0x5346_414f, 0x00c3_6400,
        0x0bd0_0bd0, 0x4750_4653, 0x0102_1997, 0x6573_5546,
    ];
    if OF_OTHER_MACHINES.contains(&(system.f_type as u32)) {
        return Err(OpenError::invalid(
            "its file is on a file system that other machines may share, where locks cannot be \
             relied on; use one in /dev/shm or /run",
        ));
    }
    Ok(())
}

/// The owner of a file can truncate it at any time, which kills the processes that have mapped it.
/// In a directory where all users can make files, and remove only their own, a file of another user
/// may have been made for that. The kernel has the same rule (`protected_regular`).
fn is_trustworthy(file: &Metadata, path: &HostPath) -> bool {
    const STICKY: u32 = 0o1002;
    let Some(directory) = path.path.parent().and_then(|path| fs::metadata(path).ok()) else {
        return true;
    };
    // SAFETY: cannot fail, takes and changes nothing.
    let user = unsafe { libc::geteuid() };
    directory.mode() & STICKY != STICKY || [user, directory.uid()].contains(&file.uid())
}

/// Gives an empty file its size, and all the memory or disk for it.
fn allocate(file: &File, bytes: usize) -> io::Result<()> {
    if bytes as u64 > file_size_limit() {
        return Err(io::Error::from_raw_os_error(libc::EFBIG));
    }
    // SAFETY: the descriptor is open.
    persist(|| unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes as i64) })
}

/// Allocates what is missing of a file, and keeps what is in it: tools that copy files may leave
/// out zeros. Not by the C library, which would write zeros where the file system cannot do this,
/// while other processes use the file. There, it stays as it is.
fn allocate_holes(file: &File, found: &Metadata) -> io::Result<()> {
    if found.blocks().saturating_mul(512) >= found.len() {
        return Ok(());
    }
    let filled = persist(|| {
        // SAFETY: the descriptor is open.
        match unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, found.len() as i64) } {
            0 => 0,
            _ => io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO),
        }
    });
    match filled {
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(()),
        filled => filled,
    }
}

/// Tries until it is done or refused. In memory, any signal makes the kernel give up and free what
/// it had allocated, so that frequent signals would stop it forever.
fn persist(mut attempt: impl FnMut() -> i32) -> io::Result<()> {
    without_signals(|| {
        loop {
            match attempt() {
                0 => return Ok(()),
                libc::EINTR => {}
                code => return Err(io::Error::from_raw_os_error(code)),
            }
        }
    })
}

/// The kernel ends a process that makes a file larger than this.
fn file_size_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a valid place for the answer.
    match unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } {
        0 => limit.rlim_cur,
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("tern-place-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        path
    }

    #[test]
    fn invalid_name_is_refused_and_path_is_kept() {
        assert_eq!(HostPath::find("/a/b").unwrap().path, Path::new("/a/b"));
        for bad in ["a/b", ".hidden", "../x", "a b", "ü", &"x".repeat(101)] {
            assert!(HostPath::find(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_shared_directory_is_preferred_and_means_the_group() {
        let (shared, memory) = (directory("shared"), directory("memory"));
        let path = HostPath::named("x", &shared, &memory).unwrap();
        assert_eq!(path, HostPath { path: shared.join("x"), mode: GROUP });
        fs::remove_dir(&shared).unwrap();
        let path = HostPath::named("x", &shared, &memory).unwrap();
        assert_eq!(path.mode, OWN);
        assert_eq!(fs::metadata(path.path.parent().unwrap()).unwrap().mode() & 0o777, 0o700);
        fs::remove_dir_all(memory).unwrap();
    }

    #[test]
    fn a_directory_that_others_may_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let memory = directory("open");
        let path = HostPath::named("x", Path::new("/nowhere"), &memory).unwrap();
        let own = path.path.parent().unwrap();
        fs::set_permissions(own, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(HostPath::named("x", Path::new("/nowhere"), &memory).is_err());
        fs::remove_dir(own).unwrap();
        std::os::unix::fs::symlink("/", own).unwrap();
        assert!(HostPath::named("x", Path::new("/nowhere"), &memory).is_err());
        fs::remove_dir_all(memory).unwrap();
    }
}
