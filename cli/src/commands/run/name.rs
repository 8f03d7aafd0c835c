//! What others see as the holder of a lease: something that people recognise, and that no two runs share.

use std::ffi::OsStr;
use std::path::Path;

use crate::people;
use crate::text::line::clean;

/// Programs that run others: the program that they run says more.
const INTERPRETERS: [&str; 10] =
    ["python", "bash", "sh", "dash", "zsh", "perl", "ruby", "node", "julia", "Rscript"];

/// Longest part of a name, in characters: all of them together fit into a name of a table.
const LONGEST: usize = 48;

/// `alice:train.py:4242`, for a program that runs, or will run, below or as this process.
pub fn for_program<S: AsRef<OsStr>>(words: &[S], process: u32) -> String {
    let words: Vec<&OsStr> = words.iter().map(AsRef::as_ref).collect();
    format!("{}:{}:{process}", short(&user()), short(&program(&words)))
}

/// Who runs this. One that only a directory service knows, which may take long to ask, is known by its environment.
fn user() -> String {
    let known = people::of(std::process::id()).user;
    let number = |user: &String| user.chars().all(|c| c.is_ascii_digit());
    let told = || std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).ok();
    known.clone().filter(|user| !number(user)).or_else(told).or(known).unwrap_or("somebody".into())
}

fn program(words: &[&OsStr]) -> String {
    let base = |word: &OsStr| {
        let path = Path::new(word);
        path.file_name().unwrap_or(word).to_string_lossy().into_owned()
    };
    let Some((first, rest)) = words.split_first() else { return "-".to_owned() };
    let first = base(first);
    let stem = first.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    if INTERPRETERS.contains(&stem) {
        for word in rest {
            match word.to_str() {
                // What follows is a text of many lines, and no name.
                Some("-c" | "-e") => break,
                Some(option) if option.starts_with('-') => {}
                _ => return base(word),
            }
        }
    }
    first
}

fn short(text: &str) -> String {
    clean(text).chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_that_people_know_is_in_the_name() {
        for (words, known) in [
            (&["/usr/bin/train"][..], "train"),
            (&["python3.12", "-u", "src/train.py", "--lr"], "train.py"),
            (&["python", "-m", "torch.distributed.run"], "torch.distributed.run"),
            (&["bash", "-c", "echo a; echo b"], "bash"),
            (&["sh"], "sh"),
            (&["a\nb"], r"a\u{a}b"),
        ] {
            let name = for_program(words, 42);
            assert!(name.ends_with(&format!(":{known}:42")), "{name}");
        }
        assert!(for_program(&["x".repeat(9999)], 1).len() <= 255);
    }
}
