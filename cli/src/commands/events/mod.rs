//! `ternlease events`: what happened, and what happens.

mod follow;
mod tell;

use std::process::ExitCode;

use serde_json::json;
use ternlease::{Event, EventReader};

use crate::exit::Failure;
use crate::names::Named;
use crate::place::Place;
use crate::text::clock::Clock;
use crate::text::colour;
use crate::text::table::cut;
use crate::text::{put, width};
use crate::view::json;
use follow::{Ending, Woken};

/// What to show.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Go on, and show events as they happen, until Ctrl-C
    #[arg(long, short)]
    follow: bool,
    /// As JSON: one object on each line, with the same keys in all of them
    #[arg(long)]
    json: bool,
    /// Only what came after the event of this number
    #[arg(long, value_name = "NUMBER", default_value_t = 0, hide_default_value = true)]
    since: u64,
}

/// Shows the events.
pub fn run(place: &Place, args: &Args) -> Result<ExitCode, Failure> {
    // Before the table is opened: from then on, a signal must not end this without leaving it.
    let ending = if args.follow { Some(Ending::new()?) } else { None };
    let named = Named::open(place)?;
    let mut reader = named.manager.events(args.since);
    let mut printer = Printer { named: &named, json: args.json, missed: 0 };
    printer.print(&mut reader)?;
    if let Some(ending) = ending {
        while ending.wait(&mut reader)? == Woken::BySomethingNew {
            printer.print(&mut reader)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

struct Printer<'a> {
    named: &'a Named,
    json: bool,
    missed: u64,
}

impl Printer<'_> {
    /// Prints all there is to read, at once.
    fn print(&mut self, reader: &mut EventReader) -> Result<(), Failure> {
        let events: Vec<Event> = reader.by_ref().collect();
        let claimed = tell::Claimed::of(&events, self.named);
        let clock = Clock::of(&self.named.manager);
        let mut text = String::new();
        let missed = reader.missed() - self.missed;
        self.missed = reader.missed();
        if missed > 0 {
            let line = match self.json {
                true => json::line(&json!({ "what": "missed", "count": missed })),
                false => format!("({missed} events are not remembered any more)"),
            };
            text.push_str(&line);
            text.push('\n');
        }
        let (most, colours) = (width(), colour::wanted());
        for event in &events {
            let line = match self.json {
                true => json::line(&tell::value(event, self.named, &clock, &claimed)),
                false => {
                    let line = tell::line(event, self.named, &clock, &claimed);
                    let mood = tell::mood(&event.what);
                    colour::paint(&cut(&line, most), mood, colours)
                }
            };
            text.push_str(&line);
            text.push('\n');
        }
        put(text)
    }
}
