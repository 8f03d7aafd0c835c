//! Every name of the header, wherever the library has it.

pub use ternlease::ffi::claim::*;
pub use ternlease::ffi::counters::*;
pub use ternlease::ffi::deadlock::*;
pub use ternlease::ffi::device::*;
pub use ternlease::ffi::error::*;
pub use ternlease::ffi::event::*;
pub use ternlease::ffi::gpu_claim::*;
pub use ternlease::ffi::gpu_lease::*;
pub use ternlease::ffi::host::*;
pub use ternlease::ffi::info::*;
pub use ternlease::ffi::lease::*;
pub use ternlease::ffi::manager::*;
pub use ternlease::ffi::pool::*;
pub use ternlease::ffi::reason::*;
pub use ternlease::ffi::resource::*;
pub use ternlease::ffi::status::tern_status_t::*;
pub use ternlease::ffi::status::*;
pub use ternlease::ffi::ticket::*;
pub use ternlease::ffi::version::*;
pub use ternlease::ffi::watch::*;
