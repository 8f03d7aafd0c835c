//! Pieces of a pool in words.

use std::time::Duration;

use ternlease::{ExpectedWait, GpuDevice, LeaseInfo, Take, TicketInfo};

use super::View;
use crate::text::line::clean;
use crate::text::table::cut;
use crate::text::units::{duration, mebibytes, remaining};

/// A holder's name in a sentence, which must not be all of it.
pub fn in_short(name: &str) -> String {
    cut(&clean(name), 40)
}

/// What people call a device: `nvidia:0`.
pub fn device_name(device: &GpuDevice) -> String {
    format!("{}:{}", device.vendor, device.index)
}

/// The names of devices, as short as can be: `nvidia:0-3,6 amd:0`.
pub fn names(devices: &[String]) -> String {
    // Runs of consecutive numbers of one vendor.
    let mut runs: Vec<(&str, u32, u32)> = Vec::new();
    let mut words: Vec<String> = Vec::new();
    for device in devices {
        let parts = device.rsplit_once(':');
        let parts = parts.and_then(|(vendor, index)| Some((vendor, index.parse::<u32>().ok()?)));
        // A PCI address or a UUID, of a device that is not seen here, has no such number.
        let Some((vendor, index)) = parts.filter(|(vendor, _)| !vendor.contains(':')) else {
            words.push(clean(device));
            continue;
        };
        match runs.last_mut() {
            Some((before, _, last)) if *before == vendor && last.checked_add(1) == Some(index) => {
                *last = index;
            }
            _ => runs.push((vendor, index, index)),
        }
    }
    let mut text = String::new();
    let mut vendor_before = "";
    for (vendor, first, last) in runs {
        let range = if first == last { first.to_string() } else { format!("{first}-{last}") };
        match vendor == vendor_before {
            true => text.push_str(&format!(",{range}")),
            false if text.is_empty() => text.push_str(&format!("{}:{range}", clean(vendor))),
            false => text.push_str(&format!(" {}:{range}", clean(vendor))),
        }
        vendor_before = vendor;
    }
    words.extend((!text.is_empty()).then_some(text));
    words.join(" ")
}

/// `1 device`, `3 devices`.
pub fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        number => format!("{number} {what}s"),
    }
}

/// Memory of a device: `72/80 GiB` where its use can be seen, else `80 GiB`.
pub fn memory(used: Option<u32>, total: Option<u32>) -> String {
    match (used, total) {
        (None, None) => "-".to_owned(),
        (None, Some(total)) => mebibytes(total),
        (Some(used), None) => format!("{} used", mebibytes(used)),
        (Some(used), Some(total)) => {
            let in_gib = total >= 10_240;
            let size = |size: u32| match (in_gib, f64::from(size) / 1024.0) {
                (false, _) => size.to_string(),
                (true, gib) if gib < 9.95 && size != 0 => format!("{gib:.1}"),
                (true, gib) => format!("{gib:.0}"),
            };
            let unit = if in_gib { "GiB" } else { "MiB" };
            format!("{}/{} {unit}", size(used), size(total))
        }
    }
}

/// How long a lease still lasts.
pub fn left(view: &View, lease: &LeaseInfo) -> String {
    view.until(lease.end).map_or_else(|| "no end".to_owned(), remaining)
}

/// What a claim wants: `2 devices`, `1 of 4 devices`, `2 slots and 8192 MiB of 1 device`.
pub fn wants(ticket: &TicketInfo) -> String {
    let number = ticket.count as usize;
    let devices = match ticket.candidates.len() {
        all if all > number => format!("{number} of {}", count(all, "device")),
        _ => count(number, "device"),
    };
    match ticket.take {
        Take::Exclusive => devices,
        Take::Shared => format!("{devices}, shared"),
        Take::Amount { slots, memory: 0 } => {
            format!("{} of {devices}", count(slots as usize, "slot"))
        }
        Take::Amount { slots: 0, memory } => format!("{} of {devices}", mebibytes(memory)),
        Take::Amount { slots, memory } => {
            format!("{} and {} of {devices}", count(slots as usize, "slot"), mebibytes(memory))
        }
    }
}

/// How long a claim will wait: `about 5m`.
pub fn expected(wait: Option<ExpectedWait>) -> String {
    match wait {
        None => "-".to_owned(),
        Some(ExpectedWait::None) => "now".to_owned(),
        Some(ExpectedWait::About(wait)) => format!("about {}", rough(wait)),
        Some(ExpectedWait::NoDevices) => "never".to_owned(),
        Some(_) => "unknown".to_owned(),
    }
}

/// What is only about right is not told to the second.
fn rough(wait: Duration) -> String {
    let seconds = wait.as_secs();
    match seconds {
        0 => "1s".to_owned(),
        1..60 => duration(Duration::from_secs(seconds)),
        60..3600 => duration(Duration::from_secs(seconds.div_ceil(60) * 60)),
        _ => duration(Duration::from_secs(seconds / 60 * 60)),
    }
}

/// Breaks a text into lines that are not wider than so, between words where that can be. All but the first are indented.
pub fn wrap(text: &str, width: usize, indent: usize) -> String {
    let width = width.max(indent + 20);
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        let length = lines[last].chars().count();
        let begun = lines[last].trim_start_matches(' ').chars().count() > 0;
        if begun && length + 1 + word.chars().count() > width {
            lines.push(format!("{}{word}", " ".repeat(indent)));
        } else {
            let gap = if begun { " " } else { "" };
            lines[last].push_str(&format!("{gap}{word}"));
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_names_are_as_short_as_can_be() {
        let short = |list: &[&str]| names(&list.iter().map(|s| s.to_string()).collect::<Vec<_>>());
        assert_eq!(short(&["nvidia:0"]), "nvidia:0");
        assert_eq!(short(&["nvidia:0", "nvidia:1", "nvidia:2", "nvidia:6"]), "nvidia:0-2,6");
        assert_eq!(short(&["nvidia:0", "amd:0", "amd:1"]), "nvidia:0 amd:0-1");
        assert_eq!(short(&["0000:07:00.0", "nvidia:1"]), "0000:07:00.0 nvidia:1");
        assert_eq!(short(&["a\x1bb", "x:4294967295", "x:0"]), r"a\u{1b}b x:4294967295,0");
        assert_eq!(short(&[]), "");
    }

    #[test]
    fn memory_is_told_as_far_as_it_is_known() {
        assert_eq!(memory(Some(73_728), Some(81_920)), "72/80 GiB");
        assert_eq!(memory(Some(456), Some(81_920)), "0.4/80 GiB");
        assert_eq!(memory(Some(0), Some(8_192)), "0/8192 MiB");
        assert_eq!(memory(None, Some(81_920)), "80 GiB");
        assert_eq!(memory(None, None), "-");
    }

    #[test]
    fn long_texts_are_broken_between_words() {
        assert_eq!(wrap("one two three four five six", 22, 2), "one two three four\n  five six");
        assert_eq!(wrap("", 80, 2), "");
        let one_word = "x".repeat(100);
        assert_eq!(wrap(&one_word, 40, 2), one_word);
    }
}
