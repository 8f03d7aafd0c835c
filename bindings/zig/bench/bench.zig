//! How long calls take through this binding. Prints a line `NAME NANOSECONDS` for each: the best of several rounds.
const std = @import("std");
const ternlease = @import("ternlease");

const rounds = 7;
const leases = 1000;

extern "c" fn printf(format: [*:0]const u8, ...) c_int;
extern "c" fn clock_gettime(clock: c_int, now: *TimeSpec) c_int;

const TimeSpec = extern struct { sec: c_long, nsec: c_long };

fn now() u64 {
    const monotonic = 1;
    var time: TimeSpec = .{ .sec = 0, .nsec = 0 };
    _ = clock_gettime(monotonic, &time);
    return @intCast(time.sec * 1_000_000_000 + time.nsec);
}

/// Does a call so many times in each round, of which each does so much.
fn measure(name: [*:0]const u8, calls: usize, each: usize, context: anytype, comptime call: fn (@TypeOf(context)) anyerror!void) !void {
    var best: u64 = std.math.maxInt(u64);
    for (0..rounds) |_| {
        const begin = now();
        for (0..calls) |_| try call(context);
        best = @min(best, now() - begin);
    }
    const nanoseconds = @as(f64, @floatFromInt(best)) / @as(f64, @floatFromInt(calls * each));
    _ = printf("%s %.1f\n", name, nanoseconds);
}

const Many = struct {
    manager: ternlease.Manager,
    ids: *const [leases]ternlease.LeaseId,
    states: *[leases]ternlease.LeaseState,
};

const work = struct {
    fn bare(_: void) !void {
        std.mem.doNotOptimizeAway(ternlease.version.number());
    }

    fn state(lease: ternlease.Lease) !void {
        if (lease.state() != .held) return error.NotHeld;
    }

    fn renew(lease: ternlease.Lease) !void {
        _ = try lease.renew();
    }

    fn claimAndRelease(pool: ternlease.Pool) !void {
        const lease = try pool.tryClaim();
        lease.release();
    }

    fn states(many: Many) !void {
        const told = try many.manager.states(many.ids, many.states);
        if (told[leases - 1] != .held) return error.NotHeld;
    }

    fn renewAll(many: Many) !void {
        if (try many.manager.renewAll(many.ids) != leases) return error.NotHeld;
    }
};

pub fn main() !void {
    var manager = try ternlease.Manager.open("process:", .{});
    defer manager.close();
    const lease = try manager.acquire("gpu0", "ann", 3600 * ternlease.second);
    var ids: [leases]ternlease.LeaseId = undefined;
    for (&ids, 0..) |*id, number| {
        var name: [32]u8 = undefined;
        id.* = (try manager.acquire(try std.fmt.bufPrint(&name, "r{d}", .{number}), "ann", 3600 * ternlease.second)).id;
    }
    var states: [leases]ternlease.LeaseState = undefined;
    const many: Many = .{ .manager = manager, .ids = &ids, .states = &states };
    var pool = try ternlease.Pool.open("process:", .{ .devices = "fake:8" });
    defer pool.close();

    try measure("bare", 10_000_000, 1, {}, work.bare);
    try measure("state", 1_000_000, 1, lease, work.state);
    try measure("renew", 500_000, 1, lease, work.renew);
    try measure("claim_release", 200_000, 1, pool, work.claimAndRelease);
    try measure("states_1000", 1000, leases, many, work.states);
    try measure("renew_1000", 500, leases, many, work.renewAll);
}
