//! Lengths of time for managers with a real clock, which count microseconds.

pub const millisecond: u64 = 1_000;
pub const second: u64 = 1_000_000;

/// Without end.
pub const forever: u64 = ~@as(u64, 0);

/// What never ends, where times are predicted: in nanoseconds.
pub const never: u64 = ~@as(u64, 0);
