//! Watch: being told when something happens to a lease.
const c = @import("c.zig");
const errors = @import("errors.zig");
const system = @import("system.zig");

const Error = errors.Error;
const Lease = @import("lease.zig").Lease;
const check = errors.check;

/// What happened to a lease.
pub const Notice = struct {
    lease: c.lease.LeaseId,
    /// Held: it will be revoked `at` that time. Otherwise it is over since then; unknown if nothing else is remembered.
    state: c.lease.LeaseState,
    reason: c.reason.Reason,
    at: u64,
};

pub fn watch(
    lease: Lease,
    context: anytype,
    comptime on_notice: fn (@TypeOf(context), Notice) void,
    comptime on_drop: ?fn (@TypeOf(context)) void,
) Error!void {
    const Context = @TypeOf(context);
    const calls = struct {
        fn notice(user: ?*anyopaque, id: c.lease.LeaseId, state: c.lease.LeaseState, reason: c.reason.Reason, at: u64) callconv(.c) void {
            on_notice(@as(Context, @ptrCast(@alignCast(user.?))), .{ .lease = id, .state = state, .reason = reason, .at = at });
        }

        fn drop(user: ?*anyopaque) callconv(.c) void {
            on_drop.?(@as(Context, @ptrCast(@alignCast(user.?))));
        }
    };
    const handle = try lease.manager.live();
    const drop: ?c.watch.DropFn = if (on_drop == null) null else calls.drop;
    return check(c.watch.tern_lease_watch(handle, lease.id, calls.notice, @ptrCast(@constCast(context)), drop, lease.manager.details));
}

/// Watches a lease by a descriptor.
pub const Watch = struct {
    lease: Lease,
    /// For event loops: readable when there is something to tell; then `next(0)` tells it.
    fd: c_int,

    pub fn open(lease: Lease) Error!Watch {
        const handle = try lease.manager.live();
        var fd: c_int = -1;
        try check(c.watch.tern_lease_watch_fd(handle, lease.id, &fd, lease.manager.details));
        return .{ .lease = lease.manager.lease(lease.id), .fd = fd };
    }

    /// Closes the descriptor. A second time does nothing.
    pub fn close(self: *Watch) void {
        if (self.fd != -1) _ = system.close(self.fd);
        self.fd = -1;
    }

    /// Waits until there is something to tell, for so many microseconds at most: null if there is nothing. What
    /// happened several times meanwhile is told once, as it is now.
    pub fn next(self: Watch, timeout_us: u64) Error!?Notice {
        if (self.fd == -1) return error.Closed;
        if (!try system.waitReadable(self.fd, timeout_us)) return null;
        system.drain(self.fd);
        const info = self.lease.info() catch |err| switch (err) {
            error.UnknownLease => return .{ .lease = self.lease.id, .state = .unknown, .reason = .none, .at = 0 },
            else => return err,
        };
        return .{ .lease = self.lease.id, .state = info.state, .reason = info.reason, .at = info.end };
    }
};
