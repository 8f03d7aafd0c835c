//! Estimates, verdicts and advice: how long things take on a machine, and what follows from that.
const Chars = @import("text.zig").Chars;
const Cost = @import("cost.zig").Cost;
const Details = @import("details.zig").Details;
const Estimate = @import("cost.zig").Estimate;
const ExpectedWaitKind = @import("gpu.zig").ExpectedWaitKind;
const GpuClaim = @import("gpu.zig").GpuClaim;
const Machine = @import("machine.zig").Machine;
const Pool = @import("pool.zig").Pool;
const Status = @import("status.zig").Status;
const Task = @import("cost.zig").Task;

/// Is there room? `unknown`: the question failed.
pub const CanStore = enum(i8) { yes = 1, perhaps = 0, no = -1, unknown = -128, _ };

/// What to do about a result that somebody else may have.
pub const Answer = enum(i32) {
    compute = -1,
    /// It makes no difference.
    break_even = 0,
    fetch = 1,
    /// Neither can be done here.
    impossible = 2,
    _,
};

/// The same as one of three; unknown if neither can be done.
pub const VerdictTrit = enum(i8) { fetch = 1, break_even = 0, compute = -1, unknown = -128, _ };

/// Why something cannot be done here.
pub const Obstacle = enum(i32) {
    none = 0,
    /// It needs more memory than one computation may take here.
    memory = 1,
    /// It never ends.
    endless = 2,
    /// There is no network.
    network = 3,
    /// There is no room for the result.
    disk = 4,
    /// There is no device that the claim could get.
    no_device = 5,
    /// It needs more memory than the devices of the claim have.
    device_memory = 6,
    /// The devices of the claim do not say how fast they are, or how much memory they have.
    device_speed = 7,
    _,
};

/// What a computation waits for.
pub const Bottleneck = enum(i32) {
    /// For nothing: there is nothing to do.
    none = 0,
    /// For arithmetic.
    compute = 1,
    memory = 2,
    _,
};

/// Compute a result here or fetch it: the answer, and all that it rests on.
pub const Verdict = extern struct {
    struct_size: usize = @sizeOf(Verdict),
    t_compute: Estimate = .{},
    /// With all that belongs to it: asking, two round trips, the bytes, and keeping the result.
    t_fetch: Estimate = .{},
    t_store: Estimate = .{},
    /// Nanoseconds that fetching saves; negative if it costs some.
    score_ns: i64 = 0,
    answer: Answer = .break_even,
    why_not_compute: Obstacle = .none,
    why_not_fetch: Obstacle = .none,
    bottleneck: Bottleneck = .none,
    /// How much the owner of such a machine would rather not compute on it. No part of any of the times.
    bias_permille: u32 = 0,
    trit: VerdictTrit = .break_even,
    can_compute: bool = false,
    can_store: bool = false,
    can_fetch: bool = false,
    /// The better way is better even if it goes badly and the other one well.
    decisive: bool = false,
    reserved: [7]u8 = @splat(0),
    /// The answer in words: "fetch", "must fetch (insufficient RAM)".
    words: Chars(128) = .{},
};

/// Where to do a task.
pub const Choice = enum(i32) {
    /// It can be done in no way that is known here.
    infeasible = 0,
    /// On the processor of this machine, now.
    cpu = 1,
    /// On a GPU, which is free.
    gpu_now = 2,
    /// On a GPU, after waiting for it.
    gpu_wait = 3,
    /// Nowhere: fetch the result.
    fetch = 4,
    _,
};

/// How long a task takes in each way, the best of them, and why. A way that there is not has `never`.
pub const Advice = extern struct {
    struct_size: usize = @sizeOf(Advice),
    cpu: Estimate = .{},
    /// On the devices of the claim once it has them.
    gpu: Estimate = .{},
    /// The same, if they are free now.
    gpu_now: Estimate = .{},
    /// The same, if they are not free yet, the waiting included.
    gpu_wait: Estimate = .{},
    fetch: Estimate = .{},
    /// How long the claim would wait; `never` if that cannot be told.
    wait_ns: u64 = 0,
    choice: Choice = .infeasible,
    wait: ExpectedWaitKind = .none,
    why_not_cpu: Obstacle = .none,
    why_not_gpu: Obstacle = .none,
    why_not_fetch: Obstacle = .none,
    /// The best is the best even if it goes badly and the next one well.
    decisive: bool = false,
    reserved: [3]u8 = @splat(0),
    /// All of it in words, a line for each way, the best first.
    words: Chars(512) = .{},
};

pub extern fn tern_machine_compute_time(machine: ?*const Machine, task: *const Task, time: *Estimate, err: ?*Details) Status;
pub extern fn tern_machine_untaught_time(machine: ?*const Machine, task: *const Task, time_ns: *u64, err: ?*Details) Status;
pub extern fn tern_machine_fetch_time(machine: ?*const Machine, bytes: u64, time: *Estimate, err: ?*Details) Status;
pub extern fn tern_machine_store_time(machine: ?*const Machine, bytes: u64, time: *Estimate, err: ?*Details) Status;
pub extern fn tern_machine_can_store(machine: ?*const Machine, bytes: u64, err: ?*Details) CanStore;
pub extern fn tern_machine_suggest_ttl(machine: ?*const Machine, task: *const Task, base_us: u64, ttl_us: *u64, err: ?*Details) Status;
pub extern fn tern_machine_etl_buffer(machine: ?*const Machine, row_bytes: u64, buffer_bytes: *u64, err: ?*Details) Status;
pub extern fn tern_machine_normalize(machine: ?*const Machine, took_ns: u64, peak_mem: u64, result_bytes: u64, cost: *Cost, err: ?*Details) Status;
pub extern fn tern_machine_cache_value(machine: ?*const Machine, task: *const Task, value_ns: *i64, err: ?*Details) Status;
pub extern fn tern_machine_verdict(machine: ?*const Machine, task: *const Task, verdict: *Verdict, err: ?*Details) Status;
pub extern fn tern_machine_verdict_json(machine: ?*const Machine, task: *const Task, buffer: ?[*]u8, capacity: usize, needed: ?*usize, err: ?*Details) Status;
pub extern fn tern_machine_advise(machine: ?*const Machine, task: *const Task, pool: ?*const Pool, claim: *const GpuClaim, advice: *Advice, err: ?*Details) Status;
pub extern fn tern_machine_advise_json(
    machine: ?*const Machine,
    task: *const Task,
    pool: ?*const Pool,
    claim: *const GpuClaim,
    buffer: ?[*]u8,
    capacity: usize,
    needed: ?*usize,
    err: ?*Details,
) Status;
