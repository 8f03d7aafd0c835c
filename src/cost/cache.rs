//! What was measured, kept on disk: one file for each processor, kernel and set of limits.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::rates::{Rate, Rates, Source};

/// Changes when what a line means does.
const VERSION: u64 = 1;
const FIRST_WORDS: &str = "ternlease rates";
/// A longer file is none of ours.
const LONGEST: u64 = 1 << 16;

/// What rates depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key(u64);

impl Key {
    pub fn new(processor: &str, threads: u32, memory: u64) -> Self {
        let build = (env!("CARGO_PKG_VERSION"), cfg!(debug_assertions));
        let text = format!("{processor}\n{threads}\n{memory}\n{build:?}");
        // FNV-1a: the same in every version of the standard library.
        let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        Key(text.bytes().fold(0xcbf2_9ce4_8422_2325, hash))
    }
}

/// In the user's cache directory, if there is one.
pub(super) fn usual_file(key: &Key) -> Option<PathBuf> {
    let absolute =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let directory =
        absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(directory.join("ternlease").join(format!("rates-{:016x}", key.0)))
}

/// What was kept for this key and is not too old. Whatever is wrong with the file, it is as if there was none.
pub(super) fn load(file: &Path, key: &Key, max_age: Duration) -> Option<(Rates, SystemTime)> {
    let mut text = String::new();
    File::open(file).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    read(&text, key, max_age)
}

/// What a text says that was kept.
fn read(text: &str, key: &Key, max_age: Duration) -> Option<(Rates, SystemTime)> {
    let mut lines = text.lines();
    let mut number = |name: &str| lines.next()?.strip_prefix(name)?.trim().parse::<u64>().ok();
    let (version, kept_for, at) = (number(FIRST_WORDS)?, number("key")?, number("at")?);
    let at = UNIX_EPOCH.checked_add(Duration::from_secs(at))?;
    // One from the future is as doubtful as one that is too old.
    let age = SystemTime::now().duration_since(at).ok()?;
    if version != VERSION || kept_for != key.0 || age > max_age {
        return None;
    }
    let mut rates = super::probe::estimated(1, 0);
    for (name, rate) in rates.named_mut() {
        *rate = parse(name, lines.next()?)?;
    }
    Some((rates, at))
}

fn parse(expected: &str, line: &str) -> Option<Rate> {
    let words: Vec<&str> = line.split(' ').collect();
    let [name, per_second, usual, spread, source] = words[..] else { return None };
    let rate = Rate {
        per_second: per_second.parse().ok()?,
        usual: usual.parse().ok()?,
        spread_permille: spread.parse().ok()?,
        source: Source::ALL.into_iter().find(|known| known.name() == source)?,
    };
    (name == expected && rate.per_second > 0).then_some(rate)
}

/// Keeps rates. Who reads at the same time sees the old file or the new one, and who writes at the same time does no harm.
pub(super) fn store(file: &Path, key: &Key, rates: &Rates, at: SystemTime) -> io::Result<()> {
    let text = written(key, rates, at);
    let directory = file.parent().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    fs::create_dir_all(directory)?;
    let (mut to, temporary) = new_beside(file)?;
    let written = to.write_all(text.as_bytes()).and_then(|()| fs::rename(&temporary, file));
    if written.is_err() {
        // What was begun is of no use; if it cannot be removed either, the error below says enough.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// As [`read`] reads it.
fn written(key: &Key, rates: &Rates, at: SystemTime) -> String {
    let at = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let mut text = format!("{FIRST_WORDS} {VERSION}\nkey {}\nat {at}\n", key.0);
    for (name, rate) in rates.named() {
        let Rate { per_second, usual, spread_permille, source } = rate;
        text.push_str(&format!(
            "{name} {per_second} {usual} {spread_permille} {}\n",
            source.name()
        ));
    }
    text
}

/// For the fuzzer: what a text says that was kept can be written again, and then says the same.
#[cfg(fuzzing)]
pub(super) fn check(text: &str) {
    let key = Key(7);
    if let Some((rates, at)) = read(text, &key, Duration::MAX) {
        assert_eq!(read(&written(&key, &rates, at), &key, Duration::MAX), Some((rates, at)));
    }
}

/// A file beside this one, of a name that there was not. One with the number of this process may have been killed before it was done, or be at it elsewhere.
fn new_beside(file: &Path) -> io::Result<(File, PathBuf)> {
    const TRIES: u32 = 1000;
    let mut name = file.to_owned().into_os_string();
    name.push(format!(".{}", std::process::id()));
    for number in 0..TRIES {
        let mut name = name.clone();
        if number > 0 {
            name.push(format!("-{number}"));
        }
        // Not through a link that somebody else put there, nor into a file of somebody else's.
        match OpenOptions::new().write(true).create_new(true).open(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return opened.map(|opened| (opened, name.into())),
        }
    }
    Err(io::Error::from(io::ErrorKind::AlreadyExists))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::tests::Files;

    const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

    #[test]
    fn what_is_kept_is_read_again_for_the_same_machine_only() {
        let files = Files::new("cache");
        let file = files.root().join("deep/rates");
        let (key, rates) = (Key::new("x", 4, 1 << 30), super::super::probe::estimated(4, 3000));
        let at = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        assert_eq!(load(&file, &key, Duration::MAX), None);
        store(&file, &key, &rates, at).unwrap();
        assert_eq!(load(&file, &key, Duration::MAX), Some((rates, at)));
        assert_eq!(load(&file, &Key::new("x", 2, 1 << 30), Duration::MAX), None);
        assert_eq!(load(&file, &key, YEAR), None, "it is too old");
        store(&file, &key, &rates, SystemTime::now() + YEAR).unwrap();
        assert_eq!(load(&file, &key, Duration::MAX), None, "it is from the future");
        assert_eq!(
            fs::read_dir(files.root().join("deep")).unwrap().count(),
            1,
            "nothing is left over"
        );
    }

    /// One with the same number was killed before it was done: in containers numbers are few.
    #[test]
    fn what_somebody_left_unfinished_is_in_nobodys_way() {
        let files = Files::new("cache-leftover");
        let file = files.root().join("rates");
        let (key, rates) = (Key::new("x", 1, 1), super::super::probe::estimated(1, 0));
        let leftover = files.root().join(format!("rates.{}", std::process::id()));
        fs::write(&leftover, "half").unwrap();
        store(&file, &key, &rates, SystemTime::now()).unwrap();
        assert!(load(&file, &key, YEAR).is_some());
        assert_eq!(fs::read_to_string(leftover).unwrap(), "half", "it may be another's");
    }

    #[test]
    fn a_file_that_was_cut_or_changed_is_as_none() {
        let files = Files::new("cache-damage");
        let file = files.root().join("rates");
        let (key, rates) = (Key::new("x", 1, 1), super::super::probe::estimated(1, 0));
        store(&file, &key, &rates, SystemTime::now()).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let end = text.rfind(' ').unwrap();
        for cut in (0..end).step_by(7) {
            fs::write(&file, &text[..cut]).unwrap();
            assert_eq!(load(&file, &key, YEAR), None, "cut after {cut} bytes");
        }
        for (from, to) in [("rates 1", "rates 2"), ("estimated", "dreamt"), ("flop64 ", "flop65 ")]
        {
            fs::write(&file, text.replacen(from, to, 1)).unwrap();
            assert_eq!(load(&file, &key, YEAR), None, "{from} became {to}");
        }
    }
}
