//! Leases on GPUs and other scarce things: who may use it now, until when, and why not.
#![deny(unsafe_code)]

pub mod home;
#[forbid(unsafe_code)]
pub mod table;
// Zeroed memory needs the allocator's promise, which only unsafe code can take up.
#[allow(unsafe_code)]
mod zeroed;
