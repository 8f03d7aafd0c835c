//! What there is to see in a table.
const std = @import("std");
const ternlease = @import("ternlease");
const say = @import("say.zig");

const Allocator = std.mem.Allocator;
const Answer = @import("driver.zig").Answer;
const Driver = @import("driver.zig").Driver;
const Words = @import("words.zig").Words;

pub const steps = .{
    .{ "info", leaseInfo },
    .{ "ticket-info", ticketInfo },
    .{ "resource", resource },
    .{ "resources", resources },
    .{ "on", on },
    .{ "held", held },
    .{ "leases", leases },
    .{ "tickets", tickets },
    .{ "counts", counts },
    .{ "counted", counted },
    .{ "deadlocks", deadlocks },
    .{ "processes", processes },
};

fn leaseInfo(driver: *Driver, arena: Allocator, words: *Words) Answer {
    const lease = try driver.lease(try words.next());
    const told = try lease.info();
    var flags: say.List = .{ .arena = arena };
    inline for (.{ "revoking", "spare", "preemptible", "shared" }) |flag| {
        if (@field(told.flags, flag)) try flags.add(flag);
    }
    var takes: say.List = .{ .arena = arena };
    for (try lease.takes(arena)) |take| try takes.print("{s}:{d}:{d}", .{ take.resource.slice(), take.slots, take.memory_mib });
    return say.print(arena, "OK state={s} holder={s} ttl={s} granted={d} end={s} reason={s} priority={d} flags={s} parent={s} by={s} takes={s}", .{
        say.trit(told.state),
        told.holder.slice(),
        try say.time(arena, told.ttl),
        told.granted_at,
        try say.time(arena, told.end),
        say.reason(told.reason),
        told.priority,
        try flags.joinOrDash(","),
        driver.labels.leases.labelOf(told.parent),
        say.orDash(told.revoker.slice()),
        try takes.joinOrDash(","),
    });
}

fn ticketInfo(driver: *Driver, arena: Allocator, words: *Words) Answer {
    const ticket = try driver.ticket(try words.next());
    const told = try ticket.info() orelse return "EMPTY";
    var names: say.List = .{ .arena = arena };
    for (try ticket.resources(arena)) |*name| try names.add(name.slice());
    return say.print(arena, "OK holder={s} place={d} queued={d} count={d} of={s} priority={d}", .{
        told.holder.slice(), told.place, told.queued_at, told.count, try names.join(","), told.priority,
    });
}

fn resource(driver: *Driver, arena: Allocator, words: *Words) Answer {
    const told = try (try driver.manager()).resource(try words.next());
    return say.print(arena, "OK slots={d}/{d} memory={d}/{d} shared={d} health={s} declared={s}", .{
        told.used_slots,
        told.slots,
        told.used_memory_mib,
        told.memory_mib,
        told.shared,
        say.trit(told.health),
        if (told.declared) "yes" else "no",
    });
}

fn resources(driver: *Driver, arena: Allocator, _: *Words) Answer {
    var told: say.List = .{ .arena = arena };
    for (try (try driver.manager()).resources(arena)) |*one| try told.add(one.name.slice());
    return told.ok(" ");
}

fn labelled(driver: *Driver, arena: Allocator, ids: []const ternlease.LeaseId) Answer {
    var told: say.List = .{ .arena = arena };
    for (ids) |id| try told.add(driver.labels.leases.labelOf(id));
    return told.ok(" ");
}

fn on(driver: *Driver, arena: Allocator, words: *Words) Answer {
    return labelled(driver, arena, try (try driver.manager()).leasesOn(arena, try words.next()));
}

fn held(driver: *Driver, arena: Allocator, words: *Words) Answer {
    return labelled(driver, arena, try (try driver.manager()).heldBy(arena, try words.next()));
}

fn leases(driver: *Driver, arena: Allocator, _: *Words) Answer {
    var told: say.List = .{ .arena = arena };
    for (try (try driver.manager()).leases(arena)) |one| try told.add(driver.labels.leases.labelOf(one.lease));
    return told.ok(" ");
}

fn tickets(driver: *Driver, arena: Allocator, _: *Words) Answer {
    var told: say.List = .{ .arena = arena };
    for (try (try driver.manager()).tickets(arena)) |one| try told.add(driver.labels.tickets.labelOf(one.ticket));
    return told.ok(" ");
}

fn counts(driver: *Driver, arena: Allocator, _: *Words) Answer {
    const manager = try driver.manager();
    return say.print(arena, "OK active={d} pending={d} revocations={d}", .{
        try manager.activeCount(), try manager.pendingClaimers(), try manager.revocations(),
    });
}

fn counted(driver: *Driver, arena: Allocator, words: *Words) Answer {
    const manager = try driver.manager();
    return say.print(arena, "OK {d}", .{try manager.count(try say.reasonNamed(try words.next()))});
}

fn deadlocks(driver: *Driver, arena: Allocator, _: *Words) Answer {
    var found = try (try driver.manager()).deadlocks();
    defer found.close();
    const telling = found.with(&driver.details);
    var told: say.List = .{ .arena = arena };
    for (0..found.count) |index| {
        var stuck: say.List = .{ .arena = arena };
        for (try telling.stuck(arena, index)) |*name| try stuck.add(name.slice());
        var cycle: say.List = .{ .arena = arena };
        for (try telling.cycle(arena, index)) |wait| try cycle.print("{s}:{s}>{s}", .{
            wait.worker.slice(), driver.labels.tickets.labelOf(wait.ticket), driver.labels.leases.labelOf(wait.lease),
        });
        const victim = driver.labels.leases.labelOf(try telling.victim(index));
        try told.print("victim={s} stuck={s} cycle={s}", .{ victim, try stuck.join(","), try cycle.join(",") });
    }
    return told.ok(" ; ");
}

fn processes(driver: *Driver, arena: Allocator, _: *Words) Answer {
    const found = try (try driver.manager()).processes(arena);
    return say.print(arena, "OK {d}", .{found.len});
}
