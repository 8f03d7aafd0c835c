//! Which processes use a file, and which of them live.
//!
//! Data structure: a process has one of the [`SLOTS`] slots of the file.
//!
//! * It holds the kernel's lock on one byte of the file per slot, through a descriptor of its own
//!   ([`LivenessLock`]). The kernel drops that lock when the process is wholly gone, its other
//!   files included. This is what decides: it means the same in every PID namespace, and no number
//!   of a process is ever mistaken for another. Processes that inherit a lease share one such
//!   descriptor.
//! * The ticker of the process has its thread id in a word of the slot ([`LivenessWord`]), which
//!   the kernel marks when that thread ends. This is the early notification: a large process takes
//!   long to go.
//! * The state of the slot is free, a process, or inherited.
//!
//! Locking rule: the state changes under the lock of the file. The byte is locked before the state
//! is set, and unlocked after.
//!
//! Invariants:
//!
//! 1. *A slot whose byte is not locked is free or its owner is dead.* The process that finds it so
//!    reaps the owner, under the lock of the file, before it frees the slot; so does the next
//!    process in the slot, before it attaches (`has_stale_owner`).
//! 2. *A reused slot is not mistaken for its earlier owner.* The generation grows with each
//!    process, before the process takes any lock.
//! 3. *A forked child does not keep its parent alive.* Every descriptor is on a list before a fork
//!    can happen, and a fork handler closes those in the child.

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::ptr::null;
use std::sync::Once;
use std::sync::atomic::{AtomicBool as StaticBool, AtomicI32, AtomicU32 as StaticU32};

use super::futex::{self, FutexWait};
use super::layout::{SLOTS, Slot, slot_state};
use super::leaked_list::LeakedList;
use super::lock::{is_of_generation, word_of};
use super::owner_of;
use super::shared_file::{self, HostPath, RootId, SharedFile};
use crate::home::open::{OpenError, OpenErrorKind};
use crate::rt::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use crate::table::{Error, LeaseId, Settings, Time};

/// The locked bytes lie far behind the end of any file.
const FIRST_BYTE: i64 = 1 << 40;

/// The byte that is locked while a file is made, or checked for the first time.
pub(super) const OPENING: i64 = FIRST_BYTE - 1;

fn byte_of(slot: usize) -> i64 {
    FIRST_BYTE + slot as i64
}

/// Calls `fcntl` for a lock of this kind on these bytes.
fn lock_call(
    file: &File,
    operation: libc::c_int,
    kind: libc::c_int,
    first: i64,
    count: i64,
) -> io::Result<libc::flock> {
    // SAFETY: integers, of which zero is a value.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = first;
    lock.l_len = count;
    // SAFETY: the descriptor is open, and the lock is valid for reads and writes.
    match unsafe { libc::fcntl(file.as_raw_fd(), operation, &mut lock) } {
        0 => Ok(lock),
        _ => Err(io::Error::last_os_error()),
    }
}

