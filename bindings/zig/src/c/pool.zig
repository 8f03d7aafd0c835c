//! Pool: devices, to be claimed.
const Details = @import("details.zig").Details;
const Manager = @import("manager.zig").Manager;
const Status = @import("status.zig").Status;

pub const Pool = opaque {};

pub const PoolFlags = packed struct(u64) {
    check_use: bool = false,
    break_deadlocks: bool = false,
    reserved: u62 = 0,
};

pub const PoolOptions = extern struct {
    struct_size: usize = @sizeOf(PoolOptions),
    devices: ?[*]const u8 = null,
    devices_len: usize = 0,
    flags: PoolFlags = .{},
    poll_us: u64 = 0,
    drain_limit_us: u64 = 0,
    recovery_us: u64 = 0,
    slots: u32 = 0,
    clean_memory_mib: u32 = 0,
};

pub extern fn tern_pool_open(url: ?[*]const u8, url_len: usize, options: ?*const PoolOptions, pool: *?*Pool, err: ?*Details) Status;
pub extern fn tern_pool_on(manager: ?*const Manager, options: ?*const PoolOptions, pool: *?*Pool, err: ?*Details) Status;
pub extern fn tern_pool_close(pool: ?*Pool) void;
pub extern fn tern_pool_manager(pool: ?*const Pool, manager: *?*Manager, err: ?*Details) Status;
pub extern fn tern_pool_capacity(pool: ?*const Pool, count: *u64, err: ?*Details) Status;
pub extern fn tern_pool_pending_claimers(pool: ?*const Pool, count: *u64, err: ?*Details) Status;
pub extern fn tern_pool_absence(pool: ?*const Pool, buffer: ?[*]u8, capacity: usize, needed: ?*usize, err: ?*Details) Status;
