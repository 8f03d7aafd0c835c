//! GPU lease: the devices of a lease, and how to use them.
const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const lists = @import("lists.zig");

const Allocator = std.mem.Allocator;
const Details = errors.Details;
const Error = errors.Error;
const Lease = @import("lease.zig").Lease;
const ListError = errors.ListError;
const Pool = @import("pool.zig").Pool;
const check = errors.check;

/// How devices are named in the environment of a child. Parts of devices always go by UUID.
pub const Naming = enum { by_number, by_uuid };

/// Devices, for as long as they are leased. It can be copied, as a lease can.
pub const GpuLease = struct {
    pool: Pool,
    /// Also its fencing token.
    id: c.lease.LeaseId,

    /// The same lease, whose calls fill in these details when they fail.
    pub fn with(self: GpuLease, details: *Details) GpuLease {
        return .{ .pool = self.pool.with(details), .id = self.id };
    }

    /// The same as a lease of the pool's table: to revoke, to watch, to look at.
    pub fn lease(self: GpuLease) Lease {
        return .{ .manager = self.pool.manager, .id = self.id };
    }

    /// What it is. Takes no lock, and never says held once the end has passed.
    pub fn state(self: GpuLease) c.lease.LeaseState {
        return self.lease().state();
    }

    /// Moves its end to now + its ttl; the new end. `error.NotHeld` if it is over.
    pub fn renew(self: GpuLease) Error!u64 {
        return self.lease().renew();
    }

    /// Gives the devices back, if they are still held: for `defer`.
    pub fn release(self: GpuLease) void {
        _ = c.gpu.tern_gpu_lease_release(self.pool.handle, self.id, self.pool.details);
    }

    /// As `release()`, and tells whether they were still held: `error.NotHeld`.
    pub fn releaseChecked(self: GpuLease) Error!void {
        return check(c.gpu.tern_gpu_lease_release(try self.pool.live(), self.id, self.pool.details));
    }

    /// A thread of the library's own renews it from now on, in time, while it is held and its pool is open.
    pub fn keepAlive(self: GpuLease) Error!void {
        return check(c.gpu.tern_gpu_lease_keep_alive(try self.pool.live(), self.id, self.pool.details));
    }

    /// The places of its devices in the pool.
    pub fn places(self: GpuLease, allocator: Allocator) ListError![]usize {
        return lists.list(usize, allocator, self.pool.details, c.gpu.tern_gpu_lease_devices, .{ try self.pool.live(), self.id });
    }

    /// Its devices, in the order of the pool.
    pub fn devices(self: GpuLease, allocator: Allocator) ListError![]c.device.Device {
        const where = try self.places(allocator);
        defer allocator.free(where);
        const found = try allocator.alloc(c.device.Device, where.len);
        errdefer allocator.free(found);
        for (where, found) |place, *device| device.* = try self.pool.device(place);
        return found;
    }

    /// What a child needs in its environment to see these devices and no others, line by line: "NAME=value" is to be
    /// set, "NAME" alone to be removed. `changes()` takes it apart.
    pub fn env(self: GpuLease, allocator: Allocator, naming: Naming) ListError![:0]u8 {
        const flags: c.gpu.EnvFlags = .{ .by_uuid = naming == .by_uuid };
        return lists.text(allocator, self.pool.details, c.gpu.tern_gpu_lease_env, .{ try self.pool.live(), self.id, flags });
    }
};

/// A variable of the environment: to be set, or to be removed if there is no value.
pub const EnvChange = struct { name: []const u8, value: ?[]const u8 };

/// Takes apart what `GpuLease.env()` tells.
pub fn changes(env: []const u8) EnvChanges {
    return .{ .rest = env };
}

pub const EnvChanges = struct {
    rest: []const u8,

    pub fn next(self: *EnvChanges) ?EnvChange {
        if (self.rest.len == 0) return null;
        const end = std.mem.indexOfScalar(u8, self.rest, '\n') orelse self.rest.len;
        const line = self.rest[0..end];
        self.rest = self.rest[@min(end + 1, self.rest.len)..];
        const middle = std.mem.indexOfScalar(u8, line, '=') orelse return .{ .name = line, .value = null };
        return .{ .name = line[0..middle], .value = line[middle + 1 ..] };
    }
};
