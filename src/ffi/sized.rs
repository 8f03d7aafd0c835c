//! Structs that begin with their size, so that they can grow.
//!
//! Coming in, a struct that is shorter than ours counts as filled up with zeros; of one that is longer the rest must be zero, or the caller
//! says something that this version does not know. Going out, as much is written as the caller has room for, and the rest is zeroed.

use std::mem::MaybeUninit;
use std::ptr;

use super::error::Failure;
use super::status::tern_status_t::TERN_ERR_BAD_STRUCT;

/// Structs that can be copied byte by byte in both directions.
///
/// # Safety
/// `repr(C)`, first a `usize` for its size, every combination of bytes is a value, and no padding.
pub(super) unsafe trait Plain: Copy {}

/// No struct is longer, in any version: a size beyond this is not a size.
pub(super) const LONGEST: usize = 4096;
const SHORTEST: usize = size_of::<usize>();

/// The size that a struct says it has.
///
/// # Safety
/// `from` can be read for a `usize`.
#[inline(always)]
pub(super) unsafe fn size_at(from: *const usize) -> usize {
    // SAFETY: as required.
    unsafe { from.read_unaligned() }
}

fn check_size(size: usize, name: &'static str) -> Result<(), Failure> {
    match (SHORTEST..=LONGEST).contains(&size) {
        true => Ok(()),
        false => Err(Failure::argument(
            TERN_ERR_BAD_STRUCT,
            name,
            "has a struct_size that makes no sense; make it with its _init function",
        )),
    }
}

/// Does something with a caller's struct: where it is if it is as ours, with a copy otherwise.
///
/// # Safety
/// The caller's contract.
#[inline(always)]
pub(super) unsafe fn with<T: Plain, R>(
    from: *const T,
    name: &'static str,
    work: impl FnOnce(&T) -> Result<R, Failure>,
) -> Result<R, Failure> {
    if from.is_null() {
        return Err(Failure::null(name));
    }
    // SAFETY: not NULL, so by the caller's contract at least the size can be read.
    let size = unsafe { size_at(from.cast()) };
    if size == size_of::<T>() && from.is_aligned() {
        // SAFETY: the caller's struct is as long as ours, aligned, and stays as it is during the call; all bytes are values of it.
        return work(unsafe { &*from });
    }
    // SAFETY: as required.
    unsafe { with_copy(from, size, name, work) }
}

#[cold]
#[inline(never)]
unsafe fn with_copy<T: Plain, R>(
    from: *const T,
    size: usize,
    name: &'static str,
    work: impl FnOnce(&T) -> Result<R, Failure>,
) -> Result<R, Failure> {
    check_size(size, name)?;
    // SAFETY: the caller's struct can be read for the size that it says it has.
    let bytes = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), size) };
    if bytes.iter().skip(size_of::<T>()).any(|&byte| byte != 0) {
        return Err(Failure::argument(
            TERN_ERR_BAD_STRUCT,
            name,
            "asks for something that this version of the library does not know",
        ));
    }
    let mut value = MaybeUninit::<T>::zeroed();
    let len = size.min(size_of::<T>());
    // SAFETY: both are valid for `len` bytes and do not overlap; all bytes, zeros included, are values of `T`.
    let value = unsafe {
        ptr::copy_nonoverlapping(bytes.as_ptr(), value.as_mut_ptr().cast::<u8>(), len);
        value.assume_init()
    };
    work(&value)
}

/// Checks a struct that an answer is to be written to; its size.
///
/// # Safety
/// The caller's contract.
pub(super) unsafe fn room<T: Plain>(to: *mut T, name: &'static str) -> Result<usize, Failure> {
    if to.is_null() {
        return Err(Failure::null(name));
    }
    // SAFETY: not NULL, so by the caller's contract at least the size can be read.
    let size = unsafe { size_at(to.cast()) };
    check_size(size, name).map(|()| size)
}

/// Writes an answer into a caller's struct of `size` bytes.
///
/// # Safety
/// `to` is writable for `size` bytes, and `size` was checked.
pub(super) unsafe fn store<T: Plain>(to: *mut T, size: usize, value: &T) {
    let len = size.min(size_of::<T>());
    // SAFETY: `to` is writable for `size`, at least `len`, bytes; the value is not the caller's memory; it has no padding.
    unsafe {
        let to = to.cast::<u8>();
        ptr::copy_nonoverlapping(ptr::from_ref(value).cast::<u8>(), to, len);
        to.add(len).write_bytes(0, size - len);
        to.cast::<usize>().write_unaligned(size);
    }
}

/// Checks a caller's array before anything else is done.
///
/// # Safety
/// The caller's contract.
pub(super) unsafe fn check_list<T: Plain>(
    to: *mut T,
    capacity: usize,
    name: &'static str,
) -> Result<(), Failure> {
    if capacity == 0 {
        return Ok(());
    }
    // SAFETY: the caller's contract; with room for one there is a first.
    unsafe { room(to, name) }.map(drop)
}

/// Writes a list into a caller's array of `capacity` structs, each as long as the first says; the needed capacity goes to `needed`.
/// False if there was not room for all.
///
/// # Safety
/// The caller's contract.
pub(super) unsafe fn store_list<T: Plain>(
    to: *mut T,
    capacity: usize,
    needed: *mut usize,
    items: &[T],
    name: &'static str,
) -> Result<bool, Failure> {
    let count = items.len().min(capacity);
    if capacity != 0 {
        // SAFETY: the caller's contract; with room for one there is a first.
        let size = unsafe { room(to, name) }?;
        for (index, item) in items[..count].iter().enumerate() {
            // SAFETY: the array has `capacity` structs of `size` bytes, more than `index`.
            unsafe { store(to.cast::<u8>().add(index * size).cast::<T>(), size, item) };
        }
    }
    if !needed.is_null() {
        // SAFETY: not NULL, so writable by the caller's contract.
        unsafe { needed.write_unaligned(items.len()) };
    }
    Ok(count == items.len())
}
