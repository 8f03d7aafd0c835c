//! The declarations are those of the C header: types, members, enumerators and numbers are compared with what the
//! project's own check of the header knows, in both directions.
const std = @import("std");
const ternlease = @import("ternlease");
const capitals = ternlease.c.names.capitals;
const c = ternlease.c;

const layout = @embedFile("layout.def");
const header = @embedFile("ternlease.h");

const structs = .{
    .{ "tern_error_t", c.details.Details },
    .{ "tern_options_t", c.manager.Options },
    .{ "tern_resource_info_t", c.resource.ResourceInfo },
    .{ "tern_lease_info_t", c.lease.LeaseInfo },
    .{ "tern_take_t", c.lease.Take },
    .{ "tern_ticket_info_t", c.ticket.TicketInfo },
    .{ "tern_name_t", c.text.Name },
    .{ "tern_text_t", c.text.Text },
    .{ "tern_claim_t", c.claim.Claim },
    .{ "tern_event_t", c.events.Event },
    .{ "tern_wait_t", c.deadlocks.Wait },
    .{ "tern_host_info_t", c.host.HostInfo },
    .{ "tern_process_info_t", c.host.ProcessInfo },
    .{ "tern_pool_options_t", c.pool.PoolOptions },
    .{ "tern_device_t", c.device.Device },
    .{ "tern_device_status_t", c.device.DeviceStatus },
    .{ "tern_process_t", c.device.Process },
    .{ "tern_device_speed_t", c.device.DeviceSpeed },
    .{ "tern_gpu_claim_t", c.gpu.GpuClaim },
    .{ "tern_cost_t", c.cost.Cost },
    .{ "tern_estimate_t", c.cost.Estimate },
    .{ "tern_task_t", c.cost.Task },
    .{ "tern_machine_options_t", c.machine.MachineOptions },
    .{ "tern_machine_info_t", c.machine.MachineInfo },
    .{ "tern_rate_t", c.machine.Rate },
    .{ "tern_route_t", c.machine.Route },
    .{ "tern_verdict_t", c.decide.Verdict },
    .{ "tern_advice_t", c.decide.Advice },
};

const scalars = .{
    .{ "tern_trit_t", c.lease.LeaseState },
    .{ "tern_trit_t", c.ticket.TicketState },
    .{ "tern_trit_t", c.resource.Health },
    .{ "tern_trit_t", c.decide.VerdictTrit },
    .{ "tern_trit_t", c.decide.CanStore },
    .{ "tern_resource_t", c.resource.ResourceId },
    .{ "tern_lease_t", c.lease.LeaseId },
    .{ "tern_ticket_t", c.ticket.TicketId },
    .{ "tern_watch_fn", c.watch.WatchFn },
    .{ "tern_drop_fn", c.watch.DropFn },
    .{ "tern_progress_fn", c.machine.ProgressFn },
};

const enums = .{
    .{ "tern_status_t", "TERN_", c.status.Status },
    .{ "tern_reason_t", "TERN_REASON_", c.reason.Reason },
    .{ "tern_reason_class_t", "TERN_CLASS_", c.reason.Reason.Class },
    .{ "tern_event_kind_t", "TERN_EVENT_", c.events.EventKind },
    .{ "tern_life_t", "TERN_LIFE_", c.host.Life },
    .{ "tern_vendor_t", "TERN_VENDOR_", c.device.Vendor },
    .{ "tern_kind_t", "TERN_KIND_", c.cost.Kind },
    .{ "tern_machine_class_t", "TERN_MACHINE_CLASS_", c.machine.MachineClass },
    .{ "tern_network_t", "TERN_NETWORK_", c.machine.Network },
    .{ "tern_rate_of_t", "TERN_RATE_", c.machine.RateOf },
    .{ "tern_source_t", "TERN_SOURCE_", c.machine.Source },
    .{ "tern_route_known_t", "TERN_ROUTE_", c.machine.RouteKnown },
    .{ "tern_answer_t", "TERN_ANSWER_", c.decide.Answer },
    .{ "tern_obstacle_t", "TERN_OBSTACLE_", c.decide.Obstacle },
    .{ "tern_bottleneck_t", "TERN_BOTTLENECK_", c.decide.Bottleneck },
    .{ "tern_choice_t", "TERN_CHOICE_", c.decide.Choice },
    .{ "tern_expected_wait_t", "TERN_EXPECTED_WAIT_", c.gpu.ExpectedWaitKind },
};

const trits = .{ c.lease.LeaseState, c.ticket.TicketState, c.resource.Health, c.decide.VerdictTrit };

