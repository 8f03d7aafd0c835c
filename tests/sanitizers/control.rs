//! Bugs in Rust, on purpose: a sanitizer that does not report them was not on. `control.c` calls them.

use std::hint::black_box;
use std::ptr;

/// Writes one byte beyond a block.
#[unsafe(no_mangle)]
pub extern "C" fn write_beyond_in_rust(len: usize) {
    let mut block = vec![0u8; len];
    // SAFETY: none, that is the point.
    unsafe { block.as_mut_ptr().add(len).write_volatile(1) };
    black_box(&block);
}

/// Forgets a block.
#[unsafe(no_mangle)]
pub extern "C" fn leak_in_rust(len: usize) {
    black_box(Vec::leak(vec![0u8; len]));
}

/// Decides by what nobody wrote.
#[unsafe(no_mangle)]
pub extern "C" fn use_uninitialised_in_rust(len: usize) {
    let block = Vec::<u8>::with_capacity(len);
    // SAFETY: none, that is the point.
    let byte = unsafe { ptr::read_volatile(block.as_ptr()) };
    if byte == 77 {
        println!("77");
    }
}

/// Counts without a lock.
///
/// # Safety
/// `counter` can be written; that others do so at the same time is the point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn count_in_rust(counter: *mut u64, times: u64) {
    for _ in 0..times {
        // SAFETY: as required.
        unsafe { counter.write_volatile(counter.read_volatile() + 1) };
    }
}
