//! Any number of threads may use one manager.
const std = @import("std");
const ternlease = @import("ternlease");

const rounds = 200;

fn work(manager: ternlease.Manager, holder: []const u8, failed: *std.atomic.Value(bool)) void {
    for (0..rounds) |_| {
        const lease = manager.claim(.{ .holder = holder, .resources = &.{.of("gpu0")}, .ttl = ternlease.forever, .wait = ternlease.forever }) catch {
            failed.store(true, .seq_cst);
            return;
        };
        defer lease.release();
        if (lease.state() != .held) failed.store(true, .seq_cst);
    }
}

test "one resource, four threads, never two at once" {
    var manager = try ternlease.Manager.open("process:", .{});
    defer manager.close();
    var failed: std.atomic.Value(bool) = .init(false);
    var threads: [4]std.Thread = undefined;
    for (&threads, [_][]const u8{ "a", "b", "c", "d" }) |*thread, holder|
        thread.* = try std.Thread.spawn(.{}, work, .{ manager, holder, &failed });
    for (threads) |thread| thread.join();
    try std.testing.expect(!failed.load(.seq_cst));
    try std.testing.expectEqual(threads.len * rounds, try manager.count(.released));
}
