//! Host: tables that all processes of a machine share.
const Chars = @import("text.zig").Chars;
const Details = @import("details.zig").Details;
const LeaseId = @import("lease.zig").LeaseId;
const Manager = @import("manager.zig").Manager;
const Status = @import("status.zig").Status;

/// How a process is.
pub const Life = enum(i32) {
    lives = 1,
    /// Its memory is being freed, its files may still be open.
    dying = 2,
    /// It is gone, and nobody has taken note yet.
    gone = 3,
    /// Not one process but all that have inherited a lease.
    tree = 4,
    _,
};

/// A shared table, and how it is.
pub const HostInfo = extern struct {
    struct_size: usize = @sizeOf(HostInfo),
    /// How large its file is.
    bytes: u64 = 0,
    /// Changes that were undone because their author died, so far.
    roll_backs: u64 = 0,
    /// Processes that were found dead, so far.
    deaths: u64 = 0,
    /// Since when its lock is taken, by the manager's clock; otherwise 0.
    lock_since: u64 = 0,
    /// Who had its lock when this was asked; 0: nobody.
    lock_process: u32 = 0,
    /// How many processes use it.
    process_count: u32 = 0,
    /// The table makes no sense any more.
    corrupt: bool = false,
    reserved: [7]u8 = @splat(0),
    /// Where its file is; cut if it is longer.
    path: Chars(1024) = .{},
};

/// A process that uses a shared table.
pub const ProcessInfo = extern struct {
    struct_size: usize = @sizeOf(ProcessInfo),
    /// Since when it uses the table, by the manager's clock.
    since: u64 = 0,
    /// Its number, as it sees itself.
    process: u32 = 0,
    /// The number under which the table knows it.
    owner: u32 = 0,
    life: Life = @enumFromInt(0),
    /// How many leases it holds.
    leases: u32 = 0,
    /// How many claims of its wait.
    tickets: u32 = 0,
    reserved: u32 = 0,
};

pub extern fn tern_lease_hand_to(manager: ?*const Manager, lease: LeaseId, process: u32, err: ?*Details) Status;
pub extern fn tern_lease_keep_for_children(manager: ?*const Manager, lease: LeaseId, fd: *c_int, err: ?*Details) Status;
pub extern fn tern_manager_host(manager: ?*const Manager, info: *HostInfo, err: ?*Details) Status;
pub extern fn tern_manager_processes(manager: ?*const Manager, processes: ?[*]ProcessInfo, capacity: usize, needed: ?*usize, err: ?*Details) Status;
