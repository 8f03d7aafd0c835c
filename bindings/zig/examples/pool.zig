//! GPUs: the program asks for two, and starts a child that sees them and no others. Where there are none it goes on
//! without, and can say why.
const std = @import("std");
const ternlease = @import("ternlease");
const print = @import("output.zig").print;

const allocator = std.heap.c_allocator;

pub fn main() !void {
    // Without `.devices`: those of this machine.
    var pool = try ternlease.Pool.open("process:", .{ .devices = "fake:8" });
    defer pool.close();
    try train(pool);

    var nothing = try ternlease.Pool.open("process:", .{ .devices = "none" });
    defer nothing.close();
    try train(nothing);
}

fn train(pool: ternlease.Pool) !void {
    const gpus = pool.claim(.{
        .count = 2,
        .min_memory_mib = 40_000,
        .ttl = 60 * ternlease.second,
        .keep_alive = true,
        .wait = 5 * ternlease.second,
    }) catch |err| switch (err) {
        error.Empty => return trainOnTheCpu(pool),
        else => return err,
    };
    defer gpus.release();

    const devices = try gpus.devices(allocator);
    defer allocator.free(devices);
    for (devices) |*device| print("{s} at {s}\n", .{ device.name.slice(), device.pci.slice() });

    const env = try gpus.env(allocator, .by_number);
    defer allocator.free(env);
    var changes = ternlease.envChanges(env);
    while (changes.next()) |change| {
        if (change.value) |value|
            print("the child gets {s}={s}\n", .{ change.name, value })
        else
            print("the child does not get {s}\n", .{change.name});
    }
}

fn trainOnTheCpu(pool: ternlease.Pool) !void {
    const why = try pool.absence(allocator);
    defer allocator.free(why);
    print("on the CPU, then: {s}\n", .{why});
}
