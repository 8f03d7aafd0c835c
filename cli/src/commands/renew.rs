//! `ternlease renew`: moves the end of a lease.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;
use ternlease::{FOREVER, LeaseId};

use super::release::explain;
use crate::exit::Failure;
use crate::place::Place;
use crate::text::put_line;
use crate::text::units::{duration, parse_duration};
use crate::view::json;

/// What to renew.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The number of the lease, as `claim` printed it
    #[arg(value_name = "LEASE", env = "TERNLEASE_LEASE", hide_env_values = true)]
    lease: u64,
    /// From now on it lasts so long without renewal, but never ends earlier than before [default: as long as before]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    ttl: Option<Duration>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Renews it, and says how long it lasts now.
pub fn run(place: &Place, args: &Args) -> Result<ExitCode, Failure> {
    let manager = place.manager()?;
    let id = LeaseId(args.lease);
    let renewed = match args.ttl {
        Some(ttl) => manager.renew_for(id, ttl),
        None => manager.renew(id),
    };
    let end = renewed.map_err(|error| explain(args.lease, error))?;
    let left =
        (end < FOREVER).then(|| Duration::from_micros(end.saturating_sub(manager.tick_count())));
    let text = match (args.json, left) {
        (true, left) => json::text(&json!({
            "lease": id.to_string(),
            "left_seconds": left.map(|left| left.as_secs_f64()),
        })),
        (false, Some(left)) => format!("lease {id}: {} from now", duration(left)),
        (false, None) => format!("lease {id}: without end"),
    };
    put_line(text)?;
    Ok(ExitCode::SUCCESS)
}
