//! Is there a battery, and does it run down?

use std::fs;
use std::path::Path;

use super::{line, number};

/// A battery that the machine can run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Battery {
    /// How full it is, in percent, where that can be seen.
    pub percent: Option<u8>,
    /// The machine runs on it now.
    pub discharging: bool,
}

/// The first one. Those of mice and headsets do not count.
pub(super) fn find(sys: &Path) -> Option<Battery> {
    let supplies = fs::read_dir(sys.join("class/power_supply")).ok()?;
    let mut supplies: Vec<_> = supplies.flatten().map(|entry| entry.path()).collect();
    supplies.sort();
    let kind = |path: &Path| line(&path.join("type")).unwrap_or_default();
    let plugged = supplies
        .iter()
        .filter(|path| matches!(kind(path).as_str(), "Mains" | "USB"))
        .any(|path| number(&path.join("online")) == Some(1));
    let battery = supplies.iter().find(|path| {
        kind(path) == "Battery" && line(&path.join("scope")).as_deref() != Some("Device")
    })?;
    Some(Battery {
        percent: number(&battery.join("capacity")).filter(|percent| *percent <= 100),
        discharging: line(&battery.join("status")).as_deref() == Some("Discharging") && !plugged,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::tests::Files;

    #[test]
    fn a_battery_counts_only_when_it_runs_down() {
        let files = Files::new("battery");
        assert_eq!(find(files.root()), None);
        files.write("class/power_supply/hid/type", "Battery\n");
        files.write("class/power_supply/hid/scope", "Device\n");
        assert_eq!(find(files.root()), None, "a mouse has it");
        files.write("class/power_supply/BAT0/type", "Battery\n");
        files.write("class/power_supply/BAT0/capacity", "99\n");
        files.write("class/power_supply/BAT0/status", "Discharging\n");
        let on_battery = Battery { percent: Some(99), discharging: true };
        assert_eq!(find(files.root()), Some(on_battery));
        files.write("class/power_supply/AC/type", "Mains\n");
        files.write("class/power_supply/AC/online", "1\n");
        assert_eq!(find(files.root()), Some(Battery { discharging: false, ..on_battery }));
        files.write("class/power_supply/BAT0/capacity", "nonsense\n");
        assert_eq!(find(files.root()).unwrap().percent, None);
    }
}
