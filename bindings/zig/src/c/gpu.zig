//! GPU claim and GPU lease: asking a pool for devices, and using them.
const ClaimFlags = @import("claim.zig").ClaimFlags;
const Details = @import("details.zig").Details;
const LeaseId = @import("lease.zig").LeaseId;
const Pool = @import("pool.zig").Pool;
const Status = @import("status.zig").Status;
const Text = @import("text.zig").Text;
const TicketId = @import("ticket.zig").TicketId;
const Vendor = @import("device.zig").Vendor;

pub const EnvFlags = packed struct(u32) { by_uuid: bool = false, reserved: u31 = 0 };

pub const GpuClaim = extern struct {
    struct_size: usize = @sizeOf(GpuClaim),
    holder: ?[*]const u8 = null,
    holder_len: usize = 0,
    devices: ?[*]const Text = null,
    device_count: usize = 0,
    ttl: u64 = 0,
    wait: u64 = 0,
    notice: u64 = 0,
    parent: LeaseId = .none,
    flags: ClaimFlags = .{},
    count: u32 = 0,
    slots: u32 = 0,
    memory_mib: u32 = 0,
    min_memory_mib: u32 = 0,
    min_compute_major: u32 = 0,
    min_compute_minor: u32 = 0,
    vendor: Vendor = .any,
    priority: i32 = 0,
};

/// How long a claim would wait, as far as that can be told.
pub const ExpectedWaitKind = enum(i32) { none = 0, about = 1, unknown = 2, no_devices = 3, _ };

pub extern fn tern_pool_claim(pool: ?*const Pool, claim: *const GpuClaim, lease: *LeaseId, err: ?*Details) Status;
pub extern fn tern_pool_try_claim(pool: ?*const Pool, lease: *LeaseId, err: ?*Details) Status;
pub extern fn tern_pool_enqueue(pool: ?*const Pool, claim: *const GpuClaim, lease: *LeaseId, ticket: *TicketId, err: ?*Details) Status;
pub extern fn tern_pool_expected_wait(pool: ?*const Pool, claim: *const GpuClaim, wait: *ExpectedWaitKind, wait_ns: ?*u64, err: ?*Details) Status;
pub extern fn tern_pool_expected_wait_of(pool: ?*const Pool, ticket: TicketId, wait: *ExpectedWaitKind, wait_ns: ?*u64, err: ?*Details) Status;
pub extern fn tern_gpu_lease_devices(pool: ?*const Pool, lease: LeaseId, places: ?[*]usize, capacity: usize, needed: ?*usize, err: ?*Details) Status;
pub extern fn tern_gpu_lease_env(pool: ?*const Pool, lease: LeaseId, flags: EnvFlags, buffer: ?[*]u8, capacity: usize, needed: ?*usize, err: ?*Details) Status;
pub extern fn tern_gpu_lease_release(pool: ?*const Pool, lease: LeaseId, err: ?*Details) Status;
pub extern fn tern_gpu_lease_keep_alive(pool: ?*const Pool, lease: LeaseId, err: ?*Details) Status;
