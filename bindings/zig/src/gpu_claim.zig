//! GPU claim: asking a pool for devices.
const c = @import("c.zig");
const forever = @import("time.zig").forever;

const GpuLease = @import("gpu_lease.zig").GpuLease;
const Ticket = @import("ticket.zig").Ticket;

/// A claim for devices, all or nothing: any one, alone, without end, now or not at all, unless told otherwise. Times
/// are in the unit of the pool's manager.
pub const GpuClaim = struct {
    /// Who asks. If empty, the claim gets a name of its own.
    holder: []const u8 = "",
    /// Only these devices, the preferred ones first: by UUID (or how it begins), PCI address, vendor and number
    /// ("nvidia:0"), or number.
    devices: []const c.text.Text = &.{},
    /// How many devices.
    count: u32 = 1,
    /// Slots that it takes of each, together with others. If memory is 0 too: all of each device, alone.
    slots: u32 = 0,
    /// Memory that it takes of each, in MiB, together with others.
    memory_mib: u32 = 0,
    /// Only devices with at least so much memory in all, in MiB.
    min_memory_mib: u32 = 0,
    /// Only devices of at least this compute capability, as NVIDIA counts it.
    min_compute: Compute = .{},
    vendor: c.device.Vendor = .any,
    /// How long the lease lasts without renewal.
    ttl: u64 = forever,
    /// How long to stand in line if need be; 0: not at all, `forever`: as long as it takes.
    wait: u64 = 0,
    /// Higher goes first; from -32768 to 32767.
    priority: i32 = 0,
    /// The lease ends with this one, and never later.
    parent: c.lease.LeaseId = .none,
    /// Take only what nobody else waits for, and give it back when somebody does.
    spare: bool = false,
    /// A claim of higher priority that asks to preempt may take the lease.
    preemptible: bool = false,
    /// Take preemptible leases of lower priority rather than wait for their end.
    preempt: bool = false,
    /// With `spare` or `preemptible`: the notice that the lease gets when it is taken back.
    notice: u64 = 0,
    /// A thread of the library's own renews the lease in time while the pool is open.
    keep_alive: bool = false,

    /// 8.6 is `.{ .major = 8, .minor = 6 }`.
    pub const Compute = struct { major: u32 = 0, minor: u32 = 0 };

    /// Refers to the texts of this claim.
    pub fn toC(self: GpuClaim) c.gpu.GpuClaim {
        return .{
            .holder = self.holder.ptr,
            .holder_len = self.holder.len,
            .devices = self.devices.ptr,
            .device_count = self.devices.len,
            .ttl = self.ttl,
            .wait = self.wait,
            .notice = self.notice,
            .parent = self.parent,
            .flags = .{
                .spare = self.spare,
                .preemptible = self.preemptible,
                .preempt = self.preempt,
                .keep_alive = self.keep_alive,
            },
            .count = self.count,
            .slots = self.slots,
            .memory_mib = self.memory_mib,
            .min_memory_mib = self.min_memory_mib,
            .min_compute_major = self.min_compute.major,
            .min_compute_minor = self.min_compute.minor,
            .vendor = self.vendor,
            .priority = self.priority,
        };
    }
};

/// What became of a claim that does not block: devices at once, or a place in line.
pub const GpuEnqueued = union(enum) {
    lease: GpuLease,
    /// It must come to an end, by `wait()` or `cancel()`.
    ticket: Ticket,
};

/// How long a claim would wait, as far as that can be told.
pub const ExpectedWait = union(enum) {
    /// Not at all.
    none,
    /// About so many nanoseconds, if the holders keep to what they usually do.
    about: u64,
    /// Somebody who holds what is needed has no end and no history.
    unknown,
    /// The pool has no devices: nobody waits there, and nobody gets one.
    no_devices,

    pub fn of(kind: c.gpu.ExpectedWaitKind, wait_ns: u64) ExpectedWait {
        return switch (kind) {
            .none => .none,
            .about => .{ .about = wait_ns },
            .no_devices => .no_devices,
            .unknown => .unknown,
            _ => .unknown,
        };
    }
};
