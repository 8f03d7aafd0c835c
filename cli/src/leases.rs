//! Finds the lease that a word of the command line names.

use ternlease::{LeaseId, LeaseInfo, LeaseManager};

use crate::exit::Failure;
use crate::text::line::clean;

/// A shorter end of a number could be a typing error that happens to fit.
const SHORTEST_END: usize = 4;

/// The lease of this number; or the only one that is held by this holder, or whose number ends so.
pub fn find(manager: &LeaseManager, word: &str) -> Result<LeaseId, Failure> {
    let number = word.parse().ok().map(LeaseId);
    if let Some(id) = number.filter(|id| manager.lease(*id).is_some()) {
        return Ok(id);
    }
    let is_end = word.len() >= SHORTEST_END && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_meant = |info: &LeaseInfo| {
        // A holder may also be named as other commands show it.
        let is_holder = info.holder == word || clean(&info.holder) == word;
        is_holder || (is_end && info.id.to_string().ends_with(word))
    };
    let mut found = manager.leases();
    found.retain(is_meant);
    match (found.as_slice(), number) {
        ([only], _) => Ok(only.id),
        // What became of it, if anything is remembered, is for the caller to tell.
        ([], Some(id)) => Ok(id),
        ([], None) => Err(Failure::new(format!(
            "no lease of a holder {word:?} is held; `ternlease status` shows the leases and their holders"
        ))),
        (several, _) => {
            let of = |info: &LeaseInfo| format!("\n  {} of {}", info.id, clean(&info.holder));
            let list: String = several.iter().map(of).collect();
            let head = format!(
                "{:?} may be one of {} leases; use the number:",
                clean(word),
                several.len()
            );
            Err(Failure::of_lines(1, head + &list))
        }
    }
}

/// The leases that TERNLEASE_LEASE names.
pub fn of_environment() -> Result<Vec<String>, Failure> {
    let value = std::env::var("TERNLEASE_LEASE").unwrap_or_default();
    let words: Vec<String> = value.split_ascii_whitespace().map(str::to_owned).collect();
    match words.is_empty() {
        true => Err(Failure::with(2, "name a lease, or set TERNLEASE_LEASE to its number")),
        false => Ok(words),
    }
}
