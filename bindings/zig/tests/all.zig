//! The suite. One file per type, as in the library.
test {
    _ = @import("claim.zig");
    _ = @import("cost.zig");
    _ = @import("deadlocks.zig");
    _ = @import("declarations.zig");
    _ = @import("errors.zig");
    _ = @import("events.zig");
    _ = @import("host.zig");
    _ = @import("lease.zig");
    _ = @import("lifetimes.zig");
    _ = @import("machine.zig");
    _ = @import("manager.zig");
    _ = @import("pool.zig");
    _ = @import("prototypes.zig");
    _ = @import("threads.zig");
    _ = @import("ticket.zig");
    _ = @import("watch.zig");
}
