//! Closing, closing again, using what is closed; no growth of memory or descriptors; no leak when memory is short.
const std = @import("std");
const ternlease = @import("ternlease");
const system = @import("system.zig");
const allocator = std.testing.allocator;
const expectEqual = std.testing.expectEqual;
const expectError = std.testing.expectError;

const Closed = struct {
    manager: ternlease.Manager,
    copy: ternlease.Manager,
    lease: ternlease.Lease,
    ticket: ternlease.Ticket,

    fn make() !Closed {
        var manager = try ternlease.Manager.open("process:", .{ .ticks = true });
        const copy = manager;
        const lease = try manager.acquire("gpu0", "ann", 10);
        const ticket = (try manager.enqueue(.{ .holder = "bob", .resources = &.{.of("gpu0")}, .ttl = 10, .wait = 10 })).ticket;
        manager.close();
        return .{ .manager = manager, .copy = copy, .lease = lease, .ticket = ticket };
    }
};

test "a closed manager" {
    var closed = try Closed.make();
    closed.manager.close();
    var details: ternlease.Details = .{};
    try expectError(error.Closed, closed.manager.with(&details).acquire("gpu0", "ann", 10));
    try expectEqual(ternlease.Status.err_closed, details.status);
    try std.testing.expect(details.message.slice().len > 0);
    try expectError(error.Closed, closed.manager.claim(.{ .holder = "ann", .resources = &.{.of("gpu0")}, .ttl = 10 }));
    try expectError(error.Closed, closed.manager.leases(allocator));
    try expectError(error.Closed, closed.manager.metrics(allocator));
    try expectError(error.Closed, closed.manager.events(ternlease.oldest));
    try expectError(error.Closed, closed.manager.deadlocks());
    try expectError(error.Closed, closed.manager.tick());
    try expectError(error.Closed, closed.manager.renewAll(&.{}));
    try expectError(error.Closed, ternlease.Pool.on(closed.manager, .{ .devices = "fake:1" }));
    try expectEqual(ternlease.LeaseState.unknown, closed.manager.lease(closed.lease.id).state());
}

test "leases, tickets and copies of a closed manager" {
    var closed = try Closed.make();
    try expectError(error.Closed, closed.copy.activeCount());
    try expectEqual(ternlease.LeaseState.unknown, closed.lease.state());
    try expectError(error.Closed, closed.lease.renew());
    try expectError(error.Closed, closed.lease.releaseChecked());
    closed.lease.release();
    try expectEqual(ternlease.TicketState.unknown, closed.ticket.state());
    try expectError(error.Closed, closed.ticket.wait(0));
    closed.ticket.cancel();
    closed.copy.close();
}

test "other handles that are closed" {
    var manager = try ternlease.Manager.open("process:", .{ .ticks = true });
    defer manager.close();
    var pool = try ternlease.Pool.on(manager, .{ .devices = "fake:2" });
    const lease = try pool.tryClaim();
    pool.close();
    pool.close();
    try expectError(error.Closed, pool.tryClaim());
    try expectError(error.Closed, pool.capacity());
    try expectError(error.Closed, pool.manager.activeCount());
    try expectError(error.Closed, lease.places(allocator));
    try expectError(error.Closed, lease.releaseChecked());
    lease.release();

    var events = try manager.events(ternlease.oldest);
    events.close();
    events.close();
    try expectError(error.Closed, events.next());
    try expectError(error.Closed, events.wait(0));
    try expectError(error.Closed, events.fd());

    var deadlocks = try manager.deadlocks();
    deadlocks.close();
    deadlocks.close();
    try expectError(error.Closed, deadlocks.victim(0));

    var machine = try ternlease.Machine.read("/tmp", .{ .benchmarks = false, .network = false });
    machine.close();
    machine.close();
    try expectError(error.Closed, machine.info());
    try expectEqual(.unknown, machine.canStore(1));
}

test "ten thousand managers, pools and readers leave nothing behind" {
    // Valgrind looks for leaks itself, and takes its time.
    const rounds: usize = if (std.valgrind.runningOnValgrind() > 0) 50 else 10_000;
    const descriptors = system.openDescriptors();
    var memory: usize = 0;
    for (0..rounds) |round| {
        // By then the library remembers as many closed handles as it ever will.
        if (round == rounds / 10) memory = try system.residentKib();
        var manager = try ternlease.Manager.open("process:", .{ .ticks = true, .leases = 16, .tickets = 16, .resources = 16, .history = 16 });
        defer manager.close();
        var pool = try ternlease.Pool.on(manager, .{ .devices = "fake:1" });
        defer pool.close();
        var events = try manager.events(ternlease.oldest);
        defer events.close();
        const lease = try pool.claim(.{ .ttl = 10 });
        defer lease.release();
        var watch = try lease.lease().watchFd();
        defer watch.close();
        try std.testing.expect((try events.next()) != null);
    }
    try expectEqual(descriptors, system.openDescriptors());
    // What valgrind keeps for itself grows as it likes.
    if (std.valgrind.runningOnValgrind() > 0) return;
    const grown = try system.residentKib() -| memory;
    if (grown > 2048) {
        std.debug.print("grown by {d} KiB\n", .{grown});
        return error.MemoryGrows;
    }
}

fn listsOf(short: std.mem.Allocator, pool: ternlease.Pool, lease: ternlease.GpuLease) !void {
    short.free(try pool.manager.leases(short));
    short.free(try pool.manager.resources(short));
    short.free(try pool.manager.metrics(short));
    short.free(try pool.snapshot(short));
    short.free(try lease.places(short));
    short.free(try lease.devices(short));
    short.free(try lease.env(short, .by_number));
}

test "when memory is short nothing leaks" {
    var pool = try ternlease.Pool.open("process:", .{ .devices = "fake:4" });
    defer pool.close();
    const lease = try pool.claim(.{ .count = 2 });
    defer lease.release();
    try std.testing.checkAllAllocationFailures(allocator, listsOf, .{ pool, lease });
}
