//! Pools: devices, and claims for them.
const std = @import("std");
const ternlease = @import("ternlease");
const say = @import("say.zig");
const texts = @import("manager.zig").texts;

const Allocator = std.mem.Allocator;
const Answer = @import("driver.zig").Answer;
const Driver = @import("driver.zig").Driver;
const StepError = @import("driver.zig").StepError;
const Words = @import("words.zig").Words;

pub const steps = .{
    .{ "pool", open },
    .{ "capacity", capacity },
    .{ "pending", pending },
    .{ "try", tryClaim },
    .{ "gpu", claim },
    .{ "gpu-enqueue", enqueue },
    .{ "expected", expected },
    .{ "gpu-release", release },
    .{ "devices", devices },
    .{ "env", env },
    .{ "device", device },
    .{ "snapshot", snapshot },
};

fn open(driver: *Driver, _: Allocator, words: *Words) Answer {
    const opened = try ternlease.Pool.on(try driver.manager(), .{
        .devices = words.option("devices") orelse "host",
        .slots = try words.optionNumber("slots", @as(u32, 0)),
        .details = &driver.details,
    });
    if (driver.open_pool) |*former| former.close();
    driver.open_pool = opened;
    return "OK";
}

fn leaseOf(driver: *Driver, label: []const u8) error{Nonsense}!ternlease.GpuLease {
    return (try driver.pool()).lease(driver.labels.lease(label)).with(&driver.details);
}

fn capacity(driver: *Driver, arena: Allocator, _: *Words) Answer {
    return say.print(arena, "OK {d}", .{try (try driver.pool()).capacity()});
}

fn pending(driver: *Driver, arena: Allocator, _: *Words) Answer {
    return say.print(arena, "OK {d}", .{try (try driver.pool()).pendingClaimers()});
}

fn tryClaim(driver: *Driver, _: Allocator, words: *Words) Answer {
    const pool = try driver.pool();
    const label = try words.next();
    try driver.labels.leases.put(label, (try pool.tryClaim()).id);
    return "OK";
}

fn claim(driver: *Driver, arena: Allocator, words: *Words) Answer {
    const pool = try driver.pool();
    const label = try words.next();
    const lease = try pool.claim(try claimOf(driver, arena, words));
    try driver.labels.leases.put(label, lease.id);
    return "OK";
}

fn enqueue(driver: *Driver, arena: Allocator, words: *Words) Answer {
    const pool = try driver.pool();
    const label = try words.next();
    switch (try pool.enqueue(try claimOf(driver, arena, words))) {
        .lease => |lease| {
            try driver.labels.granted(label, lease.id);
            return "OK";
        },
        .ticket => |ticket| {
            try driver.labels.waiting(label, ticket.id);
            return "WAITING";
        },
    }
}

fn expected(driver: *Driver, arena: Allocator, words: *Words) Answer {
    const pool = try driver.pool();
    return switch (try pool.expectedWait(try claimOf(driver, arena, words))) {
        .none => "OK none",
        .about => |nanoseconds| say.print(arena, "OK about {d}", .{nanoseconds}),
        .unknown => "OK unknown",
        .no_devices => "OK no-devices",
    };
}

fn claimOf(driver: *Driver, arena: Allocator, words: *Words) StepError!ternlease.GpuClaim {
    return .{
        .holder = words.option("holder") orelse "",
        .devices = if (words.option("devices")) |listed| try texts(arena, listed) else &.{},
        .count = try words.optionNumber("count", @as(u32, 1)),
        .slots = try words.optionNumber("slots", @as(u32, 0)),
        .memory_mib = try words.optionNumber("memory", @as(u32, 0)),
        .min_memory_mib = try words.optionNumber("min-memory", @as(u32, 0)),
        .vendor = if (words.option("vendor")) |name| std.meta.stringToEnum(ternlease.Vendor, name) orelse return error.Nonsense else .any,
        .priority = try words.optionNumber("priority", @as(i32, 0)),
        .ttl = try words.optionSpan("ttl", ternlease.forever),
        .wait = try words.optionSpan("wait", 0),
        .notice = try words.optionSpan("notice", 0),
        .parent = driver.labels.lease(words.option("parent") orelse ""),
        .spare = words.has("spare"),
        .preemptible = words.has("preemptible"),
        .preempt = words.has("preempt"),
    };
}

fn release(driver: *Driver, _: Allocator, words: *Words) Answer {
    try (try leaseOf(driver, try words.next())).releaseChecked();
    return "OK";
}

fn devices(driver: *Driver, arena: Allocator, words: *Words) Answer {
    var told: say.List = .{ .arena = arena };
    for (try (try leaseOf(driver, try words.next())).places(arena)) |place| try told.print("{d}", .{place});
    return told.ok(" ");
}

fn env(driver: *Driver, arena: Allocator, words: *Words) Answer {
    const lease = try leaseOf(driver, try words.next());
    var told: say.List = .{ .arena = arena };
    var changes = ternlease.envChanges(try lease.env(arena, if (words.has("uuid")) .by_uuid else .by_number));
    while (changes.next()) |change| {
        if (change.value) |value| try told.print("{s}={s}", .{ change.name, value }) else try told.add(change.name);
    }
    return told.ok(" ");
}

fn device(driver: *Driver, arena: Allocator, words: *Words) Answer {
    const pool = try driver.pool();
    const told = try pool.device(try words.number(usize));
    return say.print(arena, "OK key={s} vendor={s} index={d} memory={s} uuid={s} pci={s}", .{
        told.key.slice(),
        std.enums.tagName(ternlease.Vendor, told.vendor) orelse "?",
        told.index,
        if (told.known.memory) try say.print(arena, "{d}", .{told.memory_mib}) else "-",
        say.orDash(told.uuid.slice()),
        say.orDash(told.pci.slice()),
    });
}

fn snapshot(driver: *Driver, arena: Allocator, _: *Words) Answer {
    var told: say.List = .{ .arena = arena };
    for (try (try driver.pool()).snapshot(arena), 0..) |status, place| {
        try told.print("{d}:{s}:{s}", .{ place, say.trit(status.health), driver.labels.leases.labelOf(status.lease) });
    }
    return told.ok(" ");
}
