//! Details of a status.
const Chars = @import("text.zig").Chars;
const Reason = @import("reason.zig").Reason;
const Status = @import("status.zig").Status;

/// The details of an error. Filled in whenever a call does not succeed, left alone otherwise.
pub const Details = extern struct {
    struct_size: usize = @sizeOf(Details),
    /// What the function returned in C.
    status: Status = .ok,
    /// Why a lease is over or a claim was refused; otherwise none.
    reason: Reason = .none,
    /// What the operating system said; otherwise 0.
    os_errno: i32 = 0,
    /// What a device's driver said; otherwise 0.
    driver_code: i32 = 0,
    /// What happened and what to do, for people.
    message: Chars(256) = .{},
};
