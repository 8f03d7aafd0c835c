//! Resource: what leases are on.
const Chars = @import("text.zig").Chars;
const Details = @import("details.zig").Details;
const LeaseId = @import("lease.zig").LeaseId;
const Manager = @import("manager.zig").Manager;
const Status = @import("status.zig").Status;

/// A declared resource, for claims that spare looking up its name.
pub const ResourceId = enum(u32) { none = 0, _ };

/// How a resource or device is.
pub const Health = enum(i8) { healthy = 1, draining = 0, failed = -1, _ };

/// What there is of a resource, and what is taken.
pub const ResourceInfo = extern struct {
    struct_size: usize = @sizeOf(ResourceInfo),
    slots: u32 = 0,
    memory_mib: u32 = 0,
    used_slots: u32 = 0,
    used_memory_mib: u32 = 0,
    /// Shared leases on it.
    shared: u32 = 0,
    health: Health = .draining,
    /// Declared, not just used.
    declared: bool = false,
    reserved: [2]u8 = @splat(0),
    name: Chars(256) = .{},
};

pub extern fn tern_resource_declare(
    manager: ?*const Manager,
    resource_name: ?[*]const u8,
    resource_name_len: usize,
    slots: u32,
    memory_mib: u32,
    resource: ?*ResourceId,
    err: ?*Details,
) Status;
pub extern fn tern_resource_set_health(manager: ?*const Manager, resource_name: ?[*]const u8, resource_name_len: usize, health: Health, err: ?*Details) Status;
pub extern fn tern_resource_info(manager: ?*const Manager, resource_name: ?[*]const u8, resource_name_len: usize, info: *ResourceInfo, err: ?*Details) Status;
pub extern fn tern_manager_resources(manager: ?*const Manager, infos: ?[*]ResourceInfo, capacity: usize, needed: ?*usize, err: ?*Details) Status;
pub extern fn tern_resource_leases(
    manager: ?*const Manager,
    resource_name: ?[*]const u8,
    resource_name_len: usize,
    leases: ?[*]LeaseId,
    capacity: usize,
    needed: ?*usize,
    err: ?*Details,
) Status;
