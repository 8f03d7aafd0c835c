//! Answers.
const std = @import("std");
const ternlease = @import("ternlease");

const Allocator = std.mem.Allocator;

pub const print = std.fmt.allocPrint;

/// A list of words that grows, for answers.
pub const List = struct {
    arena: Allocator,
    words: std.ArrayListUnmanaged([]const u8) = .empty,

    pub fn add(self: *List, word: []const u8) !void {
        try self.words.append(self.arena, word);
    }

    pub fn print(self: *List, comptime format: []const u8, arguments: anytype) !void {
        try self.add(try std.fmt.allocPrint(self.arena, format, arguments));
    }

    pub fn join(self: List, between: []const u8) ![]const u8 {
        return std.mem.join(self.arena, between, self.words.items);
    }

    /// The words with something between them, or a dash if there are none.
    pub fn joinOrDash(self: List, between: []const u8) ![]const u8 {
        return orDash(try self.join(between));
    }

    /// `OK` and the words, or a dash.
    pub fn ok(self: List, between: []const u8) ![]const u8 {
        return std.fmt.allocPrint(self.arena, "OK {s}", .{try self.joinOrDash(between)});
    }
};

pub fn orDash(text: []const u8) []const u8 {
    return if (text.len == 0) "-" else text;
}

/// Of an enumeration of one byte.
pub fn trit(value: anytype) []const u8 {
    return switch (@intFromEnum(value)) {
        1 => "+1",
        0 => "0",
        -1 => "-1",
        else => "unknown",
    };
}

pub fn time(arena: Allocator, value: u64) ![]const u8 {
    return if (value == ternlease.forever) "forever" else print(arena, "{d}", .{value});
}

pub fn reason(value: ternlease.Reason) []const u8 {
    return value.name() orelse "?";
}

pub fn reasonNamed(name: []const u8) error{Nonsense}!ternlease.Reason {
    inline for (comptime std.meta.fieldNames(ternlease.Reason)) |tag| {
        const known = @field(ternlease.Reason, tag);
        if (std.mem.eql(u8, known.name().?, name)) return known;
    }
    return error.Nonsense;
}
