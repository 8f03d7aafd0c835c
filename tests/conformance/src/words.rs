//! The words of a step.

use ternlease::{Span, Time};

use crate::answer::Problem;

/// Words that come in order, and options that come in any.
pub struct Words<'a> {
    plain: std::vec::IntoIter<&'a str>,
    options: Vec<(&'a str, &'a str)>,
    line: Vec<&'a str>,
}

impl<'a> Words<'a> {
    pub fn of(line: &'a str) -> Self {
        let line: Vec<&str> = line.split_whitespace().collect();
        let options = line.iter().copied().filter_map(option).collect();
        let plain: Vec<&str> = line.iter().copied().filter(|word| option(word).is_none()).collect();
        Words { plain: plain.into_iter(), options, line }
    }

    pub fn next(&mut self) -> Result<&'a str, Problem> {
        self.plain.next().ok_or(Problem::Nonsense)
    }

    pub fn rest(self) -> Vec<&'a str> {
        self.plain.collect()
    }

    pub fn number<N: std::str::FromStr>(&mut self) -> Result<N, Problem> {
        parse(self.next()?)
    }

    pub fn span(&mut self) -> Result<Span, Problem> {
        span(self.next()?)
    }

    /// What stands behind `key=`.
    pub fn option(&self, key: &str) -> Option<&'a str> {
        self.options.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    pub fn option_number<N: std::str::FromStr>(&self, key: &str) -> Result<Option<N>, Problem> {
        self.option(key).map(parse).transpose()
    }

    pub fn option_span(&self, key: &str) -> Result<Option<Span>, Problem> {
        self.option(key).map(span).transpose()
    }

    /// Is the word there, by itself?
    pub fn has(&self, word: &str) -> bool {
        self.line.contains(&word)
    }
}

/// `key=value`; not a URL, which may have some of its own.
fn option(word: &str) -> Option<(&str, &str)> {
    word.split_once('=').filter(|(key, _)| !key.contains(':'))
}

fn parse<N: std::str::FromStr>(word: &str) -> Result<N, Problem> {
    word.parse().map_err(|_| Problem::Nonsense)
}

/// Ticks, or microseconds for a real clock: the manager's own unit, which is how C counts, too.
fn span(word: &str) -> Result<Span, Problem> {
    match word {
        "forever" => Ok(Span::Forever),
        number => Ok(Span::Units(parse::<Time>(number)?)),
    }
}
