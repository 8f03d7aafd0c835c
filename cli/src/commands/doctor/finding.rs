//! One thing that an examination found.

use serde_json::{Value, json};

use crate::text::colour::{Mood, paint};
use crate::text::line::clean;
use crate::view::words::wrap;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// As it should be.
    Ok,
    /// Something to be aware of.
    Warn,
    /// Something does not work.
    Bad,
}

/// What was found, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// What it is about, in a word.
    pub topic: &'static str,
    /// In words.
    pub words: String,
    /// The next step, if there is one to take.
    pub next: Option<String>,
}

impl Finding {
    /// All is well with that.
    pub fn ok(topic: &'static str, words: impl Into<String>) -> Self {
        Finding { level: Level::Ok, topic, words: words.into(), next: None }
    }

    /// Something to be aware of.
    pub fn warn(topic: &'static str, words: impl Into<String>, next: impl Into<String>) -> Self {
        Finding { level: Level::Warn, topic, words: words.into(), next: Some(next.into()) }
    }

    /// Something does not work.
    pub fn bad(topic: &'static str, words: impl Into<String>, next: impl Into<String>) -> Self {
        Finding { level: Level::Bad, topic, words: words.into(), next: Some(next.into()) }
    }

    /// For people.
    pub fn text(&self, width: usize, colours: bool) -> String {
        let (word, mood) = match self.level {
            Level::Ok => ("ok  ", Mood::Good),
            Level::Warn => ("warn", Mood::Warn),
            Level::Bad => ("bad ", Mood::Bad),
        };
        let words = clean(&self.words);
        let next = self.next.iter().map(|next| format!("-> {}", clean(next)));
        let mut text = String::new();
        for (place, part) in std::iter::once(words).chain(next).enumerate() {
            // What comes before is as wide as the indent of what follows.
            let filler = "x".repeat(INDENT);
            let wrapped = wrap(&format!("{filler}{part}"), width, INDENT);
            let wrapped = wrapped.strip_prefix(&filler).unwrap_or(&wrapped);
            match place {
                0 => {
                    let topic = paint(&format!("{:<9}", self.topic), Mood::Strong, colours);
                    text.push_str(&format!("{}  {topic}  {wrapped}\n", paint(word, mood, colours)));
                }
                _ => text.push_str(&format!("{}{wrapped}\n", " ".repeat(INDENT))),
            }
        }
        text
    }

    /// For programs.
    pub fn value(&self) -> Value {
        json!({
            "level": match self.level {
                Level::Ok => "ok",
                Level::Warn => "warn",
                Level::Bad => "bad",
            },
            "topic": self.topic,
            "words": self.words,
            "next": self.next,
        })
    }
}

/// Where the words of a finding begin.
const INDENT: usize = 17;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_align_and_fit() {
        let finding = Finding::bad("lock", "word ".repeat(40).trim_end(), "do \x1b[2Jthis");
        let text = finding.text(80, false);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let begin = text.lines().map(|line| line.chars().nth(INDENT).unwrap());
        assert!(begin.clone().all(|c| c != ' ') && begin.count() > 2, "{text}");
        assert!(text.ends_with("-> do \\u{1b}[2Jthis\n"), "{text:?}");
    }
}
