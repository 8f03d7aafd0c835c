//! A revocation with notice: the holder is told beforehand and keeps the lease until the notice ends. Once by a
//! descriptor, which fits a program with an event loop, and once by a callback, which fits one without.
const std = @import("std");
const ternlease = @import("ternlease");
const print = @import("output.zig").print;

pub fn main() !void {
    var manager = try ternlease.Manager.open("process:", .{ .ticks = true });
    defer manager.close();
    try withDescriptor(manager);
    try withCallback(manager);
}

fn withDescriptor(manager: ternlease.Manager) !void {
    const lease = try manager.acquire("gpu0", "trainer", 100);
    defer lease.release();
    var watch = try lease.watchFd();
    defer watch.close();

    _ = try lease.revoke(.{ .reason = .node_drain, .by = "ops", .notice = 3 });
    while (try watch.next(ternlease.forever)) |notice| {
        tell("gpu0", notice);
        if (notice.state != .held) return;
        print("  saves its work and gives gpu0 back\n", .{});
        lease.release();
    }
}

/// What the callback and the program share: the callback writes a byte for each notice, and the program reads it.
const Sleeper = struct {
    pipe: [2]c_int,

    /// Runs on a thread of the library's.
    fn onNotice(self: *const Sleeper, notice: ternlease.Notice) void {
        tell("gpu1", notice);
        _ = std.c.write(self.pipe[1], "!", 1);
    }

    fn waitForNotice(self: Sleeper) void {
        var byte: [1]u8 = undefined;
        _ = std.c.read(self.pipe[0], &byte, 1);
    }
};

fn withCallback(manager: ternlease.Manager) !void {
    const lease = try manager.acquire("gpu1", "sleeper", 100);
    defer lease.release();
    var sleeper: Sleeper = .{ .pipe = undefined };
    if (std.c.pipe(&sleeper.pipe) != 0) return error.NoPipe;
    defer for (sleeper.pipe) |fd| {
        _ = std.c.close(fd);
    };
    try lease.watch(&sleeper, Sleeper.onNotice, null);

    _ = try lease.revoke(.{ .reason = .node_drain, .by = "ops", .notice = 3 });
    sleeper.waitForNotice();
    print("  does not care\n", .{});
    for (0..3) |_| try manager.tick();
    sleeper.waitForNotice();
}

fn tell(resource: []const u8, notice: ternlease.Notice) void {
    const reason = notice.reason.name() orelse "?";
    if (notice.state == .held)
        print("{s} will be revoked: {s}\n", .{ resource, reason })
    else
        print("{s} is over: {s}\n", .{ resource, reason });
}
