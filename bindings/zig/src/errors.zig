//! Statuses as errors, and what all calls have in common.
const std = @import("std");
const c = @import("c.zig");

pub const Status = c.status.Status;
pub const Details = c.details.Details;

/// Every status that is not success. Where it is a normal outcome (nothing to read yet, still in line), the functions
/// say so by a value instead.
pub const Error = error{
    /// Not free now, and the claim does not wait.
    Busy,
    /// The time came first. A claim that waited has left the line.
    Timeout,
    /// There is nothing now. Of a pool: it has no devices, so do without.
    Empty,
    Waiting,
    /// The claim waited and will not be granted; the reason in the details says why.
    Refused,
    /// It was so already.
    Unchanged,
    More,
    Null,
    BadHandle,
    /// The handle, or the table behind it, was closed.
    Closed,
    /// The handle was opened before this process was forked. Open a new one.
    Forked,
    /// An earlier call panicked. Close the handle.
    Poisoned,
    /// The library has a bug and noticed. The handle is poisoned.
    Panic,
    BadStruct,
    /// A text is not UTF-8, or a name has a zero byte in it.
    BadText,
    /// A number or word is none of those that are allowed there.
    BadValue,
    /// The URL names no home that there is.
    BadUrl,
    /// This system, or this build of the library, cannot do that.
    Unsupported,
    /// The program was compiled for another version of the library.
    Version,
    /// The operating system refused; os_errno in the details says why.
    System,
    /// The table's memory does not make sense.
    Corrupt,
    /// The table has no room left. Open it with larger limits.
    Full,
    /// A process that has the lock of a shared table does not go on. Continue or end it.
    Stuck,
    EmptyName,
    NameTooLong,
    /// A lease of no length was asked for.
    ZeroTtl,
    TimeTooLarge,
    /// The claim asks for more resources than it names.
    TooFewResources,
    DuplicateResource,
    /// A resource must have, or a claim take, at least one slot or some memory.
    ZeroAmount,
    UnknownResource,
    /// The claim asks for more than there is. Waiting would not help.
    Impossible,
    UnknownLease,
    UnknownTicket,
    /// The lease is over; the reason in the details says why.
    NotHeld,
    /// That is not a reason to revoke a lease.
    NotARevocation,
    ParentNotHeld,
    TooDeep,
    InUse,
    UnknownWant,
    UnknownProcess,
    /// Only the user that the lease belongs to may transfer it.
    OtherPrincipal,
    /// A status of a newer library; its number is in the details.
    UnknownStatus,
};

/// What functions fail with that make a list or text by an allocator.
pub const ListError = Error || std.mem.Allocator.Error;

/// The error of a status that is not success.
pub fn errorOf(status: Status) Error {
    return switch (status) {
        .busy => error.Busy,
        .timeout => error.Timeout,
        .empty => error.Empty,
        .waiting => error.Waiting,
        .refused => error.Refused,
        .unchanged => error.Unchanged,
        .more => error.More,
        .err_null => error.Null,
        .err_bad_handle => error.BadHandle,
        .err_closed => error.Closed,
        .err_forked => error.Forked,
        .err_poisoned => error.Poisoned,
        .err_panic => error.Panic,
        .err_bad_struct => error.BadStruct,
        .err_bad_text => error.BadText,
        .err_bad_value => error.BadValue,
        .err_bad_url => error.BadUrl,
        .err_unsupported => error.Unsupported,
        .err_version => error.Version,
        .err_system => error.System,
        .err_corrupt => error.Corrupt,
        .err_full => error.Full,
        .err_stuck => error.Stuck,
        .err_empty_name => error.EmptyName,
        .err_name_too_long => error.NameTooLong,
        .err_zero_ttl => error.ZeroTtl,
        .err_time_too_large => error.TimeTooLarge,
        .err_too_few_resources => error.TooFewResources,
        .err_duplicate_resource => error.DuplicateResource,
        .err_zero_amount => error.ZeroAmount,
        .err_unknown_resource => error.UnknownResource,
        .err_impossible => error.Impossible,
        .err_unknown_lease => error.UnknownLease,
        .err_unknown_ticket => error.UnknownTicket,
        .err_not_held => error.NotHeld,
        .err_not_a_revocation => error.NotARevocation,
        .err_parent_not_held => error.ParentNotHeld,
        .err_too_deep => error.TooDeep,
        .err_in_use => error.InUse,
        .err_unknown_want => error.UnknownWant,
        .err_unknown_process => error.UnknownProcess,
        .err_other_principal => error.OtherPrincipal,
        .ok => error.UnknownStatus,
        _ => error.UnknownStatus,
    };
}

/// The status that an error stands for; null for `UnknownStatus`, whose number only the details know.
pub fn statusOf(err: Error) ?Status {
    @setEvalBranchQuota(10_000);
    inline for (comptime std.meta.fieldNames(Status)) |tag| {
        const status = @field(Status, tag);
        if (status != .ok and errorOf(status) == err) return status;
    }
    return null;
}

/// Nothing if the call succeeded, otherwise the error of its status.
pub fn check(status: Status) Error!void {
    if (status != .ok) return errorOf(status);
}

/// Fails with an error that this layer has found itself, before the library was called.
pub fn fail(details: ?*Details, status: Status, message: []const u8) Error {
    if (details) |told| {
        told.* = .{ .status = status };
        told.message.set(message);
    }
    return errorOf(status);
}

/// The handle, if it was not closed.
pub fn live(handle: anytype, details: ?*Details) Error!@TypeOf(handle.?) {
    return handle orelse fail(details, .err_closed, "it was closed");
}

/// The library fits these declarations.
pub fn abiCheck(details: ?*Details) Error!void {
    return check(c.version.tern_abi_check(c.version.number, details));
}
