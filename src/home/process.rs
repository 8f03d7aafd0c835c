//! The process home: a table in ordinary memory, shared by the threads of one process.

pub use super::arrays::{Arrays, NoUndo, Undo, new_table};
