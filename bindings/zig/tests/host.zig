//! Tables that processes share, and what a forked child may do.
const std = @import("std");
const ternlease = @import("ternlease");
const system = @import("system.zig");
const allocator = std.testing.allocator;
const expectEqual = std.testing.expectEqual;
const expectError = std.testing.expectError;

test "who uses the table" {
    const table = try system.HostTable.make("who");
    defer table.remove();
    var manager = try ternlease.Manager.open(table.url(), .{ .leases = 16, .tickets = 16, .resources = 16 });
    defer manager.close();
    const host = try manager.host();
    try expectEqual(1, host.process_count);
    try std.testing.expect(!host.corrupt);
    try std.testing.expectEqualStrings(table.url()["host:".len..], host.path.slice());
    const processes = try manager.processes(allocator);
    defer allocator.free(processes);
    try expectEqual(1, processes.len);
    try expectEqual(system.processNumber(), processes[0].process);
    try std.testing.expect(processes[0].life == .lives);
}

test "tables of this process have no host" {
    var manager = try ternlease.Manager.open("process:", .{});
    defer manager.close();
    const lease = try manager.acquire("gpu0", "ann", ternlease.forever);
    try expectError(error.Unsupported, manager.host());
    try expectError(error.Unsupported, manager.processes(allocator));
    try expectError(error.Unsupported, lease.handTo(1));
    try expectError(error.Unsupported, lease.keepForChildren());
}

test "handed to a process, and kept for children" {
    const table = try system.HostTable.make("hand");
    defer table.remove();
    var manager = try ternlease.Manager.open(table.url(), .{ .leases = 16, .tickets = 16, .resources = 16 });
    defer manager.close();
    const lease = try manager.acquire("gpu0", "ann", ternlease.forever);
    try lease.handTo(system.processNumber());
    try expectError(error.UnknownProcess, lease.handTo(0x7fff_fff0));

    var events = try manager.events(ternlease.from_now);
    defer events.close();
    const fd = try lease.keepForChildren();
    try expectEqual(ternlease.LeaseState.held, lease.state());
    _ = system.close(fd);
    // Nobody has it open any more: it ends as if its holder had died.
    while (lease.state() == .held) {
        _ = try events.wait(ternlease.forever);
        while (try events.next()) |_| {}
    }
    try expectEqual(ternlease.Reason.holder_died, (try lease.info()).reason);
}

const Inherited = struct {
    manager: ternlease.Manager,
    lease: ternlease.Lease,
    pool: ternlease.Pool,
    machine: ternlease.Machine,
    events: ternlease.Events,

    fn failed(result: anytype) bool {
        return if (result) |_| false else |err| err == error.Forked;
    }

    fn inChild(self: Inherited) u8 {
        var details: ternlease.Details = .{};
        if (!failed(self.manager.with(&details).activeCount()) or details.status != .err_forked) return 1;
        if (!failed(self.lease.renew()) or !failed(self.lease.releaseChecked())) return 2;
        if (self.lease.state() != .unknown) return 3;
        if (!failed(self.pool.tryClaim())) return 4;
        if (!failed(self.machine.info())) return 5;
        if (!failed(self.events.next())) return 6;
        if (!failed(self.manager.leases(std.heap.c_allocator))) return 7;
        var closed = self;
        closed.events.close();
        closed.pool.close();
        closed.machine.close();
        closed.manager.close();
        return 0;
    }
};

test "in a forked child every handle is an error, and the parent keeps all" {
    var manager = try ternlease.Manager.open("process:", .{ .ticks = true });
    defer manager.close();
    var pool = try ternlease.Pool.on(manager, .{ .devices = "fake:2" });
    defer pool.close();
    var machine = try ternlease.Machine.read("/tmp", .{ .benchmarks = false, .network = false });
    defer machine.close();
    var events = try manager.events(ternlease.oldest);
    defer events.close();
    const lease = try manager.acquire("gpu0", "ann", 10);
    const inherited: Inherited = .{ .manager = manager, .lease = lease, .pool = pool, .machine = machine, .events = events };
    try expectEqual(0, try system.inChild(inherited, Inherited.inChild));
    try expectEqual(ternlease.LeaseState.held, lease.state());
    _ = try pool.tryClaim();
}
