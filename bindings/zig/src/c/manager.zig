//! Manager: a table of leases on named resources, and its counters.
const Details = @import("details.zig").Details;
const Reason = @import("reason.zig").Reason;
const Status = @import("status.zig").Status;

pub const Manager = opaque {};

pub const OptionFlags = packed struct(u64) {
    ticks: bool = false,
    open_house: bool = false,
    break_deadlocks: bool = false,
    reserved: u61 = 0,
};

pub const Options = extern struct {
    struct_size: usize = @sizeOf(Options),
    flags: OptionFlags = .{},
    leases: u32 = 0,
    tickets: u32 = 0,
    resources: u32 = 0,
    history: u32 = 0,
};

pub extern fn tern_manager_open(url: ?[*]const u8, url_len: usize, options: ?*const Options, manager: *?*Manager, err: ?*Details) Status;
pub extern fn tern_manager_close(manager: ?*Manager) void;
pub extern fn tern_manager_tick(manager: ?*const Manager, err: ?*Details) Status;
pub extern fn tern_manager_tick_count(manager: ?*const Manager, count: *u64, err: ?*Details) Status;
pub extern fn tern_manager_active_count(manager: ?*const Manager, count: *u64, err: ?*Details) Status;
pub extern fn tern_manager_pending_claimers(manager: ?*const Manager, count: *u64, err: ?*Details) Status;
pub extern fn tern_manager_revocations(manager: ?*const Manager, count: *u64, err: ?*Details) Status;
pub extern fn tern_manager_count(manager: ?*const Manager, reason: Reason, count: *u64, err: ?*Details) Status;
pub extern fn tern_manager_metrics(manager: ?*const Manager, buffer: ?[*]u8, capacity: usize, needed: ?*usize, err: ?*Details) Status;
