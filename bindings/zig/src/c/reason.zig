//! Reasons: why a lease is over, or a claim was refused.
const names = @import("names.zig");

/// Why a lease is over, or a claim was refused. The hundreds are the class, which tells what to do next. Numbers are
/// never changed or used again; new ones may come.
pub const Reason = enum(i32) {
    none = 0,
    /// Revoked to break a deadlock.
    deadlock_victim = 101,
    /// A claim of higher priority took it.
    preempted = 102,
    /// Spare capacity was needed by somebody who waited.
    spare_reclaimed = 103,
    /// The holder's share is used up and others need it.
    quota = 104,
    /// The longest allowed time is over.
    max_duration = 201,
    /// The budget is spent.
    budget = 202,
    /// The holder renews but does not work.
    no_progress = 301,
    /// The holder uses more than it was given.
    over_use = 302,
    /// An earlier notice was ignored.
    ignored_notice = 303,
    /// The holder acted with a stale or foreign token.
    bad_token = 304,
    /// The device failed.
    device_fault = 401,
    /// The machine is being emptied.
    node_drain = 402,
    /// The device was repartitioned or swapped.
    reconfigured = 403,
    /// An operator asked for it.
    operator = 501,
    /// A newer lease replaces this one.
    superseded = 502,
    /// The lease it depends on was revoked.
    parent_revoked = 503,
    /// The service is shutting down.
    shutdown = 504,
    /// The time ran out and nobody renewed.
    timed_out = 601,
    /// The holder gave it back.
    released = 602,
    /// The holder is gone.
    holder_died = 603,
    /// The store that keeps the table was lost.
    engine_lost = 604,
    /// The claim waited as long as it wanted to.
    wait_timed_out = 701,
    /// The claimer withdrew the claim.
    cancelled = 702,
    /// The lease that was to be the parent ended.
    parent_ended = 703,
    _,

    /// Its name, such as "PREEMPTED"; null for a number that is none known here.
    pub fn name(self: Reason) ?[]const u8 {
        return names.nameInC("", self);
    }

    /// What it asks a holder to do; null for none.
    pub fn class(self: Reason) ?Class {
        if (self == .none or self.name() == null) return null;
        return @enumFromInt(@divTrunc(@intFromEnum(self), 100));
    }

    /// What a class of reasons asks a holder to do.
    pub const Class = enum(i32) {
        /// Somebody else needed it more. Try again.
        contention = 1,
        /// A limit was reached. Claim again, as a newcomer.
        limit = 2,
        /// The holder misbehaved. Back off and look.
        conduct = 3,
        /// The thing itself is gone or changing. Go elsewhere.
        resource = 4,
        /// Somebody in charge said so. Stop and ask.
        authority = 5,
        /// The lease was not taken away: it ended.
        ended = 6,
        /// A claim was not granted.
        refused = 7,
        _,

        /// Its name, such as "CONTENTION".
        pub fn name(self: Class) ?[]const u8 {
            return names.nameInC("", self);
        }
    };
};

pub extern fn tern_reason_name(reason: Reason) [*:0]const u8;
pub extern fn tern_reason_class(reason: Reason) i32;
