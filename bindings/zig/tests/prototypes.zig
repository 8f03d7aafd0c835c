//! The functions are those of the C header: each is declared here, with as many arguments of the same sizes.
const std = @import("std");
const c = @import("ternlease").c;

const header = @embedFile("ternlease.h");
const layout = @embedFile("layout.def");
const symbols = @embedFile("symbols.txt");

const files = .{
    c.claim,   c.cost,    c.deadlocks, c.decide, c.device,   c.events, c.gpu,    c.host,    c.lease,
    c.machine, c.manager, c.pool,      c.reason, c.resource, c.status, c.ticket, c.version, c.watch,
};

/// The sizes of the arguments of a function that is declared; null if it is not.
fn argumentsOf(name: []const u8, buffer: []usize) ?[]const usize {
    @setEvalBranchQuota(1_000_000);
    inline for (files) |file| {
        inline for (comptime std.meta.declarations(file)) |declaration| {
            // Older versions of Zig have a struct around the name.
            const declared: []const u8 = if (@typeInfo(@TypeOf(declaration)) == .@"struct") declaration.name else declaration;
            if (comptime std.mem.startsWith(u8, declared, "tern_")) {
                if (std.mem.eql(u8, declared, name)) return sizes(@TypeOf(@field(file, declared)), buffer);
            }
        }
    }
    return null;
}

fn sizes(comptime Function: type, buffer: []usize) []const usize {
    const Arguments = std.meta.ArgsTuple(Function);
    const names = comptime std.meta.fieldNames(Arguments);
    inline for (names, 0..) |argument, index| buffer[index] = @sizeOf(@FieldType(Arguments, argument));
    return buffer[0..names.len];
}

/// The size of an argument as the header writes it.
fn sizeInC(argument: []const u8) !usize {
    if (std.mem.indexOfScalar(u8, argument, '*') != null) return 8;
    var words = std.mem.tokenizeAny(u8, argument, " \n");
    const type_name = words.next().?;
    const plain = std.StaticStringMap(usize).initComptime(.{
        .{ "uint64_t", 8 }, .{ "int64_t", 8 }, .{ "size_t", 8 }, .{ "uint32_t", 4 }, .{ "int32_t", 4 },
    });
    if (plain.get(type_name)) |size| return size;
    var buffer: [64]u8 = undefined;
    const begin = try std.fmt.bufPrint(&buffer, "TYPE({s}, ", .{type_name});
    const found = (std.mem.indexOf(u8, layout, begin) orelse return error.UnknownType) + begin.len;
    const end = std.mem.indexOfScalarPos(u8, layout, found, ',').?;
    return std.fmt.parseInt(usize, layout[found..end], 10);
}

/// What stands in the brackets of the function's declaration.
fn inBrackets(name: []const u8) ![]const u8 {
    var from: usize = 0;
    while (std.mem.indexOfPos(u8, header, from, name)) |at| : (from = at + 1) {
        const open = at + name.len;
        // Comments mention functions, too: those begin a line with their type.
        const line = header[(std.mem.lastIndexOfScalar(u8, header[0..at], '\n') orelse 0) + 1 .. at];
        if (header[open] != '(' or line.len == 0 or line[0] == ' ' or line[0] == '/') continue;
        return header[open + 1 .. std.mem.indexOfScalarPos(u8, header, open, ')').?];
    }
    return error.NotInTheHeader;
}

test "every function is declared as in the header" {
    var count: usize = 0;
    var names = std.mem.tokenizeScalar(u8, symbols, '\n');
    while (names.next()) |name| : (count += 1) {
        errdefer std.debug.print("function: {s}\n", .{name});
        var buffer: [16]usize = undefined;
        var declared = argumentsOf(name, &buffer) orelse return error.NotDeclared;
        const brackets = try inBrackets(name);
        if (!std.mem.eql(u8, brackets, "void")) {
            var arguments = std.mem.splitScalar(u8, brackets, ',');
            while (arguments.next()) |argument| {
                if (declared.len == 0) return error.TooFewArguments;
                try std.testing.expectEqual(try sizeInC(argument), declared[0]);
                declared = declared[1..];
            }
        }
        if (declared.len != 0) return error.TooManyArguments;
    }
    try std.testing.expect(count > 100);
}
