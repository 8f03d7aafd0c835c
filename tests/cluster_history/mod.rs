//! Histories of what clients asked of a table that machines share and what they were told, and the check that there is one order of it all in which
//! every answer is right. It knows nothing of the table's code, and of its rules only those that `model` has.
#![allow(dead_code, unused_imports)] // Not every test needs all of it.

mod check;
mod model;
mod record;

pub use check::check;
pub use record::{Asked, Call, History, Recorder, Told, now};
