//! The words of the command line. Each command keeps its own in its own file.

use clap::{Parser, Subcommand};

use crate::commands;
use crate::place::Place;

/// Share GPUs: who may use which device now, until when, and why not.
#[derive(Debug, Parser)]
#[command(
    name = "ternlease",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = crate::exit::HELP
)]
pub struct Cli {
    /// Where the pool is.
    #[command(flatten)]
    pub place: Place,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program on devices that are leased to it, waiting in line if need be
    Run(commands::run::Args),
    /// Show devices, who has them, who waits, and why a device cannot be had
    Status(commands::status::Args),
    /// Watch the pool on the full screen
    Top(commands::top::Args),
    /// Show who waits for what, in order
    Queue(commands::queue::Args),
    /// Claim devices for a script: prints the lease's number
    Claim(commands::claim::Args),
    /// Give a lease back
    Release(commands::release::Args),
    /// Renew a lease
    Renew(commands::renew::Args),
    /// Take a lease away, with a reason and a notice
    Revoke(commands::revoke::Args),
    /// Lease the devices that a running process uses, until it ends
    Adopt(commands::adopt::Args),
    /// Kill all child processes: what `run` becomes when the memory of its table is gone
    #[command(hide = true)]
    KillChildren,
    /// Hold a lease for a process: what `claim` and `adopt` leave behind
    #[command(hide = true)]
    Hold(commands::hold::Args),
    /// Show deadlocks, and break them
    Deadlocks(commands::deadlocks::Args),
    /// Show what happened, and what happens
    Events(commands::events::Args),
    /// Draw who had which device when
    Timeline(commands::timeline::Args),
    /// Print the pool's counters for a monitoring system
    Metrics(commands::metrics::Args),
    /// Show the devices of this machine, and why some are not there
    Devices(commands::devices::Args),
    /// Find out why something does not work
    Doctor(commands::doctor::Args),
    /// Make this machine's users share their GPUs: needs root, once
    Setup(commands::setup::Args),
    /// Show what this machine can do
    Cap(commands::cap::Args),
    /// Compute a result here, on a GPU, or fetch it?
    Verdict(Box<commands::verdict::Args>),
    /// Print the devices as a resource specification for CTest
    CtestSpec(commands::ctest_spec::Args),
    /// Print completions for a shell
    Completions(commands::completions::Args),
    /// Print the manual page
    Man(commands::man::Args),
}
