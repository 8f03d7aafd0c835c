//! Pool: devices, to be claimed.
const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const gpu_claims = @import("gpu_claim.zig");
const lists = @import("lists.zig");

const Allocator = std.mem.Allocator;
const Details = errors.Details;
const Error = errors.Error;
const GpuClaim = gpu_claims.GpuClaim;
const GpuLease = @import("gpu_lease.zig").GpuLease;
const LeaseId = c.lease.LeaseId;
const ListError = errors.ListError;
const Manager = @import("manager.zig").Manager;
const check = errors.check;

/// How a pool is made; what is zero or empty is as usual. Times are in microseconds.
pub const PoolOptions = struct {
    /// Which devices: "host" for those of this machine, "fake:8", "file:/path", "none"; if empty, what the environment
    /// variable TERNLEASE_DEVICES says in these words, else "host".
    devices: []const u8 = "",
    /// Hand out a device only after having seen that nobody uses it.
    check_use: bool = false,
    /// A deadlock is broken as soon as it arises. For pools with a table of their own.
    break_deadlocks: bool = false,
    /// How many claims for one slot may share a device; usually one.
    slots: u32 = 0,
    /// With `check_use`: a device is clean if no more of its memory is used, in MiB; usually 512.
    clean_memory_mib: u32 = 0,
    /// How often to look at the devices when nothing happens; usually every second.
    poll_us: u64 = 0,
    /// With `check_use`: a device that is still used so long after its last lease has failed; usually a minute.
    drain_limit_us: u64 = 0,
    /// A device that had a fault is healthy again after so long without another; usually 30 seconds.
    recovery_us: u64 = 0,
    /// Told why the pool could not be opened.
    details: ?*Details = null,

    fn toC(self: PoolOptions) c.pool.PoolOptions {
        return .{
            .devices = self.devices.ptr,
            .devices_len = self.devices.len,
            .flags = .{ .check_use = self.check_use, .break_deadlocks = self.break_deadlocks },
            .poll_us = self.poll_us,
            .drain_limit_us = self.drain_limit_us,
            .recovery_us = self.recovery_us,
            .slots = self.slots,
            .clean_memory_mib = self.clean_memory_mib,
        };
    }
};

