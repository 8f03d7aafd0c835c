//! Leases: held, renewed, revoked, released.
const std = @import("std");
const ternlease = @import("ternlease");
const allocator = std.testing.allocator;
const expectEqual = std.testing.expectEqual;
const expectError = std.testing.expectError;

fn ticking() !ternlease.Manager {
    return ternlease.Manager.open("process:", .{ .ticks = true });
}

test "a lease ends when its time is over, and renewing moves its end" {
    var manager = try ticking();
    defer manager.close();
    const lease = try manager.acquire("gpu0", "ann", 2);
    try manager.tick();
    try expectEqual(3, try lease.renew());
    try expectEqual(11, try lease.renewFor(10));
    for (0..10) |_| try manager.tick();
    try expectEqual(ternlease.LeaseState.expired, lease.state());
    try expectError(error.NotHeld, lease.renew());
    try expectError(error.NotHeld, lease.releaseChecked());
    lease.release();
}

test "a release in defer gives it back" {
    var manager = try ticking();
    defer manager.close();
    {
        const lease = try manager.acquire("gpu0", "ann", 10);
        defer lease.release();
        try expectError(error.Busy, manager.acquire("gpu0", "bob", 10));
    }
    const again = try manager.acquire("gpu0", "bob", 10);
    try again.releaseChecked();
    try expectError(error.NotHeld, again.releaseChecked());
}

test "an error on the way gives it back, too" {
    var manager = try ticking();
    defer manager.close();
    const work = struct {
        fn fails(table: ternlease.Manager) !void {
            const lease = try table.acquire("gpu0", "ann", 10);
            defer lease.release();
            return error.OutOfLuck;
        }
    };
    try expectError(error.OutOfLuck, work.fails(manager));
    try expectEqual(0, try manager.activeCount());
}

test "revoked, at once or with notice" {
    var manager = try ticking();
    defer manager.close();
    const lease = try manager.acquire("gpu0", "ann", 10);
    try expectEqual(ternlease.Revoked{ .at = 3, .unchanged = false }, try lease.revoke(.{ .reason = .node_drain, .by = "ops", .notice = 3 }));
    try expectEqual(ternlease.Revoked{ .at = 3, .unchanged = true }, try lease.revoke(.{ .notice = 5 }));
    const told = try lease.info();
    try std.testing.expect(told.flags.revoking and !told.flags.spare);
    try expectEqual(ternlease.LeaseState.held, told.state);
    try expectEqual(ternlease.Reason.node_drain, told.reason);
    try std.testing.expectEqualStrings("ops", told.revoker.slice());
    try std.testing.expectEqualStrings("ann", told.holder.slice());
    for (0..3) |_| try manager.tick();
    try expectEqual(ternlease.LeaseState.revoked, lease.state());
    try expectEqual(ternlease.Reason.Class.resource, (try lease.info()).reason.class().?);
    try expectError(error.NotHeld, lease.revoke(.{}));

    const other = try manager.acquire("gpu0", "bob", 10);
    try expectError(error.NotARevocation, other.revoke(.{ .reason = .released }));
}

test "what a lease takes" {
    var manager = try ticking();
    defer manager.close();
    _ = try manager.declare("gpu0", 4, 100);
    const lease = try manager.claim(.{ .holder = "ann", .resources = &.{.of("gpu0")}, .slots = 3, .memory_mib = 7, .ttl = 10 });
    const takes = try lease.takes(allocator);
    defer allocator.free(takes);
    try expectEqual(1, takes.len);
    try std.testing.expectEqualStrings("gpu0", takes[0].resource.slice());
    try expectEqual(3, takes[0].slots);
    try expectEqual(7, takes[0].memory_mib);
}

test "a lease that nobody knows" {
    var manager = try ticking();
    defer manager.close();
    const forged = manager.lease(@enumFromInt(12345));
    try expectEqual(ternlease.LeaseState.unknown, forged.state());
    try expectEqual(ternlease.LeaseState.unknown, manager.lease(.none).state());
    try expectError(error.UnknownLease, forged.renew());
    try expectError(error.UnknownLease, forged.releaseChecked());
    try expectError(error.UnknownLease, forged.info());
    try expectError(error.UnknownLease, forged.takes(allocator));
}

test "several in one call" {
    var manager = try ticking();
    defer manager.close();
    const held = try manager.acquire("gpu0", "ann", 10);
    const over = try manager.acquire("gpu1", "ann", 10);
    const revoked = try manager.acquire("gpu2", "ann", 10);
    over.release();
    _ = try revoked.revoke(.{});
    const ids = [_]ternlease.LeaseId{ held.id, over.id, revoked.id, .none };
    var buffer: [5]ternlease.LeaseState = undefined;
    try std.testing.expectEqualSlices(
        ternlease.LeaseState,
        &.{ .held, .expired, .revoked, .unknown },
        try manager.states(&ids, &buffer),
    );
    try expectEqual(1, try manager.renewAll(&ids));
    try expectEqual(0, (try manager.states(&.{}, &.{})).len);
    try expectEqual(0, try manager.renewAll(&.{}));

    var details: ternlease.Details = .{};
    try expectError(error.BadValue, manager.with(&details).states(&ids, buffer[0..3]));
    try expectEqual(ternlease.Status.err_bad_value, details.status);
}
