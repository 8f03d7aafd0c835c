//! How the screen is divided.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::app::App;
use super::{panels, popups};
use crate::text::colour::Mood;
use crate::text::line::clean;
use crate::view::notes::{notes, summary};

/// Draws everything.
pub fn draw(frame: &mut Frame, app: &App) {
    let wanted =
        [app.view.devices.len(), app.view.leases.len(), app.view.line.len(), app.happenings.len()];
    let notes = notes(&app.view);
    // The title and the keys take a row each, a panel one for its name and one for its head, which the line has only if there is one.
    let noted = notes.len().min(3);
    let line_head = if app.view.line.is_empty() { 1 } else { 2 };
    let rows = usize::from(frame.area().height).saturating_sub(2 + 5 + line_head + noted);
    let [devices, leases, line, happenings] = shares(rows, wanted);
    let length = |rows: usize| Constraint::Length(u16::try_from(rows).unwrap_or(u16::MAX));
    let areas = Layout::vertical([
        Constraint::Length(1),
        length(devices + 2),
        length(noted),
        length(leases + 2),
        length(line + line_head),
        length(happenings + 1),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .split(frame.area());
    frame.render_widget(Paragraph::new(title(app)), areas[0]);
    panels::devices(frame, areas[1], app);
    let notes = notes
        .into_iter()
        .take(noted)
        .map(|note| Line::styled(format!("! {}", note.words), style(note.mood, app.colours)));
    frame.render_widget(Paragraph::new(notes.collect::<Vec<_>>()), areas[2]);
    panels::leases(frame, areas[3], app);
    panels::line(frame, areas[4], app);
    panels::happenings(frame, areas[5], app);
    frame.render_widget(Paragraph::new(footer(app)), areas[7]);
    popups::draw(frame, app);
}

fn title(app: &App) -> Line<'_> {
    Line::from(vec![
        Span::styled("ternlease ", style(Mood::Strong, app.colours)),
        Span::raw(clean(&app.view.url)),
        Span::raw("  "),
        Span::raw(summary(&app.view)),
    ])
}

fn footer(app: &App) -> Line<'_> {
    match &app.message {
        Some((words, mood)) => Line::styled(clean(words), style(*mood, app.colours)),
        None => Line::styled(
            "up/down select  i inspect  r revoke in 30s  R revoke now  ? help  q quit",
            style(Mood::Dim, app.colours),
        ),
    }
}

/// How many rows each of several lists gets: no more than it wants, all if there is room, and at least one if it wants any. What comes first in the list goes
/// first where there is not room for all.
fn shares<const N: usize>(rows: usize, wanted: [usize; N]) -> [usize; N] {
    let fair = (rows / N.max(1)).max(1);
    let mut given = wanted.map(|wanted| wanted.min(fair));
    let mut left = rows.saturating_sub(given.iter().sum());
    for (given, wanted) in given.iter_mut().zip(wanted) {
        let more = wanted.saturating_sub(*given).min(left);
        *given += more;
        left -= more;
    }
    given
}

/// How a mood looks on the screen. Without colours it is told by weight alone.
pub fn style(mood: Mood, colours: bool) -> Style {
    let plain = Style::default();
    let coloured = |colour| if colours { plain.fg(colour) } else { plain };
    match mood {
        Mood::Good => coloured(Color::Green),
        Mood::Warn => coloured(Color::Yellow),
        Mood::Bad => coloured(Color::Red),
        Mood::Dim => plain.add_modifier(Modifier::DIM),
        Mood::Strong => plain.add_modifier(Modifier::BOLD),
        Mood::Plain => plain,
    }
}

#[cfg(test)]
mod share_tests {
    use super::shares;

    #[test]
    fn nobody_gets_more_than_wanted_and_who_wants_some_gets_one() {
        assert_eq!(shares(40, [4, 3, 2, 50]), [4, 3, 2, 31]);
        assert_eq!(shares(8, [8, 8, 8, 8]), [2, 2, 2, 2]);
        assert_eq!(shares(10, [8, 1, 0, 8]), [7, 1, 0, 2]);
        assert_eq!(shares(0, [8, 0, 0, 8]), [1, 0, 0, 1]);
    }
}
