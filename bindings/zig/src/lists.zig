//! Lists and texts of any length, by an allocator of the caller's.
const std = @import("std");
const errors = @import("errors.zig");

const Allocator = std.mem.Allocator;
const Details = errors.Details;
const ListError = errors.ListError;

/// What a function lists that takes `before`, then an array, its capacity, how many there are, and details.
/// The caller frees it.
pub fn list(comptime Item: type, allocator: Allocator, details: ?*Details, comptime function: anytype, before: anytype) ListError![]Item {
    const found = try collect(Item, allocator, details, function, before);
    errdefer allocator.free(found.items);
    return allocator.realloc(found.items, found.count);
}

/// As `list()`, of functions that write a text and count its final zero.
pub fn text(allocator: Allocator, details: ?*Details, comptime function: anytype, before: anytype) ListError![:0]u8 {
    const found = try collect(u8, allocator, details, function, before);
    errdefer allocator.free(found.items);
    const exact = try allocator.realloc(found.items, found.count);
    return exact[0 .. exact.len - 1 :0];
}

fn Collected(comptime Item: type) type {
    return struct { items: []Item, count: usize };
}

/// Asks again as long as there is more than there was room for: the table may change between two questions.
fn collect(comptime Item: type, allocator: Allocator, details: ?*Details, comptime function: anytype, before: anytype) ListError!Collected(Item) {
    // A list that is longer than expected is no failure: nothing of it shows in the details of the caller.
    var unexpected: Details = .{};
    var items: []Item = &.{};
    errdefer allocator.free(items);
    while (true) {
        var needed: usize = 0;
        const status = @call(.auto, function, before ++ .{ if (items.len == 0) null else items.ptr, items.len, &needed, &unexpected });
        switch (status) {
            .ok => return .{ .items = items, .count = needed },
            .more => {},
            else => {
                if (details) |told| told.* = unexpected;
                return errors.errorOf(status);
            },
        }
        allocator.free(items);
        items = &.{};
        items = try allocator.alloc(Item, needed);
        @memset(items, empty(Item));
    }
}

fn empty(comptime Item: type) Item {
    return switch (Item) {
        u8, usize => 0,
        @import("c.zig").lease.LeaseId => .none,
        else => .{},
    };
}
