//! `ternlease renew`: moves the end of a lease.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;
use ternlease::FOREVER;

use super::release::explain;
use crate::exit::Failure;
use crate::leases;
use crate::place::Place;
use crate::text::put_line;
use crate::text::units::{parse_duration, remaining};
use crate::view::json;

/// What to renew.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Lease id, its last four or more digits, or the holder name [env: TERNLEASE_LEASE]
    #[arg(value_name = "LEASE")]
    lease: Option<String>,
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
    let word = match &args.lease {
        Some(word) => word.clone(),
        None => leases::of_environment()?.swap_remove(0),
    };
    let id = leases::find(&manager, &word)?;
    let renewed = match args.ttl {
        Some(ttl) => manager.renew_for(id, ttl),
        None => manager.renew(id),
    };
    let end = renewed.map_err(|error| explain(id, error))?;
    let left =
        (end < FOREVER).then(|| Duration::from_micros(end.saturating_sub(manager.tick_count())));
    let text = match (args.json, left) {
        (true, left) => json::text(&json!({
            "lease": id.to_string(),
            "left_seconds": left.map(|left| left.as_secs_f64()),
        })),
        (false, Some(left)) => format!("lease {id}: {} from now", remaining(left)),
        (false, None) => format!("lease {id}: without end"),
    };
    put_line(text)?;
    Ok(ExitCode::SUCCESS)
}
