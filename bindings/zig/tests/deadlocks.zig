//! Deadlocks: found, proved, broken.
const std = @import("std");
const ternlease = @import("ternlease");
const allocator = std.testing.allocator;
const expectEqual = std.testing.expectEqual;
const expectEqualStrings = std.testing.expectEqualStrings;

test "a circle of two, one by a claim and one by a want" {
    var manager = try ternlease.Manager.open("process:", .{ .ticks = true });
    defer manager.close();
    const a = try manager.acquire("gpu0", "ann", 100);
    const b = try manager.acquire("gpu1", "bob", 100);
    const waits = try manager.enqueue(.{ .holder = "ann", .resources = &.{.of("gpu1")}, .ttl = 10, .wait = 50 });
    {
        var none = try manager.deadlocks();
        defer none.close();
        try expectEqual(0, none.count);
    }
    try manager.want("bob", "gpu0");
    var found = try manager.deadlocks();
    defer found.close();
    try expectEqual(1, found.count);

    const stuck = try found.stuck(allocator, 0);
    defer allocator.free(stuck);
    try expectEqual(2, stuck.len);
    try expectEqualStrings("ann", stuck[0].slice());
    try expectEqualStrings("bob", stuck[1].slice());

    const cycle = try found.cycle(allocator, 0);
    defer allocator.free(cycle);
    try expectEqual(2, cycle.len);
    for (cycle) |wait| {
        const by_claim = std.mem.eql(u8, wait.worker.slice(), "ann");
        try expectEqual(if (by_claim) waits.ticket.id else .none, wait.ticket);
        try expectEqual(if (by_claim) b.id else a.id, wait.lease);
    }

    const victim = try found.victim(0);
    try std.testing.expect(victim == a.id or victim == b.id);
    var details: ternlease.Details = .{};
    try std.testing.expectError(error.BadValue, found.with(&details).victim(1));
    try expectEqual(ternlease.Status.err_bad_value, details.status);
    try std.testing.expectError(error.BadValue, found.stuck(allocator, 1));

    _ = try manager.lease(victim).revoke(.{ .reason = .deadlock_victim });
    var broken = try manager.deadlocks();
    defer broken.close();
    try expectEqual(0, broken.count);
    try manager.unwant("bob", "gpu0");
    try std.testing.expectError(error.UnknownWant, manager.unwant("bob", "gpu0"));
    waits.ticket.cancel();
}
