//! Costs, and what a machine says of them.
const std = @import("std");
const ternlease = @import("ternlease");
const say = @import("say.zig");
const parseSpan = @import("words.zig").parseSpan;

const Allocator = std.mem.Allocator;
const Answer = @import("driver.zig").Answer;
const Cost = ternlease.Cost;
const Driver = @import("driver.zig").Driver;
const Nonsense = @import("words.zig").Nonsense;
const Words = @import("words.zig").Words;

pub const steps = .{
    .{ "cost", cost },
    .{ "nanoseconds", nanoseconds },
    .{ "learned", learned },
    .{ "machine", machine },
    .{ "route", route },
    .{ "verdict", verdict },
};

fn cost(_: *Driver, arena: Allocator, words: *Words) Answer {
    const made = try makeCost(words);
    return say.print(arena, "OK {d} {d} {d} {d}", .{ made.flops, made.mem_bytes, made.peak_mem, made.result_bytes });
}

const Sort = enum { scan, sort, hash, matmul, etl, copy, then, par, both, repeat };

fn makeCost(words: *Words) Nonsense!Cost {
    return switch (std.meta.stringToEnum(Sort, try words.next()) orelse return error.Nonsense) {
        .scan => .scan(try number(words), try number(words)),
        .sort => .sort(try number(words), try number(words), try number(words)),
        .hash => .hash(try number(words)),
        .matmul => .matmul(try number(words), try number(words), try number(words), try number(words)),
        .etl => .etl(try number(words), try number(words), try number(words), try number(words)),
        .copy => .copy(try number(words)),
        .then => (try four(words)).then(try four(words)),
        .par => (try four(words)).par(try four(words)),
        .both => (try four(words)).both(try four(words)),
        .repeat => (try four(words)).repeat(try number(words)),
    };
}

fn number(words: *Words) Nonsense!u64 {
    return words.number(u64);
}

/// A cost by its four numbers.
fn four(words: *Words) Nonsense!Cost {
    return .{
        .flops = try number(words),
        .mem_bytes = try number(words),
        .peak_mem = try number(words),
        .result_bytes = try number(words),
    };
}

fn nanoseconds(_: *Driver, arena: Allocator, words: *Words) Answer {
    const time = ternlease.nanoseconds(try number(words), try number(words));
    return say.print(arena, "OK {s}", .{try say.time(arena, time)});
}

fn learned(_: *Driver, arena: Allocator, words: *Words) Answer {
    var known: ternlease.Learned = .{ .runs = try words.number(u32), .permille = try words.number(u32) };
    known.record(try number(words), try number(words));
    return say.print(arena, "OK {d} {d}", .{ known.runs, known.permille });
}

fn machine(driver: *Driver, _: Allocator, _: *Words) Answer {
    const read = try ternlease.Machine.read(".", .{ .benchmarks = false, .network = false, .details = &driver.details });
    if (driver.open_machine) |*former| former.close();
    driver.open_machine = read;
    return "OK";
}

fn route(driver: *Driver, _: Allocator, words: *Words) Answer {
    const open = try driver.machine();
    const first = try words.next();
    try open.setRoute(if (std.mem.eql(u8, first, "none")) null else .{
        .round_trip_ns = try parseSpan(first),
        .bytes_per_second = try number(words),
        .hits_permille = try words.number(u32),
    });
    return "OK";
}

fn verdict(driver: *Driver, arena: Allocator, words: *Words) Answer {
    const open = try driver.machine();
    const told = try open.verdict(.{
        .cost = try four(words),
        .kind = @enumFromInt(try words.optionNumber("kind", @as(i32, 0))),
        .threads = try words.optionNumber("threads", @as(u32, 1)),
    });
    const said = try arena.dupe(u8, told.words.slice());
    std.mem.replaceScalar(u8, said, ' ', '_');
    return say.print(arena, "OK {s} {s}", .{ say.trit(told.trit), said });
}
