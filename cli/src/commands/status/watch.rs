//! Showing something again and again.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;

use crate::exit::Failure;
use crate::text::shown;
use crate::view::ending::Ending;

/// One line each time.
pub fn as_lines(
    interval: Duration,
    ending: &Ending,
    look: impl Fn() -> String,
) -> Result<ExitCode, Failure> {
    repeat(interval, ending, || {
        let mut out = io::stdout().lock();
        writeln!(out, "{}", shown(&look()))?;
        out.flush()
    })
}

/// One screen each time; in a pipe one text after the other.
pub fn as_screens(
    interval: Duration,
    ending: &Ending,
    look: impl Fn() -> String,
) -> Result<ExitCode, Failure> {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    if !io::stdout().is_terminal() || dumb {
        return as_lines(interval, ending, look);
    }
    let _screen = Screen::enter()?;
    repeat(interval, ending, || {
        let text = fitting(&shown(&look()), rows());
        let mut out = io::stdout().lock();
        // From the upper left corner, clearing what is left of the lines and of the screen before.
        write!(out, "\x1b[H{}\x1b[J", text.replace('\n', "\x1b[K\r\n"))?;
        out.flush()
    })
}

fn repeat(
    interval: Duration,
    ending: &Ending,
    mut once: impl FnMut() -> io::Result<()>,
) -> Result<ExitCode, Failure> {
    loop {
        once()?;
        if ending.within(interval) {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// As much of the text as the screen has lines for.
fn fitting(text: &str, rows: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= rows {
        return lines.join("\n");
    }
    let (shown, left_out) = lines.split_at(rows.saturating_sub(1));
    let more = format!("({} more lines)", left_out.len());
    shown.iter().copied().chain([more.as_str()]).collect::<Vec<_>>().join("\n")
}

fn rows() -> usize {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: asks for the size of a terminal into a place that is large enough.
    let asked = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &mut size) };
    match (asked, size.ws_row) {
        (0, 1..) => size.ws_row.into(),
        _ => 24,
    }
}

/// The terminal's other screen: what was there before comes back at the end.
struct Screen;

impl Screen {
    fn enter() -> io::Result<Self> {
        let mut out = io::stdout().lock();
        out.write_all(b"\x1b[?1049h\x1b[?25l\x1b[2J")?;
        out.flush()?;
        Ok(Screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let mut out = io::stdout().lock();
        // If nobody is there to see it, nothing is lost.
        let _ = out.write_all(b"\x1b[?25h\x1b[?1049l").and_then(|()| out.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::fitting;

    #[test]
    fn what_does_not_fit_is_counted() {
        assert_eq!(fitting("a\nb\n", 2), "a\nb");
        assert_eq!(fitting("a\nb\nc\nd\n", 3), "a\nb\n(2 more lines)");
        assert_eq!(fitting("a\nb\n", 1), "(2 more lines)");
        assert_eq!(fitting("", 0), "");
    }
}
