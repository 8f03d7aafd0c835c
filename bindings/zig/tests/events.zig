//! Events: read in order, waited for, and after the manager is gone.
const std = @import("std");
const ternlease = @import("ternlease");
const system = @import("system.zig");
const expectEqual = std.testing.expectEqual;

test "what happened, in order" {
    var manager = try ternlease.Manager.open("process:", .{ .ticks = true });
    defer manager.close();
    _ = try manager.declare("disk", 1, 0);
    const early = try manager.acquire("gpu0", "ann", 10);
    var late = try manager.events(ternlease.from_now);
    defer late.close();
    var events = try manager.events(ternlease.oldest);
    defer events.close();
    try manager.tick();
    early.release();
    try manager.setHealth("disk", .failed);

    const granted = (try events.next()).?;
    try expectEqual(ternlease.EventKind.granted, granted.kind);
    try expectEqual(early.id, granted.lease);
    try expectEqual(ternlease.TicketId.none, granted.ticket);
    const ended = (try events.next()).?;
    try expectEqual(ternlease.EventKind.ended, ended.kind);
    try expectEqual(ternlease.Reason.released, ended.reason);
    try expectEqual(1, ended.duration);
    try expectEqual(std.os.linux.getuid(), ended.actor_principal);
    try std.testing.expect(ended.actor_process != 0 and !ended.flags.acknowledged);
    try expectEqual(granted.number + 1, ended.number);
    const health = (try events.next()).?;
    try expectEqual(ternlease.Health.failed, health.health);
    try std.testing.expectEqualStrings("disk", health.resource.slice());
    try expectEqual(null, try events.next());
    try expectEqual(null, try events.next());

    try expectEqual(ended.number, (try late.next()).?.number);
}

test "waited for, by a thread and by a descriptor" {
    var manager = try ternlease.Manager.open("process:", .{ .ticks = true });
    defer manager.close();
    var events = try manager.events(ternlease.from_now);
    defer events.close();
    const fd = try events.fd();
    try std.testing.expect(!try events.wait(0));
    try std.testing.expect(!system.isReadable(fd));
    _ = try manager.acquire("gpu0", "ann", 10);
    try std.testing.expect(try events.wait(ternlease.forever));
    try std.testing.expect(system.isReadable(fd));
    while (try events.next()) |_| {}
    try std.testing.expect(!system.isReadable(fd));
}

test "a reader may outlive its manager" {
    var manager = try ternlease.Manager.open("process:", .{ .ticks = true });
    var events = try manager.events(ternlease.oldest);
    defer events.close();
    _ = try manager.acquire("gpu0", "ann", 10);
    manager.close();
    var count: usize = 0;
    while (events.next()) |event| : (count += 1) {
        if (event == null) return error.ShouldBeClosed;
    } else |err| try expectEqual(error.Closed, err);
    try std.testing.expect(count > 0);
    try std.testing.expectError(error.Closed, events.wait(ternlease.forever));
}
