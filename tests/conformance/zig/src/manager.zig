//! Managers: leases, tickets, resources.
const std = @import("std");
const ternlease = @import("ternlease");
const say = @import("say.zig");
const info = @import("info.zig");
const parseSpan = @import("words.zig").parseSpan;

const Allocator = std.mem.Allocator;
const Answer = @import("driver.zig").Answer;
const Driver = @import("driver.zig").Driver;
const StepError = @import("driver.zig").StepError;
const Words = @import("words.zig").Words;

pub const steps = .{
    .{ "open", open },
    .{ "tick", tick },
    .{ "declare", declare },
    .{ "health", health },
    .{ "acquire", acquire },
    .{ "claim", claim },
    .{ "enqueue", enqueue },
    .{ "wait", wait },
    .{ "cancel", cancel },
    .{ "ticket", ticket },
    .{ "state", state },
    .{ "states", states },
    .{ "renew", renew },
    .{ "renew-all", renewAll },
    .{ "release", release },
    .{ "revoke", revoke },
    .{ "find", find },
    .{ "want", want },
    .{ "unwant", unwant },
} ++ info.steps;

fn open(driver: *Driver, _: Allocator, words: *Words) Answer {
    const opened = try ternlease.Manager.open(try words.next(), .{
        .ticks = words.has("ticks"),
        .open_house = words.has("open-house"),
        .break_deadlocks = words.has("break-deadlocks"),
        .leases = try words.optionNumber("leases", @as(u32, 0)),
        .tickets = try words.optionNumber("tickets", @as(u32, 0)),
        .resources = try words.optionNumber("resources", @as(u32, 0)),
        .history = try words.optionNumber("history", @as(u32, 0)),
        .details = &driver.details,
    });
    driver.close();
    driver.open_manager = opened;
    return "OK";
}

fn tick(driver: *Driver, arena: Allocator, words: *Words) Answer {
    const manager = try driver.manager();
    const times = if (words.maybe()) |word| try parseSpan(word) else 1;
    for (0..times) |_| try manager.tick();
    return say.print(arena, "OK {d}", .{try manager.tickCount()});
}

fn declare(driver: *Driver, _: Allocator, words: *Words) Answer {
    const manager = try driver.manager();
    _ = try manager.declare(try words.next(), try words.number(u32), try words.number(u32));
    return "OK";
}

fn health(driver: *Driver, _: Allocator, words: *Words) Answer {
    const manager = try driver.manager();
    try manager.setHealth(try words.next(), @enumFromInt(try words.number(i8)));
    return "OK";
}

fn acquire(driver: *Driver, _: Allocator, words: *Words) Answer {
    const manager = try driver.manager();
    const label = try words.next();
    const lease = try manager.acquire(try words.next(), try words.next(), try words.span());
    try driver.labels.leases.put(label, lease.id);
    return "OK";
}

fn claim(driver: *Driver, arena: Allocator, words: *Words) Answer {
    const manager = try driver.manager();
    const label = try words.next();
    const lease = try manager.claim(try claimOf(driver, arena, words));
    try driver.labels.leases.put(label, lease.id);
    return "OK";
}

fn enqueue(driver: *Driver, arena: Allocator, words: *Words) Answer {
    const manager = try driver.manager();
    const label = try words.next();
    switch (try manager.enqueue(try claimOf(driver, arena, words))) {
        .lease => |lease| {
            try driver.labels.granted(label, lease.id);
            return "OK";
        },
        .ticket => |waiting| {
            try driver.labels.waiting(label, waiting.id);
            return "WAITING";
        },
    }
}

fn claimOf(driver: *Driver, arena: Allocator, words: *Words) StepError!ternlease.Claim {
    return .{
        .holder = try words.next(),
        .ttl = try words.span(),
        .resources = try texts(arena, try words.next()),
        .count = try words.optionNumber("count", @as(u32, 1)),
        .slots = try words.optionNumber("slots", @as(u32, 0)),
        .memory_mib = try words.optionNumber("memory", @as(u32, 0)),
        .priority = try words.optionNumber("priority", @as(i32, 0)),
        .notice = try words.optionSpan("notice", 0),
        .wait = try words.optionSpan("wait", 0),
        .parent = driver.labels.lease(words.option("parent") orelse ""),
        .exclusive = words.has("exclusive"),
        .shared = words.has("shared"),
        .spare = words.has("spare"),
        .preemptible = words.has("preemptible"),
        .preempt = words.has("preempt"),
    };
}

