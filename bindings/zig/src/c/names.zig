//! The names that enumerators have in C, made from the tags that they have here.
const std = @import("std");

/// `prefix` and the tag in capitals; null for a number that is none of those known here.
pub fn nameInC(comptime prefix: []const u8, value: anytype) ?[]const u8 {
    @setEvalBranchQuota(100_000);
    inline for (comptime std.meta.fieldNames(@TypeOf(value))) |tag| {
        if (value == @field(@TypeOf(value), tag)) return comptime prefix ++ capitals(tag);
    }
    return null;
}

pub fn capitals(comptime tag: []const u8) *const [tag.len]u8 {
    return comptime capitals: {
        var upper: [tag.len]u8 = undefined;
        for (tag, &upper) |from, *to| to.* = std.ascii.toUpper(from);
        const done = upper;
        break :capitals &done;
    };
}