/// Devices, to be claimed.
///
///     var pool = try Pool.open("host:", .{});
///     defer pool.close();
///     const gpu = pool.claim(.{ .min_memory_mib = 40_000, .wait = 60 * ternlease.second }) catch |err| switch (err) {
///         error.Empty => return trainOnTheCpu(), // this machine has no devices, and absence() says why
///         else => return err,
///     };
///     defer gpu.release();
///
/// A pool is a handle: copies of it are the same pool, and any number of threads may use it at once. Closing must be
/// the last use of all copies, and of the leases that came from them.
pub const Pool = struct {
    handle: ?*c.pool.Pool,
    /// A manager on its table: leases by their ids, tickets, events, deadlocks. It is closed with the pool.
    manager: Manager,
    details: ?*Details = null,

    /// Opens a pool with a table in the home that a URL names: "host:", or "", is the pool that all
    /// processes of this machine share; "process:" is a private one of this process.
    pub fn open(url: []const u8, options: PoolOptions) Error!Pool {
        try errors.abiCheck(options.details);
        const raw = options.toC();
        var handle: ?*c.pool.Pool = null;
        try check(c.pool.tern_pool_open(url.ptr, url.len, &raw, &handle, options.details));
        return whole(handle, options.details);
    }

    /// As `open()`, on the table of a manager, so that deadlocks through devices and other resources together are seen.
    pub fn on(table: Manager, options: PoolOptions) Error!Pool {
        const raw = options.toC();
        var handle: ?*c.pool.Pool = null;
        try check(c.pool.tern_pool_on(try errors.live(table.handle, options.details), &raw, &handle, options.details));
        return whole(handle, options.details);
    }

    fn whole(handle: ?*c.pool.Pool, details: ?*Details) Error!Pool {
        errdefer c.pool.tern_pool_close(handle);
        var manager: ?*c.manager.Manager = null;
        try check(c.pool.tern_pool_manager(handle, &manager, details));
        return .{ .handle = handle, .manager = .{ .handle = manager } };
    }

    /// Closes it. From then on nobody watches its devices or keeps its leases alive; they are gone with it, unless a
    /// manager or another pool is open on the same table. A second time does nothing.
    pub fn close(self: *Pool) void {
        self.manager.close();
        c.pool.tern_pool_close(self.handle);
        self.handle = null;
    }

    /// The same pool, whose calls fill in these details when they fail.
    pub fn with(self: Pool, details: *Details) Pool {
        return .{ .handle = self.handle, .manager = self.manager.with(details), .details = details };
    }

    /// A lease of this pool's table, such as one that a ticket gave.
    pub fn lease(self: Pool, id: LeaseId) GpuLease {
        return .{ .pool = .{ .handle = self.handle, .manager = .{ .handle = self.manager.handle } }, .id = id };
    }

    /// Asks for devices and waits for them as long as the claim says: `error.Busy`, `error.Timeout` and
    /// `error.Refused` as of all claims, `error.Empty` if the pool has no devices at all. Blocks the thread.
    pub fn claim(self: Pool, wanted: GpuClaim) Error!GpuLease {
        const handle = try self.live();
        const raw = wanted.toC();
        var id: LeaseId = .none;
        try check(c.gpu.tern_pool_claim(handle, &raw, &id, self.details));
        return self.lease(id);
    }

    /// Any one device, alone and without end, if one is free now and nobody waits for it: `error.Busy` if not,
    /// `error.Empty` if the pool has no devices.
    pub fn tryClaim(self: Pool) Error!GpuLease {
        const handle = try self.live();
        var id: LeaseId = .none;
        try check(c.gpu.tern_pool_try_claim(handle, &id, self.details));
        return self.lease(id);
    }

    /// Asks for devices and returns at once: with them, or with a ticket for a place in line, whose lease `lease()`
    /// turns into one of devices. Not with `keep_alive`: see `GpuLease.keepAlive()`.
    pub fn enqueue(self: Pool, wanted: GpuClaim) Error!gpu_claims.GpuEnqueued {
        const handle = try self.live();
        const raw = wanted.toC();
        var id: LeaseId = .none;
        var ticket: c.ticket.TicketId = .none;
        return switch (c.gpu.tern_pool_enqueue(handle, &raw, &id, &ticket, self.details)) {
            .ok => .{ .lease = self.lease(id) },
            .waiting => .{ .ticket = self.manager.ticket(ticket) },
            else => |status| errors.errorOf(status),
        };
    }

    /// How long a claim would wait now. Asks for nothing, and changes nothing.
    pub fn expectedWait(self: Pool, wanted: GpuClaim) Error!gpu_claims.ExpectedWait {
        const handle = try self.live();
        const raw = wanted.toC();
        var kind: c.gpu.ExpectedWaitKind = .unknown;
        var wait_ns: u64 = 0;
        try check(c.gpu.tern_pool_expected_wait(handle, &raw, &kind, &wait_ns, self.details));
        return .of(kind, wait_ns);
    }

    /// How much longer a claim that stands in line will wait; not at all if it is decided.
    pub fn expectedWaitOf(self: Pool, ticket: c.ticket.TicketId) Error!gpu_claims.ExpectedWait {
        const handle = try self.live();
        var kind: c.gpu.ExpectedWaitKind = .unknown;
        var wait_ns: u64 = 0;
        try check(c.gpu.tern_pool_expected_wait_of(handle, ticket, &kind, &wait_ns, self.details));
        return .of(kind, wait_ns);
    }

    /// How many devices there are. Their places are the numbers below this.
    pub fn capacity(self: Pool) Error!u64 {
        const handle = try self.live();
        var count: u64 = 0;
        try check(c.pool.tern_pool_capacity(handle, &count, self.details));
        return count;
    }

    /// How many claims wait for devices of this pool.
    pub fn pendingClaimers(self: Pool) Error!u64 {
        const handle = try self.live();
        var count: u64 = 0;
        try check(c.pool.tern_pool_pending_claimers(handle, &count, self.details));
        return count;
    }

    /// What the device in this place is; `error.BadValue` beyond the last.
    pub fn device(self: Pool, place: usize) Error!c.device.Device {
        return self.look(c.device.Device, c.device.tern_pool_device, place);
    }

    /// How the device in this place is, and who uses it. Asks no driver, and never waits for one.
    pub fn deviceStatus(self: Pool, place: usize) Error!c.device.DeviceStatus {
        return self.look(c.device.DeviceStatus, c.device.tern_pool_device_status, place);
    }

    /// How fast the device in this place is, by what its driver tells.
    pub fn deviceSpeed(self: Pool, place: usize) Error!c.device.DeviceSpeed {
        return self.look(c.device.DeviceSpeed, c.device.tern_pool_device_speed, place);
    }

    /// How all devices are, in the order of their places: leases and health all at one moment.
    pub fn snapshot(self: Pool, allocator: Allocator) ListError![]c.device.DeviceStatus {
        return lists.list(c.device.DeviceStatus, allocator, self.details, c.device.tern_pool_snapshot, .{try self.live()});
    }

    /// The leases on the device in this place, oldest first.
    pub fn leasesOn(self: Pool, allocator: Allocator, place: usize) ListError![]LeaseId {
        return lists.list(LeaseId, allocator, self.details, c.device.tern_pool_leases_on, .{ try self.live(), place });
    }

    /// The processes that compute on the device in this place although it has no lease.
    pub fn squatters(self: Pool, allocator: Allocator, place: usize) ListError![]c.device.Process {
        return lists.list(c.device.Process, allocator, self.details, c.device.tern_pool_squatters, .{ try self.live(), place });
    }

    /// What is not there, and why, for people, line by line; empty if there is nothing to say.
    pub fn absence(self: Pool, allocator: Allocator) ListError![:0]u8 {
        return lists.text(allocator, self.details, c.pool.tern_pool_absence, .{try self.live()});
    }

    fn look(self: Pool, comptime Told: type, comptime function: anytype, place: usize) Error!Told {
        const handle = try self.live();
        var told: Told = .{};
        try check(function(handle, place, &told, self.details));
        return told;
    }

    /// For the functions of `c`. It stays this pool's.
    pub fn live(self: Pool) Error!*c.pool.Pool {
        return errors.live(self.handle, self.details);
    }
};
