//! Events: the history, as it is made.
const Chars = @import("text.zig").Chars;
const Details = @import("details.zig").Details;
const Health = @import("resource.zig").Health;
const LeaseId = @import("lease.zig").LeaseId;
const Manager = @import("manager.zig").Manager;
const Reason = @import("reason.zig").Reason;
const Status = @import("status.zig").Status;
const TicketId = @import("ticket.zig").TicketId;

pub const Events = opaque {};

/// What happened. There may be kinds in the future that are not known today.
pub const EventKind = enum(i32) {
    /// A claim became a lease, after standing in line if there is a ticket.
    granted = 1,
    /// A lease was renewed in the last quarter of its time; it ends at `until`.
    renewed_late = 2,
    /// The holder was told that its lease will be revoked at `until`, for a reason.
    revoking = 3,
    /// A lease ended for a reason; it was held for `duration`.
    ended = 4,
    /// A claim took its place in line.
    queued = 5,
    /// A claim left the line without a lease, for a reason; it had waited for `duration`.
    refused = 6,
    /// The health of a resource changed.
    health = 7,
    /// A process that shared the table was found dead, and what it had was given back.
    died = 8,
    /// A process died in the middle of a change, which was undone.
    rolled_back = 9,
    _,
};

/// One event.
pub const Event = extern struct {
    struct_size: usize = @sizeOf(Event),
    /// Grows by one with each event.
    number: u64 = 0,
    /// How many events this reader has missed so far, because it fell behind.
    missed: u64 = 0,
    /// When it happened.
    at: u64 = 0,
    lease: LeaseId = .none,
    ticket: TicketId = .none,
    /// A time, where the kind says so.
    until: u64 = 0,
    /// A length of time, where the kind says so.
    duration: u64 = 0,
    kind: EventKind = @enumFromInt(0),
    reason: Reason = .none,
    /// Of `EventKind.health`.
    health: Health = .draining,
    reserved: [7]u8 = @splat(0),
    /// Of `EventKind.health`: the name of the resource.
    resource: Chars(256) = .{},
    /// Of `died` and `rolled_back`: the process, by the number that it had for itself.
    process: u32 = 0,
    reserved2: u32 = 0,
    /// The principal of the process whose command did it: on one machine its user id.
    actor_principal: u32 = 0,
    /// The process whose command did it; 0: the table did it by itself.
    actor_process: u32 = 0,
    flags: EventFlags = .{},
};

pub const EventFlags = packed struct(u64) {
    /// Of `ended`: the lease was revoked with notice, and its holder released it before that ended.
    acknowledged: bool = false,
    reserved: u63 = 0,
};

pub extern fn tern_events_open(manager: ?*const Manager, cursor: u64, events: *?*Events, err: ?*Details) Status;
pub extern fn tern_events_close(events: ?*Events) void;
pub extern fn tern_events_next(events: ?*const Events, event: *Event, err: ?*Details) Status;
pub extern fn tern_events_wait(events: ?*const Events, timeout_us: u64, err: ?*Details) Status;
pub extern fn tern_events_fd(events: ?*const Events, fd: *c_int, err: ?*Details) Status;
