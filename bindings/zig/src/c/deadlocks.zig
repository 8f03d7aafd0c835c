//! Deadlocks: who waits for whom in a circle.
const Chars = @import("text.zig").Chars;
const Details = @import("details.zig").Details;
const LeaseId = @import("lease.zig").LeaseId;
const Manager = @import("manager.zig").Manager;
const Name = @import("text.zig").Name;
const Status = @import("status.zig").Status;
const TicketId = @import("ticket.zig").TicketId;

pub const Deadlocks = opaque {};

/// One step of a proof: a worker waits for a lease, which the worker of the next step holds.
pub const Wait = extern struct {
    struct_size: usize = @sizeOf(Wait),
    /// By which claim it waits; none: by a declared want.
    ticket: TicketId = .none,
    /// For which lease.
    lease: LeaseId = .none,
    worker: Chars(256) = .{},
};

pub extern fn tern_deadlocks_find(manager: ?*const Manager, deadlocks: *?*Deadlocks, count: ?*usize, err: ?*Details) Status;
pub extern fn tern_deadlocks_close(deadlocks: ?*Deadlocks) void;
pub extern fn tern_deadlocks_victim(deadlocks: ?*const Deadlocks, index: usize, victim: *LeaseId, err: ?*Details) Status;
pub extern fn tern_deadlocks_stuck(deadlocks: ?*const Deadlocks, index: usize, names: ?[*]Name, capacity: usize, needed: ?*usize, err: ?*Details) Status;
pub extern fn tern_deadlocks_cycle(deadlocks: ?*const Deadlocks, index: usize, waits: ?[*]Wait, capacity: usize, needed: ?*usize, err: ?*Details) Status;
pub extern fn tern_manager_want(manager: ?*const Manager, holder: ?[*]const u8, holder_len: usize, resource: ?[*]const u8, resource_len: usize, err: ?*Details) Status;
pub extern fn tern_manager_unwant(manager: ?*const Manager, holder: ?[*]const u8, holder_len: usize, resource: ?[*]const u8, resource_len: usize, err: ?*Details) Status;