fn try_lock(file: &File, byte: i64, kind: libc::c_int) -> io::Result<bool> {
    match lock_call(file, libc::F_OFD_SETLK, kind, byte, 1) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Locks a byte of the file for all that share this open description; false if another has it.
pub(super) fn try_lock_byte(file: &File, byte: i64) -> io::Result<bool> {
    try_lock(file, byte, libc::F_WRLCK)
}

/// As [`try_lock_byte`], through a description that can only be read. A read lock conflicts with a
/// write lock, and not with another read lock: so this checks for those after it has set its own.
/// Of two that do so at the same time, at most one gets the byte.
fn try_read_lock_byte(file: &File, byte: i64) -> io::Result<bool> {
    let locked = try_lock(file, byte, libc::F_RDLCK)?;
    if locked && is_locked(file, byte, 1) {
        unlock_byte(file, byte);
        return Ok(false);
    }
    Ok(locked)
}

pub(super) fn unlock_byte(file: &File, byte: i64) {
    // It does not fail for a byte that is locked.
    let _ = lock_call(file, libc::F_OFD_SETLK, libc::F_UNLCK, byte, 1);
}

/// Is any of these bytes locked through another description? True if the kernel does not answer, so
/// that no process is taken for dead.
fn is_locked(file: &File, first: i64, count: i64) -> bool {
    lock_call(file, libc::F_OFD_GETLK, libc::F_WRLCK, first, count)
        .map_or(true, |lock| lock.l_type != libc::F_UNLCK as libc::c_short)
}

/// Does any process use the file?
pub(super) fn is_in_use(file: &File) -> bool {
    is_locked(file, FIRST_BYTE, SLOTS as i64)
}

/// Locks the byte of a free slot, in this way.
fn lock_free_slot(
    descriptor: &File,
    file: &SharedFile,
    try_lock: fn(&File, i64) -> io::Result<bool>,
) -> Result<usize, OpenError> {
    for slot in 0..SLOTS {
        match try_lock(descriptor, byte_of(slot)) {
            Ok(true) => {
                file.preamble.slots.fetch_max(slot as u32 + 1, Ordering::AcqRel);
                return Ok(slot);
            }
            Ok(false) => {}
            Err(error) => return Err(OpenError::system("its file cannot be locked", &error)),
        }
    }
    Err(OpenError::invalid("as many processes use it as can"))
}

/// A descriptor that a forked child must not keep: it would keep the lock of its parent.
#[derive(Debug)]
struct LivenessLock(AtomicI32);

/// A list without a lock: a forked child may find any lock taken forever.
static LIVENESS_LOCKS: LeakedList<LivenessLock> = LeakedList::new();

/// The number of forks between the first of this family of processes and this one.
static FORKS: StaticU32 = StaticU32::new(0);

/// True while a descriptor is opened and not on the list yet: no fork happens meanwhile.
static OPENING_DESCRIPTOR: StaticBool = StaticBool::new(false);

extern "C" fn before_fork() {
    while OPENING_DESCRIPTOR.swap(true, Ordering::Acquire) {
        std::thread::yield_now();
    }
}

extern "C" fn after_fork_in_parent() {
    OPENING_DESCRIPTOR.store(false, Ordering::Release);
}

extern "C" fn after_fork_in_child() {
    after_fork_in_parent();
    FORKS.fetch_add(1, Ordering::Relaxed);
    LIVENESS_LOCKS.iter().for_each(LivenessLock::close);
}

impl LivenessLock {
    /// Opens a descriptor that is closed in every forked child.
    fn open(
        open: impl FnOnce() -> io::Result<File>,
    ) -> io::Result<(ManuallyDrop<File>, &'static LivenessLock)> {
        static ONCE: Once = Once::new();
        // SAFETY: the handlers do only what is allowed around a fork: atomic changes, `sched_yield`
        // and `close`.
        ONCE.call_once(|| unsafe {
            let (parent, child) = (after_fork_in_parent, after_fork_in_child);
            libc::pthread_atfork(Some(before_fork), Some(parent), Some(child));
        });
        before_fork();
        let opened = open().map(|file| {
            let lock = LivenessLock::of(file.as_raw_fd());
            // Closed through the lock only.
            (ManuallyDrop::new(file), lock)
        });
        after_fork_in_parent();
        opened
    }

    fn of(descriptor: i32) -> &'static LivenessLock {
        let free = |lock: &&LivenessLock| {
            let change = (Ordering::AcqRel, Ordering::Relaxed);
            lock.0.compare_exchange(-1, descriptor, change.0, change.1).is_ok()
        };
        let reused = LIVENESS_LOCKS.iter().find(free);
        reused.unwrap_or_else(|| LIVENESS_LOCKS.push(LivenessLock(AtomicI32::new(descriptor))))
    }

    /// Closes the descriptor, if it is still open.
    fn close(&self) {
        let descriptor = self.0.swap(-1, Ordering::AcqRel);
        if descriptor >= 0 {
            // SAFETY: it belongs to this, which forgets it here.
            unsafe { libc::close(descriptor) };
        }
    }
}

/// The thread id of a ticker, which the kernel marks when the thread ends in whatever way, and then
/// wakes one waiter. It finds the word by a list that the thread has registered, as for the robust
/// mutexes of C libraries. Those keep the list beside the word, where a damaged file would lead the
/// kernel astray; this list lies in the thread's own memory.
#[derive(Debug, Default)]
#[repr(transparent)]
pub(crate) struct LivenessWord(AtomicU32);

/// `struct robust_list` of the kernel.
#[repr(C)]
struct Entry {
    next: *const Entry,
}

