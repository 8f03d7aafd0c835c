//! Claim: asking for several resources, for parts of them, with a wait and a priority.
const Details = @import("details.zig").Details;
const LeaseId = @import("lease.zig").LeaseId;
const Manager = @import("manager.zig").Manager;
const ResourceId = @import("resource.zig").ResourceId;
const Status = @import("status.zig").Status;
const Text = @import("text.zig").Text;
const TicketId = @import("ticket.zig").TicketId;

/// `keep_alive` is for claims of devices only.
pub const ClaimFlags = packed struct(u64) {
    exclusive: bool = false,
    shared: bool = false,
    spare: bool = false,
    preemptible: bool = false,
    preempt: bool = false,
    keep_alive: bool = false,
    reserved: u58 = 0,
};

pub const Claim = extern struct {
    struct_size: usize = @sizeOf(Claim),
    holder: ?[*]const u8 = null,
    holder_len: usize = 0,
    resources: ?[*]const Text = null,
    resource_count: usize = 0,
    resource_ids: ?[*]const ResourceId = null,
    resource_id_count: usize = 0,
    ttl: u64 = 0,
    wait: u64 = 0,
    notice: u64 = 0,
    parent: LeaseId = .none,
    flags: ClaimFlags = .{},
    count: u32 = 0,
    slots: u32 = 0,
    memory_mib: u32 = 0,
    priority: i32 = 0,
};

pub extern fn tern_manager_claim(manager: ?*const Manager, claim: *const Claim, lease: *LeaseId, err: ?*Details) Status;
pub extern fn tern_manager_enqueue(manager: ?*const Manager, claim: *const Claim, lease: *LeaseId, ticket: *TicketId, err: ?*Details) Status;
