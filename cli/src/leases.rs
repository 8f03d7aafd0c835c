//! Finds the lease that a word of the command line names.

use ternlease::{LeaseId, LeaseInfo, LeaseManager, LeaseState, What};

use crate::exit::Failure;
use crate::text::line::clean;
use crate::view::crowd::Users;

/// A shorter suffix could be a typing error that happens to fit.
const SHORTEST_SUFFIX: usize = 4;

/// The lease of this id; or the only active one of the caller's user that has this holder, or whose
/// id ends so. Other users may have chosen the same holder: theirs need the full id.
pub fn find(manager: &LeaseManager, word: &str) -> Result<LeaseId, Failure> {
    let number = word.parse().ok().map(LeaseId);
    if let Some(id) = number.filter(|id| manager.lease(*id).is_some()) {
        return Ok(id);
    }
    let is_suffix = word.len() >= SHORTEST_SUFFIX && word.bytes().all(|byte| byte.is_ascii_digit());
    let ends_so = |id: LeaseId| is_suffix && id.to_string().ends_with(word);
    let is_meant = |info: &LeaseInfo| {
        // A holder may also be named as other commands show it.
        info.holder == word || clean(&info.holder) == word || ends_so(info.id)
    };
    let mut active = manager.leases();
    active.retain(is_meant);
    let users = Users::of(manager);
    let (mut found, others): (Vec<_>, Vec<_>) =
        active.into_iter().partition(|info| users.is_own(info));
    if found.is_empty() {
        return match (others.first(), number) {
            (Some(other), _) => Err(Failure::new(format!(
                "lease {} belongs to another user; give the full lease id",
                other.id
            ))),
            // What became of it, if anything is remembered, is for the caller to tell.
            (None, Some(id)) => Ok(id),
            (None, None) => Err(Failure::new(format!(
                "no active lease has holder \"{}\"; `ternlease status` shows the leases and their \
                 holders",
                clean(word)
            ))),
        };
    }
    // The digits may be meant for any lease that was ever shown.
    found.extend(others.into_iter().filter(|info| ends_so(info.id)));
    if is_suffix {
        found.extend(ended(manager, ends_so));
    }
    match found.as_slice() {
        [only] => Ok(only.id),
        several => {
            let of = |info: &LeaseInfo| {
                let ended = if info.state == LeaseState::Held { "" } else { " (ended)" };
                format!("\n  {} of {}{ended}", info.id, clean(&info.holder))
            };
            let list: String = several.iter().map(of).collect();
            let (word, count) = (clean(word), several.len());
            let head = format!("\"{word}\" matches {count} leases; give the full lease id:");
            Err(Failure::of_lines(1, head + &list))
        }
    }
}

/// The remembered leases of these ids that have ended.
fn ended(manager: &LeaseManager, is_meant: impl Fn(LeaseId) -> bool) -> Vec<LeaseInfo> {
    let (events, _) = manager.events_since(0);
    let ids = events.iter().filter_map(|event| match event.what {
        What::Ended { lease, .. } if is_meant(lease) => Some(lease),
        _ => None,
    });
    ids.filter_map(|id| manager.lease(id)).filter(|info| info.state != LeaseState::Held).collect()
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
