//! Lease: the right to use a resource for a while; and everything about it, told by value.
const Chars = @import("text.zig").Chars;
const Details = @import("details.zig").Details;
const Manager = @import("manager.zig").Manager;
const Reason = @import("reason.zig").Reason;
const Status = @import("status.zig").Status;

/// Names one lease for ever. Numbers only grow, so it is also the fencing token of what the lease protects.
pub const LeaseId = enum(u64) { none = 0, _ };

/// What a lease is.
pub const LeaseState = enum(i8) {
    held = 1,
    /// It ran out, was released, or its holder died.
    expired = 0,
    /// It was taken away.
    revoked = -1,
    /// Nothing is remembered of it, or the question failed.
    unknown = -128,
    _,
};

pub const LeaseFlags = packed struct(u32) {
    /// The holder has been told that the lease will be revoked.
    revoking: bool = false,
    /// It is spare capacity.
    spare: bool = false,
    /// It may be preempted.
    preemptible: bool = false,
    /// Other shared leases may be beside it.
    shared: bool = false,
    /// It was revoked with notice, and its holder released it before that ended.
    acknowledged: bool = false,
    reserved: u27 = 0,
};

/// Everything about one lease.
pub const LeaseInfo = extern struct {
    struct_size: usize = @sizeOf(LeaseInfo),
    lease: LeaseId = .none,
    /// The lease it hangs on.
    parent: LeaseId = .none,
    /// How long it lasts without renewal.
    ttl: u64 = 0,
    granted_at: u64 = 0,
    /// While held: its end. Afterwards: when it ended.
    end: u64 = 0,
    /// Why it ended, or will end if a notice is running.
    reason: Reason = .none,
    priority: i32 = 0,
    /// How many resources it takes.
    take_count: u32 = 0,
    flags: LeaseFlags = .{},
    state: LeaseState = .expired,
    reserved: [7]u8 = @splat(0),
    holder: Chars(256) = .{},
    /// Who revoked it, as the caller that did so claimed.
    revoker: Chars(256) = .{},
    /// The principal of the process that released or revoked it: on one machine its user id.
    ender_principal: u32 = 0,
    /// The process that released, revoked or is revoking it; 0: its owner, or the table by itself.
    ender_process: u32 = 0,
};

/// What a lease takes of one resource.
pub const Take = extern struct {
    struct_size: usize = @sizeOf(Take),
    slots: u32 = 0,
    memory_mib: u32 = 0,
    resource: Chars(256) = .{},
};

pub extern fn tern_lease_acquire(
    manager: ?*const Manager,
    resource: ?[*]const u8,
    resource_len: usize,
    holder: ?[*]const u8,
    holder_len: usize,
    ttl: u64,
    lease: *LeaseId,
    err: ?*Details,
) Status;
pub extern fn tern_lease_state(manager: ?*const Manager, lease: LeaseId, err: ?*Details) LeaseState;
pub extern fn tern_lease_states(manager: ?*const Manager, leases: ?[*]const LeaseId, count: usize, states: ?[*]LeaseState, err: ?*Details) Status;
pub extern fn tern_lease_renew(manager: ?*const Manager, lease: LeaseId, end: ?*u64, err: ?*Details) Status;
pub extern fn tern_lease_renew_for(manager: ?*const Manager, lease: LeaseId, ttl: u64, end: ?*u64, err: ?*Details) Status;
pub extern fn tern_lease_renew_all(manager: ?*const Manager, leases: ?[*]const LeaseId, count: usize, renewed: ?*usize, err: ?*Details) Status;
pub extern fn tern_lease_release(manager: ?*const Manager, lease: LeaseId, err: ?*Details) Status;
pub extern fn tern_lease_revoke(
    manager: ?*const Manager,
    lease: LeaseId,
    reason: Reason,
    by: ?[*]const u8,
    by_len: usize,
    notice: u64,
    at: ?*u64,
    err: ?*Details,
) Status;
pub extern fn tern_lease_info(manager: ?*const Manager, lease: LeaseId, info: *LeaseInfo, err: ?*Details) Status;
pub extern fn tern_lease_takes(manager: ?*const Manager, lease: LeaseId, takes: ?[*]Take, capacity: usize, needed: ?*usize, err: ?*Details) Status;
pub extern fn tern_manager_held_by(
    manager: ?*const Manager,
    holder: ?[*]const u8,
    holder_len: usize,
    leases: ?[*]LeaseId,
    capacity: usize,
    needed: ?*usize,
    err: ?*Details,
) Status;
pub extern fn tern_manager_leases(manager: ?*const Manager, infos: ?[*]LeaseInfo, capacity: usize, needed: ?*usize, err: ?*Details) Status;
