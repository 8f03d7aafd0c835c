//! The timeline as text: one row for each device, so wide as the terminal.

use super::axis::marks;
use super::history::{Bar, Fate, History};
use crate::text::colour::{Mood, paint};
use crate::text::line::clean;
use crate::text::table::cut;
use crate::text::units::duration;

/// Where nobody looks on a screen.
const USUAL_WIDTH: usize = 80;
/// Rows that are wider than this are hard to follow with the eye.
const WIDEST: usize = 200;
/// Room for names, and at least so much for the leases.
const WIDEST_NAME: usize = 20;
const NARROWEST_PLOT: usize = 10;

/// Draws it, at most so wide (and never narrower than the names need).
pub fn draw(history: &History, width: usize, colours: bool) -> String {
    let width = if width == usize::MAX { USUAL_WIDTH } else { width.min(WIDEST) };
    let names = history.rows.iter().map(|row| row.name.chars().count());
    let name_width = names.max().unwrap_or(0).min(WIDEST_NAME);
    let plot = width.saturating_sub(name_width + 2).max(NARROWEST_PLOT);
    let mut text = String::new();
    let mut put = |name: &str, line: String| {
        let name = cut(&clean(name), name_width);
        let blanks = " ".repeat(name_width - name.chars().count());
        text.push_str(format!("{name}{blanks}  {line}").trim_end());
        text.push('\n');
    };
    put("", paint(&axis(history, plot), Mood::Dim, colours));
    for row in &history.rows {
        for (number, lane) in row.lanes.iter().enumerate() {
            let name = if number == 0 { row.name.as_str() } else { "" };
            put(name, painted(&cells(history, lane, plot), colours));
        }
    }
    for line in wrapped(&notes(history), width) {
        text.push_str(&paint(&line, Mood::Dim, colours));
        text.push('\n');
    }
    text
}

type Cell = (char, Mood);

fn axis(history: &History, plot: usize) -> String {
    let mut line = vec![' '; plot];
    let mut free = 0;
    // A label of eight and some air around it.
    for (at, label) in marks(history, (plot / 14).max(1)) {
        let column = column(history, at, plot);
        let label: Vec<char> = "╷".chars().chain(label.chars()).collect();
        if column >= free && column + label.len() <= plot {
            line[column..column + label.len()].copy_from_slice(&label);
            free = column + label.len() + 1;
        }
    }
    line.into_iter().collect()
}

fn column(history: &History, at: ternlease::Time, plot: usize) -> usize {
    ((history.part(at) * plot as f64) as usize).min(plot - 1)
}

/// The last column of what ends then: the next one begins in a column of its own.
fn last_column(history: &History, end: ternlease::Time, plot: usize) -> usize {
    match end >= history.to {
        true => plot - 1,
        false => column(history, end, plot).saturating_sub(1),
    }
}

/// One lane: each lease from its beginning to its end, with its holder's name if there is room.
fn cells(history: &History, lane: &[Bar], plot: usize) -> Vec<Cell> {
    let mut line = vec![('·', Mood::Dim); plot];
    for bar in lane {
        let mood = mood(bar.fate);
        let from = column(history, bar.from, plot);
        let to = last_column(history, bar.to, plot).max(from);
        for cell in &mut line[from..=to] {
            *cell = ('━', mood);
        }
        if from < to {
            line[from] = if bar.from < history.from { ('━', mood) } else { ('┣', mood) };
        }
        line[to] = (end(bar.fate), mood);
        let room = (to - from).saturating_sub(1);
        let holder = clean(&bar.holder);
        // A name of which less than that is left says nothing.
        if room >= 3 || holder.chars().count() <= room {
            for (cell, letter) in line[from + 1..].iter_mut().zip(cut(&holder, room).chars()) {
                *cell = (letter, mood);
            }
        }
    }
    line
}

fn painted(line: &[Cell], colours: bool) -> String {
    let mut text = String::new();
    for piece in line.chunk_by(|a, b| a.1 == b.1) {
        let letters: String = piece.iter().map(|cell| cell.0).collect();
        text.push_str(&paint(&letters, piece[0].1, colours));
    }
    text
}

/// How the end of a lease looks.
const fn end(fate: Fate) -> char {
    match fate {
        Fate::Held => '▶',
        Fate::Notified => '▷',
        Fate::Released => '┫',
        Fate::RanOut => '◌',
        Fate::Died => '†',
        Fate::Revoked => '✗',
    }
}

const fn mood(fate: Fate) -> Mood {
    match fate {
        Fate::Held => Mood::Good,
        Fate::Released => Mood::Plain,
        Fate::Notified | Fate::RanOut | Fate::Died => Mood::Warn,
        Fate::Revoked => Mood::Bad,
    }
}

/// What the signs mean, and what is not shown.
fn notes(history: &History) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let span = std::time::Duration::from_micros(history.to.saturating_sub(history.from));
    notes.push(format!("{} until now", duration(span)));
    notes.extend(history.fates().into_iter().map(|fate| format!("{} {}", end(fate), fate.name())));
    if history.bars().next().is_none() {
        notes.push("no lease is remembered".to_owned());
    }
    if history.forgotten > 0 {
        notes.push(format!("{} leases are forgotten and not shown", history.forgotten));
    }
    notes
}

/// As many on each line as fit.
fn wrapped(notes: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for note in notes {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 3 + note.chars().count() <= width => {
                line.push_str("   ");
                line.push_str(note);
            }
            _ => lines.push(cut(note, width)),
        }
    }
    lines
}
