//! What people and programs read.

pub mod clock;
pub mod colour;
pub mod line;
pub mod reasons;
pub mod table;
pub mod units;

/// A reader that has seen enough, such as `head`, ends the command without a word.
pub fn end_quietly_on_broken_pipes() {
    // SAFETY: sets the default action of a signal before any thread is started.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

/// How wide the output may be: the terminal's width, `COLUMNS`, or as wide as it likes if nobody looks at it on a screen.
pub fn width() -> usize {
    use std::io::IsTerminal;
    if let Some(columns) = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()) {
        return columns;
    }
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: asks for the size of a terminal into a place that is large enough.
    let asked = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &mut size) };
    match (std::io::stdout().is_terminal(), asked, size.ws_col) {
        (true, 0, 1..) => size.ws_col.into(),
        _ => usize::MAX,
    }
}
