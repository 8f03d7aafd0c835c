//! What is open, and who does which step.
const std = @import("std");
const ternlease = @import("ternlease");
const cost_steps = @import("cost.zig");
const event_steps = @import("events.zig");
const manager_steps = @import("manager.zig");
const pool_steps = @import("pool.zig");
const say = @import("say.zig");

const Allocator = std.mem.Allocator;
const Labels = @import("labels.zig").Labels;
const Words = @import("words.zig").Words;

pub const StepError = ternlease.ListError || error{Nonsense};
pub const Answer = StepError![]const u8;

const Step = struct { []const u8, *const fn (*Driver, Allocator, *Words) Answer };

const steps = [_]Step{
    .{ "version", version },
    .{ "status", status },
    .{ "reason", reason },
    .{ "close", closeStep },
} ++ manager_steps.steps ++ event_steps.steps ++ pool_steps.steps ++ cost_steps.steps;

pub const Driver = struct {
    open_manager: ?ternlease.Manager = null,
    open_pool: ?ternlease.Pool = null,
    open_machine: ?ternlease.Machine = null,
    reader: ?ternlease.Events = null,
    watches: event_steps.Watches = .{},
    labels: Labels = .{},
    details: ternlease.Details = .{},

    /// Does a step, and tells what came of it.
    pub fn answer(self: *Driver, arena: Allocator, line: []const u8) Allocator.Error![]const u8 {
        self.details = .{};
        return self.step(arena, line) catch |err| switch (err) {
            error.Nonsense => "?",
            error.OutOfMemory => error.OutOfMemory,
            else => |failed| self.failure(arena, failed),
        };
    }

    fn step(self: *Driver, arena: Allocator, line: []const u8) Answer {
        var words: Words = .of(line);
        const verb = try words.next();
        for (steps) |known| {
            if (std.mem.eql(u8, known[0], verb)) return known[1](self, arena, &words);
        }
        return error.Nonsense;
    }

    fn failure(self: *Driver, arena: Allocator, failed: ternlease.Error) Allocator.Error![]const u8 {
        const name = (ternlease.statusOf(failed) orelse return "UNKNOWN").name().?["TERN_".len..];
        if (self.details.reason == .none) return name;
        return say.print(arena, "{s} {s}", .{ name, say.reason(self.details.reason) });
    }

    pub fn manager(self: *Driver) error{Nonsense}!ternlease.Manager {
        return (self.open_manager orelse return error.Nonsense).with(&self.details);
    }

    pub fn pool(self: *Driver) error{Nonsense}!ternlease.Pool {
        return (self.open_pool orelse return error.Nonsense).with(&self.details);
    }

    pub fn machine(self: *Driver) error{Nonsense}!ternlease.Machine {
        return (self.open_machine orelse return error.Nonsense).with(&self.details);
    }

    pub fn lease(self: *Driver, label: []const u8) error{Nonsense}!ternlease.Lease {
        return (try self.manager()).lease(self.labels.lease(label)).with(&self.details);
    }

    pub fn ticket(self: *Driver, label: []const u8) error{Nonsense}!ternlease.Ticket {
        return (try self.manager()).ticket(self.labels.ticket(label)).with(&self.details);
    }

    /// Closes all that is open.
    pub fn close(self: *Driver) void {
        self.watches.close();
        if (self.reader) |*open| open.close();
        if (self.open_pool) |*open| open.close();
        if (self.open_manager) |*open| open.close();
        if (self.open_machine) |*open| open.close();
        self.labels.clear();
        self.* = .{};
    }
};

fn version(_: *Driver, arena: Allocator, _: *Words) Answer {
    return say.print(arena, "OK {s}", .{ternlease.version.text()});
}

fn status(_: *Driver, arena: Allocator, words: *Words) Answer {
    const known: ternlease.Status = @enumFromInt(try words.number(i32));
    return say.print(arena, "OK {s}", .{known.name() orelse "-"});
}

fn reason(_: *Driver, arena: Allocator, words: *Words) Answer {
    const known: ternlease.Reason = @enumFromInt(try words.number(i32));
    const class = known.class() orelse return "OK -";
    return say.print(arena, "OK {s} {s}", .{ known.name().?, class.name().? });
}

fn closeStep(driver: *Driver, _: Allocator, _: *Words) Answer {
    driver.close();
    return "OK";
}
