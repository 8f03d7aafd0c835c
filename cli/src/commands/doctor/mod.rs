//! `ternlease doctor`: to be written.

use std::process::ExitCode;

use crate::exit::Failure;
use crate::place::Place;

/// What to do.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Does it.
pub fn run(_place: &Place, _args: &Args) -> Result<ExitCode, Failure> {
    Err(Failure::new("not written yet"))
}
