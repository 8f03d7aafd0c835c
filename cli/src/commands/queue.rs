//! `ternlease queue`: who waits for what, in order.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::exit::Failure;
use crate::place::Place;
use crate::text::colour::Mood;
use crate::text::line::clean;
use crate::text::table::{Column, Table};
use crate::text::units::duration;
use crate::text::{put, put_line, width};
use crate::view::words::{expected, wants};
use crate::view::{FORECASTS, View, json};

/// What to show.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// From this width on, there is room for the tickets' numbers.
const ROOMY: usize = 100;

/// Shows the line.
pub fn run(place: &Place, args: &Args) -> Result<ExitCode, Failure> {
    let pool = place.open()?;
    let view = View::of(&pool, &place.url(), FORECASTS);
    if args.json {
        let line: Vec<Value> =
            view.line.iter().map(|waiting| json::waiting(&view, waiting)).collect();
        put_line(json::text(&json!({ "pool": view.url, "queue": line })))?;
    } else if view.line.is_empty() {
        put_line("nobody waits")?;
    } else {
        put(table(&view, width() >= ROOMY).render())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn table(view: &View, roomy: bool) -> Table {
    let mut columns = vec![Column::right("PLACE")];
    columns.extend(roomy.then(|| Column::left("TICKET")));
    columns.extend([
        Column::left("HOLDER").flexible(10),
        Column::left("USER").flexible(6),
        Column::left("WANTS").flexible(12),
        Column::right("PRIORITY"),
        Column::right("WAITED"),
        Column::right("EXPECTED"),
    ]);
    let mut table = Table::new(columns);
    for waiting in &view.line {
        let plain = |text: String| (text, Mood::Plain);
        let info = &waiting.info;
        let mut row = vec![plain(info.place.to_string())];
        row.extend(roomy.then(|| plain(info.id.to_string())));
        row.extend([
            plain(clean(&info.holder)),
            plain(clean(waiting.who.user.as_deref().unwrap_or("unknown"))),
            plain(wants(info)),
            plain(info.priority.to_string()),
            plain(duration(view.since(info.queued_at))),
            plain(expected(waiting.expected)),
        ]);
        table.row(row);
    }
    table
}
