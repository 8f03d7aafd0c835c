//! Pools: devices, claims for them, and what a child sees.
const std = @import("std");
const ternlease = @import("ternlease");
const allocator = std.testing.allocator;
const expectEqual = std.testing.expectEqual;
const expectEqualStrings = std.testing.expectEqualStrings;
const expectError = std.testing.expectError;

fn fake(comptime devices: []const u8) !ternlease.Pool {
    return ternlease.Pool.open("process:", .{ .devices = devices });
}

test "devices, and how they are" {
    var pool = try fake("fake:4");
    defer pool.close();
    try expectEqual(4, try pool.capacity());
    const device = try pool.device(3);
    try expectEqual(ternlease.Vendor.nvidia, device.vendor);
    try expectEqual(3, device.index);
    try std.testing.expect(device.known.memory and device.memory_mib > 0);
    try std.testing.expect(device.pci.slice().len > 0 and device.key.slice().len > 0);
    try expectEqual(ternlease.Health.healthy, (try pool.deviceStatus(3)).health);
    _ = try pool.deviceSpeed(3);
    try expectError(error.BadValue, pool.device(4));
    try expectError(error.BadValue, pool.deviceStatus(4));
    try expectError(error.BadValue, pool.deviceSpeed(4));
}

test "claimed alone and together, and seen by others" {
    var pool = try fake("fake:4");
    defer pool.close();
    const one = try pool.tryClaim();
    const two = try pool.claim(.{ .count = 2, .holder = "ann", .ttl = 60 * ternlease.second });
    try expectEqual(ternlease.LeaseState.held, two.state());
    _ = try two.renew();
    const places = try two.places(allocator);
    defer allocator.free(places);
    try expectEqual(2, places.len);
    const devices = try two.devices(allocator);
    defer allocator.free(devices);
    try expectEqual(places[1], devices[1].index);

    const all = try pool.snapshot(allocator);
    defer allocator.free(all);
    try expectEqual(4, all.len);
    try expectEqual(two.id, all[places[0]].lease);
    const on = try pool.leasesOn(allocator, places[0]);
    defer allocator.free(on);
    try std.testing.expectEqualSlices(ternlease.LeaseId, &.{two.id}, on);
    const squatters = try pool.squatters(allocator, places[0]);
    defer allocator.free(squatters);
    try expectEqual(0, squatters.len);

    try expectError(error.Busy, pool.claim(.{ .count = 2 }));
    try expectError(error.Impossible, pool.claim(.{ .count = 5 }));
    try expectError(error.UnknownResource, pool.claim(.{ .devices = &.{.of("nvidia:9")} }));
    try expectError(error.Impossible, pool.claim(.{ .vendor = .amd }));
    try expectError(error.Impossible, pool.claim(.{ .min_memory_mib = 4_000_000 }));
    try expectError(error.Impossible, pool.claim(.{ .min_compute = .{ .major = 99 } }));
    one.release();
    two.release();
    try expectError(error.NotHeld, two.releaseChecked());
    try expectEqual(0, try pool.manager.activeCount());
}

test "what a child needs in its environment" {
    var pool = try fake("fake:4");
    defer pool.close();
    const lease = try pool.claim(.{ .devices = &.{ .of("nvidia:1"), .of("nvidia:2") }, .count = 2 });
    const env = try lease.env(allocator, .by_number);
    defer allocator.free(env);
    var changes = ternlease.envChanges(env);
    var seen = false;
    while (changes.next()) |change| {
        if (!std.mem.eql(u8, change.name, "CUDA_VISIBLE_DEVICES")) continue;
        try expectEqualStrings("1,2", change.value.?);
        seen = true;
    }
    try std.testing.expect(seen);
    const by_uuid = try lease.env(allocator, .by_uuid);
    defer allocator.free(by_uuid);
    try std.testing.expect(std.mem.indexOf(u8, by_uuid, "GPU-") != null);
    try expectError(error.UnknownLease, pool.lease(.none).env(allocator, .by_number));
    try expectError(error.UnknownLease, pool.lease(.none).places(allocator));
}

test "an environment is taken apart" {
    var changes = ternlease.envChanges("A=1\nB\nC=\nD=x=y");
    try expectEqualStrings("1", changes.next().?.value.?);
    const gone = changes.next().?;
    try expectEqualStrings("B", gone.name);
    try expectEqual(null, gone.value);
    try expectEqualStrings("", changes.next().?.value.?);
    try expectEqualStrings("x=y", changes.next().?.value.?);
    try expectEqual(null, changes.next());
    var none = ternlease.envChanges("");
    try expectEqual(null, none.next());
}

test "in line for devices" {
    var pool = try fake("fake:1");
    defer pool.close();
    try expectEqual(ternlease.ExpectedWait.none, try pool.expectedWait(.{}));
    const first = try pool.tryClaim();
    const waits = (try pool.enqueue(.{ .wait = ternlease.forever })).ticket;
    try expectEqual(1, try pool.pendingClaimers());
    try expectEqual(ternlease.ExpectedWait.unknown, try pool.expectedWait(.{}));
    try expectEqual(ternlease.ExpectedWait.unknown, try pool.expectedWaitOf(waits.id));
    first.release();
    const lease = pool.lease((try waits.wait(ternlease.forever)).?.id);
    const places = try lease.places(allocator);
    defer allocator.free(places);
    try std.testing.expectEqualSlices(usize, &.{0}, places);
    lease.release();
    const timed = try pool.claim(.{ .ttl = 60 * ternlease.second, .keep_alive = true });
    try expectEqual(ternlease.LeaseState.held, timed.state());
    switch (try pool.expectedWait(.{})) {
        .about => |nanoseconds| try std.testing.expect(nanoseconds > 0),
        else => return error.ShouldBeKnown,
    }
    try timed.keepAlive();
}

test "a machine without devices is no special case" {
    var pool = try fake("none");
    defer pool.close();
    try expectEqual(0, try pool.capacity());
    try expectError(error.Empty, pool.tryClaim());
    try expectError(error.Empty, pool.claim(.{ .count = 2, .wait = ternlease.forever }));
    try expectEqual(ternlease.ExpectedWait.no_devices, try pool.expectedWait(.{}));
    const why = try pool.absence(allocator);
    defer allocator.free(why);
    const snapshot = try pool.snapshot(allocator);
    defer allocator.free(snapshot);
    try expectEqual(0, snapshot.len);
}

test "a pool on the table of a manager, which it may outlive" {
    var manager = try ternlease.Manager.open("process:", .{ .ticks = true });
    var pool = try ternlease.Pool.on(manager, .{ .devices = "fake:1", .slots = 2 });
    defer pool.close();
    const lease = try pool.claim(.{ .slots = 1, .ttl = 10 });
    try expectEqual(ternlease.LeaseState.held, manager.lease(lease.id).state());
    manager.close();
    try expectEqual(ternlease.LeaseState.held, lease.state());
    _ = try lease.lease().revoke(.{});
    try expectEqual(ternlease.LeaseState.revoked, lease.state());
}
