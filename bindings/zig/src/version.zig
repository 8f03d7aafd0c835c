//! Version: which library is this?
const std = @import("std");
const c = @import("c.zig");

/// The version of the library that is running: major * 1000000 + minor * 1000 + patch.
pub fn number() u32 {
    return c.version.tern_version();
}

/// The same as text, such as "1.2.3".
pub fn text() []const u8 {
    return std.mem.span(c.version.tern_version_text());
}
