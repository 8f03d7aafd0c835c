//! `ternlease adopt`: a lease for a process that runs already, so that nobody else gets its devices.

use std::process::ExitCode;

use serde_json::{Value, json};
use ternlease::GpuPool;

use super::hold::Owner;
use super::run::children::parent_of;
use super::run::{signals, words};
use super::{claim, devices};
use crate::exit::Failure;
use crate::place::Place;
use crate::text::put_line;
use crate::view::json;

const AFTER_HELP: &str = "\
Without --device the driver is asked which devices the process, or any that it
has started, computes on. Processes in containers may not be seen by their
numbers here: name the devices then.";

/// Whom to adopt.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Args {
    /// The process
    #[arg(value_name = "PID")]
    pid: u32,
    /// Lease this device, instead of what the process is seen to use
    #[arg(long = "device", value_name = "NAME")]
    named: Vec<String>,
    /// Send the process this signal if the lease is taken away [default: none]
    #[arg(long, value_name = "SIGNAL", value_parser = signals::parse)]
    notice_signal: Option<i32>,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Adopts.
pub fn run(place: &Place, args: &Args) -> Result<ExitCode, Failure> {
    place.check_inheritable()?;
    let owner = Owner::of(args.pid)?;
    let pool = place.open_with_devices()?;
    let names = match args.named.is_empty() {
        true => used_by(&pool, args.pid)?,
        false => args.named.clone(),
    };
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (lease, keeper) = claim::take_for(place, &pool, &names, &owner, args.notice_signal)?;
    let taken: Vec<String> = lease.devices().map(words::device_name).collect();
    let text = match args.json {
        true => json::text(&json!({
            "lease": lease.id().to_string(),
            "devices": lease.devices().map(devices::value).collect::<Vec<Value>>(),
            "for": args.pid,
            "keeper": keeper,
        })),
        false => {
            format!("lease {}: {} until process {} ends", lease.id(), taken.join(", "), args.pid)
        }
    };
    put_line(text)?;
    // Told: from here on it is the keeper's to give back.
    lease.into_id();
    Ok(ExitCode::SUCCESS)
}

/// The names of the devices that have no lease and on which the process, or one that it started, computes.
fn used_by(pool: &GpuPool, pid: u32) -> Result<Vec<String>, Failure> {
    let statuses = pool.status();
    let mine = |process: &ternlease::inventory::Process| is_below(process.pid, pid);
    let used: Vec<String> = statuses
        .iter()
        .filter(|status| status.squatters.iter().any(mine))
        .map(|status| words::device_name(&status.device))
        .collect();
    match used.is_empty() {
        false => Ok(used),
        true => Err(Failure::new(format!(
            "process {pid} is not seen to compute on a device without a lease; name the devices \
             with --device"
        ))),
    }
}

/// Is it the process itself, or one that it started?
fn is_below(mut process: u32, ancestor: u32) -> bool {
    // No tree of processes is so deep.
    for _ in 0..256 {
        match parent_of(process) {
            _ if process == ancestor => return true,
            Some(parent) if parent > 0 => process = parent,
            _ => return false,
        }
    }
    false
}
