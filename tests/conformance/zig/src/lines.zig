//! Lines in and out, by the system's C library: the standard library's way differs from version to version.
const std = @import("std");

/// Reads lines until the input ends.
pub const Input = struct {
    buffer: [64 * 1024]u8 = undefined,
    begin: usize = 0,
    end: usize = 0,

    pub fn next(self: *Input) !?[]const u8 {
        while (true) {
            const pending = self.buffer[self.begin..self.end];
            if (std.mem.indexOfScalar(u8, pending, '\n')) |length| {
                self.begin += length + 1;
                return pending[0..length];
            }
            std.mem.copyForwards(u8, &self.buffer, pending);
            self.begin = 0;
            self.end = pending.len;
            if (self.end == self.buffer.len) return error.LineTooLong;
            const count = std.c.read(0, self.buffer[self.end..].ptr, self.buffer.len - self.end);
            if (count < 0) return error.CannotRead;
            if (count == 0) return null;
            self.end += @intCast(count);
        }
    }
};

/// Writes a line, at once.
pub fn write(line: []const u8) !void {
    try writeAll(line);
    try writeAll("\n");
}

fn writeAll(text: []const u8) !void {
    var rest = text;
    while (rest.len > 0) {
        const count = std.c.write(1, rest.ptr, rest.len);
        if (count <= 0) return error.CannotWrite;
        rest = rest[@intCast(count)..];
    }
}
