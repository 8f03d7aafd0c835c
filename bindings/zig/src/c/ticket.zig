//! Ticket: a claim in line.
const Chars = @import("text.zig").Chars;
const Details = @import("details.zig").Details;
const LeaseId = @import("lease.zig").LeaseId;
const Manager = @import("manager.zig").Manager;
const Name = @import("text.zig").Name;
const Status = @import("status.zig").Status;

/// Names one waiting claim for ever.
pub const TicketId = enum(u64) { none = 0, _ };

/// What a ticket is.
pub const TicketState = enum(i8) {
    granted = 1,
    in_line = 0,
    denied = -1,
    /// Nothing is remembered of it, or the question failed.
    unknown = -128,
    _,
};

/// Everything about one waiting claim.
pub const TicketInfo = extern struct {
    struct_size: usize = @sizeOf(TicketInfo),
    ticket: TicketId = .none,
    /// Since when it waits.
    queued_at: u64 = 0,
    /// Its place in line, from 1.
    place: u32 = 0,
    /// How many resources it needs.
    count: u32 = 0,
    /// Out of how many.
    resource_count: u32 = 0,
    /// Its effective priority.
    priority: i32 = 0,
    holder: Chars(256) = .{},
};

pub extern fn tern_ticket_state(manager: ?*const Manager, ticket: TicketId, err: ?*Details) TicketState;
pub extern fn tern_ticket_wait(manager: ?*const Manager, ticket: TicketId, timeout_us: u64, lease: *LeaseId, err: ?*Details) Status;
pub extern fn tern_ticket_cancel(manager: ?*const Manager, ticket: TicketId, err: ?*Details) Status;
pub extern fn tern_ticket_fd(manager: ?*const Manager, ticket: TicketId, fd: *c_int, err: ?*Details) Status;
pub extern fn tern_ticket_info(manager: ?*const Manager, ticket: TicketId, info: *TicketInfo, err: ?*Details) Status;
pub extern fn tern_ticket_resources(manager: ?*const Manager, ticket: TicketId, names: ?[*]Name, capacity: usize, needed: ?*usize, err: ?*Details) Status;
pub extern fn tern_manager_tickets(manager: ?*const Manager, infos: ?[*]TicketInfo, capacity: usize, needed: ?*usize, err: ?*Details) Status;
