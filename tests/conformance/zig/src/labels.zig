//! The driver's own names for leases and tickets.
const std = @import("std");
const ternlease = @import("ternlease");

const allocator = std.heap.c_allocator;

/// Things by their labels; a label that is given again means the newer one.
pub fn Labelled(comptime Thing: type) type {
    return struct {
        const Self = @This();
        const Entry = struct { label: []const u8, thing: Thing };

        entries: std.ArrayListUnmanaged(Entry) = .empty,

        pub fn put(self: *Self, label: []const u8, thing: Thing) !void {
            if (self.find(label)) |entry| {
                entry.thing = thing;
                return;
            }
            const kept = try allocator.dupe(u8, label);
            errdefer allocator.free(kept);
            try self.entries.append(allocator, .{ .label = kept, .thing = thing });
        }

        pub fn get(self: Self, label: []const u8) ?Thing {
            const entry = self.find(label) orelse return null;
            return entry.thing;
        }

        pub fn remove(self: *Self, label: []const u8) void {
            for (self.entries.items, 0..) |entry, index| {
                if (!std.mem.eql(u8, entry.label, label)) continue;
                allocator.free(entry.label);
                _ = self.entries.swapRemove(index);
                return;
            }
        }

        /// The label of an id, a dash for none, `?` if it has no label here.
        pub fn labelOf(self: Self, thing: Thing) []const u8 {
            if (thing == .none) return "-";
            for (self.entries.items) |entry| {
                if (entry.thing == thing) return entry.label;
            }
            return "?";
        }

        fn find(self: Self, label: []const u8) ?*Entry {
            for (self.entries.items) |*entry| {
                if (std.mem.eql(u8, entry.label, label)) return entry;
            }
            return null;
        }

        pub fn clear(self: *Self) void {
            for (self.entries.items) |entry| allocator.free(entry.label);
            self.entries.deinit(allocator);
            self.entries = .empty;
        }
    };
}

pub const Labels = struct {
    leases: Labelled(ternlease.LeaseId) = .{},
    tickets: Labelled(ternlease.TicketId) = .{},

    /// Granted at once: what the label meant before as a ticket is no more.
    pub fn granted(self: *Labels, label: []const u8, id: ternlease.LeaseId) !void {
        self.tickets.remove(label);
        try self.leases.put(label, id);
    }

    pub fn waiting(self: *Labels, label: []const u8, id: ternlease.TicketId) !void {
        self.leases.remove(label);
        try self.tickets.put(label, id);
    }

    pub fn lease(self: Labels, label: []const u8) ternlease.LeaseId {
        return self.leases.get(label) orelse .none;
    }

    pub fn ticket(self: Labels, label: []const u8) ternlease.TicketId {
        return self.tickets.get(label) orelse .none;
    }

    pub fn clear(self: *Labels) void {
        self.leases.clear();
        self.tickets.clear();
    }
};
