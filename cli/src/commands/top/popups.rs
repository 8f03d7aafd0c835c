//! What lies over the screen for a while.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph, Wrap};
use ternlease::Reason;

use super::app::{App, Mode};
use super::draw::style;
use crate::people::by_words;
use crate::text::colour::Mood;
use crate::text::line::clean;
use crate::text::units::{duration, mebibytes};
use crate::view::words::{left, names};
use crate::view::{Lease, View};

const HELP: [(&str, &str); 8] = [
    ("up, down", "select a lease (also k, j, page up and down, home, end)"),
    ("i, enter", "all about the selected lease"),
    ("r", "revoke it: its holder has 30 seconds to save its work"),
    ("R", "revoke it at once"),
    ("", "both ask before they do it"),
    ("?", "this help"),
    ("q", "quit (also escape, Ctrl-C)"),
    ("", "any key closes this"),
];

/// Draws what lies over the screen, if anything does.
pub fn draw(frame: &mut Frame, app: &App) {
    match app.mode {
        Mode::Watching => {}
        Mode::Helping => {
            let lines = HELP.iter().map(|(key, what)| Line::from(format!("{key:<10}{what}")));
            window(frame, app, " keys ", lines.collect());
        }
        Mode::Inspecting => {
            if let Some(lease) = app.lease() {
                let fields = fields(&app.view, lease);
                let lines = fields
                    .iter()
                    .map(|(name, value)| Line::from(format!("{name:<13}{}", clean(value))));
                window(frame, app, " lease ", lines.collect());
            }
        }
        Mode::Asking { lease, notice } => {
            let Some(lease) = app.view.lease(lease) else { return };
            let when = match notice.is_zero() {
                true => "at once".to_owned(),
                false => format!("in {}", duration(notice)),
            };
            let (holder, devices) = (clean(&lease.info.holder), names(&lease.devices));
            let lines = vec![
                Line::from(format!("Revoke lease {} {when}?", lease.info.id)),
                Line::from(format!("{holder} has {devices}")),
                Line::styled("y revokes, any other key does not", style(Mood::Warn, app.colours)),
            ];
            window(frame, app, " revoke ", lines);
        }
    }
}

/// Everything about a lease.
fn fields(view: &View, lease: &Lease) -> Vec<(&'static str, String)> {
    let info = &lease.info;
    let known = |text: &Option<String>| text.clone().unwrap_or("unknown".into());
    let yes_or_no = |flag: bool| if flag { "yes" } else { "no" }.to_owned();
    let takes = info.takes.iter().zip(&lease.devices).map(|(taken, device)| {
        let memory =
            if taken.memory == 0 { "".into() } else { format!(", {}", mebibytes(taken.memory)) };
        format!("{device} ({}: {} slots{memory})", taken.resource, taken.slots)
    });
    let why = info.reason.map_or("-", Reason::name).to_owned();
    let revoking = match info.revoking {
        true => {
            let by = by_words(info.ended_by, info.revoker.as_deref(), view.is_in_cluster());
            format!("in {}: {why}{by}", left(view, info))
        }
        false => "no".to_owned(),
    };
    let ttl = match info.ttl {
        ternlease::FOREVER.. => "no end".to_owned(),
        ttl => duration(std::time::Duration::from_micros(ttl)),
    };
    vec![
        ("lease", info.id.to_string()),
        ("holder", info.holder.clone()),
        ("pid", lease.who.pid.map_or("unknown".into(), |pid| pid.to_string())),
        ("user", known(&lease.who.user)),
        ("command", known(&lease.who.command)),
        ("takes", takes.collect::<Vec<_>>().join(", ")),
        ("age", duration(view.since(info.granted_at))),
        ("left", left(view, info)),
        ("ttl", ttl),
        ("priority", info.priority.to_string()),
        ("revoking", revoking),
        ("preemptible", yes_or_no(info.preemptible)),
        ("spare", yes_or_no(info.spare)),
        ("shared", yes_or_no(info.shared)),
        ("parent", info.parent.map_or("-".into(), |parent| parent.to_string())),
    ]
}

fn window(frame: &mut Frame, app: &App, title: &str, lines: Vec<Line>) {
    let screen = frame.area();
    let widest = lines.iter().map(Line::width).max().unwrap_or(0) + 4;
    let width = u16::try_from(widest).unwrap_or(u16::MAX).clamp(30, 100).min(screen.width);
    let inner = usize::from(width.saturating_sub(4)).max(1);
    // What is wider is wrapped, and so takes more rows; words may make it one more.
    let rows: usize = lines
        .iter()
        .map(|line| match line.width().div_ceil(inner) {
            0 | 1 => 1,
            more => more + 1,
        })
        .sum();
    let height = u16::try_from(rows + 2).unwrap_or(u16::MAX).min(screen.height);
    let area = Rect {
        x: screen.x + (screen.width - width) / 2,
        y: screen.y + (screen.height - height) / 2,
        width,
        height,
    };
    let title = Line::styled(title.to_owned(), style(Mood::Strong, app.colours));
    let block = Block::bordered().title(title).padding(ratatui::widgets::Padding::horizontal(1));
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).block(block), area);
}
