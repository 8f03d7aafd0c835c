//! A lease on a GPU: taken, refused to others, renewed, given back by `defer`. And why it was refused.
const ternlease = @import("ternlease");
const print = @import("output.zig").print;

pub fn main() !void {
    var manager = try ternlease.Manager.open("process:", .{});
    defer manager.close();

    {
        const lease = try manager.acquire("gpu0", "trainer", 30 * ternlease.second);
        defer lease.release();
        print("trainer has gpu0: {s}\n", .{@tagName(lease.state())});

        var details: ternlease.Details = .{};
        _ = manager.with(&details).acquire("gpu0", "notebook", 30 * ternlease.second) catch |err|
            print("notebook has not: {s}, {s}\n", .{ @errorName(err), details.message.slice() });

        _ = try lease.renew();
        print("trainer works on\n", .{});
    }
    const lease = try manager.acquire("gpu0", "notebook", 30 * ternlease.second);
    defer lease.release();
    print("notebook has gpu0: {s}\n", .{@tagName(lease.state())});
}
