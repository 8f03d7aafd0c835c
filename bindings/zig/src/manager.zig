//! Manager: a table of leases on named resources.
const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const lists = @import("lists.zig");
const claims = @import("claim.zig");

const Allocator = std.mem.Allocator;
const Deadlocks = @import("deadlocks.zig").Deadlocks;
const Details = errors.Details;
const Error = errors.Error;
const Events = @import("events.zig").Events;
const Lease = @import("lease.zig").Lease;
const LeaseId = c.lease.LeaseId;
const ListError = errors.ListError;
const Ticket = @import("ticket.zig").Ticket;
const check = errors.check;

/// How a new table is made; what is zero is as usual.
pub const Options = struct {
    /// Time is counted in calls of `tick()`, not in microseconds.
    ticks: bool = false,
    /// `acquire()` never refuses, and every holder is taken to want the resource that bears its own name.
    open_house: bool = false,
    /// A deadlock is broken as soon as it arises.
    break_deadlocks: bool = false,
    /// Leases held at the same time.
    leases: u32 = 0,
    /// Claims waiting at the same time.
    tickets: u32 = 0,
    /// Resources known at the same time.
    resources: u32 = 0,
    /// Ended leases, decided tickets and events that are remembered.
    history: u32 = 0,
    /// Told why the manager could not be opened.
    details: ?*Details = null,
};

