//! Deadlocks: who waits for whom in a circle.
const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const lists = @import("lists.zig");

const Details = errors.Details;
const Error = errors.Error;
const ListError = errors.ListError;
const check = errors.check;

/// Deadlocks as they were when they were looked for.
///
///     var deadlocks = try manager.deadlocks();
///     defer deadlocks.close();
///     for (0..deadlocks.count) |index|
///         _ = try manager.lease(try deadlocks.victim(index)).revoke(.{ .reason = .deadlock_victim });
pub const Deadlocks = struct {
    handle: ?*c.deadlocks.Deadlocks,
    /// How many there are.
    count: usize,
    details: ?*Details = null,

    pub fn find(manager: *const c.manager.Manager, details: ?*Details) Error!Deadlocks {
        var handle: ?*c.deadlocks.Deadlocks = null;
        var count: usize = 0;
        try check(c.deadlocks.tern_deadlocks_find(manager, &handle, &count, details));
        return .{ .handle = handle, .count = count };
    }

    /// Closes the answer. A second time does nothing.
    pub fn close(self: *Deadlocks) void {
        c.deadlocks.tern_deadlocks_close(self.handle);
        self.handle = null;
    }

    /// The same answer, whose calls fill in these details when they fail.
    pub fn with(self: Deadlocks, details: *Details) Deadlocks {
        return .{ .handle = self.handle, .count = self.count, .details = details };
    }

    /// The lease whose revocation breaks it at the least cost.
    pub fn victim(self: Deadlocks, index: usize) Error!c.lease.LeaseId {
        const handle = try self.live();
        var id: c.lease.LeaseId = .none;
        try check(c.deadlocks.tern_deadlocks_victim(handle, index, &id, self.details));
        return id;
    }

    /// Everybody who is stuck because of it, sorted.
    pub fn stuck(self: Deadlocks, allocator: std.mem.Allocator, index: usize) ListError![]c.text.Name {
        return lists.list(c.text.Name, allocator, self.details, c.deadlocks.tern_deadlocks_stuck, .{ try self.live(), index });
    }

    /// The proof: each waits for a lease of the next, the last for one of the first.
    pub fn cycle(self: Deadlocks, allocator: std.mem.Allocator, index: usize) ListError![]c.deadlocks.Wait {
        return lists.list(c.deadlocks.Wait, allocator, self.details, c.deadlocks.tern_deadlocks_cycle, .{ try self.live(), index });
    }

    fn live(self: Deadlocks) Error!*c.deadlocks.Deadlocks {
        return errors.live(self.handle, self.details);
    }
};
