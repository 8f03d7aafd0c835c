//! Futexes: waits on words of shared memory.
//!
//! Invariant: the kernel compares each word with its expected value and sleeps only if they are
//! equal, atomically with respect to every wake. So no wake after a change of a word is missed.
//! Every wait may return early.
//!
//! A kernel before Linux 5.16, or a seccomp filter, may refuse to wait for several words. Then only
//! the first is waited for, and no longer than [`FILE_CHECK_INTERVAL`]: a wake by another word is
//! that late.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::FILE_CHECK_INTERVAL;
use crate::rt::atomic::AtomicU32;
use crate::table::cell::Cell64;

/// A word, and the value with which to sleep: `struct futex_waitv` of the kernel.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct FutexWait<'a> {
    value: u64,
    address: u64,
    flags: u32,
    reserved: u32,
    word: PhantomData<&'a AtomicU32>,
}

/// 32 bits, shared between processes.
const SIZE_U32: u32 = 2;

/// The kernel waits for so many words at once.
const WAITS_MAX: usize = 128;

/// The kernel has refused to wait for several words, and is not asked again.
static NO_WAITV: AtomicBool = AtomicBool::new(false);

impl<'a> FutexWait<'a> {
    pub fn on(word: &'a AtomicU32, value: u32) -> Self {
        Self::at(address_of(word), value)
    }

    /// Waits on the half of a larger word that becomes nonzero with the word.
    pub fn on_lower_half(word: &'a Cell64, value: u32) -> Self {
        Self::at(lower_half(word), value)
    }

    fn at(address: *const u32, value: u32) -> Self {
        let (value, address) = (value.into(), address as u64);
        FutexWait { value, address, flags: SIZE_U32, reserved: 0, word: PhantomData }
    }
}

fn address_of(word: &AtomicU32) -> *const u32 {
    (&raw const *word).cast()
}

fn lower_half(word: &Cell64) -> *const u32 {
    let words = (word as *const Cell64).cast::<u32>();
    words.wrapping_add(cfg!(target_endian = "big") as usize)
}

/// Sleeps while the first [`WAITS_MAX`] of these words have their values, until one is woken, or
/// for so long.
pub(super) fn wait_any(waits: &[FutexWait<'_>], time: Duration) {
    if !NO_WAITV.load(Ordering::Relaxed) {
        let mut now = timespec(Duration::ZERO);
        // SAFETY: `now` is valid for writes.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
        let now = Duration::new(now.tv_sec as u64, now.tv_nsec as u32);
        let until = timespec(now.saturating_add(time));
        // SAFETY: the list names live atomics, `until` is a valid time, and the call writes
        // nothing.
        let woken = unsafe {
            libc::syscall(
                libc::SYS_futex_waitv,
                waits.as_ptr(),
                waits.len().min(WAITS_MAX) as libc::c_uint,
                0,
                &raw const until,
                libc::CLOCK_MONOTONIC,
            )
        };
        let error = std::io::Error::last_os_error().raw_os_error();
        if woken >= 0 || !matches!(error, Some(libc::ENOSYS | libc::EPERM)) {
            return;
        }
        NO_WAITV.store(true, Ordering::Relaxed);
    }
    let Some(first) = waits.first() else { return };
    let time = timespec(time.min(FILE_CHECK_INTERVAL));
    // SAFETY: the word is a live atomic, `time` is a valid time, and the call writes nothing.
    unsafe {
        let (address, value) = (first.address as *const u32, first.value as u32);
        libc::syscall(libc::SYS_futex, address, libc::FUTEX_WAIT, value, &raw const time);
    }
}

/// Wakes one waiter.
pub(super) fn wake_one(word: &AtomicU32) {
    wake(address_of(word), 1);
}

/// Wakes all waiters.
pub(super) fn wake_all(word: &AtomicU32) {
    wake(address_of(word), i32::MAX);
}

/// Wakes all waiters of the lower half of the word.
pub(super) fn wake_lower_half(word: &Cell64) {
    wake(lower_half(word), i32::MAX);
}

fn wake(address: *const u32, count: i32) {
    // SAFETY: the address is that of a live atomic; the call writes nothing.
    unsafe { libc::syscall(libc::SYS_futex, address, libc::FUTEX_WAKE, count) };
}

fn timespec(time: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: time.as_secs().min(i32::MAX as u64) as libc::time_t,
        tv_nsec: time.subsec_nanos() as libc::c_long,
    }
}
