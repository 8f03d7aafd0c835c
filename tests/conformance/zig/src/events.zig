//! Events and watches.
const std = @import("std");
const ternlease = @import("ternlease");
const say = @import("say.zig");

const Allocator = std.mem.Allocator;
const Answer = @import("driver.zig").Answer;
const Driver = @import("driver.zig").Driver;
const Labels = @import("labels.zig").Labels;
const Labelled = @import("labels.zig").Labelled;
const Words = @import("words.zig").Words;

pub const steps = .{
    .{ "events", events },
    .{ "watch", watch },
    .{ "notice", notice },
};

/// The watches, by the labels of their leases.
pub const Watches = struct {
    open: Labelled(ternlease.Watch) = .{},

    fn put(self: *Watches, label: []const u8, opened: ternlease.Watch) !void {
        if (self.open.get(label)) |former| {
            var over = former;
            over.close();
        }
        try self.open.put(label, opened);
    }

    pub fn close(self: *Watches) void {
        for (self.open.entries.items) |*entry| entry.thing.close();
        self.open.clear();
    }
};

fn events(driver: *Driver, arena: Allocator, _: *Words) Answer {
    const manager = try driver.manager();
    const reader = if (driver.reader) |open| open.with(&driver.details) else {
        driver.reader = try manager.events(ternlease.from_now);
        return "OK -";
    };
    var told: say.List = .{ .arena = arena };
    while (try reader.next()) |event| try told.add(try wordsOf(arena, driver.labels, event));
    return told.ok("; ");
}

fn wordsOf(arena: Allocator, labels: Labels, event: ternlease.Event) Allocator.Error![]const u8 {
    const lease = labels.leases.labelOf(event.lease);
    const ticket = labels.tickets.labelOf(event.ticket);
    const reason = say.reason(event.reason);
    const until = try say.time(arena, event.until);
    return switch (event.kind) {
        .granted => if (event.ticket == .none)
            say.print(arena, "granted {s}", .{lease})
        else
            say.print(arena, "granted {s} {s}", .{ lease, ticket }),
        .renewed_late => say.print(arena, "renewed-late {s} {s}", .{ lease, until }),
        .revoking => say.print(arena, "revoking {s} {s} {s}", .{ lease, reason, until }),
        .ended => say.print(arena, "ended {s} {s} {d}", .{ lease, reason, event.duration }),
        .queued => say.print(arena, "queued {s}", .{ticket}),
        .refused => say.print(arena, "refused {s} {s} {d}", .{ ticket, reason, event.duration }),
        .health => say.print(arena, "health {s} {s}", .{ event.resource.slice(), say.trit(event.health) }),
        .died => "died",
        .rolled_back => "rolled-back",
        _ => "?",
    };
}

fn watch(driver: *Driver, _: Allocator, words: *Words) Answer {
    const label = try words.next();
    try driver.watches.put(label, try (try driver.lease(label)).watchFd());
    return "OK";
}

fn notice(driver: *Driver, arena: Allocator, words: *Words) Answer {
    const watching = driver.watches.open.get(try words.next()) orelse return error.Nonsense;
    const milliseconds = try words.span();
    const told = try watching.next(milliseconds *| ternlease.millisecond) orelse return "TIMEOUT";
    return say.print(arena, "OK {s} {s}", .{ say.trit(told.state), say.reason(told.reason) });
}
