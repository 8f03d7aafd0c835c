//! Text in both directions, and other plain outputs.

use std::ffi::c_char;
use std::slice;

use super::error::Failure;
use super::status::tern_status_t::{TERN_ERR_BAD_TEXT, TERN_ERR_BAD_VALUE, TERN_ERR_NAME_TOO_LONG};
use crate::table::MAX_NAME;

/// A caller's array. NULL is allowed if it has no length.
///
/// # Safety
/// The caller's contract; `'a` ends with the call.
#[inline(always)]
pub(super) unsafe fn array<'a, T>(
    data: *const T,
    len: usize,
    name: &'static str,
) -> Result<&'a [T], Failure> {
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(Failure::null(name));
    }
    if !data.is_aligned() || len > isize::MAX as usize / size_of::<T>() {
        return Err(Failure::argument(
            TERN_ERR_BAD_VALUE,
            name,
            "has a length or an address that makes no sense",
        ));
    }
    // SAFETY: not NULL, aligned, and by the caller's contract readable for `len` values during the call.
    Ok(unsafe { slice::from_raw_parts(data, len) })
}

/// A caller's text.
///
/// # Safety
/// The caller's contract; `'a` ends with the call.
#[inline(always)]
pub(super) unsafe fn text<'a>(
    data: *const c_char,
    len: usize,
    name: &'static str,
) -> Result<&'a str, Failure> {
    // SAFETY: as required; bytes have no alignment, and every byte is a value.
    let bytes = unsafe { array(data.cast::<u8>(), len, name) }?;
    if bytes.is_ascii() {
        // SAFETY: ASCII is UTF-8.
        return Ok(unsafe { str::from_utf8_unchecked(bytes) });
    }
    str::from_utf8(bytes).map_err(|_| Failure::argument(TERN_ERR_BAD_TEXT, name, "is not UTF-8"))
}

/// A caller's name of a holder, resource or revoker. One that is too long is not even read. A zero byte would cut it off on its way back.
///
/// # Safety
/// The caller's contract; `'a` ends with the call.
#[inline(always)]
pub(super) unsafe fn name<'a>(
    data: *const c_char,
    len: usize,
    name: &'static str,
) -> Result<&'a str, Failure> {
    if len > MAX_NAME {
        return Err(Failure::argument(TERN_ERR_NAME_TOO_LONG, name, "is longer than 255 bytes"));
    }
    // SAFETY: as required.
    let found = unsafe { text(data, len, name) }?;
    match found.as_bytes().contains(&0) {
        false => Ok(found),
        true => Err(Failure::argument(TERN_ERR_BAD_TEXT, name, "has a zero byte in it")),
    }
}

/// Writes an answer to a place that may be NULL if the caller does not want it.
///
/// # Safety
/// The caller's contract.
#[inline(always)]
pub(super) unsafe fn put<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: not NULL, so writable by the caller's contract.
        unsafe { to.write_unaligned(value) };
    }
}

/// Checks that a place for an answer that is the point of the call is not NULL.
#[inline(always)]
pub(super) fn required<T>(to: *mut T, name: &'static str) -> Result<(), Failure> {
    if to.is_null() { Err(Failure::null(name)) } else { Ok(()) }
}

/// Writes text to a caller's buffer, cut at a character if need be and always terminated; the capacity that it needs, final zero
/// included, goes to `needed`. False if it was cut.
///
/// # Safety
/// The caller's contract.
pub(super) unsafe fn put_text(
    to: *mut c_char,
    capacity: usize,
    needed: *mut usize,
    text: &str,
    name: &'static str,
) -> Result<bool, Failure> {
    let fits = text.floor_char_boundary(capacity.saturating_sub(1));
    if capacity != 0 {
        required(to, name)?;
        // SAFETY: writable for `capacity` bytes by the caller's contract, of which this uses at most all.
        unsafe {
            to.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), fits);
            to.add(fits).write(0);
        }
    }
    // SAFETY: as required.
    unsafe { put(needed, text.len() + 1) };
    Ok(capacity != 0 && fits == text.len())
}

/// A name in a struct: terminated, and never too long for it.
pub(super) fn inline_name(text: &str) -> [c_char; MAX_NAME + 1] {
    inline_text(text)
}

/// A text in a struct: terminated, and cut at a character if it is too long for it.
pub(super) fn inline_text<const ROOM: usize>(text: &str) -> [c_char; ROOM] {
    let mut out = [0; ROOM];
    let fits = text.floor_char_boundary(ROOM - 1);
    for (to, from) in out.iter_mut().zip(text[..fits].bytes()) {
        *to = from as c_char;
    }
    out
}
