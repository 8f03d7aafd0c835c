//! The words of a line.

use std::str::FromStr;

/// Why a line makes no sense.
pub type Why = &'static str;

/// The words of a line that nobody has taken yet.
pub struct Words {
    plain: Vec<String>,
    keyed: Vec<(String, String)>,
}

impl Words {
    pub fn of(line: &str) -> Result<Words, Why> {
        let mut words = Words { plain: Vec::new(), keyed: Vec::new() };
        for word in split(line)? {
            match word.split_once('=') {
                Some((key, value)) => words.keyed.push((key.to_owned(), value.to_owned())),
                None => words.plain.push(word),
            }
        }
        Ok(words)
    }

    pub fn plain_left(&self) -> usize {
        self.plain.len()
    }

    /// The next word that has no key.
    pub fn next<T: FromStr>(&mut self) -> Result<T, Why> {
        if self.plain.is_empty() {
            return Err("a word is missing");
        }
        self.plain.remove(0).parse().map_err(|_| "a word makes no sense")
    }

    /// The value of a key, if it is there.
    pub fn value<T: FromStr>(&mut self, key: &str) -> Result<Option<T>, Why> {
        let Some(at) = self.keyed.iter().position(|(known, _)| known == key) else {
            return Ok(None);
        };
        let (_, value) = self.keyed.remove(at);
        value.parse().map(Some).map_err(|_| "a value makes no sense")
    }

    /// The value of a key that is one of these.
    pub fn choice<T: Copy>(&mut self, key: &str, known: &[(&str, T)]) -> Result<Option<T>, Why> {
        let Some(value) = self.value::<String>(key)? else { return Ok(None) };
        let found = known.iter().find(|(name, _)| *name == value);
        found.map(|(_, choice)| Some(*choice)).ok_or("a value makes no sense")
    }

    /// Nothing may be left.
    pub fn end(self) -> Result<(), Why> {
        match (self.plain.is_empty(), self.keyed.is_empty()) {
            (true, true) => Ok(()),
            (false, _) => Err("there is a word too many"),
            (true, false) => Err("a key is unknown, or there twice"),
        }
    }
}

fn split(line: &str) -> Result<Vec<String>, Why> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            '#' if word.is_none() => break,
            blank if blank.is_whitespace() && !quoted => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    if quoted { Err("a quote is not closed") } else { Ok(words) }
}
