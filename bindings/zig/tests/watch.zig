//! Watches: by a callback, and by a descriptor.
const std = @import("std");
const ternlease = @import("ternlease");
const system = @import("system.zig");
const expectEqual = std.testing.expectEqual;
const expectError = std.testing.expectError;

const Watcher = struct {
    signal: system.Signal,
    last: ternlease.Notice = undefined,

    fn onNotice(self: *Watcher, notice: ternlease.Notice) void {
        self.last = notice;
        self.signal.tell(if (notice.state == .held) 'n' else 'o');
    }

    fn onDrop(self: *Watcher) void {
        self.signal.tell('d');
    }
};

test "by a callback: a notice, the end, and no more" {
    var manager = try ternlease.Manager.open("process:", .{ .ticks = true });
    defer manager.close();
    const lease = try manager.acquire("gpu0", "ann", 100);
    var watcher: Watcher = .{ .signal = try .make() };
    defer watcher.signal.close();
    try lease.watch(&watcher, Watcher.onNotice, Watcher.onDrop);

    _ = try lease.revoke(.{ .reason = .quota, .notice = 3 });
    try expectEqual('n', try watcher.signal.hear());
    try expectEqual(ternlease.Notice{ .lease = lease.id, .state = .held, .reason = .quota, .at = 3 }, watcher.last);
    for (0..3) |_| try manager.tick();
    try expectEqual('o', try watcher.signal.hear());
    try expectEqual(ternlease.Notice{ .lease = lease.id, .state = .revoked, .reason = .quota, .at = 3 }, watcher.last);
    try expectEqual('d', try watcher.signal.hear());
}

test "closing drops what is watched" {
    var manager = try ternlease.Manager.open("process:", .{ .ticks = true });
    const lease = try manager.acquire("gpu0", "ann", 100);
    var watcher: Watcher = .{ .signal = try .make() };
    defer watcher.signal.close();
    try lease.watch(&watcher, Watcher.onNotice, Watcher.onDrop);
    manager.close();
    var heard = try watcher.signal.hear();
    // Leases end with their table, and that is told, too.
    if (heard == 'o') heard = try watcher.signal.hear();
    try expectEqual('d', heard);
}

test "a callback may use the manager, and need not be dropped" {
    var manager = try ternlease.Manager.open("process:", .{ .ticks = true });
    defer manager.close();
    const lease = try manager.acquire("gpu0", "ann", 100);
    const Giver = struct {
        lease: ternlease.Lease,
        signal: system.Signal,

        fn giveBack(self: *@This(), notice: ternlease.Notice) void {
            if (notice.state == .held) self.lease.release() else self.signal.tell('o');
        }
    };
    var giver: Giver = .{ .lease = lease, .signal = try .make() };
    defer giver.signal.close();
    try lease.watch(&giver, Giver.giveBack, null);
    _ = try lease.revoke(.{ .notice = 50 });
    try expectEqual('o', try giver.signal.hear());
    // A release during the notice acknowledges the revocation.
    try expectEqual(ternlease.Reason.operator, (try lease.info()).reason);
}

test "what is over cannot be watched, and nothing is called" {
    var manager = try ternlease.Manager.open("process:", .{ .ticks = true });
    defer manager.close();
    const lease = try manager.acquire("gpu0", "ann", 100);
    lease.release();
    const Never = struct {
        fn notice(_: *u8, _: ternlease.Notice) void {
            @panic("called");
        }
        fn drop(_: *u8) void {
            @panic("dropped");
        }
    };
    var nothing: u8 = 0;
    try expectError(error.NotHeld, lease.watch(&nothing, Never.notice, Never.drop));
    try expectError(error.NotHeld, lease.watchFd());
    try expectError(error.UnknownLease, manager.lease(.none).watchFd());
}

test "by a descriptor" {
    var manager = try ternlease.Manager.open("process:", .{ .ticks = true });
    defer manager.close();
    const lease = try manager.acquire("gpu0", "ann", 100);
    var watch = try lease.watchFd();
    defer watch.close();
    try expectEqual(null, try watch.next(0));
    _ = try lease.revoke(.{ .reason = .quota, .notice = 3 });
    try expectEqual(ternlease.Notice{ .lease = lease.id, .state = .held, .reason = .quota, .at = 3 }, (try watch.next(ternlease.forever)).?);
    try expectEqual(null, try watch.next(0));
    lease.release();
    const over = (try watch.next(60 * ternlease.second)).?;
    try expectEqual(ternlease.LeaseState.revoked, over.state);
    try expectEqual(ternlease.Reason.quota, over.reason);
    watch.close();
    watch.close();
    try expectError(error.Closed, watch.next(0));
}

test "a lease that is forgotten by the time somebody asks" {
    var manager = try ternlease.Manager.open("process:", .{ .ticks = true, .history = 1 });
    defer manager.close();
    const lease = try manager.acquire("gpu0", "ann", 100);
    var watch = try lease.watchFd();
    defer watch.close();
    lease.release();
    for (0..8) |_| (try manager.acquire("gpu1", "bob", 100)).release();
    try expectEqual(ternlease.LeaseState.unknown, (try watch.next(ternlease.forever)).?.state);
}
