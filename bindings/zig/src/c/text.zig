//! Texts as they cross the boundary: in as pointer and length, out into an array of fixed size.

/// A text that goes in: UTF-8, not kept. `.of("gpu0")` makes one.
pub const Text = extern struct {
    data: ?[*]const u8 = null,
    len: usize = 0,

    pub fn of(text: []const u8) Text {
        return .{ .data = text.ptr, .len = text.len };
    }
};

/// A text that came out, in the struct that it belongs to. `slice()` reads it.
pub fn Chars(comptime capacity: usize) type {
    return extern struct {
        const Self = @This();

        bytes: [capacity]u8 = @splat(0),

        /// The text, for as long as the struct is there.
        pub fn slice(self: *const Self) []const u8 {
            for (self.bytes, 0..) |byte, len| {
                if (byte == 0) return self.bytes[0..len];
            }
            return &self.bytes;
        }

        /// Puts a text there, cut if it is too long.
        pub fn set(self: *Self, text: []const u8) void {
            const len = @min(text.len, capacity - 1);
            @memcpy(self.bytes[0..len], text[0..len]);
            @memset(self.bytes[len..], 0);
        }
    };
}

/// A name in a list.
pub const Name = extern struct {
    struct_size: usize = @sizeOf(Name),
    text: Chars(256) = .{},

    pub fn slice(self: *const Name) []const u8 {
        return self.text.slice();
    }
};
