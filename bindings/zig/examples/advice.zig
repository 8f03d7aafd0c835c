//! Is a GPU worth waiting for? What a computation costs and what this machine can do together say where to do it.
const ternlease = @import("ternlease");
const print = @import("output.zig").print;

pub fn main() !void {
    // Without `.benchmarks = false` the processor is measured, for 300 ms.
    var machine = try ternlease.Machine.read("/tmp", .{ .benchmarks = false });
    defer machine.close();
    var pool = try ternlease.Pool.open("process:", .{ .devices = "fake:2" });
    defer pool.close();

    var task: ternlease.Task = .{
        .cost = ternlease.Cost.copy(64_000_000).then(.matmul(2000, 2000, 2000, 32_000_000)),
        .kind = .dense64,
        .threads = 4,
    };
    const verdict = try machine.verdict(task);
    print("verdict: {s}\n", .{verdict.words.slice()});
    const advice = try machine.advise(task, pool, .{ .count = 1 });
    print("best: {s}\n{s}\n", .{ @tagName(advice.choice), advice.words.slice() });

    // Then run it, and tell how long it took.
    const predicted = try machine.untaughtTime(task);
    task.learned.record(predicted, 2 * predicted);
    print("learned: {d} permille of what was predicted\n", .{task.learned.permille});
}
