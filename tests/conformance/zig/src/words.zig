//! The words of a step.
const std = @import("std");
const forever = @import("ternlease").forever;

pub const Nonsense = error{Nonsense};

/// Words that come in order, and options that come in any.
pub const Words = struct {
    line: []const u8,
    plain: std.mem.TokenIterator(u8, .scalar),

    pub fn of(line: []const u8) Words {
        return .{ .line = line, .plain = std.mem.tokenizeScalar(u8, line, ' ') };
    }

    pub fn maybe(self: *Words) ?[]const u8 {
        while (self.plain.next()) |word| {
            const middle = std.mem.indexOfScalar(u8, word, '=') orelse return word;
            // A URL may have options of its own.
            if (std.mem.indexOfScalar(u8, word[0..middle], ':') != null) return word;
        }
        return null;
    }

    pub fn next(self: *Words) Nonsense![]const u8 {
        return self.maybe() orelse error.Nonsense;
    }

    pub fn number(self: *Words, comptime Number: type) Nonsense!Number {
        return parse(Number, try self.next());
    }

    pub fn span(self: *Words) Nonsense!u64 {
        return parseSpan(try self.next());
    }

    /// What stands behind `key=`.
    pub fn option(self: Words, key: []const u8) ?[]const u8 {
        var words = std.mem.tokenizeScalar(u8, self.line, ' ');
        while (words.next()) |word| {
            const middle = std.mem.indexOfScalar(u8, word, '=') orelse continue;
            if (std.mem.eql(u8, word[0..middle], key)) return word[middle + 1 ..];
        }
        return null;
    }

    pub fn optionNumber(self: Words, key: []const u8, usual: anytype) Nonsense!@TypeOf(usual) {
        return if (self.option(key)) |word| parse(@TypeOf(usual), word) else usual;
    }

    pub fn optionSpan(self: Words, key: []const u8, usual: u64) Nonsense!u64 {
        return if (self.option(key)) |word| parseSpan(word) else usual;
    }

    /// Is the word there, by itself?
    pub fn has(self: Words, wanted: []const u8) bool {
        var words = std.mem.tokenizeScalar(u8, self.line, ' ');
        while (words.next()) |word| {
            if (std.mem.eql(u8, word, wanted)) return true;
        }
        return false;
    }
};

pub fn parseSpan(word: []const u8) Nonsense!u64 {
    return if (std.mem.eql(u8, word, "forever")) forever else parse(u64, word);
}

fn parse(comptime Number: type, word: []const u8) Nonsense!Number {
    // Zig reads 1_000 as a number; the drivers do not.
    if (std.mem.indexOfScalar(u8, word, '_') != null) return error.Nonsense;
    return std.fmt.parseInt(Number, word, 10) catch error.Nonsense;
}
