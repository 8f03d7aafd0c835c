//! Beginning, ending, and what there is to know of the system.

use std::ffi::{CStr, c_char, c_int, c_uint};

use crate::answer::{Answer, Buffer, Code, Error, Out, put};
use crate::call::{Target, answer};
use crate::state;

#[unsafe(no_mangle)]
extern "C" fn nvmlInit_v2() -> Code {
    answer("nvmlInit_v2", Target::System, |_| begin())
}

#[unsafe(no_mangle)]
extern "C" fn nvmlInitWithFlags(_flags: c_uint) -> Code {
    answer("nvmlInitWithFlags", Target::System, |_| begin())
}

fn begin() -> Answer {
    state::lock().initialised += 1;
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn nvmlShutdown() -> Code {
    answer("nvmlShutdown", Target::System, |_| {
        let mut state = state::lock();
        state.initialised = state.initialised.checked_sub(1).ok_or(Error::UNINITIALIZED)?;
        Ok(())
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlErrorString(code: Code) -> *const c_char {
    let text: &CStr = match code {
        0 => c"Success",
        1 => c"Uninitialized",
        3 => c"Not Supported",
        9 => c"Driver Not Loaded",
        15 => c"GPU is lost",
        _ => c"Some Other Error",
    };
    text.as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn nvmlSystemGetDriverVersion(start: *mut c_char, length: c_uint) -> Code {
    answer("nvmlSystemGetDriverVersion", Target::System, |call| {
        Buffer { start, length }.put(&call.script.driver)
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlSystemGetNVMLVersion(start: *mut c_char, length: c_uint) -> Code {
    answer("nvmlSystemGetNVMLVersion", Target::System, |call| {
        Buffer { start, length }.put(&format!("12.{}", call.script.driver))
    })
}

#[unsafe(no_mangle)]
extern "C" fn nvmlSystemGetCudaDriverVersion_v2(version: Out<c_int>) -> Code {
    answer("nvmlSystemGetCudaDriverVersion_v2", Target::System, |_| put(version, 12_040))
}
