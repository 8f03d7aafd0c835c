//! The process home: a table in ordinary memory, shared by the threads of one process.

mod heap;

pub use heap::{Heap, new_table};
