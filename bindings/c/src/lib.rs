//! `libternlease`, for C and everything that speaks C. All of it is in the `ffi` module of the core; `include/ternlease.h` describes it.

pub use ternlease_core::ffi::*;
