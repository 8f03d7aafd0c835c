//! Managers: resources, counters, looking around.
const std = @import("std");
const ternlease = @import("ternlease");
const allocator = std.testing.allocator;
const expectEqual = std.testing.expectEqual;
const expectEqualStrings = std.testing.expectEqualStrings;

fn ticking() !ternlease.Manager {
    return ternlease.Manager.open("process:", .{ .ticks = true });
}

test "resources are declared, taken, looked at and drained" {
    var manager = try ticking();
    defer manager.close();
    try std.testing.expect(try manager.declare("gpu0", 2, 100) != .none);
    const lease = try manager.claim(.{ .holder = "ann", .resources = &.{.of("gpu0")}, .slots = 1, .memory_mib = 40, .ttl = 10 });
    const info = try manager.resource("gpu0");
    try expectEqual(2, info.slots);
    try expectEqual(1, info.used_slots);
    try expectEqual(40, info.used_memory_mib);
    try expectEqual(ternlease.Health.healthy, info.health);
    try std.testing.expect(info.declared);
    try std.testing.expectError(error.InUse, manager.declare("gpu0", 3, 100));
    try std.testing.expectError(error.UnknownResource, manager.resource("gpu9"));

    try manager.setHealth("gpu0", .draining);
    try std.testing.expectError(error.Busy, manager.acquire("gpu0", "bob", 10));
    try expectEqual(ternlease.LeaseState.held, lease.state());
    try std.testing.expectError(error.BadValue, manager.setHealth("gpu0", @enumFromInt(7)));
}

test "lists" {
    var manager = try ticking();
    defer manager.close();
    const first = try manager.acquire("gpu1", "ann", 10);
    const second = try manager.acquire("gpu0", "ann", 10);

    const resources = try manager.resources(allocator);
    defer allocator.free(resources);
    try expectEqual(2, resources.len);
    try expectEqualStrings("gpu0", resources[0].name.slice());
    try expectEqualStrings("gpu1", resources[1].name.slice());

    const held = try manager.heldBy(allocator, "ann");
    defer allocator.free(held);
    try std.testing.expectEqualSlices(ternlease.LeaseId, &.{ first.id, second.id }, held);

    const on = try manager.leasesOn(allocator, "gpu0");
    defer allocator.free(on);
    try std.testing.expectEqualSlices(ternlease.LeaseId, &.{second.id}, on);

    const leases = try manager.leases(allocator);
    defer allocator.free(leases);
    try expectEqual(2, leases.len);
    try expectEqual(first.id, leases[0].lease);
    try expectEqualStrings("ann", leases[1].holder.slice());

    const none = try manager.heldBy(allocator, "nobody");
    defer allocator.free(none);
    try expectEqual(0, none.len);
}

test "counters" {
    var manager = try ticking();
    defer manager.close();
    const lease = try manager.acquire("gpu0", "ann", 10);
    const waits = try manager.enqueue(.{ .holder = "bob", .resources = &.{.of("gpu0")}, .ttl = 10, .wait = 5 });
    try expectEqual(1, try manager.activeCount());
    try expectEqual(1, try manager.pendingClaimers());
    _ = try lease.revoke(.{});
    try expectEqual(1, try manager.revocations());
    try expectEqual(1, try manager.count(.operator));
    try expectEqual(0, try manager.count(.quota));
    try std.testing.expectError(error.BadValue, manager.count(@enumFromInt(12345)));
    try manager.tick();
    try expectEqual(1, try manager.tickCount());
    waits.ticket.cancel();

    const text = try manager.metrics(allocator);
    defer allocator.free(text);
    try std.testing.expect(std.mem.indexOf(u8, text, "ternlease") != null);
    try expectEqual(null, std.mem.indexOfScalar(u8, text, 0));
    try expectEqual('\n', text[text.len - 1]);
}

test "the options reach the library" {
    var manager = try ternlease.Manager.open("process:", .{ .ticks = true, .leases = 1, .tickets = 1, .resources = 1, .history = 1 });
    defer manager.close();
    _ = try manager.acquire("gpu0", "ann", 10);
    try std.testing.expectError(error.Full, manager.acquire("gpu1", "ann", 10));

    var house = try ternlease.Manager.open("process:", .{ .ticks = true, .open_house = true });
    defer house.close();
    _ = try house.acquire("gpu0", "ann", 10);
    _ = try house.acquire("gpu0", "bob", 10);

    var breaking = try ternlease.Manager.open("process:", .{ .ticks = true, .break_deadlocks = true });
    defer breaking.close();
    _ = try breaking.acquire("gpu0", "ann", 10);
    const victim = try breaking.acquire("gpu1", "bob", 10);
    try breaking.want("ann", "gpu1");
    try breaking.want("bob", "gpu0");
    try expectEqual(ternlease.LeaseState.revoked, victim.state());
}

test "the library is of this version" {
    try expectEqualStrings("0.1.0", ternlease.version.text());
}
