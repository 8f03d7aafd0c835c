//! Events: the history, as it is made.
const c = @import("c.zig");
const errors = @import("errors.zig");

const Details = errors.Details;
const Error = errors.Error;
const check = errors.check;

/// The cursor of `Manager.events()` for all that is remembered.
pub const oldest: u64 = 0;

/// The cursor of `Manager.events()` for nothing of what has happened so far.
pub const from_now: u64 = @import("time.zig").forever;

/// A reader of events, with a place in the history of its own. It may outlive its manager.
///
///     var events = try manager.events(ternlease.oldest);
///     defer events.close();
///     while (try events.next()) |event|
///         if (event.kind == .ended) bill(event.lease, event.duration);
pub const Events = struct {
    handle: ?*c.events.Events,
    details: ?*Details = null,

    pub fn open(manager: *const c.manager.Manager, cursor: u64, details: ?*Details) Error!Events {
        var handle: ?*c.events.Events = null;
        try check(c.events.tern_events_open(manager, cursor, &handle, details));
        return .{ .handle = handle };
    }

    /// Closes it. A second time does nothing.
    pub fn close(self: *Events) void {
        c.events.tern_events_close(self.handle);
        self.handle = null;
    }

    /// The same reader, whose calls fill in these details when they fail.
    pub fn with(self: Events, details: *Details) Events {
        return .{ .handle = self.handle, .details = details };
    }

    /// The next event; null if there is none now, `error.Closed` if there is none and the manager is gone.
    pub fn next(self: Events) Error!?c.events.Event {
        const handle = try errors.live(self.handle, self.details);
        var event: c.events.Event = .{};
        return switch (c.events.tern_events_next(handle, &event, self.details)) {
            .ok => event,
            .empty => null,
            else => |status| errors.errorOf(status),
        };
    }

    /// Blocks the thread until there is an event to read, for so many microseconds at most: false if there is none.
    /// `error.Closed` if there is none and the manager is gone.
    pub fn wait(self: Events, timeout_us: u64) Error!bool {
        const handle = try errors.live(self.handle, self.details);
        return switch (c.events.tern_events_wait(handle, timeout_us, self.details)) {
            .ok => true,
            .timeout => false,
            else => |status| errors.errorOf(status),
        };
    }

    /// A descriptor that is readable while there may be something to read: from an event until `next()` has said null,
    /// and for ever once the manager is gone. It belongs to the reader: do not close it, nor read from it.
    pub fn fd(self: Events) Error!c_int {
        const handle = try errors.live(self.handle, self.details);
        var opened: c_int = -1;
        try check(c.events.tern_events_fd(handle, &opened, self.details));
        return opened;
    }
};
