//! Lines to the standard output, by the system's C library: so that the examples are the same for every version of Zig.
const std = @import("std");

pub fn print(comptime format: []const u8, arguments: anytype) void {
    var buffer: [1024]u8 = undefined;
    const text = std.fmt.bufPrint(&buffer, format, arguments) catch "a line that is too long\n";
    _ = std.c.write(1, text.ptr, text.len);
}
