//! Lease: the right to use a resource for a while.
const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const lists = @import("lists.zig");
const watches = @import("watch.zig");

const Details = errors.Details;
const Error = errors.Error;
const ListError = errors.ListError;
const Manager = @import("manager.zig").Manager;
const check = errors.check;

/// How a lease is taken away.
pub const Revocation = struct {
    reason: c.reason.Reason = .operator,
    /// Who does it.
    by: []const u8 = "",
    /// For so long the holder keeps the lease, to save its work; 0: not at all.
    notice: u64 = 0,
};

/// From when on a lease is revoked.
pub const Revoked = struct {
    at: u64,
    /// A notice was running that ends no later, and nothing has changed.
    unchanged: bool,
};

/// The right to use a resource for a while.
///
///     const lease = try manager.acquire("gpu0", "trainer", 30 * ternlease.second);
///     defer lease.release();
///     while (workToDo()) {
///         _ = try lease.renew();
///         workForTenSeconds();
///     }
///
/// It is a number and the table that it belongs to, so it can be copied. Having one does not mean that it is held: it
/// may have run out or been revoked. Ask `state()`, or renew in time.
pub const Lease = struct {
    manager: Manager,
    /// Also its fencing token: pass it along with every write to what the lease protects.
    id: c.lease.LeaseId,

    /// The same lease, whose calls fill in these details when they fail.
    pub fn with(self: Lease, details: *Details) Lease {
        return .{ .manager = self.manager.with(details), .id = self.id };
    }

    /// What it is. Takes no lock, and never says held once the end has passed.
    pub fn state(self: Lease) c.lease.LeaseState {
        return c.lease.tern_lease_state(self.manager.handle, self.id, self.manager.details);
    }

    /// Moves its end to now + its ttl; the new end. `error.NotHeld` if it is over: stop using what it protects.
    pub fn renew(self: Lease) Error!u64 {
        const handle = try self.manager.live();
        var end: u64 = 0;
        try check(c.lease.tern_lease_renew(handle, self.id, &end, self.manager.details));
        return end;
    }

    /// As `renew()`, with another ttl from now on.
    pub fn renewFor(self: Lease, ttl: u64) Error!u64 {
        const handle = try self.manager.live();
        var end: u64 = 0;
        try check(c.lease.tern_lease_renew_for(handle, self.id, ttl, &end, self.manager.details));
        return end;
    }

    /// Gives it back, if it is still held: for `defer`. Whoever is first in line has what it frees before this returns.
    pub fn release(self: Lease) void {
        _ = c.lease.tern_lease_release(self.manager.handle, self.id, self.manager.details);
    }

    /// As `release()`, and tells whether it was still held: `error.NotHeld`.
    pub fn releaseChecked(self: Lease) Error!void {
        return check(c.lease.tern_lease_release(try self.manager.live(), self.id, self.manager.details));
    }

    /// Takes it away, whoever holds it.
    pub fn revoke(self: Lease, how: Revocation) Error!Revoked {
        const handle = try self.manager.live();
        var at: u64 = 0;
        return switch (c.lease.tern_lease_revoke(handle, self.id, how.reason, how.by.ptr, how.by.len, how.notice, &at, self.manager.details)) {
            .ok => .{ .at = at, .unchanged = false },
            .unchanged => .{ .at = at, .unchanged = true },
            else => |status| errors.errorOf(status),
        };
    }

    /// Everything about it, while it is held or remembered.
    pub fn info(self: Lease) Error!c.lease.LeaseInfo {
        const handle = try self.manager.live();
        var told: c.lease.LeaseInfo = .{};
        try check(c.lease.tern_lease_info(handle, self.id, &told, self.manager.details));
        return told;
    }

    /// What it takes, or took.
    pub fn takes(self: Lease, allocator: std.mem.Allocator) ListError![]c.lease.Take {
        return lists.list(c.lease.Take, allocator, self.manager.details, c.lease.tern_lease_takes, .{ try self.manager.live(), self.id });
    }

    /// Calls `on_notice` with `context`, a pointer, when it gets a notice of its revocation, and when it is over;
    /// then never again. `on_drop`, which may be null, is called once after the last call, or when the table is
    /// closed: until then what the context points to must be there.
    ///
    /// The calls come from a thread of the library's own, one after the other, while it holds no lock: they may use
    /// the manager, but others wait while one runs. If this fails, none of them is called.
    pub fn watch(
        self: Lease,
        context: anytype,
        comptime on_notice: fn (@TypeOf(context), watches.Notice) void,
        comptime on_drop: ?fn (@TypeOf(context)) void,
    ) Error!void {
        return watches.watch(self, context, on_notice, on_drop);
    }

    /// Watches it by a descriptor, for event loops and for waiting.
    pub fn watchFd(self: Lease) Error!watches.Watch {
        return watches.Watch.open(self);
    }

    /// Hands it to another process that uses the table, by the number that it has for itself: it ends with that process,
    /// and no longer with this one.
    pub fn handTo(self: Lease, process: u32) Error!void {
        return check(c.host.tern_lease_hand_to(try self.manager.live(), self.id, process, self.manager.details));
    }

    /// Makes it one of a tree of processes: it is held as long as any process has this descriptor open, which those
    /// that this process starts from now on inherit. It is the caller's, who closes it to leave the lease to them.
    pub fn keepForChildren(self: Lease) Error!c_int {
        const handle = try self.manager.live();
        var fd: c_int = -1;
        try check(c.host.tern_lease_keep_for_children(handle, self.id, &fd, self.manager.details));
        return fd;
    }
};
