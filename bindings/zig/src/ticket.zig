//! Ticket: a claim in line.
const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const lists = @import("lists.zig");

const Details = errors.Details;
const Error = errors.Error;
const Lease = @import("lease.zig").Lease;
const ListError = errors.ListError;
const Manager = @import("manager.zig").Manager;
const check = errors.check;

/// A claim in line. It must come to an end, by `wait()` or `cancel()`: until then it keeps its place in the table.
///
///     const lease = switch (try manager.enqueue(claim)) {
///         .lease => |lease| lease,
///         .ticket => |ticket| waiting: {
///             defer ticket.cancel(); // does nothing once wait() has given the lease
///             break :waiting try ticket.wait(5 * ternlease.second) orelse return error.TooLate;
///         },
///     };
pub const Ticket = struct {
    manager: Manager,
    id: c.ticket.TicketId,

    /// The same ticket, whose calls fill in these details when they fail.
    pub fn with(self: Ticket, details: *Details) Ticket {
        return .{ .manager = self.manager.with(details), .id = self.id };
    }

    /// What it is. Takes no lock, and is not its end: `wait()` for the lease.
    pub fn state(self: Ticket) c.ticket.TicketState {
        return c.ticket.tern_ticket_state(self.manager.handle, self.id, self.manager.details);
    }

    /// Blocks the thread until the claim is decided, for so many microseconds at most; 0: just asks. Null: it is still
    /// in line. `error.Timeout` if the claim's own wait is over, `error.Refused` if it will not be granted for another
    /// reason.
    ///
    /// `cancel()` from another thread ends it: `error.Refused`, with `Reason.cancelled`.
    pub fn wait(self: Ticket, timeout_us: u64) Error!?Lease {
        const handle = try self.manager.live();
        var id: c.lease.LeaseId = .none;
        return switch (c.ticket.tern_ticket_wait(handle, self.id, timeout_us, &id, self.manager.details)) {
            .ok => self.manager.lease(id),
            .waiting => null,
            else => |status| errors.errorOf(status),
        };
    }

    /// Withdraws the claim, and gives back what it was granted meanwhile: for `defer`. A lease that `wait()` told of
    /// stays the caller's.
    pub fn cancel(self: Ticket) void {
        _ = c.ticket.tern_ticket_cancel(self.manager.handle, self.id, self.manager.details);
    }

    /// As `cancel()`, and tells whether it came in time: false if the ticket had come to its end before.
    pub fn cancelChecked(self: Ticket) Error!bool {
        return switch (c.ticket.tern_ticket_cancel(try self.manager.live(), self.id, self.manager.details)) {
            .ok => true,
            .unchanged => false,
            else => |status| errors.errorOf(status),
        };
    }

    /// A descriptor that becomes readable once the claim is decided, and stays so. It is the caller's, who closes it
    /// and does not read from it.
    pub fn fd(self: Ticket) Error!c_int {
        const handle = try self.manager.live();
        var opened: c_int = -1;
        try check(c.ticket.tern_ticket_fd(handle, self.id, &opened, self.manager.details));
        return opened;
    }

    /// Everything about it while it waits; null once it is decided.
    pub fn info(self: Ticket) Error!?c.ticket.TicketInfo {
        const handle = try self.manager.live();
        var told: c.ticket.TicketInfo = .{};
        return switch (c.ticket.tern_ticket_info(handle, self.id, &told, self.manager.details)) {
            .ok => told,
            .empty => null,
            else => |status| errors.errorOf(status),
        };
    }

    /// The resources that it may be served from, while it waits; `error.Empty` once it is decided.
    pub fn resources(self: Ticket, allocator: std.mem.Allocator) ListError![]c.text.Name {
        return lists.list(c.text.Name, allocator, self.manager.details, c.ticket.tern_ticket_resources, .{ try self.manager.live(), self.id });
    }
};
