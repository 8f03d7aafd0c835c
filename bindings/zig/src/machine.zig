//! Machine: what this machine can do, and what follows from that.
const std = @import("std");
const c = @import("c.zig");
const errors = @import("errors.zig");
const lists = @import("lists.zig");

const Allocator = std.mem.Allocator;
const Details = errors.Details;
const Error = errors.Error;
const Estimate = c.cost.Estimate;
const GpuClaim = @import("gpu_claim.zig").GpuClaim;
const ListError = errors.ListError;
const Pool = @import("pool.zig").Pool;
const Task = @import("task.zig").Task;
const check = errors.check;

/// Is told what is being measured, by the thread that reads the machine.
pub const Progress = struct {
    context: *anyopaque,
    call: *const fn (context: *anyopaque, step: []const u8, done: u32, of: u32) void,

    /// Calls `function` with `context`, a pointer.
    pub fn to(context: anytype, comptime function: fn (@TypeOf(context), step: []const u8, done: u32, of: u32) void) Progress {
        const Context = @TypeOf(context);
        const typed = struct {
            fn call(untyped: *anyopaque, step: []const u8, done: u32, of: u32) void {
                function(@as(Context, @ptrCast(@alignCast(untyped))), step, done, of);
            }
        };
        return .{ .context = @ptrCast(@constCast(context)), .call = typed.call };
    }

    fn fromC(user: ?*anyopaque, step: [*:0]const u8, done: u32, of: u32) callconv(.c) void {
        const self: *const Progress = @ptrCast(@alignCast(user.?));
        self.call(self.context, std.mem.span(step), done, of);
    }
};

/// How a machine is read; what is zero is as usual. Times are in microseconds.
pub const MachineOptions = struct {
    /// Measure the processor and its memory. Without that all rates are estimates, and it takes no time.
    benchmarks: bool = true,
    /// Ask for the network. Without that there is none.
    network: bool = true,
    /// Keep what is measured, so that next time nothing needs to be.
    keep: bool = false,
    /// Measure anew, whatever was kept. Not together with `keep`.
    refresh: bool = false,
    /// Measure for at most so long; usually 300 ms.
    budget_us: u64 = 0,
    /// Measure the disk, too, for at most so long; usually not at all.
    disk_budget_us: u64 = 0,
    /// Use nothing that was kept and is older; usually seven days.
    max_age_us: u64 = 0,
    /// Keep what is measured in this file, instead of one in the user's cache directory.
    cache_file: []const u8 = "",
    progress: ?Progress = null,
    /// Told why the machine could not be read.
    details: ?*Details = null,
};

