//! Tickets: granted, refused, withdrawn; waited for by a thread or by a descriptor.
const std = @import("std");
const ternlease = @import("ternlease");
const system = @import("system.zig");
const allocator = std.testing.allocator;
const expectEqual = std.testing.expectEqual;
const expectError = std.testing.expectError;

const Line = struct {
    manager: ternlease.Manager,
    first: ternlease.Lease,
    ticket: ternlease.Ticket,

    /// gpu0 has a holder, and somebody who waits for five ticks.
    fn form() !Line {
        var manager = try ternlease.Manager.open("process:", .{ .ticks = true });
        errdefer manager.close();
        const first = try manager.acquire("gpu0", "ann", 100);
        const waits = try manager.enqueue(.{ .holder = "bob", .resources = &.{ .of("gpu0"), .of("gpu0b") }, .count = 2, .ttl = 10, .wait = 5 });
        return .{ .manager = manager, .first = first, .ticket = waits.ticket };
    }
};

test "a claim that need not wait has its lease at once" {
    var manager = try ternlease.Manager.open("process:", .{ .ticks = true });
    defer manager.close();
    const got = try manager.enqueue(.{ .holder = "bob", .resources = &.{.of("gpu0")}, .ttl = 10, .wait = 5 });
    try expectEqual(ternlease.LeaseState.held, got.lease.state());
    try expectError(error.Busy, manager.enqueue(.{ .holder = "cat", .resources = &.{.of("gpu0")}, .ttl = 10 }));
}

test "granted, and told of once it is" {
    var line = try Line.form();
    defer line.manager.close();
    const fd = try line.ticket.fd();
    defer _ = system.close(fd);
    try expectEqual(ternlease.TicketState.in_line, line.ticket.state());
    try expectEqual(null, try line.ticket.wait(0));
    try std.testing.expect(!system.isReadable(fd));

    const told = (try line.ticket.info()).?;
    try expectEqual(1, told.place);
    try expectEqual(2, told.count);
    try std.testing.expectEqualStrings("bob", told.holder.slice());
    const names = try line.ticket.resources(allocator);
    defer allocator.free(names);
    try std.testing.expectEqualStrings("gpu0b", names[1].slice());
    const all = try line.manager.tickets(allocator);
    defer allocator.free(all);
    try expectEqual(line.ticket.id, all[0].ticket);

    line.first.release();
    try std.testing.expect(system.isReadable(fd));
    try expectEqual(ternlease.TicketState.granted, line.ticket.state());
    try expectEqual(null, try line.ticket.info());
    const lease = (try line.ticket.wait(0)).?;
    try expectEqual(ternlease.LeaseState.held, lease.state());
    // What wait() has told of stays.
    line.ticket.cancel();
    try std.testing.expect(!try line.ticket.cancelChecked());
    try expectEqual(ternlease.LeaseState.held, lease.state());
}

test "its own time is over" {
    var line = try Line.form();
    defer line.manager.close();
    for (0..5) |_| try line.manager.tick();
    var details: ternlease.Details = .{};
    try expectError(error.Timeout, line.ticket.with(&details).wait(ternlease.forever));
    try expectEqual(ternlease.Reason.wait_timed_out, details.reason);
    try expectEqual(ternlease.TicketState.denied, line.ticket.state());
}

test "withdrawn by another thread while this one waits" {
    var line = try Line.form();
    defer line.manager.close();
    const thread = try std.Thread.spawn(.{}, struct {
        fn run(ticket: ternlease.Ticket) void {
            ticket.cancel();
        }
    }.run, .{line.ticket});
    defer thread.join();
    var details: ternlease.Details = .{};
    try expectError(error.Refused, line.ticket.with(&details).wait(ternlease.forever));
    try expectEqual(ternlease.Reason.cancelled, details.reason);
}

test "what nobody was told of is given back" {
    var line = try Line.form();
    defer line.manager.close();
    line.first.release();
    try std.testing.expect(try line.ticket.cancelChecked());
    try expectEqual(0, try line.manager.activeCount());
}

test "a ticket that nobody knows" {
    var line = try Line.form();
    defer line.manager.close();
    const forged = line.manager.ticket(@enumFromInt(12345));
    try expectEqual(ternlease.TicketState.unknown, forged.state());
    try expectError(error.UnknownTicket, forged.wait(0));
    try expectError(error.UnknownTicket, forged.cancelChecked());
    try expectError(error.UnknownTicket, forged.fd());
    try expectError(error.UnknownTicket, forged.info());
}
