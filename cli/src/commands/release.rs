//! `ternlease release`: gives leases back, whoever has them.

use std::process::ExitCode;

use ternlease::{Error, LeaseId, LeaseManager};

use crate::exit::Failure;
use crate::leases;
use crate::place::Place;
use crate::text::line::clean;
use crate::text::put_line;

const AFTER_HELP: &str = "\
Any process that may use the pool can give back any lease: a program that `run`
started on it is told and ended. To take a lease away from somebody, with a
reason, use `ternlease revoke`. The release of a lease of another user is
recorded as a revocation (OPERATOR).";

/// What to give back.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// Lease id, its last four or more digits, or the holder name; may be repeated [env: TERNLEASE_LEASE]
    #[arg(value_name = "LEASE")]
    leases: Vec<String>,
}

/// Gives them back. All that can be are, whatever is said of the others.
pub fn run(place: &Place, args: &Args) -> Result<ExitCode, Failure> {
    let words = match args.leases.as_slice() {
        [] => leases::of_environment()?,
        words => words.to_vec(),
    };
    let manager = place.manager()?;
    let mut failure = None;
    for word in words {
        if let Err(error) = release(&manager, &word) {
            failure.get_or_insert(error);
        }
    }
    failure.map_or(Ok(ExitCode::SUCCESS), Err)
}

/// Says which lease it was, unless it was given by its full id.
fn release(manager: &LeaseManager, word: &str) -> Result<(), Failure> {
    let id = leases::find(manager, word)?;
    let holder = manager.lease(id).map_or(String::new(), |info| info.holder);
    manager.release(id).map_err(|error| explain(id, error))?;
    match word.parse() == Ok(id.0) {
        true => Ok(()),
        false => put_line(format!("released lease {id} of holder {}", clean(&holder))),
    }
}

/// Why nothing could be done with a lease.
pub fn explain(id: LeaseId, error: Error) -> Failure {
    match error {
        Error::UnknownLease => Failure::new(format!(
            "no lease {id} is remembered in this pool; `ternlease status` shows those there are"
        )),
        Error::NotHeld(..) => Failure::new(format!("lease {id}: {error}")),
        error => error.into(),
    }
}
