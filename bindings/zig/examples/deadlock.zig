//! A deadlock: two jobs hold one GPU each and wait for the other's. It is found, proved, and broken at the least cost.
const std = @import("std");
const ternlease = @import("ternlease");
const print = @import("output.zig").print;

const allocator = std.heap.c_allocator;

pub fn main() !void {
    var manager = try ternlease.Manager.open("process:", .{ .ticks = true });
    defer manager.close();
    _ = try manager.acquire("gpu0", "ann", 100);
    _ = try manager.acquire("gpu1", "bob", 100);
    const ann = (try manager.enqueue(.{ .holder = "ann", .resources = &.{.of("gpu1")}, .ttl = 100, .wait = 50 })).ticket;
    defer ann.cancel();
    const bob = (try manager.enqueue(.{ .holder = "bob", .resources = &.{.of("gpu0")}, .ttl = 100, .wait = 50 })).ticket;
    defer bob.cancel();

    var found = try manager.deadlocks();
    defer found.close();
    for (0..found.count) |index| {
        const cycle = try found.cycle(allocator, index);
        defer allocator.free(cycle);
        for (cycle) |*wait| {
            const info = try manager.lease(wait.lease).info();
            print("{s} waits for {s}\n", .{ wait.worker.slice(), info.holder.slice() });
        }
        const victim = manager.lease(try found.victim(index));
        const info = try victim.info();
        _ = try victim.revoke(.{ .reason = .deadlock_victim });
        print("{s} loses its lease\n", .{info.holder.slice()});
    }
    const goes_on = if (ann.state() == .granted) "ann" else "bob";
    print("{s} goes on\n", .{goes_on});
}