/// What this machine can do. It is a handle on figures, safe to use from any thread.
pub const Machine = struct {
    handle: ?*c.machine.Machine,
    details: ?*Details = null,

    /// Reads this machine, and measures it as the options say. `store` is the directory where results are kept, of
    /// whose disk the room counts. Blocks the thread while it measures.
    pub fn read(store: []const u8, options: MachineOptions) Error!Machine {
        try errors.abiCheck(options.details);
        const raw: c.machine.MachineOptions = .{
            .flags = .{
                .no_benchmarks = !options.benchmarks,
                .no_network = !options.network,
                .keep = options.keep,
                .refresh = options.refresh,
            },
            .budget_us = options.budget_us,
            .disk_budget_us = options.disk_budget_us,
            .max_age_us = options.max_age_us,
            .cache_file = options.cache_file.ptr,
            .cache_file_len = options.cache_file.len,
            .progress = if (options.progress == null) null else Progress.fromC,
            .user = if (options.progress) |*progress| @ptrCast(@constCast(progress)) else null,
        };
        var handle: ?*c.machine.Machine = null;
        try check(c.machine.tern_machine_read(store.ptr, store.len, &raw, &handle, options.details));
        return .{ .handle = handle };
    }

    /// Closes it. A second time does nothing.
    pub fn close(self: *Machine) void {
        c.machine.tern_machine_close(self.handle);
        self.handle = null;
    }

    /// The same machine, whose calls fill in these details when they fail.
    pub fn with(self: Machine, details: *Details) Machine {
        return .{ .handle = self.handle, .details = details };
    }

    /// What it can do, and had left when it was read.
    pub fn info(self: Machine) Error!c.machine.MachineInfo {
        return self.look(c.machine.MachineInfo, c.machine.tern_machine_info, .{});
    }

    /// The figures as JSON, with all rates.
    pub fn json(self: Machine, allocator: Allocator) ListError![:0]u8 {
        return lists.text(allocator, self.details, c.machine.tern_machine_json, .{try self.live()});
    }

    /// How fast it is at something.
    pub fn rate(self: Machine, which: c.machine.RateOf) Error!c.machine.Rate {
        return self.look(c.machine.Rate, c.machine.tern_machine_rate, .{which});
    }

    /// How long a program takes to begin with a GPU, in nanoseconds. Counts in advice from now on.
    pub fn setGpuStart(self: Machine, time: Estimate) Error!void {
        return check(c.machine.tern_machine_set_gpu_start(try self.live(), time.lo, time.mid, time.hi, self.details));
    }

    /// The way to where results can be fetched from, as far as it is known by now; null if there is no network.
    pub fn route(self: Machine) Error!?c.machine.Route {
        return self.look(c.machine.Route, c.machine.tern_machine_route, .{}) catch |err| switch (err) {
            error.Empty => null,
            else => err,
        };
    }

    /// From now on this is the way. Null: there is none, and nothing can be fetched.
    pub fn setRoute(self: Machine, way: ?c.machine.Route) Error!void {
        const handle = try self.live();
        return check(c.machine.tern_machine_set_route(handle, if (way) |*known| known else null, self.details));
    }

    /// A transfer of so many bytes took so many nanoseconds. `error.Empty` if there is no network.
    pub fn recordFetch(self: Machine, bytes: u64, took_ns: u64) Error!void {
        return check(c.machine.tern_machine_record_fetch(try self.live(), bytes, took_ns, self.details));
    }

    /// How long a task takes here, with what was learned of it and whether or not its memory is there.
    pub fn computeTime(self: Machine, task: Task) Error!Estimate {
        return self.look(Estimate, c.decide.tern_machine_compute_time, .{&task.toC()});
    }

    /// How long a task takes here by the rates alone: what `Learned.record()` compares a measured run with.
    pub fn untaughtTime(self: Machine, task: Task) Error!u64 {
        return self.look(u64, c.decide.tern_machine_untaught_time, .{&task.toC()});
    }

    /// How long fetching so many bytes takes, once it is known that they are there.
    pub fn fetchTime(self: Machine, bytes: u64) Error!Estimate {
        return self.look(Estimate, c.decide.tern_machine_fetch_time, .{bytes});
    }

    /// How long keeping so many bytes takes, on the disk with the results.
    pub fn storeTime(self: Machine, bytes: u64) Error!Estimate {
        return self.look(Estimate, c.decide.tern_machine_store_time, .{bytes});
    }

    /// Is there room for so many bytes on the disk with the results, and some to spare?
    pub fn canStore(self: Machine, bytes: u64) c.decide.CanStore {
        return c.decide.tern_machine_can_store(self.handle, bytes, self.details);
    }

    /// For how long a result is worth keeping, in microseconds: from a tenth of `base_us` to a thousand times as long.
    pub fn suggestTtl(self: Machine, task: Task, base_us: u64) Error!u64 {
        return self.look(u64, c.decide.tern_machine_suggest_ttl, .{ &task.toC(), base_us });
    }

    /// How large a buffer for rows may be, in bytes and whole rows. `error.Empty` if not even one fits.
    pub fn etlBuffer(self: Machine, row_bytes: u64) Error!u64 {
        return self.look(u64, c.decide.tern_machine_etl_buffer, .{row_bytes});
    }

    /// A cost for something that took so long here, to be compared with other costs.
    pub fn normalize(self: Machine, took_ns: u64, peak_mem: u64, result_bytes: u64) Error!c.cost.Cost {
        return self.look(c.cost.Cost, c.decide.tern_machine_normalize, .{ took_ns, peak_mem, result_bytes });
    }

    /// What a cached result saves each time it is fetched instead of computed, in nanoseconds.
    pub fn cacheValue(self: Machine, task: Task) Error!i64 {
        return self.look(i64, c.decide.tern_machine_cache_value, .{&task.toC()});
    }

    /// Compute the result of a task here, or fetch it?
    pub fn verdict(self: Machine, task: Task) Error!c.decide.Verdict {
        return self.look(c.decide.Verdict, c.decide.tern_machine_verdict, .{&task.toC()});
    }

    /// The same as JSON.
    pub fn verdictJson(self: Machine, allocator: Allocator, task: Task) ListError![:0]u8 {
        return lists.text(allocator, self.details, c.decide.tern_machine_verdict_json, .{ try self.live(), &task.toC() });
    }

    /// Where to do a task: here, on devices that the claim would get now or later, or nowhere because its result can be
    /// fetched? Claims nothing.
    pub fn advise(self: Machine, task: Task, pool: Pool, claim: GpuClaim) Error!c.decide.Advice {
        return self.look(c.decide.Advice, c.decide.tern_machine_advise, .{ &task.toC(), try pool.live(), &claim.toC() });
    }

    /// The same as JSON.
    pub fn adviseJson(self: Machine, allocator: Allocator, task: Task, pool: Pool, claim: GpuClaim) ListError![:0]u8 {
        const function = c.decide.tern_machine_advise_json;
        return lists.text(allocator, self.details, function, .{ try self.live(), &task.toC(), try pool.live(), &claim.toC() });
    }

    fn look(self: Machine, comptime Told: type, comptime function: anytype, inputs: anytype) Error!Told {
        const handle = try self.live();
        var told: Told = switch (Told) {
            u64, i64 => 0,
            else => .{},
        };
        try check(@call(.auto, function, .{handle} ++ inputs ++ .{ &told, self.details }));
        return told;
    }

    /// For the functions of `c`. It stays this machine's.
    pub fn live(self: Machine) Error!*c.machine.Machine {
        return errors.live(self.handle, self.details);
    }
};
