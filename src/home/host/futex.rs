//! Futexes: sleeping on words of shared memory.
//!
//! Invariant: the kernel compares each word with the value that it should still have, and sleeps only
//! if it has, in one step against every wake. So no wake after a change of a word is missed. Every wait
//! may return for no reason.
//!
//! A kernel before Linux 5.16, or a seccomp filter, may refuse to wait for several words. Then only the
//! first is waited for, and no longer than [`FILE_CHECK_INTERVAL`]: a wake by another word is that late.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::FILE_CHECK_INTERVAL;
use crate::rt::atomic::AtomicU32;
use crate::table::cell::Cell64;

/// A word, and the value with which to sleep.
#[derive(Debug, Clone, Copy)]
pub(super) struct FutexWait<'a> {
    address: *const u32,
    value: u32,
    word: PhantomData<&'a AtomicU32>,
}

impl<'a> FutexWait<'a> {
    pub fn on(word: &'a AtomicU32, value: u32) -> Self {
        FutexWait { address: address_of(word), value, word: PhantomData }
    }

    /// The half of a larger word that is not 0 once the word is not.
    pub fn on_lower_half(word: &'a Cell64, value: u32) -> Self {
        FutexWait { address: lower_half(word), value, word: PhantomData }
    }
}

fn address_of(word: &AtomicU32) -> *const u32 {
    (&raw const *word).cast()
}

fn lower_half(word: &Cell64) -> *const u32 {
    let words = (word as *const Cell64).cast::<u32>();
    words.wrapping_add(cfg!(target_endian = "big") as usize)
}

/// So many words can be waited for at once.
const WAITS_MAX: usize = 128;

/// `struct futex_waitv` of the kernel.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct WaitV {
    value: u64,
    address: u64,
    flags: u32,
    reserved: u32,
}

/// 32 bits, shared between processes.
const SIZE_U32: u32 = 2;

/// Sleeps while the word has the value, until it is woken, or for so long. May return for no reason.
pub(super) fn wait(wait: FutexWait<'_>, time: Duration) {
    let time = timespec(time);
    // SAFETY: the word is a live atomic, `time` a valid time; the call writes nothing.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            wait.address,
            libc::FUTEX_WAIT,
            wait.value,
            &time as *const libc::timespec,
        );
    }
}

/// As [`wait`], on the first [`WAITS_MAX`] of these words at once.
pub(super) fn wait_any(waits: &[FutexWait<'_>], time: Duration) {
    if NO_WAITV.load(Ordering::Relaxed) {
        return wait_first(waits, time);
    }
    let mut list = [WaitV::default(); WAITS_MAX];
    let count = waits.len().min(WAITS_MAX);
    for (place, wait) in list.iter_mut().zip(waits) {
        let address = wait.address as u64;
        *place = WaitV { value: wait.value as u64, address, flags: SIZE_U32, reserved: 0 };
    }
    let mut until = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `until` is a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut until) };
    let nanos = until.tv_nsec as u64 + time.subsec_nanos() as u64;
    until.tv_sec += (time.as_secs() + nanos / 1_000_000_000) as libc::time_t;
    until.tv_nsec = (nanos % 1_000_000_000) as libc::c_long;
    // SAFETY: `count` entries of the list name live atomics, `until` is a valid time, and the call
    // writes nothing.
    let woken = unsafe {
        libc::syscall(
            libc::SYS_futex_waitv,
            list.as_ptr(),
            count as libc::c_uint,
            0,
            &until as *const libc::timespec,
            libc::CLOCK_MONOTONIC,
        )
    };
    let error = std::io::Error::last_os_error().raw_os_error();
    if woken < 0 && matches!(error, Some(libc::ENOSYS | libc::EPERM)) {
        NO_WAITV.store(true, Ordering::Relaxed);
        wait_first(waits, time);
    }
}

/// The kernel has refused to wait for several words, and is not asked again.
static NO_WAITV: AtomicBool = AtomicBool::new(false);

fn wait_first(waits: &[FutexWait<'_>], time: Duration) {
    if let Some(first) = waits.first() {
        wait(*first, time.min(FILE_CHECK_INTERVAL));
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
