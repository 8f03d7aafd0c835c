//! `ternlease top`: the pool on the full screen, live.

mod app;
mod draw;
mod panels;
mod popups;
#[cfg(test)]
mod tests;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ternlease::{GpuPool, LeaseId, Reason};

use super::revoke;
use crate::exit::Failure;
use crate::people;
use crate::place::Place;
use crate::text::colour::{self, Mood};
use crate::text::units::parse_duration;
use crate::view::ending::Ending;
use crate::view::{View, happenings};
use app::{App, Wish};

/// How to watch.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Look again at least this often, as in 500ms or 2s
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_duration)]
    every: Duration,
}

/// How long a key, an event or a signal may have to wait for an answer.
const PULSE: Duration = Duration::from_millis(100);
/// So many of those who wait are told for how long.
const FORECASTS: usize = 8;
/// More than any screen shows.
const HAPPENINGS: usize = 100;

/// Watches until it is told to stop.
pub fn run(place: &Place, args: &Args) -> Result<ExitCode, Failure> {
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        return Err(Failure::new(
            "top needs a terminal to draw on; use `ternlease status --watch` in a pipe",
        ));
    }
    // Before the table is opened: from then on, a signal must not end this without leaving it.
    let ending = Ending::new()?;
    let pool = place.open()?;
    // Also makes a panic, of whatever thread, leave the screen as it was.
    let mut terminal = ratatui::try_init()?;
    let _restored = Restored;
    watch(&mut terminal, &pool, &place.url(), args.every.max(PULSE), &ending)?;
    Ok(ExitCode::SUCCESS)
}

/// The terminal is as it was before, however this is left.
struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        // If the terminal is gone, there is nothing to restore.
        let _ = ratatui::try_restore();
    }
}

fn watch(
    terminal: &mut DefaultTerminal,
    pool: &GpuPool,
    url: &str,
    every: Duration,
    ending: &Ending,
) -> Result<(), Failure> {
    let mut app = App::new(colour::wanted());
    let mut seen = 0;
    let mut looked: Option<Instant> = None;
    let mut changed = true;
    loop {
        let (news, missed) = pool.manager().events_since(seen);
        let due = looked.is_none_or(|at| at.elapsed() >= every);
        if due || !news.is_empty() || missed > 0 {
            seen = seen.max(happenings::newest(&news));
            let (events, _) = pool.manager().events_since(seen.saturating_sub(HAPPENINGS as u64));
            app.look(View::of(pool, url, FORECASTS), happenings::last(pool, &events, HAPPENINGS));
            looked = Some(Instant::now());
            changed = true;
        }
        if std::mem::take(&mut changed) {
            terminal.draw(|frame| draw::draw(frame, &app))?;
        }
        if ending.within(Duration::ZERO) {
            return Ok(());
        }
        if !event::poll(PULSE)? {
            continue;
        }
        // Whatever it is, such as another size of the window: it is drawn anew.
        changed = true;
        let Event::Key(key) = event::read()? else { continue };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        match app.key(key) {
            Wish::Nothing => {}
            Wish::Quit => return Ok(()),
            Wish::Revoke { lease, notice } => {
                let (words, mood) = take_away(pool, lease, notice);
                app.tell(words, mood);
                looked = None;
            }
        }
    }
}

/// What became of it, in words.
fn take_away(pool: &GpuPool, lease: LeaseId, notice: Duration) -> (String, Mood) {
    let manager = pool.manager();
    let by = people::of(std::process::id()).user.unwrap_or_default();
    let reason = Reason::Operator;
    match manager.revoke_with(lease, reason, &by, notice) {
        Ok(answer) => {
            let info = manager.lease(lease);
            let ends = revoke::remaining(manager, answer);
            (revoke::words(answer, lease, info.as_ref(), reason, ends), Mood::Good)
        }
        Err(error) => (revoke::refused(manager, lease, error).to_string(), Mood::Bad),
    }
}
