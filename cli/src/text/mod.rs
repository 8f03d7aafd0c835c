//! What people and programs read.

pub mod clock;
pub mod colour;
pub mod line;
pub mod reasons;
pub mod table;
pub mod units;

use std::fmt::Display;
use std::io::{self, Write};

use crate::exit::Failure;

/// Writes all of it to standard output, which may be a file on a disk that is full. What comes from others has been escaped
/// where it was put in; a character that was missed there is escaped here.
pub fn put(text: impl Display) -> Result<(), Failure> {
    put_verbatim(&shown(&text.to_string()))
}

/// The text as it is written to standard output: escaped, but for its colours.
pub fn shown(text: &str) -> String {
    colour::outside_of_colours(text, line::clean_lines)
}

/// As [`put`], for text of this program alone in the format of another, such as a script for a shell.
pub fn put_verbatim(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    write!(out, "{text}")
        .and_then(|()| out.flush())
        .map_err(|error| Failure::new(format!("the output cannot be written: {error}")))
}

/// As [`put`], with the end of a line.
pub fn put_line(text: impl Display) -> Result<(), Failure> {
    put(format_args!("{text}\n"))
}

/// Says on standard error what is wrong. If that cannot be written, the exit code still tells of the failure.
pub fn complain(words: &Failure) {
    let _ = writeln!(io::stderr(), "ternlease: {words}");
}

/// A reader that has seen enough, such as `head`, ends the command without a word.
pub fn end_quietly_on_broken_pipes() {
    // SAFETY: sets the default action of a signal before any thread is started.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

/// How wide the output may be: the terminal's width, `COLUMNS`, or as wide as it likes if nobody looks at it on a screen.
pub fn width() -> usize {
    use io::IsTerminal;
    if let Some(columns) = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()) {
        return columns;
    }
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: asks for the size of a terminal into a place that is large enough.
    let asked = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &mut size) };
    match (io::stdout().is_terminal(), asked, size.ws_col) {
        (true, 0, 1..) => size.ws_col.into(),
        _ => usize::MAX,
    }
}
