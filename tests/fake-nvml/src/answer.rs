//! What a call gives back.

use std::ffi::{c_char, c_uint};
use std::mem::MaybeUninit;

/// What the header calls a `nvmlReturn_t`.
pub type Code = c_uint;

pub const SUCCESS: Code = 0;

/// Why a call did not succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Error(pub Code);

pub type Answer<T = ()> = Result<T, Error>;

macro_rules! errors {
    ($($name:ident = $code:literal)*) => {
        impl Error {
            $(#[allow(dead_code)] pub const $name: Error = Error($code);)*

            const ALL: &[(&str, Error)] = &[$((stringify!($name), Error($code))),*];
        }
    };
}

errors! {
    UNINITIALIZED = 1
    INVALID_ARGUMENT = 2
    NOT_SUPPORTED = 3
    NO_PERMISSION = 4
    ALREADY_INITIALIZED = 5
    NOT_FOUND = 6
    INSUFFICIENT_SIZE = 7
    INSUFFICIENT_POWER = 8
    DRIVER_NOT_LOADED = 9
    TIMEOUT = 10
    IRQ_ISSUE = 11
    LIBRARY_NOT_FOUND = 12
    FUNCTION_NOT_FOUND = 13
    CORRUPTED_INFOROM = 14
    GPU_IS_LOST = 15
    RESET_REQUIRED = 16
    OPERATING_SYSTEM = 17
    LIB_RM_VERSION_MISMATCH = 18
    IN_USE = 19
    MEMORY = 20
    NO_DATA = 21
    INSUFFICIENT_RESOURCES = 23
    ARGUMENT_VERSION_MISMATCH = 25
    NOT_READY = 27
    GPU_NOT_FOUND = 28
    UNKNOWN = 999
}

impl Error {
    pub fn named(name: &str) -> Option<Error> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, error)| *error)
    }
}

/// Where a caller wants one value.
pub type Out<'a, T> = Option<&'a mut MaybeUninit<T>>;

pub fn put<T>(to: Out<T>, value: T) -> Answer {
    to.ok_or(Error::INVALID_ARGUMENT)?.write(value);
    Ok(())
}

/// Where a caller wants a text.
pub struct Buffer {
    pub start: *mut c_char,
    pub length: c_uint,
}

impl Buffer {
    pub fn put(self, text: &str) -> Answer {
        if self.start.is_null() {
            return Err(Error::INVALID_ARGUMENT);
        }
        if text.len() >= self.length as usize {
            return Err(Error::INSUFFICIENT_SIZE);
        }
        // SAFETY: The caller says that there is room for `length` bytes, which the text and its end do not exceed.
        unsafe {
            self.start.copy_from_nonoverlapping(text.as_ptr().cast(), text.len());
            self.start.add(text.len()).write(0);
        }
        Ok(())
    }
}

/// A text of fixed size within a struct; what does not fit is cut off.
pub fn fixed<const N: usize>(text: &str) -> [c_char; N] {
    let mut array = [0; N];
    for (to, byte) in array[..N - 1].iter_mut().zip(text.bytes()) {
        *to = byte as c_char;
    }
    array
}
