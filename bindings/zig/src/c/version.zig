//! Version: which library is this?
const Details = @import("details.zig").Details;
const Status = @import("status.zig").Status;

/// The version of the header that these declarations follow.
pub const number: u32 = 1000;

pub extern fn tern_version() u32;
pub extern fn tern_version_text() [*:0]const u8;
pub extern fn tern_abi_check(version_number: u32, err: ?*Details) Status;
