//! The lists of the screen.

use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Borders, Cell, Paragraph, Row, Table, TableState};

use super::app::App;
use super::draw::style;
use crate::text::colour::Mood;
use crate::text::line::clean;
use crate::text::units::duration;
use crate::view::notes::health;
use crate::view::words::{expected, left, memory, names, wants};

/// From this width on there is room for what is nice to know.
const ROOMY: u16 = 120;

/// The devices, and who has them.
pub fn devices(frame: &mut Frame, area: Rect, app: &App) {
    let rows = usize::from(area.height).saturating_sub(2);
    let all = app.view.devices.len();
    // If not all of them fit, the last row says so.
    let shown = if all > rows { rows.saturating_sub(1) } else { all };
    let mut lines: Vec<Row> = Vec::with_capacity(rows);
    for device in app.view.devices.iter().take(shown) {
        let (word, mood) = health(device.status.health);
        let holders: Vec<String> =
            app.view.leases_on(device).map(|lease| clean(&lease.info.holder)).collect();
        let busy = device.status.busy.map_or("-".to_owned(), |busy| format!("{busy}%"));
        let holders = match (holders.is_empty(), device.status.squatters.len()) {
            (false, _) => Cell::from(holders.join(", ")),
            (true, 0) if word == "healthy" => {
                Cell::from("free").style(style(Mood::Good, app.colours))
            }
            (true, 0) => Cell::from("-"),
            (true, _) => Cell::from("no lease").style(style(Mood::Warn, app.colours)),
        };
        lines.push(Row::new([
            Cell::from(device.name.clone()),
            Cell::from(clean(&device.status.device.name)),
            Cell::from(word).style(style(mood, app.colours)),
            right(memory(device.status.memory_used, device.status.device.memory)),
            right(busy),
            right(device.waiting.to_string()),
            holders,
        ]));
    }
    if shown < all {
        lines.push(Row::new([format!("+ {}", all - shown)]));
    }
    let name = if area.width >= ROOMY { 24 } else { 10 };
    let widths = [
        Constraint::Length(10),
        Constraint::Length(name),
        Constraint::Length(8),
        Constraint::Length(13),
        Constraint::Length(4),
        Constraint::Length(4),
        Constraint::Fill(1),
    ];
    let heads = ["DEVICE", "NAME", "HEALTH", "MEMORY", "BUSY", "WAIT", "HOLDER"];
    let table = table(lines, &widths, &heads, "devices", app);
    frame.render_widget(table, area);
}

/// The leases, one of which is selected.
pub fn leases(frame: &mut Frame, area: Rect, app: &App) {
    let roomy = area.width >= ROOMY;
    let rows = app.view.leases.iter().map(|lease| {
        let mood = if lease.info.revoking { Mood::Warn } else { Mood::Plain };
        let known = |text: &Option<String>| clean(text.as_deref().unwrap_or("unknown"));
        let mut cells = vec![
            Cell::from(lease.info.id.to_string()),
            Cell::from(clean(&lease.info.holder)),
            Cell::from(known(&lease.who.user)),
            Cell::from(names(&lease.devices)),
            right(duration(app.view.since(lease.info.granted_at))),
            right(left(&app.view, &lease.info)),
        ];
        cells.extend(roomy.then(|| Cell::from(known(&lease.who.command))));
        Row::new(cells).style(style(mood, app.colours))
    });
    let mut widths = vec![
        Constraint::Length(20),
        Constraint::Fill(2),
        Constraint::Length(9),
        Constraint::Fill(1),
        Constraint::Length(7),
        Constraint::Length(7),
    ];
    let mut heads = vec!["LEASE", "HOLDER", "USER", "DEVICES", "AGE", "LEFT"];
    if roomy {
        widths.push(Constraint::Fill(4));
        heads.push("COMMAND");
    }
    let selected = Style::default().add_modifier(Modifier::REVERSED);
    let table = table(rows, &widths, &heads, "leases", app).row_highlight_style(selected);
    let mut state = TableState::default().with_selected(app.place());
    frame.render_stateful_widget(table, area, &mut state);
}

/// Those who wait, in order.
pub fn line(frame: &mut Frame, area: Rect, app: &App) {
    let title = match app.view.line.len() {
        0 => "line: nobody waits".to_owned(),
        all => format!("line: {all}"),
    };
    let rows = app.view.line.iter().map(|waiting| {
        Row::new([
            right(waiting.info.place.to_string()),
            Cell::from(clean(&waiting.info.holder)),
            Cell::from(clean(waiting.who.user.as_deref().unwrap_or("unknown"))),
            Cell::from(wants(&waiting.info)),
            right(waiting.info.priority.to_string()),
            right(duration(app.view.since(waiting.info.queued_at))),
            right(expected(waiting.expected)),
        ])
    });
    let widths = [
        Constraint::Length(5),
        Constraint::Fill(2),
        Constraint::Length(9),
        Constraint::Fill(2),
        Constraint::Length(8),
        Constraint::Length(7),
        Constraint::Length(13),
    ];
    let heads = ["PLACE", "HOLDER", "USER", "WANTS", "PRIORITY", "WAITED", "EXPECTED"];
    frame.render_widget(table(rows, &widths, &heads, &title, app), area);
}

/// What happened last.
pub fn happenings(frame: &mut Frame, area: Rect, app: &App) {
    let lines = app.happenings.iter().map(|happening| {
        let ago = duration(happening.age);
        Line::styled(
            format!("{ago:>8} ago  {}", happening.words),
            style(happening.mood, app.colours),
        )
    });
    let list = Paragraph::new(lines.collect::<Vec<_>>()).block(block("events", app));
    frame.render_widget(list, area);
}

fn block<'a>(title: &str, app: &App) -> Block<'a> {
    let title = Line::styled(format!(" {title} "), style(Mood::Strong, app.colours));
    Block::new().borders(Borders::TOP).border_style(style(Mood::Dim, app.colours)).title(title)
}

fn table<'a>(
    rows: impl IntoIterator<Item = Row<'a>>,
    widths: &[Constraint],
    heads: &[&'a str],
    title: &str,
    app: &App,
) -> Table<'a> {
    const NUMBERS: [&str; 8] =
        ["MEMORY", "BUSY", "WAIT", "AGE", "LEFT", "PLACE", "PRIORITY", "WAITED"];
    let head = |head: &&'a str| match NUMBERS.contains(head) || *head == "EXPECTED" {
        true => right((*head).to_owned()),
        false => Cell::from(*head),
    };
    let heads = Row::new(heads.iter().map(head)).style(style(Mood::Dim, app.colours));
    Table::new(rows, widths.to_vec()).header(heads).column_spacing(1).block(block(title, app))
}

fn right<'a>(text: String) -> Cell<'a> {
    Cell::from(Line::from(text).right_aligned())
}
