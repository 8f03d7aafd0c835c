//! Cost, task and estimate: what a computation needs, and how long that takes.
const Details = @import("details.zig").Details;
const Status = @import("status.zig").Status;

/// What a computation needs: four numbers, the same on every machine and in every language. No number wraps around:
/// the largest means "this much or more".
pub const Cost = extern struct {
    /// Operations, of whatever sort the computation is made of.
    flops: u64 = 0,
    /// Bytes that go to and from memory.
    mem_bytes: u64 = 0,
    /// Bytes of memory in use at one time, at most.
    peak_mem: u64 = 0,
    /// Bytes of the result.
    result_bytes: u64 = 0,

    /// Reading `bytes` once, from end to end.
    pub fn scan(bytes: u64, result_bytes: u64) Cost {
        return tern_cost_scan(bytes, result_bytes);
    }

    /// Sorting so many items by comparison.
    pub fn sort(items: u64, item_bytes: u64, result_bytes: u64) Cost {
        return tern_cost_sort(items, item_bytes, result_bytes);
    }

    /// Hashing `bytes` into 32.
    pub fn hash(bytes: u64) Cost {
        return tern_cost_hash(bytes);
    }

    /// Multiplying an `m` by `k` with a `k` by `n` matrix of 8-byte numbers.
    pub fn matmul(m: u64, n: u64, k: u64, result_bytes: u64) Cost {
        return tern_cost_matmul(m, n, k, result_bytes);
    }

    /// Reading so many rows, doing so many operations with each, and writing them.
    pub fn etl(rows: u64, row_bytes: u64, ops_per_row: u64, result_bytes: u64) Cost {
        return tern_cost_etl(rows, row_bytes, ops_per_row, result_bytes);
    }

    /// Copying `bytes`.
    pub fn copy(bytes: u64) Cost {
        return tern_cost_copy(bytes);
    }

    /// This, then the next one, whose result it is.
    pub fn then(self: Cost, next: Cost) Cost {
        return tern_cost_then(self, next);
    }

    /// Beside another, each on processors of its own.
    pub fn par(self: Cost, other: Cost) Cost {
        return tern_cost_par(self, other);
    }

    /// Beside another on the same processors: everything adds up.
    pub fn both(self: Cost, other: Cost) Cost {
        return tern_cost_both(self, other);
    }

    /// The same so many times, one after the other, of which the last result counts.
    pub fn repeat(self: Cost, times: u64) Cost {
        return tern_cost_repeat(self, times);
    }
};

/// A length of time in nanoseconds: most likely `mid`, and rarely outside `lo` and `hi`. What cannot be done, or never
/// ends, has `never` in all three.
pub const Estimate = extern struct { lo: u64 = 0, mid: u64 = 0, hi: u64 = 0 };

/// What sort of work a cost is made of, and so by which of a machine's rates it is measured.
pub const Kind = enum(i32) {
    /// Nobody said: the longer of calculating at full speed and of moving the bytes.
    roofline = 0,
    /// Dense arithmetic with 8-byte floating-point numbers, by a good library.
    dense64 = 1,
    /// The same with 4-byte ones.
    dense32 = 2,
    /// Reading memory from end to end, as fast as it comes.
    stream = 3,
    /// Copying memory.
    copy = 4,
    /// A few operations for each row, one after the other.
    rows = 5,
    /// Rows of text that are taken apart.
    parse = 6,
    /// Sorting by comparison.
    sort = 7,
    /// SHA-256.
    hash = 8,
    /// Looking at each byte by a plain loop.
    bytes = 9,
    _,
};

pub const TaskFlags = packed struct(u64) { input: bool = false, reserved: u63 = 0 };

pub const Task = extern struct {
    struct_size: usize = @sizeOf(Task),
    cost: Cost = .{},
    input_bytes: u64 = 0,
    flags: TaskFlags = .{},
    kind: Kind = .roofline,
    threads: u32 = 0,
    learned_runs: u32 = 0,
    learned_permille: u32 = 0,
};

pub extern fn tern_cost_scan(bytes: u64, result_bytes: u64) Cost;
pub extern fn tern_cost_sort(items: u64, item_bytes: u64, result_bytes: u64) Cost;
pub extern fn tern_cost_hash(bytes: u64) Cost;
pub extern fn tern_cost_matmul(m: u64, n: u64, k: u64, result_bytes: u64) Cost;
pub extern fn tern_cost_etl(rows: u64, row_bytes: u64, ops_per_row: u64, result_bytes: u64) Cost;
pub extern fn tern_cost_copy(bytes: u64) Cost;
pub extern fn tern_cost_then(first: Cost, next: Cost) Cost;
pub extern fn tern_cost_par(one: Cost, other: Cost) Cost;
pub extern fn tern_cost_both(one: Cost, other: Cost) Cost;
pub extern fn tern_cost_repeat(cost: Cost, times: u64) Cost;
pub extern fn tern_nanoseconds(work: u64, rate: u64) u64;
pub extern fn tern_learned_record(runs: *u32, permille: *u32, predicted_ns: u64, measured_ns: u64, err: ?*Details) Status;
