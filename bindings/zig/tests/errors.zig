//! Statuses become errors, one each, and the details tell the rest.
const std = @import("std");
const ternlease = @import("ternlease");
const expect = std.testing.expect;
const expectEqual = std.testing.expectEqual;

test "every status has an error of its own, of the same name" {
    @setEvalBranchQuota(100_000);
    inline for (comptime std.meta.fieldNames(ternlease.Status)) |tag| {
        const status = @field(ternlease.Status, tag);
        if (status == .ok) continue;
        const err = ternlease.errorOf(status);
        try expectEqual(status, ternlease.statusOf(err).?);

        // err_not_held is NotHeld.
        const short = comptime if (std.mem.startsWith(u8, tag, "err_")) tag["err_".len..] else tag;
        var letters: [64]u8 = undefined;
        var length: usize = 0;
        var words = std.mem.splitScalar(u8, short, '_');
        while (words.next()) |word| {
            @memcpy(letters[length..][0..word.len], word);
            letters[length] = std.ascii.toUpper(word[0]);
            length += word.len;
        }
        try std.testing.expectEqualStrings(letters[0..length], @errorName(err));
    }
}

test "a status of a newer library is an error, too" {
    try expectEqual(error.UnknownStatus, ternlease.errorOf(@enumFromInt(-999)));
    try expectEqual(error.UnknownStatus, ternlease.errorOf(@enumFromInt(999)));
    try expectEqual(null, ternlease.statusOf(error.UnknownStatus));
}

test "details tell status, reason and message" {
    var manager = try ternlease.Manager.open("process:", .{ .ticks = true });
    defer manager.close();
    const lease = try manager.acquire("gpu0", "ann", 10);
    _ = try lease.revoke(.{ .reason = .quota, .by = "ops" });

    var details: ternlease.Details = .{};
    try std.testing.expectError(error.NotHeld, lease.with(&details).renew());
    try expectEqual(ternlease.Status.err_not_held, details.status);
    try expectEqual(ternlease.Reason.quota, details.reason);
    try expect(details.message.slice().len > 0);
}

test "details of opening" {
    var details: ternlease.Details = .{};
    try std.testing.expectError(error.BadUrl, ternlease.Manager.open("nowhere:", .{ .details = &details }));
    try expectEqual(ternlease.Status.err_bad_url, details.status);

    try std.testing.expectError(error.System, ternlease.Manager.open("host:/nowhere/at/all", .{ .details = &details }));
    try expect(details.os_errno != 0);

    details = .{};
    try std.testing.expectError(error.BadValue, ternlease.Pool.open("process:", .{ .devices = "nonsense", .details = &details }));
    try expectEqual(ternlease.Status.err_bad_value, details.status);
}

test "details of success are left alone" {
    var manager = try ternlease.Manager.open("process:", .{ .ticks = true });
    defer manager.close();
    var details: ternlease.Details = .{};
    const lease = try manager.with(&details).acquire("gpu0", "ann", 10);
    lease.with(&details).release();
    const listed = try manager.with(&details).leases(std.testing.allocator);
    defer std.testing.allocator.free(listed);
    try expectEqual(ternlease.Status.ok, details.status);
}

test "bad texts and names" {
    var manager = try ternlease.Manager.open("process:", .{ .ticks = true });
    defer manager.close();
    const long: [ternlease.name_max + 1]u8 = @splat('x');
    try std.testing.expectError(error.EmptyName, manager.acquire("", "ann", 10));
    try std.testing.expectError(error.NameTooLong, manager.acquire(&long, "ann", 10));
    try std.testing.expectError(error.BadText, manager.acquire("gpu\xff", "ann", 10));
    try std.testing.expectError(error.BadText, manager.acquire("gpu\x00", "ann", 10));
    try std.testing.expectError(error.ZeroTtl, manager.acquire("gpu0", "ann", 0));
    try std.testing.expectError(error.TimeTooLarge, manager.acquire("gpu0", "ann", 1 << 60));
}
