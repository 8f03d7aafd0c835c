//! Version: which library is this?
//!
//! A program that is linked at run time may meet a library of another version than the header that it
//! was compiled with. TERN_VERSION_NUMBER is major * 1000000 + minor * 1000 + patch. tern_abi_check() tells whether the two fit; bindings call it when they load.

use std::ffi::c_char;

use super::boundary;
use super::error::{Failure, tern_error_t};
use super::status::tern_status_t::{self, *};

const MAJOR: u32 = number(env!("CARGO_PKG_VERSION_MAJOR"));
const MINOR: u32 = number(env!("CARGO_PKG_VERSION_MINOR"));
const PATCH: u32 = number(env!("CARGO_PKG_VERSION_PATCH"));

const fn number(digits: &str) -> u32 {
    let (mut value, mut at) = (0, 0);
    while at < digits.len() {
        value = value * 10 + (digits.as_bytes()[at] - b'0') as u32;
        at += 1;
    }
    value
}

const fn pack(major: u32, minor: u32, patch: u32) -> u32 {
    major * 1_000_000 + minor * 1_000 + patch
}

/// The version of the library that is running, as TERN_VERSION_NUMBER has that of the header.
#[unsafe(no_mangle)]
pub extern "C" fn tern_version() -> u32 {
    pack(MAJOR, MINOR, PATCH)
}

/// The version of the library that is running, such as "1.2.3". The text is constant.
#[unsafe(no_mangle)]
pub extern "C" fn tern_version_text() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Can a program that was compiled with a header of this version use this library? Call it with
/// TERN_VERSION_NUMBER. TERN_ERR_VERSION if not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tern_abi_check(
    version_number: u32,
    err: *mut tern_error_t,
) -> tern_status_t {
    // SAFETY: the caller's contract.
    unsafe {
        boundary::without(err, || match fits(pack(MAJOR, MINOR, PATCH), version_number) {
            true => Ok(TERN_OK),
            false => Err(Failure::new(
                TERN_ERR_VERSION,
                "the program was compiled with the header of a version that this library does not serve; \
                 compile it anew, or install the library that belongs to its header",
            )),
        })
    }
}

/// Before 1.0 the minor version, from then on the major version promises that what was there stays; what was added later is not.
fn fits(library: u32, header: u32) -> bool {
    match library / 1_000_000 {
        0 => library / 1_000 == header / 1_000,
        major => major == header / 1_000_000 && header / 1_000 <= library / 1_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_and_text_are_the_same_version() {
        assert_eq!(env!("CARGO_PKG_VERSION"), format!("{MAJOR}.{MINOR}.{PATCH}"));
        assert_eq!(tern_version(), pack(MAJOR, MINOR, PATCH));
        assert_eq!(pack(1, 2, 3), 1_002_003);
    }

    #[test]
    fn what_fits() {
        assert!(fits(pack(0, 1, 5), pack(0, 1, 0)) && fits(pack(0, 1, 0), pack(0, 1, 5)));
        assert!(!fits(pack(0, 2, 0), pack(0, 1, 0)) && !fits(pack(0, 1, 0), pack(0, 2, 0)));
        assert!(fits(pack(1, 4, 0), pack(1, 2, 9)) && fits(pack(1, 4, 0), pack(1, 4, 7)));
        assert!(!fits(pack(1, 4, 0), pack(1, 5, 0)) && !fits(pack(2, 0, 0), pack(1, 0, 0)));
    }
}