const flags = .{
    .{ "TERN_OPTION_", c.manager.OptionFlags },
    .{ "TERN_LEASE_", c.lease.LeaseFlags },
    .{ "TERN_EVENT_FLAG_", c.events.EventFlags },
    .{ "TERN_CLAIM_", c.claim.ClaimFlags },
    .{ "TERN_POOL_", c.pool.PoolFlags },
    .{ "TERN_DEVICE_", c.device.DeviceKnown },
    .{ "TERN_ENV_", c.gpu.EnvFlags },
    .{ "TERN_SPEED_", c.device.SpeedKnown },
    .{ "TERN_TASK_", c.cost.TaskFlags },
    .{ "TERN_MACHINE_", c.machine.MachineFlags },
    .{ "TERN_MACHINE_", c.machine.MachineKnown },
};

const constants = .{
    .{ "TERN_FOREVER", ternlease.forever },
    .{ "TERN_NEVER", ternlease.never },
    .{ "TERN_MILLISECOND", ternlease.millisecond },
    .{ "TERN_SECOND", ternlease.second },
    .{ "TERN_NAME_MAX", ternlease.name_max },
};

const Shape = struct { name: []const u8, size: usize, alignment: usize };
const Member = struct { of: []const u8, name: []const u8, offset: usize, size: usize };
const Number = struct { name: []const u8, value: i128 };

/// What is declared here, as the lines of layout.def would say it.
const Declared = struct {
    shapes: std.ArrayListUnmanaged(Shape) = .empty,
    members: std.ArrayListUnmanaged(Member) = .empty,
    numbers: std.ArrayListUnmanaged(Number) = .empty,

    fn collect(arena: std.mem.Allocator) !Declared {
        @setEvalBranchQuota(1_000_000);
        var self: Declared = .{};
        inline for (structs ++ scalars) |entry| try self.shape(arena, entry[0], entry[1]);
        inline for (enums) |entry| try self.shape(arena, entry[0], entry[2]);
        inline for (structs) |entry| {
            inline for (comptime std.meta.fieldNames(entry[1])) |field| try self.members.append(arena, .{
                .of = entry[0],
                .name = field,
                .offset = @offsetOf(entry[1], field),
                .size = @sizeOf(@FieldType(entry[1], field)),
            });
        }
        inline for (enums) |entry| {
            inline for (comptime std.meta.fieldNames(entry[2])) |tag|
                try self.number(arena, entry[1] ++ comptime capitals(tag), @intFromEnum(@field(entry[2], tag)));
        }
        inline for (trits) |Trit| {
            inline for (comptime std.meta.fieldNames(Trit)) |tag| {
                const prefix = comptime if (std.mem.eql(u8, tag, "unknown")) "TERN_TRIT_" else "TERN_";
                try self.number(arena, prefix ++ comptime capitals(tag), @intFromEnum(@field(Trit, tag)));
            }
        }
        inline for (flags) |entry| {
            inline for (comptime std.meta.fieldNames(entry[1])) |field| {
                if (comptime std.mem.eql(u8, field, "reserved")) continue;
                try self.number(arena, entry[0] ++ comptime capitals(field), 1 << @bitOffsetOf(entry[1], field));
            }
        }
        inline for (constants) |entry| try self.number(arena, entry[0], entry[1]);
        return self;
    }

    fn shape(self: *Declared, arena: std.mem.Allocator, name: []const u8, comptime Type: type) !void {
        try self.shapes.append(arena, .{ .name = name, .size = @sizeOf(Type), .alignment = @alignOf(Type) });
    }

    fn number(self: *Declared, arena: std.mem.Allocator, name: []const u8, value: i128) !void {
        try self.numbers.append(arena, .{ .name = name, .value = value });
    }
};

/// The lines of layout.def that begin with a word, and what is in their brackets.
const Lines = struct {
    kind: []const u8,
    rest: std.mem.SplitIterator(u8, .scalar),

    fn of(kind: []const u8) Lines {
        return .{ .kind = kind, .rest = std.mem.splitScalar(u8, layout, '\n') };
    }

    fn next(self: *Lines) ?std.mem.TokenIterator(u8, .any) {
        while (self.rest.next()) |line| {
            if (!std.mem.startsWith(u8, line, self.kind) or line[self.kind.len] != '(') continue;
            return std.mem.tokenizeAny(u8, line[self.kind.len..], "(), ");
        }
        return null;
    }
};

fn parse(comptime Type: type, word: []const u8) !Type {
    return std.fmt.parseInt(Type, word, 0);
}

fn lost(what: []const u8, name: []const u8) error{Lost} {
    std.debug.print("not declared, or declared otherwise: {s} {s}\n", .{ what, name });
    return error.Lost;
}

test "types have the size and alignment that they have in C" {
    var arena = std.heap.ArenaAllocator.init(std.testing.allocator);
    defer arena.deinit();
    const declared = try Declared.collect(arena.allocator());
    var known: usize = 0;
    var lines: Lines = .of("TYPE");
    while (lines.next()) |words| {
        var rest = words;
        const name = rest.next().?;
        const size = try parse(usize, rest.next().?);
        const alignment = try parse(usize, rest.next().?);
        const before = known;
        for (declared.shapes.items) |shape| {
            if (!std.mem.eql(u8, shape.name, name)) continue;
            if (shape.size != size or shape.alignment != alignment) return lost("type", name);
            known += 1;
        }
        if (known == before) return lost("type", name);
    }
    try std.testing.expectEqual(declared.shapes.items.len, known);
}