/// The names in a list.
pub fn texts(arena: Allocator, listed: []const u8) Allocator.Error![]const ternlease.Text {
    var names: std.ArrayListUnmanaged(ternlease.Text) = .empty;
    var rest = std.mem.splitScalar(u8, listed, ',');
    while (rest.next()) |name| try names.append(arena, .of(name));
    return names.items;
}

fn wait(driver: *Driver, _: Allocator, words: *Words) Answer {
    const label = try words.next();
    const milliseconds = try words.span();
    const waiting = try driver.ticket(label);
    const lease = try waiting.wait(milliseconds *| ternlease.millisecond) orelse return "WAITING";
    try driver.labels.leases.put(label, lease.id);
    return "OK";
}

fn cancel(driver: *Driver, _: Allocator, words: *Words) Answer {
    const waiting = try driver.ticket(try words.next());
    return if (try waiting.cancelChecked()) "OK" else "UNCHANGED";
}

fn ticket(driver: *Driver, _: Allocator, words: *Words) Answer {
    return say.trit((try driver.ticket(try words.next())).state());
}

fn state(driver: *Driver, _: Allocator, words: *Words) Answer {
    return say.trit((try driver.lease(try words.next())).state());
}

fn leasesOf(driver: *Driver, arena: Allocator, words: *Words) Allocator.Error![]const ternlease.LeaseId {
    var ids: std.ArrayListUnmanaged(ternlease.LeaseId) = .empty;
    while (words.maybe()) |label| try ids.append(arena, driver.labels.lease(label));
    return ids.items;
}

fn states(driver: *Driver, arena: Allocator, words: *Words) Answer {
    const manager = try driver.manager();
    const ids = try leasesOf(driver, arena, words);
    var told: say.List = .{ .arena = arena };
    for (try manager.states(ids, try arena.alloc(ternlease.LeaseState, ids.len))) |one| try told.add(say.trit(one));
    return told.join(" ");
}

fn renew(driver: *Driver, arena: Allocator, words: *Words) Answer {
    const lease = try driver.lease(try words.next());
    const end = if (words.maybe()) |ttl| try lease.renewFor(try parseSpan(ttl)) else try lease.renew();
    return say.print(arena, "OK {s}", .{try say.time(arena, end)});
}

fn renewAll(driver: *Driver, arena: Allocator, words: *Words) Answer {
    const manager = try driver.manager();
    return say.print(arena, "OK {d}", .{try manager.renewAll(try leasesOf(driver, arena, words))});
}

fn release(driver: *Driver, _: Allocator, words: *Words) Answer {
    try (try driver.lease(try words.next())).releaseChecked();
    return "OK";
}

fn revoke(driver: *Driver, arena: Allocator, words: *Words) Answer {
    const lease = try driver.lease(try words.next());
    const done = try lease.revoke(.{
        .reason = try say.reasonNamed(try words.next()),
        .by = words.option("by") orelse "",
        .notice = try words.optionSpan("notice", 0),
    });
    const word = if (done.unchanged) "UNCHANGED" else "OK";
    return say.print(arena, "{s} {s}", .{ word, try say.time(arena, done.at) });
}

fn find(driver: *Driver, arena: Allocator, words: *Words) Answer {
    const manager = try driver.manager();
    const label = try words.next();
    const found = try manager.leasesOn(arena, try words.next());
    if (found.len == 0) return "EMPTY";
    try driver.labels.leases.put(label, found[0]);
    return "OK";
}

fn want(driver: *Driver, _: Allocator, words: *Words) Answer {
    try (try driver.manager()).want(try words.next(), try words.next());
    return "OK";
}

fn unwant(driver: *Driver, _: Allocator, words: *Words) Answer {
    try (try driver.manager()).unwant(try words.next(), try words.next());
    return "OK";
}
