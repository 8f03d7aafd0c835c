//! Who lives.
//!
//! Each process that uses the file holds the kernel's lock on one byte of it, through a descriptor of its own. The kernel drops that lock when
//! the process is wholly gone, its other files included; that is when what it had is given to others. It means the same in every PID
//! namespace, and no number is ever mistaken for another process.
//!
//! A large process takes long to go, so the news come earlier (`life.rs`).

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, Ordering};

use super::Host;
use super::layout::SLOTS;

/// The bytes that are locked lie far behind the end of any file.
const FIRST_BYTE: i64 = 1 << 40;

/// The byte that is locked while a file is made, or looked at for the first time.
pub(super) const OPENING: i64 = FIRST_BYTE - 1;

/// The byte of a slot.
pub(super) fn byte_of(slot: usize) -> i64 {
    FIRST_BYTE + slot as i64
}

fn one_byte(byte: i64, kind: libc::c_int) -> libc::flock {
    // SAFETY: integers, of which zero is a value.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock.l_start = byte;
    lock.l_len = 1;
    lock
}

/// Locks a byte of the file for whoever has this description of it open; false if somebody else has.
pub(super) fn try_lock_byte(file: &File, byte: i64) -> io::Result<bool> {
    try_lock(file, byte, libc::F_WRLCK)
}

/// Keeps a byte of the file by a read lock, through a description that can only be read; false if another description
/// has a lock on it. A read lock conflicts with the write lock that is tried or asked for elsewhere, and not with another
/// read lock: so this looks for those after it has set its own. Of two that do this at the same time, at most one gets
/// the byte.
pub(super) fn try_keep_byte(file: &File, byte: i64) -> io::Result<bool> {
    let kept = try_lock(file, byte, libc::F_RDLCK)?;
    if kept && is_locked(file, byte, 1) {
        unlock_byte(file, byte);
        return Ok(false);
    }
    Ok(kept)
}

fn try_lock(file: &File, byte: i64, kind: libc::c_int) -> io::Result<bool> {
    let lock = one_byte(byte, kind);
    // SAFETY: the descriptor is open, and the lock is described.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &lock) } {
        0 => Ok(true),
        _ => match io::Error::last_os_error() {
            error if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
            error => Err(error),
        },
    }
}

/// Takes that back.
pub(super) fn unlock_byte(file: &File, byte: i64) {
    let lock = one_byte(byte, libc::F_UNLCK);
    // SAFETY: the descriptor is open, and the lock is described. Unlocking what is locked does not fail.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &lock) };
}

/// Is any of these bytes locked through another description?
fn is_locked(file: &File, first: i64, count: i64) -> bool {
    let mut lock = one_byte(first, libc::F_WRLCK);
    lock.l_len = count;
    // SAFETY: the descriptor is open, and the lock is a valid place for the answer.
    let asked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &mut lock) };
    // Who cannot ask takes nobody for dead.
    asked != 0 || lock.l_type != libc::F_UNLCK as libc::c_short
}

/// Does any process use the file?
pub(super) fn anybody_attached(file: &File) -> bool {
    is_locked(file, FIRST_BYTE, SLOTS as i64)
}

impl Host {
    /// Has anybody locked the slot's byte? The question goes through a description that locks nothing itself.
    pub(super) fn is_taken(&self, slot: usize) -> bool {
        is_locked(&self.probe, byte_of(slot), 1)
    }
}

/// A descriptor that a forked child must not keep: it would keep its parent's lock.
#[derive(Debug)]
pub(super) struct Attachment {
    descriptor: AtomicI32,
    next: AtomicPtr<Attachment>,
}

/// All of this process. Never shortened, and not behind a lock: a forked child may find any lock taken for ever.
static ATTACHMENTS: AtomicPtr<Attachment> = AtomicPtr::new(std::ptr::null_mut());

/// How many forks lie between the first of this family of processes and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);

pub(super) fn forks() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// Shut while a descriptor is opened and not known yet, so that no fork happens meanwhile.
static GATE: AtomicBool = AtomicBool::new(false);

extern "C" fn shut_gate() {
    while GATE.swap(true, Ordering::Acquire) {
        std::thread::yield_now();
    }
}

extern "C" fn open_gate() {
    GATE.store(false, Ordering::Release);
}

extern "C" fn in_the_child() {
    open_gate();
    FORKS.fetch_add(1, Ordering::Relaxed);
    each_attachment(|attachment| attachment.close());
}

fn each_attachment(mut each: impl FnMut(&'static Attachment)) {
    let mut next = ATTACHMENTS.load(Ordering::Acquire);
    // SAFETY: attachments are leaked: a pointer to one is null or valid for ever.
    while let Some(attachment) = unsafe { next.as_ref() } {
        each(attachment);
        next = attachment.next.load(Ordering::Acquire);
    }
}

impl Attachment {
    /// Opens a descriptor that is closed in every forked child.
    pub fn open(
        open: impl FnOnce() -> io::Result<File>,
    ) -> io::Result<(ManuallyDrop<File>, &'static Attachment)> {
        static ONCE: Once = Once::new();
        // SAFETY: the handlers do nothing but what is allowed around a fork: atomic changes, `sched_yield` and `close`.
        ONCE.call_once(|| unsafe {
            libc::pthread_atfork(Some(shut_gate), Some(open_gate), Some(in_the_child));
        });
        shut_gate();
        let opened = open().map(|file| {
            let attachment = Attachment::new(file.as_raw_fd());
            // Closed through the attachment, and nowhere else.
            (ManuallyDrop::new(file), attachment)
        });
        open_gate();
        opened
    }

    fn new(descriptor: i32) -> &'static Attachment {
        let mut used = None;
        each_attachment(|old| {
            let take = || {
                let empty = &old.descriptor;
                empty.compare_exchange(-1, descriptor, Ordering::AcqRel, Ordering::Relaxed).is_ok()
            };
            if used.is_none() && take() {
                used = Some(old);
            }
        });
        if let Some(used) = used {
            return used;
        }
        let new = Box::leak(Box::new(Attachment {
            descriptor: AtomicI32::new(descriptor),
            next: AtomicPtr::default(),
        }));
        let mut first = ATTACHMENTS.load(Ordering::Acquire);
        loop {
            new.next.store(first, Ordering::Relaxed);
            let swap =
                ATTACHMENTS.compare_exchange(first, new, Ordering::AcqRel, Ordering::Acquire);
            match swap {
                Ok(_) => return new,
                Err(other) => first = other,
            }
        }
    }

    /// Closes the descriptor, if it is still open.
    pub fn close(&self) {
        let descriptor = self.descriptor.swap(-1, Ordering::AcqRel);
        if descriptor >= 0 {
            // SAFETY: it was this one's, which forgets it here.
            unsafe { libc::close(descriptor) };
        }
    }
}
