//! Watch: being told when something happens to a lease.
const Details = @import("details.zig").Details;
const LeaseId = @import("lease.zig").LeaseId;
const LeaseState = @import("lease.zig").LeaseState;
const Manager = @import("manager.zig").Manager;
const Reason = @import("reason.zig").Reason;
const Status = @import("status.zig").Status;

pub const WatchFn = *const fn (user: ?*anyopaque, lease: LeaseId, state: LeaseState, reason: Reason, at: u64) callconv(.c) void;
pub const DropFn = *const fn (user: ?*anyopaque) callconv(.c) void;

pub extern fn tern_lease_watch(manager: ?*const Manager, lease: LeaseId, callback: WatchFn, user: ?*anyopaque, drop: ?DropFn, err: ?*Details) Status;
pub extern fn tern_lease_watch_fd(manager: ?*const Manager, lease: LeaseId, fd: *c_int, err: ?*Details) Status;
