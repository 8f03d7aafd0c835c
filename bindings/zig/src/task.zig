//! Task: a cost, and what else a prediction needs to know.
const c = @import("c.zig");

/// What earlier runs of a function taught. Keep the two numbers with its name or its results.
pub const Learned = struct {
    /// How many runs were measured.
    runs: u32 = 0,
    /// How long they took, in thousandths of what is predicted without this.
    permille: u32 = 0,

    /// A run was predicted to take so many nanoseconds by `Machine.untaughtTime()`, and took so many. A time of 0 or
    /// `never` teaches nothing.
    pub fn record(self: *Learned, predicted_ns: u64, measured_ns: u64) void {
        // It can only fail without its two numbers.
        _ = c.cost.tern_learned_record(&self.runs, &self.permille, predicted_ns, measured_ns, null);
    }
};

/// A cost, and what else a prediction needs to know.
pub const Task = struct {
    cost: c.cost.Cost,
    kind: c.cost.Kind = .roofline,
    /// More than the machine has are as many as it has.
    threads: u32 = 1,
    /// How many bytes it reads, which must get to a GPU before it can begin there. Null: all that it has in memory, or
    /// all that passes through if it keeps nothing.
    input_bytes: ?u64 = null,
    learned: Learned = .{},

    pub fn toC(self: Task) c.cost.Task {
        return .{
            .cost = self.cost,
            .input_bytes = self.input_bytes orelse 0,
            .flags = .{ .input = self.input_bytes != null },
            .kind = self.kind,
            .threads = self.threads,
            .learned_runs = self.learned.runs,
            .learned_permille = self.learned.permille,
        };
    }
};

/// How long `work` takes at `rate` per second, in nanoseconds, rounded up. `never` if the work has no end, nothing does
/// it, or it takes longer than can be said.
pub fn nanoseconds(work: u64, rate: u64) u64 {
    return c.cost.tern_nanoseconds(work, rate);
}
