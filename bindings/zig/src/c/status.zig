//! Status: what became of a call.
const names = @import("names.zig");

/// What became of a call. Zero is success; a positive status is a normal outcome that is not success; a negative one is
/// a failure. Numbers are never changed or used again; new ones may come.
pub const Status = enum(i32) {
    ok = 0,
    busy = 1,
    timeout = 2,
    empty = 3,
    waiting = 4,
    refused = 5,
    unchanged = 6,
    more = 7,
    err_null = -1,
    err_bad_handle = -2,
    err_closed = -3,
    err_forked = -4,
    err_poisoned = -5,
    err_panic = -6,
    err_bad_struct = -7,
    err_bad_text = -8,
    err_bad_value = -9,
    err_bad_url = -10,
    err_unsupported = -11,
    err_version = -12,
    err_system = -13,
    err_corrupt = -14,
    err_full = -15,
    err_stuck = -16,
    err_empty_name = -20,
    err_name_too_long = -21,
    err_zero_ttl = -22,
    err_time_too_large = -23,
    err_too_few_resources = -24,
    err_duplicate_resource = -25,
    err_zero_amount = -26,
    err_unknown_resource = -27,
    err_impossible = -28,
    err_unknown_lease = -29,
    err_unknown_ticket = -30,
    err_not_held = -31,
    err_not_a_revocation = -32,
    err_parent_not_held = -33,
    err_too_deep = -34,
    err_in_use = -35,
    err_unknown_want = -36,
    err_unknown_process = -37,
    err_other_principal = -38,
    _,

    /// Its name in C, such as "TERN_BUSY"; null for a number that is none known here.
    pub fn name(self: Status) ?[]const u8 {
        return names.nameInC("TERN_", self);
    }
};

pub extern fn tern_status_name(status: Status) [*:0]const u8;
