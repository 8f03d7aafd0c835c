//! Colours, where somebody looks and has not said no.

use std::io::IsTerminal;

/// What a piece of text means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// All is well.
    Good,
    /// Something to be aware of.
    Warn,
    /// Something is wrong.
    Bad,
    /// Less important than the rest.
    Dim,
    /// A heading.
    Strong,
    /// Nothing in particular.
    Plain,
}

/// Are colours wanted? Not with `NO_COLOR`, on a dumb terminal, in a pipe or in a file.
pub fn wanted() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !refused && !dumb && std::io::stdout().is_terminal()
}

/// The text with `change` applied to everything but the sequences that [`paint`] writes, where colours are wanted.
pub fn outside_of_colours(text: &str, change: impl Fn(&str) -> String) -> String {
    if !wanted() {
        return change(text);
    }
    let mut changed = String::with_capacity(text.len());
    let mut rest = text;
    let next = |rest: &str| {
        let found = CODES.iter().filter_map(|code| Some((rest.find(code)?, code.len())));
        found.min()
    };
    while let Some((at, length)) = next(rest) {
        let (before, from_here) = rest.split_at(at);
        let (code, after) = from_here.split_at(length);
        changed.push_str(&change(before));
        changed.push_str(code);
        rest = after;
    }
    changed + &change(rest)
}

/// All sequences that [`paint`] writes.
const CODES: [&str; 6] = ["\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[2m", "\x1b[1m", "\x1b[0m"];

/// The text in the colour of its mood, if colours are wanted.
pub fn paint(text: &str, mood: Mood, wanted: bool) -> String {
    let code = match mood {
        Mood::Good => "32",
        Mood::Warn => "33",
        Mood::Bad => "31",
        Mood::Dim => "2",
        Mood::Strong => "1",
        Mood::Plain => return text.to_owned(),
    };
    if wanted { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}