/// `struct robust_list_head` of the kernel.
#[repr(C)]
struct Head {
    first: Entry,
    /// From an entry to its word.
    offset: libc::c_long,
    pending: *const Entry,
}

/// The calling thread's list, of one word.
#[repr(C)]
struct List {
    head: Head,
    only: Entry,
}

/// Keeps a word armed until this is dropped or its thread ends.
pub(crate) struct Armed<'a> {
    word: &'a LivenessWord,
    list: Box<List>,
    /// The list that the thread had before: the C library's.
    before: *const Head,
}

impl LivenessWord {
    /// Makes it the calling thread's, which is the ticker. The word must stay where it is forever.
    pub(super) fn arm(&'static self) -> io::Result<Armed<'static>> {
        self.0.store(0, Ordering::Release);
        let mut before: *const Head = null();
        let mut bytes: libc::size_t = 0;
        // SAFETY: asks for the calling thread's own list; both are valid for writes. If that is
        // forbidden, there is none to go back to.
        unsafe { libc::syscall(libc::SYS_get_robust_list, 0, &mut before, &mut bytes) };
        let mut list = Box::new(List::EMPTY);
        let entry: *const Entry = &list.only;
        list.only.next = &list.head.first;
        list.head.first.next = entry;
        let distance = (&raw const self.0 as isize).wrapping_sub(entry as isize);
        list.head.offset = distance as libc::c_long;
        register(&list.head)?;
        // SAFETY: takes and changes nothing.
        let thread = unsafe { libc::syscall(libc::SYS_gettid) } as u32;
        self.0.store(thread, Ordering::Release);
        Ok(Armed { word: self, list, before })
    }

    /// A wait that the end of the thread wakes; `None` if it has ended, or the word is not armed.
    pub(super) fn wait_entry(&self) -> Option<FutexWait<'_>> {
        Some(FutexWait::on(&self.0, self.mark_waited()?))
    }

    /// Asks the kernel to wake a waiter when the thread ends. Returns the word, or `None` if the
    /// thread has ended.
    pub(super) fn mark_waited(&self) -> Option<u32> {
        let mark = |value| has_owner(value).then_some(value | libc::FUTEX_WAITERS);
        let seen = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, mark).ok()?;
        Some(seen | libc::FUTEX_WAITERS)
    }

    /// False if the process is dying, or has only begun.
    pub(super) fn is_alive(&self) -> bool {
        has_owner(self.0.load(Ordering::Acquire))
    }
}

impl Drop for Armed<'_> {
    fn drop(&mut self) {
        // While the kernel still follows the list: a thread that was killed between the two would
        // seem to live forever.
        self.word.0.store(0, Ordering::Release);
        // From here on the kernel does not follow the list. If it refuses, the list must stay.
        if register(self.before).is_err() {
            std::mem::forget(std::mem::replace(&mut self.list, Box::new(List::EMPTY)));
        }
        futex::wake_all(&self.word.0);
    }
}

impl List {
    const EMPTY: List = List {
        head: Head { first: Entry { next: null() }, offset: 0, pending: null() },
        only: Entry { next: null() },
    };
}

