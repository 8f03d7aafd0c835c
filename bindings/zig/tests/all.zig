const ternlease = @import("ternlease");
const std = @import("std");
test {
    std.testing.refAllDecls(ternlease);
    inline for (.{ternlease.Manager, ternlease.Lease, ternlease.Ticket, ternlease.Pool, ternlease.GpuLease, ternlease.Machine, ternlease.Events, ternlease.Deadlocks, ternlease.Watch, ternlease.Cost}) |T| std.testing.refAllDecls(T);
}
test "smoke" {
    var m = try ternlease.Manager.open("process:", .{ .ticks = true });
    defer m.close();
    const l = try m.acquire("gpu0", "a", 10);
    defer l.release();
    try std.testing.expectEqual(ternlease.LeaseState.held, l.state());
    var d: ternlease.Details = .{};
    try std.testing.expectError(error.Busy, m.with(&d).acquire("gpu0", "b", 10));
    std.debug.print("{s}\n", .{d.message.slice()});
    const infos = try m.leases(std.testing.allocator);
    defer std.testing.allocator.free(infos);
    try std.testing.expectEqualStrings("a", infos[0].holder.slice());
}