test "members are where they are in C" {
    var arena = std.heap.ArenaAllocator.init(std.testing.allocator);
    defer arena.deinit();
    const declared = try Declared.collect(arena.allocator());
    var known: usize = 0;
    var lines: Lines = .of("FIELD");
    while (lines.next()) |words| : (known += 1) {
        var rest = words;
        const of = rest.next().?;
        const name = rest.next().?;
        const offset = try parse(usize, rest.next().?);
        const size = try parse(usize, rest.next().?);
        for (declared.members.items) |member| {
            if (!std.mem.eql(u8, member.of, of) or !std.mem.eql(u8, member.name, name)) continue;
            if (member.offset == offset and member.size == size) break;
        } else return lost(of, name);
    }
    try std.testing.expectEqual(declared.members.items.len, known);
}

test "numbers are what they are in C" {
    var arena = std.heap.ArenaAllocator.init(std.testing.allocator);
    defer arena.deinit();
    const declared = try Declared.collect(arena.allocator());
    var lines: Lines = .of("VALUE");
    while (lines.next()) |words| {
        var rest = words;
        const name = rest.next().?;
        const value = try parse(i128, rest.next().?);
        for (declared.numbers.items) |number| {
            if (std.mem.eql(u8, number.name, name) and number.value == value) break;
        } else return lost("number", name);
    }
    // And nothing is declared here that is not there.
    for (declared.numbers.items) |number| {
        lines = .of("VALUE");
        while (lines.next()) |words| {
            var rest = words;
            if (std.mem.eql(u8, rest.next().?, number.name) and try parse(i128, rest.next().?) == number.value) break;
        } else return lost("number in C", number.name);
    }
}

/// Calls `check` with each enumerator that the header lists for a type; how many there are.
fn enumerators(comptime name: []const u8, comptime check: fn (name: []const u8, number: i32) anyerror!void) !usize {
    const begin = std.mem.indexOf(u8, header, "TERN_ENUM_BEGIN(" ++ name ++ ")") orelse return error.NotInTheHeader;
    const end = std.mem.indexOfPos(u8, header, begin, "TERN_ENUM_END").?;
    var lines = std.mem.splitScalar(u8, header[begin..end], '\n');
    var count: usize = 0;
    while (lines.next()) |line| {
        const middle = std.mem.indexOf(u8, line, " = ") orelse continue;
        const trimmed = std.mem.trim(u8, line, " ,");
        if (!std.mem.startsWith(u8, trimmed, "TERN_")) continue;
        try check(std.mem.trim(u8, line[0..middle], " "), try std.fmt.parseInt(i32, std.mem.trim(u8, line[middle + 3 ..], " ,"), 10));
        count += 1;
    }
    return count;
}

test "statuses are those of the header, and of the library, by name and number" {
    const count = try enumerators("tern_status_t", struct {
        fn check(name: []const u8, number: i32) !void {
            const status: ternlease.Status = @enumFromInt(number);
            try std.testing.expectEqualStrings(name, status.name() orelse return lost("status", name));
            try std.testing.expectEqualStrings(name, std.mem.span(c.status.tern_status_name(status)));
        }
    }.check);
    try std.testing.expectEqual(std.meta.fieldNames(ternlease.Status).len, count);
    try std.testing.expectEqual(null, @as(ternlease.Status, @enumFromInt(12345)).name());
}

test "reasons are those of the header, and of the library, by name, number and class" {
    const count = try enumerators("tern_reason_t", struct {
        fn check(name: []const u8, number: i32) !void {
            const reason: ternlease.Reason = @enumFromInt(number);
            const short = name["TERN_REASON_".len..];
            try std.testing.expectEqualStrings(short, reason.name() orelse return lost("reason", name));
            try std.testing.expectEqualStrings(short, std.mem.span(c.reason.tern_reason_name(reason)));
            const class: i32 = if (reason.class()) |known| @intFromEnum(known) else 0;
            try std.testing.expectEqual(c.reason.tern_reason_class(reason), class);
        }
    }.check);
    try std.testing.expectEqual(std.meta.fieldNames(ternlease.Reason).len, count);
    try std.testing.expectEqual(null, @as(ternlease.Reason, @enumFromInt(199)).class());
}

test "the version is that of the header" {
    var buffer: [64]u8 = undefined;
    const line = try std.fmt.bufPrint(&buffer, "#define TERN_VERSION_NUMBER {d}\n", .{c.version.number});
    try std.testing.expect(std.mem.indexOf(u8, header, line) != null);
    try std.testing.expectEqual(c.version.number, ternlease.version.number());
}
