//! A claim: any two of four GPUs, at once or not at all. When too few are free it stands in line, and the program waits
//! with a descriptor in its own event loop, beside whatever else it has to do.
//!
//! A program that has nothing else to do calls `Manager.claim()`, which blocks.
const std = @import("std");
const ternlease = @import("ternlease");
const print = @import("output.zig").print;

pub fn main() !void {
    var manager = try ternlease.Manager.open("process:", .{ .ticks = true });
    defer manager.close();
    const gpus = [_]ternlease.Text{ .of("gpu0"), .of("gpu1"), .of("gpu2"), .of("gpu3") };
    _ = try manager.acquire("gpu0", "ann", 9);
    _ = try manager.acquire("gpu1", "bob", 2);
    _ = try manager.acquire("gpu2", "cat", 9);
    print("ann, bob and cat have gpu0, gpu1 and gpu2\n", .{});

    const lease = switch (try manager.enqueue(.{
        .holder = "trainer",
        .resources = &gpus,
        .count = 2,
        .ttl = 60,
        .wait = ternlease.forever,
    })) {
        .lease => |lease| lease,
        .ticket => |ticket| try inLine(manager, ticket),
    };
    defer lease.release();

    const takes = try lease.takes(std.heap.c_allocator);
    defer std.heap.c_allocator.free(takes);
    print("trainer has {s} and {s}, in one lease\n", .{ takes[0].resource.slice(), takes[1].resource.slice() });
}

fn inLine(manager: ternlease.Manager, ticket: ternlease.Ticket) !ternlease.Lease {
    // Does nothing once the lease is ours.
    defer ticket.cancel();
    const place = (try ticket.info()).?.place;
    print("trainer is number {d} in line\n", .{place});

    const fd = try ticket.fd();
    defer _ = std.c.close(fd);
    while (true) {
        var fds = [_]std.c.pollfd{.{ .fd = fd, .events = 1, .revents = 0 }};
        if (std.c.poll(&fds, 1, 0) == 1) return (try ticket.wait(0)).?;
        // The rest of the event loop: here, time goes on.
        try manager.tick();
        print("tick {d}\n", .{try manager.tickCount()});
    }
}
