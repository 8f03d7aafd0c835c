//! `ternlease status`: devices, who has them, who waits, and why a device cannot be had.

mod show;
mod watch;

use std::process::ExitCode;
use std::time::Duration;

use crate::exit::Failure;
use crate::place::Place;
use crate::text::units::parse_interval;
use crate::text::{colour, put, put_line, width};
use crate::view::ending::Ending;
use crate::view::{FORECASTS, View, json};

/// What to show.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// As JSON; with --watch one object on each line
    #[arg(long)]
    json: bool,
    /// Show it again every TIME, as in 500ms or 5s (a number alone is in seconds; 2 if not said), until Ctrl-C
    #[arg(
        long,
        short,
        value_name = "TIME",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "2",
        value_parser = parse_interval
    )]
    watch: Option<Duration>,
}

/// Shows it, once or again and again.
pub fn run(place: &Place, args: &Args) -> Result<ExitCode, Failure> {
    // Before the table is opened: from then on, a signal must not end this without leaving it.
    let ending = args.watch.map(|_| Ending::new()).transpose()?;
    let pool = place.open()?;
    let url = place.url();
    let look = || View::of(&pool, &url, if args.json { FORECASTS } else { 1 });
    match args.watch.zip(ending) {
        Some((interval, ending)) if args.json => {
            watch::as_lines(interval, &ending, || json::line(&json::value(&look())))
        }
        Some((interval, ending)) => {
            watch::as_screens(interval, &ending, || show::text(&look(), width(), colour::wanted()))
        }
        None if args.json => {
            put_line(json::text(&json::value(&look())))?;
            Ok(ExitCode::SUCCESS)
        }
        None => {
            place.warn_if_private(&pool);
            put(show::text(&look(), width(), colour::wanted()))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
