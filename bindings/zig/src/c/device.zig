//! Device: what the devices of a pool are, how they are, and how fast.
const Chars = @import("text.zig").Chars;
const Details = @import("details.zig").Details;
const Health = @import("resource.zig").Health;
const LeaseId = @import("lease.zig").LeaseId;
const Pool = @import("pool.zig").Pool;
const Status = @import("status.zig").Status;

/// Who made a device.
pub const Vendor = enum(i32) {
    /// In a claim: whoever.
    any = 0,
    nvidia = 1,
    amd = 2,
    intel = 3,
    other = 4,
    _,
};

/// Which numbers of a device are known. The last two are those of a `DeviceStatus`.
pub const DeviceKnown = packed struct(u32) {
    memory: bool = false,
    compute: bool = false,
    numa: bool = false,
    island: bool = false,
    /// It is a part of a device.
    mig: bool = false,
    used_memory: bool = false,
    busy: bool = false,
    reserved: u25 = 0,
};

/// What a device is. What is not known is zero or empty.
pub const Device = extern struct {
    struct_size: usize = @sizeOf(Device),
    vendor: Vendor = .any,
    /// Its number among the devices of its vendor, in the order of PCI addresses.
    index: u32 = 0,
    known: DeviceKnown = .{},
    memory_mib: u32 = 0,
    /// Its compute capability, as NVIDIA counts it: 8 of 8.6.
    compute_major: u32 = 0,
    /// 6 of 8.6.
    compute_minor: u32 = 0,
    /// The NUMA node that it is near to.
    numa: u32 = 0,
    /// Devices of one vendor with the same number have fast links among each other.
    island: u32 = 0,
    /// Of a part of a device: the number of the GPU instance.
    gpu_instance: u32 = 0,
    /// Of a part of a device: the number of the compute instance within it.
    compute_instance: u32 = 0,
    /// Where it sits, as CUDA reads it: "0000:07:00.0".
    pci: Chars(32) = .{},
    /// Of a part of a device: how large it is, such as "1g.10gb".
    mig_profile: Chars(32) = .{},
    /// Its name as a resource in the table.
    key: Chars(256) = .{},
    /// What it is called.
    name: Chars(256) = .{},
    /// Its own name for ever.
    uuid: Chars(128) = .{},
    /// Of a part of a device: the UUID of the whole.
    mig_parent: Chars(128) = .{},
};

/// How a device is, and who uses it.
pub const DeviceStatus = extern struct {
    struct_size: usize = @sizeOf(DeviceStatus),
    /// The oldest lease on it.
    lease: LeaseId = .none,
    /// For how long it has been leased without being used, in microseconds; 0: it is used, or free, or nobody can see.
    idle_us: u64 = 0,
    /// How old what was seen is, in microseconds; `forever`: nobody watches it.
    seen_us: u64 = 0,
    /// `used_memory` and `busy`; the other numbers always are.
    known: DeviceKnown = .{},
    slots: u32 = 0,
    leased_slots: u32 = 0,
    leased_memory_mib: u32 = 0,
    used_memory_mib: u32 = 0,
    busy_percent: u32 = 0,
    /// How many leases are on it.
    lease_count: u32 = 0,
    /// How many processes compute on it although it has no lease.
    squatter_count: u32 = 0,
    health: Health = .draining,
    reserved: [7]u8 = @splat(0),
    /// Why it is not healthy, for people; cut if it is longer.
    trouble: Chars(512) = .{},
};

pub const ProcessKnown = packed struct(u32) { memory: bool = false, reserved: u31 = 0 };

/// A process on a device: evidence, whom to ask, never whom to trust.
pub const Process = extern struct {
    struct_size: usize = @sizeOf(Process),
    /// Its number, as the driver gives it.
    pid: u32 = 0,
    known: ProcessKnown = .{},
    memory_mib: u32 = 0,
    reserved: u32 = 0,
    /// Whose it is, where that can be seen.
    user: Chars(256) = .{},
    /// Its program, without arguments, where that can be seen.
    command: Chars(256) = .{},
};

pub const SpeedKnown = packed struct(u32) {
    cores: bool = false,
    multiprocessors: bool = false,
    core_mhz: bool = false,
    memory_mhz: bool = false,
    memory_bits: bool = false,
    pcie_generation: bool = false,
    pcie_lanes: bool = false,
    reserved: u25 = 0,
};

/// How fast a device is, by what its driver tells. What is not known is zero.
pub const DeviceSpeed = extern struct {
    struct_size: usize = @sizeOf(DeviceSpeed),
    /// Floating-point operations with 8-byte numbers per second.
    flop64: u64 = 0,
    /// The same with 4-byte numbers.
    flop32: u64 = 0,
    /// The same with 2-byte numbers, by the units made for matrices.
    flop16_matrix: u64 = 0,
    /// Bytes to and from its memory per second.
    memory: u64 = 0,
    /// Bytes between the machine's memory and its own per second.
    link: u64 = 0,
    known: SpeedKnown = .{},
    cores: u32 = 0,
    multiprocessors: u32 = 0,
    core_mhz: u32 = 0,
    memory_mhz: u32 = 0,
    memory_bits: u32 = 0,
    pcie_generation: u32 = 0,
    pcie_lanes: u32 = 0,
};

pub extern fn tern_pool_device(pool: ?*const Pool, place: usize, device: *Device, err: ?*Details) Status;
pub extern fn tern_pool_device_status(pool: ?*const Pool, place: usize, status: *DeviceStatus, err: ?*Details) Status;
pub extern fn tern_pool_device_speed(pool: ?*const Pool, place: usize, speed: *DeviceSpeed, err: ?*Details) Status;
pub extern fn tern_pool_snapshot(pool: ?*const Pool, statuses: ?[*]DeviceStatus, capacity: usize, needed: ?*usize, err: ?*Details) Status;
pub extern fn tern_pool_leases_on(pool: ?*const Pool, place: usize, leases: ?[*]LeaseId, capacity: usize, needed: ?*usize, err: ?*Details) Status;
pub extern fn tern_pool_squatters(pool: ?*const Pool, place: usize, processes: ?[*]Process, capacity: usize, needed: ?*usize, err: ?*Details) Status;
