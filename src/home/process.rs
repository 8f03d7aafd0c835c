//! The process home: a table in ordinary memory, shared by the threads of one process.

pub(crate) use super::arrays::try_new_table;
pub use super::arrays::{Arrays, NoUndo, Undo, new_table};
