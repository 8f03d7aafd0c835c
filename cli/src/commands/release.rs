//! `ternlease release`: gives leases back, whoever has them.

use std::process::ExitCode;

use ternlease::{Error, LeaseId};

use crate::exit::Failure;
use crate::leases;
use crate::place::Place;

const AFTER_HELP: &str = "\
Any process that may use the pool can give back any lease: a program that `run`
started on it is told and ended. To take a lease away from somebody, with a
reason, use `ternlease revoke`.";

/// What to give back.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// The number of a lease, as `claim` printed it, or the end of it; or the name of its holder. Several if need be [env: TERNLEASE_LEASE]
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
        let release = |id| manager.release(id).map_err(|error| explain(id, error));
        if let Err(error) = leases::find(&manager, &word).and_then(release) {
            failure.get_or_insert(error);
        }
    }
    failure.map_or(Ok(ExitCode::SUCCESS), Err)
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
