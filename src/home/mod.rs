//! Homes: where a table lives and how its waiters wake. A home stores, locks, tells the time and wakes; it has no rule of its own.

pub mod process;
