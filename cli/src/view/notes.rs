//! What somebody who looks at a pool should be told beside its tables.

use std::time::Duration;

use ternlease::{Health, inventory::Process};

use super::words::{count, expected, in_short, names, wants};
use super::{Device, Lease, View};
use crate::people::by_words;
use crate::text::colour::Mood;
use crate::text::line::clean;
use crate::text::table::cut;
use crate::text::units::{duration, mebibytes, remaining};

/// A lease that has not used its device for so long is worth a word.
const IDLE: Duration = Duration::from_secs(60);

/// A remark, and how it is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// In words.
    pub words: String,
    /// How it is meant.
    pub mood: Mood,
}

impl Note {
    fn new(mood: Mood, words: String) -> Self {
        Note { words, mood }
    }
}

/// All remarks, the worst first.
pub fn notes(view: &View) -> Vec<Note> {
    let mut notes = Vec::new();
    notes.extend(view.devices.iter().filter_map(sick));
    notes.extend(view.devices.iter().flat_map(squatted));
    notes.extend(view.leases.iter().filter_map(|lease| revoking(view, lease)));
    notes.extend(view.devices.iter().filter_map(|device| idle(view, device)));
    notes.extend(view.leases.iter().filter(|lease| lease.elsewhere).map(elsewhere));
    if let Some(first) = view.hidden.first() {
        let (all, mask) = (count(view.hidden.len(), "device"), clean(&first.mask));
        let verb = if view.hidden.len() == 1 { "is" } else { "are" };
        notes.push(Note::new(Mood::Dim, format!("{all} {verb} hidden by {mask}")));
    }
    notes.extend(view.warnings.iter().map(|warning| Note::new(Mood::Warn, clean(warning))));
    notes
}

/// Why a device cannot be had.
fn sick(device: &Device) -> Option<Note> {
    let (word, mood) = health(device.status.health);
    if device.status.health == Health::Healthy {
        return None;
    }
    let why = match &device.status.trouble {
        Some(trouble) => clean(trouble),
        None => "an operator or another process said so".to_owned(),
    };
    Some(Note::new(mood, format!("{} is {word}: {why}", device.name)))
}

/// Who uses a device without a lease.
fn squatted(device: &Device) -> impl Iterator<Item = Note> {
    device.status.squatters.iter().map(|process| {
        let (name, pid) = (&device.name, process.pid);
        let who = squatter(process);
        let next = format!("`ternlease adopt {pid}` gives it one");
        Note::new(Mood::Warn, format!("{name} is used without a lease by {who}; {next}"))
    })
}

/// `pid 99 (bob: python) with 38 GiB`.
pub fn squatter(process: &Process) -> String {
    let mut words = format!("pid {}", process.pid);
    match (&process.user, &process.command) {
        (Some(user), Some(command)) => {
            words.push_str(&format!(" ({}: {})", clean(user), clean(command)));
        }
        (Some(word), None) | (None, Some(word)) => words.push_str(&format!(" ({})", clean(word))),
        (None, None) => {}
    }
    if let Some(memory) = process.memory {
        words.push_str(&format!(" with {}", mebibytes(memory)));
    }
    words
}

/// Whose lease is about to be taken away.
fn revoking(view: &View, lease: &Lease) -> Option<Note> {
    if !lease.info.revoking {
        return None;
    }
    let (id, holder) = (lease.info.id, in_short(&lease.info.holder));
    let why = lease.info.reason.map_or(String::new(), |reason| format!(" for {reason}"));
    let claimed = lease.info.revoker.as_deref().map(|name| cut(name, 40));
    let by = by_words(lease.info.ended_by, claimed.as_deref(), view.is_in_cluster());
    let when = view
        .until(lease.info.end)
        .map_or("soon".to_owned(), |left| format!("in {}", remaining(left)));
    // The number comes last, where a narrow screen may cut it off.
    Some(Note::new(Mood::Warn, format!("{holder} is revoked {when}{why}{by}: lease {id}")))
}

/// Who has a device and does not use it.
fn idle(view: &View, device: &Device) -> Option<Note> {
    let idle = device.status.idle_for.filter(|idle| *idle >= IDLE)?;
    let holders: Vec<String> =
        view.leases_on(device).map(|lease| in_short(&lease.info.holder)).collect();
    let (name, time) = (&device.name, duration(idle));
    Some(Note::new(Mood::Warn, format!("{} has {name}, unused for {time}", holders.join(", "))))
}