/// The kernel follows this list when the calling thread ends, and not the C library's: tickers lock
/// nothing that is on that one.
fn register(head: *const Head) -> io::Result<()> {
    // SAFETY: the kernel only stores the address. What it follows from there when the thread ends
    // is valid as long as it is registered, or null.
    match unsafe { libc::syscall(libc::SYS_set_robust_list, head, size_of::<Head>()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn has_owner(word: u32) -> bool {
    word & libc::FUTEX_OWNER_DIED == 0 && word & libc::FUTEX_TID_MASK != 0
}

/// The attachment of one process to a file.
#[derive(Debug)]
pub(crate) struct Attachment {
    pub(super) path: HostPath,
    pub(super) file: &'static SharedFile,
    /// For checks of other processes. Locks nothing itself.
    pub(super) probe: File,
    /// The root directory in which the path was found.
    pub(super) root: Option<RootId>,
    pub(super) slot: usize,
    /// The word of the lock while this process has it.
    pub(super) word: u32,
    liveness: &'static LivenessLock,
    /// The PID namespace of this process; 0 if it is not known.
    pub(super) space: u64,
    forks: u32,
    detached: AtomicBool,
    /// How often in a row the ticker has checked a process that is dying.
    pub(super) dying_polls: AtomicU32,
    /// When the file was checked last.
    pub(super) checked: AtomicU64,
    /// Since when the owner of the lock had it that was found stuck; 0: none was.
    pub(super) stuck: AtomicU64,
}

impl Attachment {
    /// Opens the file, which is made with these settings if there is none, and takes a slot in it.
    /// Until [`Self::finish_attach`] the slot may have a stale owner.
    pub fn attach(path: HostPath, settings: Settings) -> Result<Attachment, OpenError> {
        let (probe, file) = shared_file::open(&path, settings)?;
        let (descriptor, liveness) = LivenessLock::open(|| shared_file::reopen(&path, file, true))
            .map_err(|error| OpenError::system("its file cannot be opened again", &error))?;
        let slot =
            lock_free_slot(&descriptor, file, try_lock_byte).inspect_err(|_| liveness.close())?;
        // From here on no process takes this one for the stale owner.
        let before = file.slots[slot].generation.fetch_add(1, Ordering::AcqRel);
        Ok(Attachment {
            path,
            file,
            probe,
            root: shared_file::root(),
            slot,
            word: word_of(slot, before.wrapping_add(1)),
            liveness,
            space: std::fs::metadata("/proc/self/ns/pid").map_or(0, |found| found.ino()),
            forks: FORKS.load(Ordering::Relaxed),
            detached: AtomicBool::new(false),
            dying_polls: AtomicU32::new(0),
            checked: AtomicU64::new(0),
            stuck: AtomicU64::new(0),
        })
    }

    /// The slot belongs to this process from now on. Only with the lock.
    pub fn finish_attach(&self, now: Time) {
        self.fill_slot(self.slot, slot_state::PROCESS, now);
        self.notify_of_attach();
    }

    /// After a stale owner was reaped. Only with the lock.
    pub fn fill_slot(&self, slot: usize, state: u32, now: Time) {
        let record = &self.file.slots[slot];
        record.process.store(std::process::id(), Ordering::Relaxed);
        record.space.store(self.space, Ordering::Relaxed);
        record.since.store(now, Ordering::Relaxed);
        record.wake_before.store(0, Ordering::Relaxed);
        record.events.clear_parked();
        record.wants_tickets.store(0, Ordering::Relaxed);
        record.state.store(state, Ordering::Release);
    }

    /// Only with the lock.
    pub fn free_slot(&self, slot: usize) {
        let record = &self.file.slots[slot];
        record.wants_events.store(0, Ordering::Release);
        self.count_event_readers();
        record.wake_before.store(0, Ordering::Relaxed);
        record.state.store(slot_state::FREE, Ordering::Release);
    }

    /// The process must not touch the table again.
    pub fn detach(&self) {
        if !self.detached.swap(true, Ordering::AcqRel) {
            self.liveness.close();
        }
    }

    #[inline(always)]
    pub fn is_detached(&self) -> bool {
        self.detached.load(Ordering::Acquire)
    }

    /// Is this a forked child of the process that attached? Then it must not touch anything.
    #[inline(always)]
    pub fn is_forked(&self) -> bool {
        self.forks != FORKS.load(Ordering::Relaxed)
    }

    /// The number under which the table knows this process.
    #[inline(always)]
    pub fn owner(&self) -> u16 {
        owner_of(self.slot)
    }

    pub fn own_slot(&self) -> &'static Slot {
        &self.file.slots[self.slot]
    }

    pub(super) fn has_own_slot(&self) -> bool {
        is_of_generation(self.word, self.own_slot().generation.load(Ordering::Acquire))
    }

    /// All slots that were ever used, with their numbers.
    pub(super) fn used_slots(&self) -> impl Iterator<Item = (usize, &'static Slot)> + use<> {
        let count = self.file.preamble.slots.load(Ordering::Acquire) as usize;
        self.file.slots.iter().take(count).enumerate()
    }

    fn state_of(&self, slot: usize) -> u32 {
        self.file.slots[slot].state.load(Ordering::Acquire)
    }

    /// Has the slot an owner that was not reaped?
    pub fn has_stale_owner(&self, slot: usize) -> bool {
        self.state_of(slot) != slot_state::FREE
    }

    pub fn is_inherited(&self, slot: usize) -> bool {
        self.state_of(slot) == slot_state::INHERITED
    }

    /// Is the byte of the slot locked? This asks through a description that locks nothing itself.
    pub(super) fn is_taken(&self, slot: usize) -> bool {
        is_locked(&self.probe, byte_of(slot), 1)
    }

    /// Slots whose owners may be dead according to shared memory.
    fn suspect_slots(&self) -> impl Iterator<Item = (usize, u32)> {
        self.used_slots().filter_map(|(index, slot)| {
            let state = slot.state.load(Ordering::Acquire);
            let alive =
                state == slot_state::FREE || state == slot_state::PROCESS && slot.life.is_alive();
            (index != self.slot && !alive).then_some((index, state))
        })
    }

    pub fn has_suspects(&self) -> bool {
        self.suspect_slots().next().is_some()
    }

    /// Slots whose owners are dead and were not reaped. Only with the lock.
    pub fn dead_slots(&self) -> Vec<usize> {
        let slots = self.suspect_slots().map(|(index, _)| index);
        slots.filter(|&index| !self.is_taken(index)).collect()
    }

    /// Are there inherited leases? Their end is not announced.
    pub fn has_inherited(&self) -> bool {
        self.suspect_slots().any(|(_, state)| state == slot_state::INHERITED)
    }

    /// A slot that is kept by every process that has the descriptor, which programs that this
    /// process starts inherit. Such a program may have given up the right to write to the table, so
    /// the descriptor can only be read.
    pub fn new_inherited(&self) -> Result<(OwnedFd, usize), Error> {
        let refused = |error: io::Error| Error::System(error.raw_os_error().unwrap_or(0));
        let descriptor = shared_file::reopen(&self.path, self.file, false).map_err(refused)?;
        let slot =
            lock_free_slot(&descriptor, self.file, try_read_lock_byte).map_err(
                |why| match why.kind {
                    OpenErrorKind::System(number) => Error::System(number),
                    _ => Error::System(libc::EMFILE),
                },
            )?;
        self.file.slots[slot].generation.fetch_add(1, Ordering::AcqRel);
        // SAFETY: the descriptor is open.
        unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_SETFD, 0) };
        Ok((descriptor.into(), slot))
    }

    /// The owner that stands for the process with this number, as it sees itself: one of the
    /// caller's PID namespace, or else of the only one in which there is such a process. A process
    /// that uses the table several times has several, of which any will do.
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

impl Drop for Attachment {
    fn drop(&mut self) {
        // In a forked child the descriptor was closed, and its number may be another's.
        if !self.is_forked() {
            self.detach();
        }
    }
}

/// A lease that is held as long as any process has this descriptor open: this one, or those that
/// have inherited it. Closing the descriptor, or dropping this, gives up this process's part in it.
/// [`LeaseManager::keep_for_children`](crate::LeaseManager::keep_for_children) gives it.
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

/// The descriptor alone.
impl From<Inherited> for OwnedFd {
    fn from(inherited: Inherited) -> OwnedFd {
        inherited.descriptor
    }
}

#[cfg(all(test, loom))]
mod interleavings {
    use loom::sync::{Arc, Condvar, Mutex};
    use loom::thread;

    use super::*;

    /// What the kernel does when the thread ends: it marks the word, and wakes a waiter only if the
    /// word says that there is one.
    fn die(life: &LivenessWord, futex: &(Mutex<()>, Condvar)) {
        let mark = |word| Some(word & libc::FUTEX_WAITERS | libc::FUTEX_OWNER_DIED);
        let before = life.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, mark).unwrap();
        if before & libc::FUTEX_WAITERS != 0 {
            let _asleep = futex.0.lock().unwrap();
            futex.1.notify_one();
        }
    }

    /// A thread that waits for a death is woken, or does not begin to sleep.
    #[test]
    fn end_of_ticker_always_wakes_its_waiter() {
        loom::model(|| {
            let shared =
                Arc::new((LivenessWord(AtomicU32::new(7)), (Mutex::new(()), Condvar::new())));
            let other = shared.clone();
            let dying = thread::spawn(move || die(&other.0, &other.1));
            let (life, (lock, woken)) = &*shared;
            while let Some(value) = life.mark_waited() {
                let asleep = lock.lock().unwrap();
                if life.0.load(Ordering::Relaxed) == value {
                    drop(woken.wait(asleep).unwrap());
                }
            }
            assert!(!life.is_alive());
            dying.join().unwrap();
        });
    }
}
