//! The few calls of the system's C library that this one needs. Declared here, because the standard library moves its
//! own from version to version.
const Error = @import("errors.zig").Error;
const forever = @import("time.zig").forever;

const PollFd = extern struct { fd: c_int, events: c_short, revents: c_short = 0 };
const TimeSpec = extern struct { sec: c_long, nsec: c_long };

const readable: c_short = 1;
const monotonic: c_int = 1;

pub extern "c" fn close(fd: c_int) c_int;
extern "c" fn read(fd: c_int, buffer: *anyopaque, count: usize) isize;
extern "c" fn poll(fds: [*]PollFd, count: c_ulong, timeout_ms: c_int) c_int;
extern "c" fn clock_gettime(clock: c_int, now: *TimeSpec) c_int;

/// Waits until there is something to read: false if there is nothing for so many microseconds. Signals do not end it.
pub fn waitReadable(fd: c_int, timeout_us: u64) Error!bool {
    const longest_us = 1_000_000_000;
    const begin = nowMicros();
    while (true) {
        const passed = nowMicros() -% begin;
        const left = if (timeout_us == forever) longest_us else @min(timeout_us -| passed, longest_us);
        // Rounded up: a wait that ends early would only begin again.
        const left_ms: c_int = @intCast((left + 999) / 1000);
        var fds = [_]PollFd{.{ .fd = fd, .events = readable }};
        if (poll(&fds, 1, left_ms) > 0) return if (fds[0].revents & readable != 0) true else error.System;
        if (left == 0) return false;
    }
}

/// Makes a descriptor unreadable until the next time.
pub fn drain(fd: c_int) void {
    var count: u64 = 0;
    _ = read(fd, &count, @sizeOf(u64));
}

fn nowMicros() u64 {
    var now: TimeSpec = .{ .sec = 0, .nsec = 0 };
    _ = clock_gettime(monotonic, &now);
    return @intCast(now.sec * 1_000_000 + @divTrunc(now.nsec, 1000));
}