/// What the table has beside the devices that are seen here.
fn elsewhere(lease: &Lease) -> Note {
    let (id, holder) = (lease.info.id, in_short(&lease.info.holder));
    let what = names(&lease.devices);
    Note::new(Mood::Dim, format!("lease {id} of {holder} has what is not seen here: {what}"))
}

/// How the line is, in one sentence.
pub fn line(view: &View) -> String {
    let Some(first) = view.line.first() else {
        return "nobody waits".to_owned();
    };
    let all = match view.line.len() {
        1 => "1 waits".to_owned(),
        all => format!("{all} wait"),
    };
    let (holder, wants) = (in_short(&first.info.holder), wants(&first.info));
    let since = duration(view.since(first.info.queued_at));
    let when = match expected(first.expected).as_str() {
        "-" | "unknown" => "nobody knows how much longer".to_owned(),
        when => format!("expected {}", when.replacen("about", "in about", 1)),
    };
    format!("{all}; the first, {holder}, for {wants}, since {since}; {when}")
}

/// How many devices there are, and how many can be had.
pub fn summary(view: &View) -> String {
    let free = |device: &&Device| {
        device.status.leases.is_empty() && device.status.health == Health::Healthy
    };
    let leased = view.devices.iter().filter(|device| !device.status.leases.is_empty()).count();
    let free = view.devices.iter().filter(free).count();
    format!("{}: {leased} leased, {free} free", count(view.devices.len(), "device"))
}

/// Health in a word.
pub fn health(health: Health) -> (&'static str, Mood) {
    match health {
        Health::Healthy => ("healthy", Mood::Good),
        Health::Draining => ("draining", Mood::Warn),
        Health::Failed => ("failed", Mood::Bad),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ternlease::inventory::ProcessKind;
    use ternlease::{GpuPool, PoolOptions};

    fn words(view: &View) -> Vec<String> {
        notes(view).into_iter().map(|note| note.words).collect()
    }

    fn pool() -> GpuPool {
        GpuPool::open_with("process:", PoolOptions::from_spec("fake:2").unwrap()).unwrap()
    }

    #[test]
    fn squatters_and_idle_holders_are_named() {
        let pool = pool();
        let lease = pool.claim().holder("sleeper\x1b").try_now().unwrap();
        let mut view = View::of(&pool, "process:", 0);
        assert!(notes(&view).is_empty());
        view.devices[0].status.idle_for = Some(Duration::from_secs(59));
        assert!(notes(&view).is_empty(), "it may be starting");
        view.devices[0].status.idle_for = Some(Duration::from_secs(720));
        view.devices[1].status.squatters = vec![Process {
            kind: ProcessKind::Compute,
            pid: 99,
            memory: Some(38_912),
            user: Some("bob".into()),
            command: Some("py\x1b[31mthon".into()),
        }];
        assert_eq!(
            words(&view),
            [
                "nvidia:1 is used without a lease by pid 99 (bob: py\\u{1b}[31mthon) with 38 GiB; \
                 `ternlease adopt 99` gives it one",
                "sleeper\\u{1b} has nvidia:0, unused for 12m",
            ]
        );
        drop(lease);
    }

    #[test]
    fn what_others_have_beside_the_devices_is_told() {
        let pool = pool();
        let other = pool.manager().acquire("licence", "worker", Duration::from_secs(60)).unwrap();
        let view = View::of(&pool, "process:", 0);
        let expected = format!("lease {other} of worker has what is not seen here: licence");
        assert_eq!(words(&view), [expected]);
        assert_eq!(summary(&view), "2 devices: 0 leased, 2 free");
    }

    #[test]
    fn what_hides_devices_is_told() {
        let hidden = |device: &str| super::super::Hidden {
            device: device.into(),
            mask: "CUDA_VISIBLE_DEVICES=0".into(),
        };
        let view = View { hidden: vec![hidden("nvidia:1"), hidden("nvidia:2")], ..View::default() };
        assert_eq!(words(&view), ["2 devices are hidden by CUDA_VISIBLE_DEVICES=0"]);
    }
}
