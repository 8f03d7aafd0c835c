//! Claim: asking for several resources, for parts of them, with a wait and a priority.
const c = @import("c.zig");

const Lease = @import("lease.zig").Lease;
const Ticket = @import("ticket.zig").Ticket;

/// A claim, all or nothing. Times are in the unit of the manager.
pub const Claim = struct {
    /// Who asks. Claims of one holder are taken to be one line of work: give each independent job a name of its own.
    holder: []const u8,
    /// The resources it may be served from, the preferred ones first: `&.{ .of("gpu0"), .of("gpu1") }`.
    resources: []const c.text.Text = &.{},
    /// The same, by the numbers that `Manager.declare()` gave; instead of `resources`, not beside them.
    resource_ids: []const c.resource.ResourceId = &.{},
    /// How many of them it needs.
    count: u32 = 1,
    /// Slots that it takes of each. If memory is 0 too: one.
    slots: u32 = 0,
    /// Memory that it takes of each, in MiB.
    memory_mib: u32 = 0,
    /// How long the lease lasts without renewal; `forever`: without end.
    ttl: u64,
    /// How long to stand in line if need be; 0: not at all, `forever`: as long as it takes.
    wait: u64 = 0,
    /// Higher goes first; from -32768 to 32767.
    priority: i32 = 0,
    /// The lease ends with this one, and never later.
    parent: c.lease.LeaseId = .none,
    /// Take each resource whole, alone.
    exclusive: bool = false,
    /// Take each resource together with any number of other shared leases, and nobody else.
    shared: bool = false,
    /// Take only what nobody else waits for, and give it back when somebody does.
    spare: bool = false,
    /// A claim of higher priority that asks to preempt may take the lease.
    preemptible: bool = false,
    /// Take preemptible leases of lower priority rather than wait for their end.
    preempt: bool = false,
    /// With `spare` or `preemptible`: the notice that the lease gets when it is taken back.
    notice: u64 = 0,

    /// Refers to the texts of this claim.
    pub fn toC(self: Claim) c.claim.Claim {
        return .{
            .holder = self.holder.ptr,
            .holder_len = self.holder.len,
            .resources = self.resources.ptr,
            .resource_count = self.resources.len,
            .resource_ids = self.resource_ids.ptr,
            .resource_id_count = self.resource_ids.len,
            .ttl = self.ttl,
            .wait = self.wait,
            .notice = self.notice,
            .parent = self.parent,
            .flags = .{
                .exclusive = self.exclusive,
                .shared = self.shared,
                .spare = self.spare,
                .preemptible = self.preemptible,
                .preempt = self.preempt,
            },
            .count = self.count,
            .slots = self.slots,
            .memory_mib = self.memory_mib,
            .priority = self.priority,
        };
    }
};

/// What became of a claim that does not block: a lease at once, or a place in line.
pub const Enqueued = union(enum) {
    lease: Lease,
    /// It must come to an end, by `wait()` or `cancel()`.
    ticket: Ticket,
};
