//! Leases on GPUs and other scarce things: who may use it now, until when, and why not.
//!
//! Calls fail with an `Error`. What the library has to say about it, give them by `with()`:
//!
//!     var details: ternlease.Details = .{};
//!     const lease = manager.with(&details).acquire("gpu0", "trainer", 30 * ternlease.second) catch |err| {
//!         std.debug.print("{s}: {s}\n", .{ @errorName(err), details.message.slice() });
//!         return err;
//!     };
//!     defer lease.release();
//!
//! Managers, pools, machines and readers are handles, to be closed. Leases and tickets are numbers with the table that
//! they belong to: one that is over is an error, whatever has happened meanwhile. Everything may be called from any
//! thread; in a child after fork() every handle from before is `error.Forked`.

/// The declarations of ternlease.h.
pub const c = @import("c.zig");

pub const version = @import("version.zig");

const claim = @import("claim.zig");
const deadlocks = @import("deadlocks.zig");
const errors = @import("errors.zig");
const events = @import("events.zig");
const gpu_claim = @import("gpu_claim.zig");
const gpu_lease = @import("gpu_lease.zig");
const lease = @import("lease.zig");
const machine = @import("machine.zig");
const manager = @import("manager.zig");
const pool = @import("pool.zig");
const task = @import("task.zig");
const ticket = @import("ticket.zig");
const time = @import("time.zig");
const watch = @import("watch.zig");

pub const Details = errors.Details;
pub const Error = errors.Error;
pub const ListError = errors.ListError;
pub const Reason = c.reason.Reason;
pub const Status = errors.Status;
pub const errorOf = errors.errorOf;
pub const statusOf = errors.statusOf;

pub const forever = time.forever;
pub const millisecond = time.millisecond;
pub const never = time.never;
pub const second = time.second;

/// The longest name of a holder or resource, in bytes.
pub const name_max = 255;

pub const Claim = claim.Claim;
pub const Deadlocks = deadlocks.Deadlocks;
pub const Enqueued = claim.Enqueued;
pub const Event = c.events.Event;
pub const EventKind = c.events.EventKind;
pub const Events = events.Events;
pub const Health = c.resource.Health;
pub const HostInfo = c.host.HostInfo;
pub const Lease = lease.Lease;
pub const LeaseId = c.lease.LeaseId;
pub const LeaseInfo = c.lease.LeaseInfo;
pub const LeaseState = c.lease.LeaseState;
pub const Manager = manager.Manager;
pub const Name = c.text.Name;
pub const Notice = watch.Notice;
pub const Options = manager.Options;
pub const ProcessInfo = c.host.ProcessInfo;
pub const ResourceId = c.resource.ResourceId;
pub const ResourceInfo = c.resource.ResourceInfo;
pub const Revocation = lease.Revocation;
pub const Revoked = lease.Revoked;
pub const Take = c.lease.Take;
pub const Text = c.text.Text;
pub const Ticket = ticket.Ticket;
pub const TicketId = c.ticket.TicketId;
pub const TicketInfo = c.ticket.TicketInfo;
pub const TicketState = c.ticket.TicketState;
pub const Wait = c.deadlocks.Wait;
pub const Watch = watch.Watch;
pub const from_now = events.from_now;
pub const oldest = events.oldest;

pub const Device = c.device.Device;
pub const DeviceSpeed = c.device.DeviceSpeed;
pub const DeviceStatus = c.device.DeviceStatus;
pub const EnvChange = gpu_lease.EnvChange;
pub const ExpectedWait = gpu_claim.ExpectedWait;
pub const GpuClaim = gpu_claim.GpuClaim;
pub const GpuEnqueued = gpu_claim.GpuEnqueued;
pub const GpuLease = gpu_lease.GpuLease;
pub const Pool = pool.Pool;
pub const PoolOptions = pool.PoolOptions;
pub const Process = c.device.Process;
pub const Vendor = c.device.Vendor;
pub const envChanges = gpu_lease.changes;

pub const Advice = c.decide.Advice;
pub const Cost = c.cost.Cost;
pub const Estimate = c.cost.Estimate;
pub const Kind = c.cost.Kind;
pub const Learned = task.Learned;
pub const Machine = machine.Machine;
pub const MachineInfo = c.machine.MachineInfo;
pub const MachineOptions = machine.MachineOptions;
pub const Progress = machine.Progress;
pub const Rate = c.machine.Rate;
pub const RateOf = c.machine.RateOf;
pub const Route = c.machine.Route;
pub const Task = task.Task;
pub const Verdict = c.decide.Verdict;
pub const nanoseconds = task.nanoseconds;
