//! Sleeping on words of shared memory.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::CHECK_INTERVAL;
use crate::rt::atomic::AtomicU32;
use crate::table::cell::Cell64;

/// A word, and the value with which it is worth sleeping.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sleep<'a> {
    address: *const u32,
    value: u32,
    word: PhantomData<&'a AtomicU32>,
}

impl<'a> Sleep<'a> {
    pub fn on(word: &'a AtomicU32, value: u32) -> Self {
        Sleep { address: address_of(word), value, word: PhantomData }
    }

    /// On the half of a larger word that is not 0 once the word is something else than 0.
    pub fn on_lower_half(word: &'a Cell64, value: u32) -> Self {
        Sleep { address: lower_half(word), value, word: PhantomData }
    }
}

/// Only the kernel looks through these.
fn address_of(word: &AtomicU32) -> *const u32 {
    (&raw const *word).cast()
}

fn lower_half(word: &Cell64) -> *const u32 {
    let words = (word as *const Cell64).cast::<u32>();
    words.wrapping_add(cfg!(target_endian = "big") as usize)
}

/// As many words can be slept on at once.
pub(super) const MOST: usize = 128;

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
pub(super) fn wait(sleep: Sleep<'_>, time: Duration) {
    let time = timespec(time);
    // SAFETY: the word is a live atomic, `time` a valid time; the call writes nothing.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            sleep.address,
            libc::FUTEX_WAIT,
            sleep.value,
            &time as *const libc::timespec,
        );
    }
}

/// As [`wait`], on several words at once, of which the first [`MOST`] count. If the kernel cannot do
/// that, this sleeps on the first, and not for long.
pub(super) fn wait_any(sleeps: &[Sleep<'_>], time: Duration) {
    if UNKNOWN.load(Ordering::Relaxed) {
        return wait_for_first(sleeps, time);
    }
    let mut list = [WaitV::default(); MOST];
    let count = sleeps.len().min(MOST);
    for (place, sleep) in list.iter_mut().zip(sleeps) {
        let address = sleep.address as u64;
        *place = WaitV { value: sleep.value as u64, address, flags: SIZE_U32, reserved: 0 };
    }
    let mut until = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `until` is a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut until) };
    let nanos = until.tv_nsec as u64 + time.subsec_nanos() as u64;
    until.tv_sec += (time.as_secs() + nanos / 1_000_000_000) as libc::time_t;
    until.tv_nsec = (nanos % 1_000_000_000) as libc::c_long;
    // SAFETY: `count` entries of the list are filled in and name live atomics; `until` is a valid time; the call writes nothing.
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
        UNKNOWN.store(true, Ordering::Relaxed);
        wait_for_first(sleeps, time);
    }
}

/// The kernel is older than Linux 5.16, or forbids it: it need not be asked again.
static UNKNOWN: AtomicBool = AtomicBool::new(false);

fn wait_for_first(sleeps: &[Sleep<'_>], time: Duration) {
    if let Some(first) = sleeps.first() {
        wait(*first, time.min(CHECK_INTERVAL));
    }
}

/// Wakes one who sleeps on the word.
pub(super) fn wake_one(word: &AtomicU32) {
    wake(address_of(word), 1);
}

/// Wakes all who sleep on the word.
pub(super) fn wake_all(word: &AtomicU32) {
    wake(address_of(word), i32::MAX);
}

/// Wakes all who sleep on the lower half of the word.
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
