//! The command `ternlease`: runs programs on GPUs that are leased to them, and shows who has which.

mod args;
mod commands;
mod exit;
mod leases;
mod names;
mod people;
mod place;
mod sharing;
mod svg;
mod text;
mod usage;
mod view;

use std::process::ExitCode;

use args::{Cli, Command};
use exit::Failure;

fn main() -> ExitCode {
    // Who reads our output may stop reading; that is no error of ours.
    text::end_quietly_on_broken_pipes();
    let cli = usage::parse();
    match dispatch(cli) {
        Ok(code) => code,
        Err(failure) => {
            text::complain(&failure);
            failure.code()
        }
    }
}

fn dispatch(cli: Cli) -> Result<ExitCode, Failure> {
    let place = &cli.place;
    match cli.command {
        Command::Run(args) => commands::run::run(place, &args),
        Command::Status(args) => commands::status::run(place, &args),
        Command::Top(args) => commands::top::run(place, &args),
        Command::Queue(args) => commands::queue::run(place, &args),
        Command::Claim(args) => commands::claim::run(place, &args),
        Command::Release(args) => commands::release::run(place, &args),
        Command::Renew(args) => commands::renew::run(place, &args),
        Command::Revoke(args) => commands::revoke::run(place, &args),
        Command::Adopt(args) => commands::adopt::run(place, &args),
        Command::KillChildren => Ok(commands::run::bus_error::kill_children()),
        Command::Hold(args) => commands::hold::run(place, &args),
        Command::Deadlocks(args) => commands::deadlocks::run(place, &args),
        Command::Events(args) => commands::events::run(place, &args),
        Command::Timeline(args) => commands::timeline::run(place, &args),
        Command::Metrics(args) => commands::metrics::run(place, &args),
        Command::Devices(args) => commands::devices::run(place, &args),
        Command::Doctor(args) => commands::doctor::run(place, &args),
        Command::Setup(args) => commands::setup::run(place, &args),
        Command::Cap(args) => commands::cap::run(place, &args),
        Command::Verdict(args) => commands::verdict::run(place, &args),
        Command::CtestSpec(args) => commands::ctest_spec::run(place, &args),
        Command::Completions(args) => commands::completions::run(place, &args),
        Command::Man(args) => commands::man::run(place, &args),
    }
}
