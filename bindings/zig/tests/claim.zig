//! Claims: every option reaches the library.
const std = @import("std");
const ternlease = @import("ternlease");
const expectEqual = std.testing.expectEqual;
const expectError = std.testing.expectError;

fn ticking() !ternlease.Manager {
    return ternlease.Manager.open("process:", .{ .ticks = true });
}

test "any two of three, by name or by number" {
    var manager = try ticking();
    defer manager.close();
    const numbers = [_]ternlease.ResourceId{ try manager.declare("gpu0", 1, 0), try manager.declare("gpu1", 1, 0), try manager.declare("gpu2", 1, 0) };
    const names = [_]ternlease.Text{ .of("gpu0"), .of("gpu1"), .of("gpu2") };
    const by_name = try manager.claim(.{ .holder = "ann", .resources = &names, .count = 2, .ttl = 10 });
    try expectEqual(2, (try by_name.info()).take_count);
    try expectError(error.Busy, manager.claim(.{ .holder = "bob", .resource_ids = &numbers, .count = 2, .ttl = 10 }));
    by_name.release();
    const by_number = try manager.claim(.{ .holder = "bob", .resource_ids = &numbers, .count = 2, .ttl = 10 });
    by_number.release();

    try expectError(error.TooFewResources, manager.claim(.{ .holder = "bob", .resources = names[0..1], .count = 2, .ttl = 10 }));
    try expectError(error.DuplicateResource, manager.claim(.{ .holder = "bob", .resources = &.{ .of("gpu0"), .of("gpu0") }, .ttl = 10 }));
    try expectError(error.Impossible, manager.claim(.{ .holder = "bob", .resources = &names, .slots = 2, .ttl = 10 }));
}

test "alone, together, and as a child" {
    var manager = try ticking();
    defer manager.close();
    _ = try manager.declare("gpu0", 4, 0);
    const of = [_]ternlease.Text{.of("gpu0")};
    const alone = try manager.claim(.{ .holder = "ann", .resources = &of, .exclusive = true, .ttl = 10 });
    try expectError(error.Busy, manager.claim(.{ .holder = "bob", .resources = &of, .ttl = 10 }));
    alone.release();
    const one = try manager.claim(.{ .holder = "ann", .resources = &of, .shared = true, .ttl = 10 });
    _ = try manager.claim(.{ .holder = "bob", .resources = &of, .shared = true, .ttl = 10 });
    try std.testing.expect((try one.info()).flags.shared);
    try expectError(error.Busy, manager.claim(.{ .holder = "cat", .resources = &of, .ttl = 10 }));

    const child = try manager.claim(.{ .holder = "ann", .resources = &.{.of("disk")}, .parent = one.id, .ttl = 10 });
    try expectEqual(one.id, (try child.info()).parent);
    one.release();
    try std.testing.expect(child.state() != .held);
    try expectError(error.ParentNotHeld, manager.claim(.{ .holder = "ann", .resources = &.{.of("disk")}, .parent = one.id, .ttl = 10 }));
}

test "priority, preemption and spare capacity" {
    var manager = try ticking();
    defer manager.close();
    const of = [_]ternlease.Text{.of("gpu0")};
    const low = try manager.claim(.{ .holder = "ann", .resources = &of, .priority = -1, .preemptible = true, .ttl = 10 });
    const high = try manager.claim(.{ .holder = "bob", .resources = &of, .priority = 5, .preempt = true, .wait = 1, .ttl = 10 });
    try expectEqual(ternlease.Reason.preempted, (try low.info()).reason);
    try expectEqual(5, (try high.info()).priority);
    high.release();

    const spare = try manager.claim(.{ .holder = "ann", .resources = &of, .spare = true, .notice = 2, .ttl = 10 });
    const wanted = try manager.enqueue(.{ .holder = "bob", .resources = &of, .wait = 5, .ttl = 10 });
    try std.testing.expect((try spare.info()).flags.revoking);
    try expectEqual(2, (try spare.info()).end);
    wanted.ticket.cancel();
}
