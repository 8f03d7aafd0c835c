//! Machines: read without measuring, asked, taught.
const std = @import("std");
const ternlease = @import("ternlease");
const allocator = std.testing.allocator;
const expect = std.testing.expect;
const expectEqual = std.testing.expectEqual;
const expectError = std.testing.expectError;

const Cost = ternlease.Cost;

fn quick() !ternlease.Machine {
    return ternlease.Machine.read("/tmp", .{ .benchmarks = false, .network = false });
}

const small: ternlease.Task = .{ .cost = .{ .flops = 1000, .mem_bytes = 1000, .peak_mem = 1000, .result_bytes = 8 } };
const large: ternlease.Task = .{ .cost = .{ .flops = 1 << 50, .mem_bytes = 1000, .peak_mem = 1000, .result_bytes = 8 }, .kind = .dense64, .threads = 2 };

test "figures" {
    var machine = try quick();
    defer machine.close();
    const info = try machine.info();
    try expect(info.mem_total > 0 and info.cores_usable > 0);
    try expectEqual(ternlease.forever, info.age_us);
    try std.testing.expectEqualStrings("/tmp", info.store.slice());
    const rate = try machine.rate(.flop64_all);
    try expect(rate.per_second > 0);
    try expect(rate.source == .estimated);
    try expectError(error.BadValue, machine.rate(@enumFromInt(99)));
    const json = try machine.json(allocator);
    defer allocator.free(json);
    try expectEqual('{', json[0]);
    try machine.setGpuStart(.{ .lo = 1, .mid = 2, .hi = 3 });
    try expectEqual(ternlease.Estimate{ .lo = 1, .mid = 2, .hi = 3 }, (try machine.info()).gpu_start);
}

test "the way to results, and what follows from it" {
    var machine = try quick();
    defer machine.close();
    try expectEqual(null, try machine.route());
    try expectError(error.Empty, machine.recordFetch(1000, 1000));
    try expectEqual(ternlease.never, (try machine.fetchTime(1000)).mid);
    const alone = try machine.verdict(small);
    try expect(alone.trit == .compute and alone.answer == .compute and !alone.can_fetch);
    try expect(alone.why_not_fetch == .network);
    try std.testing.expectEqualStrings("must compute (no network)", alone.words.slice());

    try machine.setRoute(.{ .round_trip_ns = 1_000_000, .bytes_per_second = 1_000_000_000, .hits_permille = 1000 });
    try expectEqual(1_000_000, (try machine.route()).?.round_trip_ns);
    try expect((try machine.verdict(small)).trit == .compute);
    try expect((try machine.verdict(large)).trit == .fetch);
    try expect(try machine.cacheValue(large) > 0);
    try machine.recordFetch(12_500_000, 204_000_000);
    try expect((try machine.route()).?.known == .learned);
    try expect((try machine.fetchTime(1000)).mid != ternlease.never);
    try machine.setRoute(null);
    try expectEqual(null, try machine.route());
    try expectError(error.BadValue, machine.setRoute(.{}));

    const json = try machine.verdictJson(allocator, large);
    defer allocator.free(json);
    try expectEqual('{', json[0]);
}

test "how long things take" {
    var machine = try quick();
    defer machine.close();
    const time = try machine.computeTime(large);
    try expect(time.lo <= time.mid and time.mid <= time.hi and time.mid > 0);
    const untaught = try machine.untaughtTime(large);
    var taught = large;
    taught.learned.record(untaught, 2 * untaught);
    try expectEqual(ternlease.Learned{ .runs = 1, .permille = 2000 }, taught.learned);
    try expect((try machine.computeTime(taught)).mid > time.mid);
    try expectEqual(untaught, try machine.untaughtTime(taught));
    try expect((try machine.storeTime(1000)).mid > 0);
    try expect(machine.canStore(1) != .unknown);
    try expect(try machine.suggestTtl(large, 60 * ternlease.second) >= 6 * ternlease.second);
    try expectEqual(0, try machine.etlBuffer(100) % 100);
    try expectError(error.Empty, machine.etlBuffer(1 << 62));
    try expect((try machine.normalize(1000, 2, 3)).peak_mem == 2);
    try expectError(error.BadValue, machine.computeTime(.{ .cost = .copy(1), .kind = @enumFromInt(77) }));
}

test "where to do it" {
    var machine = try quick();
    defer machine.close();
    var pool = try ternlease.Pool.open("process:", .{ .devices = "none" });
    defer pool.close();
    const advice = try machine.advise(small, pool, .{});
    try expect(advice.choice == .cpu and advice.wait == .no_devices and advice.why_not_gpu == .no_device);
    try expectEqual(ternlease.never, advice.gpu.mid);
    try expect(advice.words.slice().len > 0);
    const json = try machine.adviseJson(allocator, small, pool, .{});
    defer allocator.free(json);
    try expectEqual('{', json[0]);
    var with_input = small;
    with_input.input_bytes = 0;
    _ = try machine.advise(with_input, pool, .{});
}

test "progress is told while it is measured" {
    const Told = struct {
        steps: u32 = 0,
        named: bool = true,

        fn hear(self: *@This(), step: []const u8, done: u32, of: u32) void {
            self.steps += 1;
            self.named = self.named and step.len > 0 and done <= of;
        }
    };
    var told: Told = .{};
    var machine = try ternlease.Machine.read("/tmp", .{ .network = false, .refresh = true, .budget_us = 1000, .progress = .to(&told, Told.hear) });
    defer machine.close();
    try expect(told.steps > 0 and told.named);
}

test "what cannot be read" {
    var details: ternlease.Details = .{};
    try expectError(error.System, ternlease.Machine.read("/nowhere/at/all", .{ .benchmarks = false, .details = &details }));
    try expect(details.os_errno != 0);
}
