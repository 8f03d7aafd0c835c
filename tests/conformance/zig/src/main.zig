//! The driver for Zig: does what the lines on its standard input say, and tells what came of it.
const std = @import("std");
const Driver = @import("driver.zig").Driver;
const lines = @import("lines.zig");

pub fn main() !void {
    var driver: Driver = .{};
    defer driver.close();
    var input: lines.Input = .{};
    while (try input.next()) |line| {
        var arena = std.heap.ArenaAllocator.init(std.heap.c_allocator);
        defer arena.deinit();
        try lines.write(try driver.answer(arena.allocator(), line));
    }
}
