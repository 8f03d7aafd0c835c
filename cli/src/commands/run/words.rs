//! What people are told: who has what, and where in line somebody stands.

use std::io::Write;
use std::time::Duration;

use ternlease::{DeviceStatus, ExpectedWait, GpuPool, Health, TicketInfo};

use crate::text::line::clean;
use crate::text::units::duration;
use crate::view::words::count;

/// Longest list of holders that is still a sentence.
const MOST_HOLDERS: usize = 6;

/// Writes a message to standard error. A message that cannot be written is no reason to end: this never fails.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "ternlease: {}", clean(text));
}

/// What people call a device.
pub fn device_name(device: &ternlease::GpuDevice) -> String {
    format!("{}:{}", device.vendor, device.index)
}

/// Who has which device, as the end of a sentence: `fake:0 is held by alice:train.py:42 (3m)`.
pub fn who_has_what(pool: &GpuPool) -> String {
    let now = pool.manager().tick_count();
    let mut parts: Vec<(String, Vec<String>)> = Vec::new();
    let tickets = pool.manager().tickets();
    let mut ahead: Option<(String, &TicketInfo)> = None;
    let mut note = |what: String, device: String| match parts.iter_mut().find(|part| part.0 == what)
    {
        Some((_, devices)) => devices.push(device),
        None => parts.push((what, vec![device])),
    };
    for (place, status) in pool.status().into_iter().enumerate() {
        let name = device_name(&status.device);
        let free = status.leases.is_empty() && status.health == Health::Healthy;
        if let Some(key) = pool.key(place).filter(|_| free && ahead.is_none()) {
            let wants_it = |ticket: &&TicketInfo| ticket.candidates.iter().any(|one| one == key);
            ahead = tickets.iter().find(wants_it).map(|ticket| (name.clone(), ticket));
        }
        for lease in &status.leases {
            let held = Duration::from_micros(now.saturating_sub(lease.granted_at));
            let ends = if lease.revoking { ", being taken away" } else { "" };
            note(
                format!("held by {} ({}{ends})", clean(&lease.holder), duration(held)),
                name.clone(),
            );
        }
        if let Some(trouble) = trouble(&status) {
            note(trouble, name);
        }
    }
    if parts.is_empty() && ahead.is_none() {
        return match tickets.len() {
            0 => "all devices are free again".to_owned(),
            waiting => format!("{} ahead in the queue", count(waiting, "claim")),
        };
    }
    let left_out = parts.len().saturating_sub(MOST_HOLDERS);
    parts.truncate(MOST_HOLDERS);
    let mut words: Vec<String> = parts
        .into_iter()
        .map(|(what, devices)| {
            let are = if devices.len() == 1 { "is" } else { "are" };
            format!("{} {are} {what}", devices.join(", "))
        })
        .collect();
    if left_out > 0 {
        words.push(format!("and {left_out} more (`ternlease status`)"));
    }
    if let Some((device, ticket)) = ahead {
        let (holder, wants) = (clean(&ticket.holder), count(ticket.count as usize, "device"));
        words.push(format!(
            "{device} is free, but the claim of {holder} for {wants} is ahead in the queue (`ternlease queue`)"
        ));
    }
    words.join("; ")
}

/// Why a device is not handed out although it may be free.
fn trouble(status: &DeviceStatus) -> Option<String> {
    let word = match status.health {
        Health::Healthy => return None,
        Health::Draining => "draining",
        Health::Failed => "failed",
    };
    Some(match &status.trouble {
        Some(trouble) => format!("{word} ({})", clean(trouble)),
        None => word.to_owned(),
    })
}

/// How long it may still take, as the end of a sentence.
pub fn expected(wait: ExpectedWait) -> String {
    match wait {
        ExpectedWait::About(time) => format!(", about {} to go", duration(time)),
        ExpectedWait::None => ", about to be served".to_owned(),
        ExpectedWait::Unknown | ExpectedWait::NoDevices => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ternlease::PoolOptions;

    #[test]
    fn holders_are_named_once_and_cannot_talk_to_the_terminal() {
        let options = PoolOptions::from_spec("fake:3").unwrap();
        let pool = GpuPool::open_with("process:", options).unwrap();
        assert_eq!(who_has_what(&pool), "all devices are free again");
        let _two = pool.claim().holder("a\x1b[2Jb").devices(2).try_now().unwrap();
        let words = who_has_what(&pool);
        assert!(words.contains("are held by a\\u{1b}[2Jb ("), "{words}");
        assert_eq!(words.matches("held by").count(), 1, "{words}");
    }
}
