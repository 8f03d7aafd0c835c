use std::ffi::CStr;

use crate::c::*;
use crate::call::Call;

/// Every number has a name, and those that are none have the one that says so.
pub fn names(mut call: Call) {
    let number = call.input.number() as i32;
    let number = if call.input.byte() < 128 { number } else { number.wrapping_neg() };
    // SAFETY: the names are constant.
    let (status, reason) = unsafe {
        (CStr::from_ptr(tern_status_name(number)), CStr::from_ptr(tern_reason_name(number)))
    };
    assert!(status.to_bytes().starts_with(b"TERN_"));
    assert_eq!(reason.to_bytes() == b"UNKNOWN", tern_reason_class(number) == 0 && number != 0);
}

pub fn version(mut call: Call) {
    let number = match call.input.byte() {
        0..=127 => tern_version(),
        _ => call.input.number() as u32,
    };
    call.bad_if(number / 1000 != tern_version() / 1000);
    // SAFETY: whatever is not NULL lives until the call returns.
    let status = unsafe { tern_abi_check(number, call.err()) };
    call.done(format_args!("tern_abi_check({number})"), status);
    // SAFETY: the text is constant.
    let text = unsafe { CStr::from_ptr(tern_version_text()) };
    assert!(!text.is_empty());
}
