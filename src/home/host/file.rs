//! Opening a file: making it if there is none, and believing nothing in it that was not checked.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::fit;
use super::journal::Journal;
use super::layout::{MAGIC, Parts, Preamble, SLOTS, Slot, VERSION, status};
use super::liveness::{self, OPENING};
use super::place::Place;
use super::room;
use crate::home::open::OpenError;
use crate::memory::{Arrays, Region, UndoLog};
use crate::table::{Limits, Settings, Table};
use crate::zeroed::ZeroedArray;

/// A file in memory. It is never taken out again: threads may sleep on words in it.
#[derive(Debug)]
pub(crate) struct Mapped {
    pub preamble: &'static Preamble,
    pub slots: ZeroedArray<Slot>,
    pub arrays: Arrays<Journal>,
    pub journal: Journal,
    pub limits: Limits,
    pub size: usize,
    device: u64,
    inode: u64,
    /// Private memory has taken the place of the file.
    replaced: AtomicBool,
    /// Locked while that happens.
    replacing: Mutex<()>,
    next: *mut Mapped,
}

impl Mapped {
    pub fn is_replaced(&self) -> bool {
        self.replaced.load(Ordering::Acquire)
    }

    /// Puts private memory in place of a truncated file, so that no later access ends the process by SIGBUS. It says that
    /// the table is lost before any other thread can read it. A thread that touches the memory before this still gets
    /// SIGBUS: a library that installs no signal handlers cannot prevent that.
    /// If the system refuses, it is tried again with the next check.
    pub fn replace_memory(&self) {
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
        // SAFETY: the kernel exchanges the two mappings, which are equally long, in one step. What was mapped before is
        // shared memory that any process may change at any time, and is used as atomics only: for its users this is one
        // more such change.
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

// SAFETY: it consists of shared memory that is used as atomics only, and `next` never changes once it is known to others.
unsafe impl Sync for Mapped {}
// SAFETY: as above.
unsafe impl Send for Mapped {}

/// All that this process has mapped, so that opening a file again and again does not map it again and again.
static MAPPED: AtomicPtr<Mapped> = AtomicPtr::new(std::ptr::null_mut());

/// How long somebody else may take to open the file.
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens the file, and makes it if there is none or if it is from before the machine started.
pub(super) fn open(
    place: &Place,
    settings: Settings,
) -> Result<(File, &'static Mapped), OpenError> {
    loop {
        let file = open_or_create(place)?;
        fit::check(&file, place)?;
        lock_for_opening(&file)?;
        // While this waited, the file may have been replaced.
        let own = file
            .metadata()
            .map_err(|error| OpenError::system("its file cannot be looked at", &error))?;
        match std::fs::symlink_metadata(&place.path) {
            Ok(there) if (there.dev(), there.ino()) == (own.dev(), own.ino()) => {}
            _ => continue,
        }
        let prepared = prepare(&file, place, settings);
        // Also if it failed: what is mapped keeps the description, and with it the lock, for ever.
        liveness::unlock_byte(&file, OPENING);
        return prepared.map(|mapped| (file, mapped));
    }
}

/// Another description of the same file.
pub(super) fn reopen(place: &Place, mapped: &Mapped) -> io::Result<File> {
    reopen_with(&options(), place, mapped)
}

/// Another description of the same file, through which it can only be read.
pub(super) fn reopen_read_only(place: &Place, mapped: &Mapped) -> io::Result<File> {
    reopen_with(options().write(false), place, mapped)
}

fn reopen_with(options: &OpenOptions, place: &Place, mapped: &Mapped) -> io::Result<File> {
    let file = options.open(&place.path)?;
    let found = file.metadata()?;
    match (found.dev(), found.ino()) == (mapped.device, mapped.inode) {
        true => Ok(file),
        false => Err(io::Error::from_raw_os_error(libc::ESTALE)),
    }
}

/// What has become of a file that is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    /// As far as this process can see, newcomers find it.
    InPlace,
    /// Newcomers find another file, or none.
    Gone,
    /// A part of the mapped memory has no file behind it any more.
    Truncated,
}

/// In which tree a thread looks up paths: device and inode of its root directory, and its mount namespace.
pub(super) type Root = (u64, u64, u64);

/// Where this thread looks up paths.
pub(super) fn root() -> Option<Root> {
    let root = std::fs::metadata("/").ok()?;
    let mounts = std::fs::metadata("/proc/thread-self/ns/mnt").map_or(0, |found| found.ino());
    Some((root.dev(), root.ino(), mounts))
}

/// A process that has given up rights, or has changed its root directory or mount namespace, may not see the path any
/// more: that alone does not end the leases of all others. `file` is a descriptor of the mapped file, unless the program
/// has closed it and opened another file under its number.
pub(super) fn condition(
    place: &Place,
    file: &File,
    mapped: &Mapped,
    root_before: Option<Root>,
) -> Condition {
    let Ok(own) = file.metadata() else { return Condition::InPlace };
    if (own.dev(), own.ino()) != (mapped.device, mapped.inode) {
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
    match std::fs::symlink_metadata(&place.path) {
        Ok(found) if (found.dev(), found.ino()) == (mapped.device, mapped.inode) => {
            Condition::InPlace
        }
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

fn open_or_create(place: &Place) -> Result<File, OpenError> {
    loop {
        match options().open(&place.path) {
            Ok(file) => return Ok(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(OpenError::system("its file cannot be opened", &error)),
        }
        match options().create_new(true).mode(place.mode).open(&place.path) {
            Ok(file) => {
                // What the user's mask took away belongs to it.
                // SAFETY: the descriptor is open.
                unsafe { libc::fchmod(file.as_raw_fd(), place.mode) };
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
            Ok(false) if begun.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(1)),
            Ok(false) => {
                return Err(OpenError::lock_timeout(
                    "another process has begun to open it and does not go on",
                ));
            }
            Err(error) => return Err(OpenError::system("its file cannot be locked", &error)),
        }
    }
}

/// The file is locked for opening: checks it, or makes it.
fn prepare(file: &File, place: &Place, settings: Settings) -> Result<&'static Mapped, OpenError> {
    let looked_at = |error: io::Error| OpenError::system("its file cannot be read", &error);
    let whole = file.metadata().map_err(looked_at)?;
    let len = whole.len();
    let mut first = [0u8; size_of::<Preamble>()];
    let read = read_at_most(file, &mut first).map_err(looked_at)?;
    if first[..read].iter().all(|&byte| byte == 0) {
        // New, or its maker died at once; or it was truncated under its users, who must not meet the new table.
        return match liveness::anybody_attached(file) {
            false => make(file, place, settings),
            true => Err(lost_in_use()),
        };
    }
    let found = Found::read(&first);
    if read < first.len() || found.magic != MAGIC {
        return Err(OpenError::invalid("its file is not one of ternlease's, and is left as it is"));
    }
    if found.boot != boot()? || !found.ready {
        // From before the machine started, or its maker died. Only if nobody uses it: it could be damaged.
        return match liveness::anybody_attached(file) {
            false => make(file, place, settings),
            true => Err(OpenError::corrupt()),
        };
    }
    if found.status & status::LOST != 0 {
        return match liveness::anybody_attached(file) {
            false => make(file, place, settings),
            true => Err(lost_in_use()),
        };
    }
    if found.version != VERSION {
        // After an update, nobody should have to clean up. While others go on with the old one, it is theirs.
        return match liveness::anybody_attached(file) {
            false => make(file, place, settings),
            true => Err(OpenError::invalid(
                "processes with another version of ternlease use it; end them, use the same version, or another name",
            )),
        };
    }
    let limits = found.limits;
    if limits.clamped() != limits || Parts::of(&limits).total as u64 != len || found.size != len {
        return Err(OpenError::corrupt());
    }
    room::fill_up(file, &whole).map_err(|error| {
        OpenError::system("its file has holes, for which there is no room", &error)
    })?;
    map(file, limits)
}

fn lost_in_use() -> OpenError {
    OpenError::invalid(
        "its file was moved, deleted or truncated while in use; end the programs that used it then",
    )
}

fn read_at_most(file: &File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match file.read_at(&mut buffer[read..], read as u64) {
            Ok(0) => break,
            Ok(n) => read += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

/// What a preamble says.
struct Found {
    magic: u64,
    version: u32,
    boot: [u64; 2],
    limits: Limits,
    ready: bool,
    status: u32,
    size: u64,
}

impl Found {
    fn read(bytes: &[u8; size_of::<Preamble>()]) -> Found {
        let half = |at: usize| u32::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
        let word = |at: usize| u64::from_ne_bytes(std::array::from_fn(|i| bytes[at + i]));
        use std::mem::offset_of as at;
        Found {
            magic: word(at!(Preamble, magic)),
            version: half(at!(Preamble, version)),
            boot: [word(at!(Preamble, boot)), word(at!(Preamble, boot) + 8)],
            limits: Limits {
                leases: half(at!(Preamble, leases)),
                tickets: half(at!(Preamble, tickets)),
                resources: half(at!(Preamble, resources)),
                history: half(at!(Preamble, history)),
            },
            ready: half(at!(Preamble, ready)) != 0,
            status: half(at!(Preamble, status)),
            size: word(at!(Preamble, size)),
        }
    }
}

/// The number of this start of the machine.
fn boot() -> Result<[u64; 2], OpenError> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").map_err(|error| {
        OpenError::system("the kernel does not tell since when it runs", &error)
    })?;
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    let part =
        |from: usize| digits.get(from..from + 16).and_then(|d| u64::from_str_radix(d, 16).ok());
    match (part(0), part(16)) {
        (Some(high), Some(low)) => Ok([high, low]),
        _ => Err(OpenError::invalid("the kernel does not tell since when it runs")),
    }
}

/// Makes an empty table in the file.
fn make(file: &File, place: &Place, settings: Settings) -> Result<&'static Mapped, OpenError> {
    let refused = |error: io::Error| OpenError::system("its file cannot be given its size", &error);
    let boot = boot()?;
    let limits = settings.limits.clamped();
    let parts = Parts::of(&limits);
    file.set_len(0).map_err(refused)?;
    if let Err(error) = room::reserve(file, parts.total) {
        let _ = file.set_len(0);
        return Err(refused(error));
    }
    // SAFETY: the descriptor is open.
    unsafe { libc::fchmod(file.as_raw_fd(), place.mode) };
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

/// The file in memory.
fn map(file: &File, limits: Limits) -> Result<&'static Mapped, OpenError> {
    let refused = |error: io::Error| OpenError::system("its file cannot be mapped", &error);
    let found = file.metadata().map_err(refused)?;
    let (device, inode) = (found.dev(), found.ino());
    let mut known = MAPPED.load(Ordering::Acquire);
    // SAFETY: what is mapped stays for ever: a pointer to it is null or valid.
    while let Some(mapped) = unsafe { known.as_ref() } {
        let same = (mapped.device, mapped.inode, mapped.limits) == (device, inode, limits);
        if same && !mapped.is_replaced() {
            return Ok(mapped);
        }
        known = mapped.next;
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
    // SAFETY: the mapping is as long as that, begins at a page, is never taken back, and is used as atomics only.
    let mut region = unsafe { Region::new(start, parts.table) };
    let short = || OpenError::corrupt();
    let preamble = region.array::<Preamble>(1).ok_or_else(short)?;
    let slots = region.array::<Slot>(SLOTS).ok_or_else(short)?;
    let notes = region.array(parts.notes).ok_or_else(short)?;
    // SAFETY: a first value there is, in memory that stays for ever.
    let preamble: &'static Preamble = unsafe { &*(preamble.one() as *const Preamble) };
    // SAFETY: the table's part of the mapping.
    let table = unsafe { start.add(parts.table) };
    // SAFETY: the table begins at a page, and is all of this and no more.
    let journal = unsafe { Journal::new(preamble, notes, table, parts.table_bytes) };
    // SAFETY: as for the first part.
    let mut region = unsafe { Region::new(table, parts.table_bytes) };
    let arrays =
        Arrays::in_region(&limits.sizes(), &mut region, journal.clone()).ok_or_else(short)?;
    let new = Box::leak(Box::new(Mapped {
        preamble,
        slots,
        arrays,
        journal,
        limits,
        size: parts.total,
        device,
        inode,
        replaced: AtomicBool::new(false),
        replacing: Mutex::new(()),
        next: std::ptr::null_mut(),
    }));
    let mut first = MAPPED.load(Ordering::Acquire);
    loop {
        new.next = first;
        match MAPPED.compare_exchange(first, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => return Ok(new),
            Err(other) => first = other,
        }
    }
}
