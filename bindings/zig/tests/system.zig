//! What the tests need of the operating system, by its C library: the standard library's way differs from version to
//! version.
const std = @import("std");

extern "c" fn fork() c_int;
extern "c" fn waitpid(pid: c_int, status: *c_int, options: c_int) c_int;
extern "c" fn _exit(status: c_int) noreturn;
extern "c" fn getpid() c_int;
extern "c" fn pipe(fds: *[2]c_int) c_int;
extern "c" fn fcntl(fd: c_int, command: c_int, ...) c_int;
extern "c" fn open(path: [*:0]const u8, flags: c_int, ...) c_int;
extern "c" fn unlink(path: [*:0]const u8) c_int;
extern "c" fn poll(fds: [*]PollFd, count: c_ulong, timeout_ms: c_int) c_int;

pub extern "c" fn close(fd: c_int) c_int;
pub extern "c" fn read(fd: c_int, buffer: *anyopaque, count: usize) isize;
pub extern "c" fn write(fd: c_int, buffer: *const anyopaque, count: usize) isize;

const PollFd = extern struct { fd: c_int, events: c_short, revents: c_short = 0 };

/// Runs a function in a child, whose exit status is what it returns.
pub fn inChild(context: anytype, comptime function: fn (@TypeOf(context)) u8) !u8 {
    const child = fork();
    if (child == -1) return error.CannotFork;
    if (child == 0) _exit(function(context));
    var status: c_int = 0;
    if (waitpid(child, &status, 0) != child) return error.CannotWait;
    if (status & 0x7f != 0) return error.ChildWasKilled;
    return @intCast((status >> 8) & 0xff);
}

pub fn processNumber() u32 {
    return @intCast(getpid());
}

/// Is there something to read now?
pub fn isReadable(fd: c_int) bool {
    var fds = [_]PollFd{.{ .fd = fd, .events = 1 }};
    return poll(&fds, 1, 0) == 1;
}

/// Waits until there is something to read. A test that waits here for ever has failed.
pub fn waitReadable(fd: c_int) void {
    var fds = [_]PollFd{.{ .fd = fd, .events = 1 }};
    while (poll(&fds, 1, -1) != 1) {}
}

/// Lets one thread tell another that something has happened, and what.
pub const Signal = struct {
    fds: [2]c_int,

    pub fn make() !Signal {
        var fds: [2]c_int = undefined;
        if (pipe(&fds) != 0) return error.NoPipe;
        return .{ .fds = fds };
    }

    pub fn close(self: Signal) void {
        for (self.fds) |fd| _ = @import("system.zig").close(fd);
    }

    pub fn tell(self: Signal, word: u8) void {
        _ = write(self.fds[1], &word, 1);
    }

    /// Waits for the next word.
    pub fn hear(self: Signal) !u8 {
        var word: u8 = 0;
        if (read(self.fds[0], &word, 1) != 1) return error.NobodyTells;
        return word;
    }
};

/// How many descriptors this process has open, of the first thousand.
pub fn openDescriptors() usize {
    const get_flags = 1;
    var count: usize = 0;
    for (0..1000) |fd| {
        if (fcntl(@intCast(fd), get_flags) != -1) count += 1;
    }
    return count;
}

/// How much memory this process has, in KiB.
pub fn residentKib() !usize {
    const fd = open("/proc/self/status", 0);
    if (fd == -1) return error.NoProc;
    defer _ = close(fd);
    var buffer: [8192]u8 = undefined;
    const length = read(fd, &buffer, buffer.len);
    if (length <= 0) return error.NoProc;
    var lines = std.mem.splitScalar(u8, buffer[0..@intCast(length)], '\n');
    while (lines.next()) |line| {
        if (!std.mem.startsWith(u8, line, "VmRSS:")) continue;
        var words = std.mem.tokenizeAny(u8, line["VmRSS:".len..], " \tkB");
        return std.fmt.parseInt(usize, words.next().?, 10);
    }
    return error.NoProc;
}

/// A table of a test's own that processes share.
pub const HostTable = struct {
    buffer: [128]u8 = @splat(0),
    length: usize = 0,

    pub fn make(name: []const u8) !HostTable {
        var self: HostTable = .{};
        self.length = (try std.fmt.bufPrint(&self.buffer, "host:/tmp/ternlease-zig-{s}-{d}", .{ name, processNumber() })).len;
        return self;
    }

    pub fn url(self: *const HostTable) []const u8 {
        return self.buffer[0..self.length];
    }

    pub fn remove(self: *const HostTable) void {
        _ = unlink(@ptrCast(self.buffer["host:".len..].ptr));
    }
};
