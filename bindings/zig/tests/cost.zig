//! Costs: the numbers that every language gives, bit for bit.
const std = @import("std");
const ternlease = @import("ternlease");

const Cost = ternlease.Cost;
const vectors = @embedFile("fncost.csv");

const Argument = union(enum) { number: u64, cost: Cost };

/// Reads expressions such as `(then (scan 8 1) (hash 7))`.
const Reader = struct {
    rest: []const u8,

    fn cost(self: *Reader) anyerror!Cost {
        if (!self.take('(')) return error.NoExpression;
        const operation = self.word();
        var arguments: [4]Argument = undefined;
        var count: usize = 0;
        while (self.take(' ')) : (count += 1) {
            arguments[count] = if (self.rest[0] == '(') .{ .cost = try self.cost() } else .{ .number = try std.fmt.parseInt(u64, self.word(), 10) };
        }
        if (!self.take(')')) return error.NoEnd;
        return apply(operation, arguments[0..count]);
    }

    fn take(self: *Reader, letter: u8) bool {
        if (self.rest.len == 0 or self.rest[0] != letter) return false;
        self.rest = self.rest[1..];
        return true;
    }

    fn word(self: *Reader) []const u8 {
        const end = std.mem.indexOfAny(u8, self.rest, " )").?;
        defer self.rest = self.rest[end..];
        return self.rest[0..end];
    }
};

const Operation = enum { new, scan, sort, hash, matmul, etl, copy, then, par, both, repeat };

fn apply(name: []const u8, a: []const Argument) !Cost {
    return switch (std.meta.stringToEnum(Operation, name) orelse return error.UnknownOperation) {
        .new => .{ .flops = a[0].number, .mem_bytes = a[1].number, .peak_mem = a[2].number, .result_bytes = a[3].number },
        .scan => .scan(a[0].number, a[1].number),
        .sort => .sort(a[0].number, a[1].number, a[2].number),
        .hash => .hash(a[0].number),
        .matmul => .matmul(a[0].number, a[1].number, a[2].number, a[3].number),
        .etl => .etl(a[0].number, a[1].number, a[2].number, a[3].number),
        .copy => .copy(a[0].number),
        .then => a[0].cost.then(a[1].cost),
        .par => a[0].cost.par(a[1].cost),
        .both => a[0].cost.both(a[1].cost),
        .repeat => a[0].cost.repeat(a[1].number),
    };
}

test "all vectors" {
    var lines = std.mem.tokenizeScalar(u8, vectors, '\n');
    try std.testing.expectEqualStrings("name,expr,flops,mem_bytes,peak_mem,result_bytes", lines.next().?);
    var count: usize = 0;
    while (lines.next()) |line| : (count += 1) {
        errdefer std.debug.print("{s}\n", .{line});
        var fields = std.mem.splitScalar(u8, line, ',');
        _ = fields.next();
        var reader: Reader = .{ .rest = fields.next().? };
        const cost = try reader.cost();
        inline for (.{ "flops", "mem_bytes", "peak_mem", "result_bytes" }) |field| {
            try std.testing.expectEqual(try std.fmt.parseInt(u64, fields.next().?, 10), @field(cost, field));
        }
    }
    // Lines may be added, none may be lost.
    try std.testing.expect(count >= 94);
}

test "work by rate" {
    try std.testing.expectEqual(1000, ternlease.nanoseconds(1000, 1_000_000_000));
    try std.testing.expectEqual(1, ternlease.nanoseconds(1, 2_000_000_000));
    try std.testing.expectEqual(ternlease.never, ternlease.nanoseconds(1, 0));
}
