//! Machine: what this machine can do, its rates, and the way to where results can be fetched from.
const Chars = @import("text.zig").Chars;
const Details = @import("details.zig").Details;
const Estimate = @import("cost.zig").Estimate;
const Status = @import("status.zig").Status;

pub const Machine = opaque {};

pub const MachineFlags = packed struct(u64) {
    no_benchmarks: bool = false,
    no_network: bool = false,
    keep: bool = false,
    refresh: bool = false,
    reserved: u60 = 0,
};

pub const ProgressFn = *const fn (user: ?*anyopaque, step: [*:0]const u8, done: u32, of: u32) callconv(.c) void;

pub const MachineOptions = extern struct {
    struct_size: usize = @sizeOf(MachineOptions),
    flags: MachineFlags = .{},
    budget_us: u64 = 0,
    disk_budget_us: u64 = 0,
    max_age_us: u64 = 0,
    cache_file: ?[*]const u8 = null,
    cache_file_len: usize = 0,
    progress: ?ProgressFn = null,
    user: ?*anyopaque = null,
};

/// What sort of machine it is.
pub const MachineClass = enum(i32) {
    /// Little memory.
    constrained = 1,
    /// It has a battery.
    laptop = 2,
    /// Many cores, or quite a few and much memory.
    server = 3,
    /// All others.
    desktop = 4,
    _,
};

/// The network, as far as the operating system knows it.
pub const Network = enum(i32) {
    /// Nothing leads out of this machine.
    none = 0,
    /// Something does, and nobody says how fast it is.
    unknown = 1,
    /// The card that leads out says how fast it is.
    card = 2,
    _,
};

pub const MachineKnown = packed struct(u32) {
    has_disk: bool = false,
    has_battery: bool = false,
    has_battery_percent: bool = false,
    on_battery: bool = false,
    reserved: u28 = 0,
};

/// What a machine can do, and had left when it was read. Sizes are in bytes.
pub const MachineInfo = extern struct {
    struct_size: usize = @sizeOf(MachineInfo),
    /// Memory that this process could have.
    mem_total: u64 = 0,
    mem_available: u64 = 0,
    /// How much memory one computation may take.
    compute_budget: u64 = 0,
    disk_total: u64 = 0,
    disk_free: u64 = 0,
    /// With `Network.card`, in Mbit/s; otherwise 0.
    network_mbps: u64 = 0,
    /// How old the rates are, in microseconds; `forever`: they were not measured.
    age_us: u64 = 0,
    /// How long a program takes to begin with a GPU.
    gpu_start: Estimate = .{},
    /// Operations per 1000 bytes at which neither arithmetic nor memory waits for the other.
    ridge_permille: u64 = 0,
    known: MachineKnown = .{},
    cores_physical: u32 = 0,
    /// Threads that it runs at one time.
    cores_logical: u32 = 0,
    /// Threads that this process may run at one time.
    cores_usable: u32 = 0,
    /// Its clock; 0 if nobody says.
    freq_mhz: u32 = 0,
    network: Network = .none,
    machine_class: MachineClass = @enumFromInt(0),
    battery_percent: u32 = 0,
    /// How much arithmetic all cores do, beside what one does times their number.
    core_scaling_permille: u32 = 0,
    mem_pressure_permille: u32 = 0,
    disk_pressure_permille: u32 = 0,
    reserved: u32 = 0,
    processor: Chars(128) = .{},
    /// Where results are kept.
    store: Chars(1024) = .{},
};

/// What is done in a second: operations or bytes; by one thread, or by all that this process may use.
pub const RateOf = enum(i32) {
    flop64 = 0,
    flop64_all = 1,
    flop32 = 2,
    read = 3,
    read_all = 4,
    triad = 5,
    triad_all = 6,
    copy = 7,
    copy_all = 8,
    scalar = 9,
    parse = 10,
    hash = 11,
    compare = 12,
    shift = 13,
    bytes = 14,
    disk_write = 15,
    disk_read = 16,
    _,
};

/// Where a figure comes from, and so how far it may be trusted.
pub const Source = enum(i32) {
    /// Measured, often enough.
    measured = 1,
    /// Measured, but less often than needed, or with arrays that may have stayed in a cache.
    rough = 2,
    /// Worked out from what the processor says of itself.
    estimated = 3,
    _,
};

/// How much of something is done in a second.
pub const Rate = extern struct {
    struct_size: usize = @sizeOf(Rate),
    /// What the machine can do.
    per_second: u64 = 0,
    /// What it did while it was measured, beside everything else that it was doing.
    usual: u64 = 0,
    /// How far measurements lay apart.
    spread_permille: u32 = 0,
    source: Source = @enumFromInt(0),
};

/// How far a route is known.
pub const RouteKnown = enum(i32) {
    /// By what the network card says of itself, or by what somebody declared.
    declared = 0,
    /// Nothing is known but that there is a network.
    assumed = 1,
    /// By transfers.
    learned = 2,
    _,
};

/// The way to where results can be fetched from.
pub const Route = extern struct {
    struct_size: usize = @sizeOf(Route),
    /// There and back, in nanoseconds.
    round_trip_ns: u64 = 0,
    /// What arrives in a second, at most. Not zero.
    bytes_per_second: u64 = 0,
    /// What it takes to know what to ask for, and to be told whether it is there.
    query_ns: u64 = 0,
    /// Of a thousand queries, how many find something; 0: all.
    hits_permille: u32 = 0,
    known: RouteKnown = .declared,
};

pub extern fn tern_machine_read(store: ?[*]const u8, store_len: usize, options: ?*const MachineOptions, machine: *?*Machine, err: ?*Details) Status;
pub extern fn tern_machine_close(machine: ?*Machine) void;
pub extern fn tern_machine_info(machine: ?*const Machine, info: *MachineInfo, err: ?*Details) Status;
pub extern fn tern_machine_json(machine: ?*const Machine, buffer: ?[*]u8, capacity: usize, needed: ?*usize, err: ?*Details) Status;
pub extern fn tern_machine_set_gpu_start(machine: ?*const Machine, lo_ns: u64, mid_ns: u64, hi_ns: u64, err: ?*Details) Status;
pub extern fn tern_machine_rate(machine: ?*const Machine, which: RateOf, rate: *Rate, err: ?*Details) Status;
pub extern fn tern_machine_route(machine: ?*const Machine, route: *Route, err: ?*Details) Status;
pub extern fn tern_machine_set_route(machine: ?*const Machine, route: ?*const Route, err: ?*Details) Status;
pub extern fn tern_machine_record_fetch(machine: ?*const Machine, bytes: u64, took_ns: u64, err: ?*Details) Status;