/// A table of leases on named resources.
///
/// A manager is a handle: copies of it are the same table, and any number of threads may use it at once. Closing must
/// be the last use of all copies, and of the leases and tickets that came from them: after that they fail with
/// `error.Closed`, as far as the library can tell.
pub const Manager = struct {
    handle: ?*c.manager.Manager,
    details: ?*Details = null,

    /// Opens the table that a URL names. "process:" is a new table, shared by the threads of this process; "host:",
    /// "host:NAME" and "host:/PATH" are tables that all processes of this machine share.
    pub fn open(url: []const u8, options: Options) Error!Manager {
        try errors.abiCheck(options.details);
        const raw: c.manager.Options = .{
            .flags = .{
                .ticks = options.ticks,
                .open_house = options.open_house,
                .break_deadlocks = options.break_deadlocks,
            },
            .leases = options.leases,
            .tickets = options.tickets,
            .resources = options.resources,
            .history = options.history,
        };
        var handle: ?*c.manager.Manager = null;
        try check(c.manager.tern_manager_open(url.ptr, url.len, &raw, &handle, options.details));
        return .{ .handle = handle };
    }

    /// Closes it. Its leases are gone with it (of a shared table: those of this process), and callbacks have ended
    /// when this returns. A second time does nothing.
    pub fn close(self: *Manager) void {
        c.manager.tern_manager_close(self.handle);
        self.handle = null;
    }

    /// The same manager, whose calls fill in these details when they fail. Leases and tickets that come from it do not
    /// keep them: they have a `with()` of their own.
    pub fn with(self: Manager, details: *Details) Manager {
        return .{ .handle = self.handle, .details = details };
    }

    /// A lease of this table by its id, whoever holds it.
    pub fn lease(self: Manager, id: LeaseId) Lease {
        return .{ .manager = .{ .handle = self.handle }, .id = id };
    }

    /// A ticket of this table by its id.
    pub fn ticket(self: Manager, id: c.ticket.TicketId) Ticket {
        return .{ .manager = .{ .handle = self.handle }, .id = id };
    }

    /// A lease on one slot of a resource, now or not at all: `error.Busy`. It lasts for `ttl` unless it is renewed.
    pub fn acquire(self: Manager, resource_name: []const u8, holder: []const u8, ttl: u64) Error!Lease {
        const handle = try self.live();
        var id: LeaseId = .none;
        try check(c.lease.tern_lease_acquire(handle, resource_name.ptr, resource_name.len, holder.ptr, holder.len, ttl, &id, self.details));
        return self.lease(id);
    }

    /// Asks for a lease and waits for it as long as the claim says: `error.Busy` if it does not wait, `error.Timeout`
    /// if it waited in vain, `error.Refused` if it left the line for another reason. Blocks the thread.
    pub fn claim(self: Manager, wanted: claims.Claim) Error!Lease {
        const handle = try self.live();
        const raw = wanted.toC();
        var id: LeaseId = .none;
        try check(c.claim.tern_manager_claim(handle, &raw, &id, self.details));
        return self.lease(id);
    }

    /// Asks for a lease and returns at once: with it, or with a ticket for a place in line. `error.Busy` if the claim
    /// does not wait.
    pub fn enqueue(self: Manager, wanted: claims.Claim) Error!claims.Enqueued {
        const handle = try self.live();
        const raw = wanted.toC();
        var id: LeaseId = .none;
        var ticket_id: c.ticket.TicketId = .none;
        return switch (c.claim.tern_manager_enqueue(handle, &raw, &id, &ticket_id, self.details)) {
            .ok => .{ .lease = self.lease(id) },
            .waiting => .{ .ticket = self.ticket(ticket_id) },
            else => |status| errors.errorOf(status),
        };
    }

    /// The states of several leases in one call. `buffer` has room for as many; the answer is the part of it that was
    /// filled.
    pub fn states(self: Manager, ids: []const LeaseId, buffer: []c.lease.LeaseState) Error![]c.lease.LeaseState {
        const handle = try self.live();
        if (buffer.len < ids.len) return errors.fail(self.details, .err_bad_value, "the buffer has room for fewer states than there are leases");
        try check(c.lease.tern_lease_states(handle, ids.ptr, ids.len, buffer.ptr, self.details));
        return buffer[0..ids.len];
    }

    /// Renews several leases in one call, and tells how many: those that are over are passed over.
    pub fn renewAll(self: Manager, ids: []const LeaseId) Error!usize {
        const handle = try self.live();
        var renewed: usize = 0;
        try check(c.lease.tern_lease_renew_all(handle, ids.ptr, ids.len, &renewed, self.details));
        return renewed;
    }

    /// All held leases, oldest first.
    pub fn leases(self: Manager, allocator: Allocator) ListError![]c.lease.LeaseInfo {
        return lists.list(c.lease.LeaseInfo, allocator, self.details, c.lease.tern_manager_leases, .{try self.live()});
    }

    /// The leases a holder holds, oldest first.
    pub fn heldBy(self: Manager, allocator: Allocator, holder: []const u8) ListError![]LeaseId {
        return lists.list(LeaseId, allocator, self.details, c.lease.tern_manager_held_by, .{ try self.live(), holder.ptr, holder.len });
    }

    /// The leases on a resource, oldest first: who has what a claim waits for.
    pub fn leasesOn(self: Manager, allocator: Allocator, resource_name: []const u8) ListError![]LeaseId {
        return lists.list(LeaseId, allocator, self.details, c.resource.tern_resource_leases, .{ try self.live(), resource_name.ptr, resource_name.len });
    }

    /// All waiting claims, in order.
    pub fn tickets(self: Manager, allocator: Allocator) ListError![]c.ticket.TicketInfo {
        return lists.list(c.ticket.TicketInfo, allocator, self.details, c.ticket.tern_manager_tickets, .{try self.live()});
    }

    /// Makes a resource with so many slots and so much memory, or changes the size of one that is not in use.
    pub fn declare(self: Manager, resource_name: []const u8, slots: u32, memory_mib: u32) Error!c.resource.ResourceId {
        const handle = try self.live();
        var id: c.resource.ResourceId = .none;
        try check(c.resource.tern_resource_declare(handle, resource_name.ptr, resource_name.len, slots, memory_mib, &id, self.details));
        return id;
    }

    /// Says how a declared resource is. One that is not healthy keeps its leases and gets no new ones.
    pub fn setHealth(self: Manager, resource_name: []const u8, health: c.resource.Health) Error!void {
        const handle = try self.live();
        return check(c.resource.tern_resource_set_health(handle, resource_name.ptr, resource_name.len, health, self.details));
    }

    /// What there is of a resource, and what is taken.
    pub fn resource(self: Manager, resource_name: []const u8) Error!c.resource.ResourceInfo {
        const handle = try self.live();
        var info: c.resource.ResourceInfo = .{};
        try check(c.resource.tern_resource_info(handle, resource_name.ptr, resource_name.len, &info, self.details));
        return info;
    }

    /// All resources that are declared or in use, by name.
    pub fn resources(self: Manager, allocator: Allocator) ListError![]c.resource.ResourceInfo {
        return lists.list(c.resource.ResourceInfo, allocator, self.details, c.resource.tern_manager_resources, .{try self.live()});
    }

    /// Reads the events after number `cursor`: `oldest` for all that is remembered, `from_now` for none of it.
    pub fn events(self: Manager, cursor: u64) Error!Events {
        return Events.open(try self.live(), cursor, self.details);
    }

    /// Looks for deadlocks. Each comes with a proof and the lease whose revocation breaks it at the least cost.
    pub fn deadlocks(self: Manager) Error!Deadlocks {
        return Deadlocks.find(try self.live(), self.details);
    }

    /// Declares that a holder cannot go on without a resource, without claiming it. Only the search for deadlocks
    /// looks at it.
    pub fn want(self: Manager, holder: []const u8, resource_name: []const u8) Error!void {
        const handle = try self.live();
        return check(c.deadlocks.tern_manager_want(handle, holder.ptr, holder.len, resource_name.ptr, resource_name.len, self.details));
    }

    /// Takes back what `want()` declared.
    pub fn unwant(self: Manager, holder: []const u8, resource_name: []const u8) Error!void {
        const handle = try self.live();
        return check(c.deadlocks.tern_manager_unwant(handle, holder.ptr, holder.len, resource_name.ptr, resource_name.len, self.details));
    }

    /// Counts one tick. With a real clock: only brings the table up to date.
    pub fn tick(self: Manager) Error!void {
        return check(c.manager.tern_manager_tick(try self.live(), self.details));
    }

    /// The time by its clock: ticks so far, or microseconds since the machine started.
    pub fn tickCount(self: Manager) Error!u64 {
        return self.number(c.manager.tern_manager_tick_count);
    }

    /// How many leases are held.
    pub fn activeCount(self: Manager) Error!u64 {
        return self.number(c.manager.tern_manager_active_count);
    }

    /// How many claims wait.
    pub fn pendingClaimers(self: Manager) Error!u64 {
        return self.number(c.manager.tern_manager_pending_claimers);
    }

    /// How many leases were revoked so far; each counts once.
    pub fn revocations(self: Manager) Error!u64 {
        return self.number(c.manager.tern_manager_revocations);
    }

    /// How many leases ended, or claims were refused, for this reason so far.
    pub fn count(self: Manager, reason: c.reason.Reason) Error!u64 {
        const handle = try self.live();
        var counted: u64 = 0;
        try check(c.manager.tern_manager_count(handle, reason, &counted, self.details));
        return counted;
    }

    /// The counters as text, in the format that Prometheus reads.
    pub fn metrics(self: Manager, allocator: Allocator) ListError![:0]u8 {
        return lists.text(allocator, self.details, c.manager.tern_manager_metrics, .{try self.live()});
    }

    /// Where a shared table is, and whether all is well; `error.Unsupported` of other tables.
    pub fn host(self: Manager) Error!c.host.HostInfo {
        const handle = try self.live();
        var info: c.host.HostInfo = .{};
        try check(c.host.tern_manager_host(handle, &info, self.details));
        return info;
    }

    /// Every process that uses a shared table, this one included.
    pub fn processes(self: Manager, allocator: Allocator) ListError![]c.host.ProcessInfo {
        return lists.list(c.host.ProcessInfo, allocator, self.details, c.host.tern_manager_processes, .{try self.live()});
    }

    fn number(self: Manager, comptime function: anytype) Error!u64 {
        const handle = try self.live();
        var counted: u64 = 0;
        try check(function(handle, &counted, self.details));
        return counted;
    }

    /// For the functions of `c`. It stays this manager's.
    pub fn live(self: Manager) Error!*c.manager.Manager {
        return errors.live(self.handle, self.details);
    }
};
