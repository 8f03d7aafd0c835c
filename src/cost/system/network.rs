//! Is there a way out of this machine, and how fast is the card that leads there?

use std::fs;
use std::path::Path;

use super::{line, number};

/// The network, as far as the operating system knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Network {
    /// Nothing leads out of this machine.
    None,
    /// Something does, and nobody says how fast it is: so it is with virtual and with wireless cards.
    Unknown,
    /// The card that leads out says that it can do so many Mbit/s. The way behind it may be slower.
    Card(u64),
}

/// By the card of the default route. Without one, none that is up leads anywhere.
pub(super) fn find(proc: &Path, sys: &Path) -> Network {
    let cards = default_routes(proc);
    if cards.is_empty() {
        // Where nobody says what the routes are, there may be one.
        return match proc.join("net/route").exists() {
            true => Network::None,
            false => Network::Unknown,
        };
    }
    match cards.iter().filter_map(|card| speed(sys, card)).max() {
        Some(speed) => Network::Card(speed),
        None => Network::Unknown,
    }
}

fn default_routes(proc: &Path) -> Vec<String> {
    let mut cards = Vec::new();
    for line in fs::read_to_string(proc.join("net/route")).unwrap_or_default().lines().skip(1) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // Card, destination, gateway, flags (2: by a gateway), …, mask.
        if let [card, "00000000", _, _, _, _, _, "00000000", ..] = fields[..] {
            cards.push(card.to_owned());
        }
    }
    const ANYWHERE: &str = "00000000000000000000000000000000";
    for line in fs::read_to_string(proc.join("net/ipv6_route")).unwrap_or_default().lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // Destination, its length, source, its length, gateway, metric, references, uses, flags, card.
        if let [ANYWHERE, "00", _, _, _, _, _, _, _, card] = fields[..]
            && card != "lo"
        {
            cards.push(card.to_owned());
        }
    }
    cards
}

/// Mbit/s of a real card that is up. A virtual one says what it likes, or nothing.
fn speed(sys: &Path, card: &str) -> Option<u64> {
    let card = sys.join("class/net").join(card);
    let up = line(&card.join("operstate")).as_deref() == Some("up");
    let real = card.join("device").exists();
    // -1 is unknown, and wireless ones refuse to be read.
    number::<i64>(&card.join("speed"))
        .filter(|speed| up && real && *speed > 0)
        .map(|speed| speed as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::tests::Files;

    const HEAD: &str = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\n";

    #[test]
    fn an_unreadable_speed_is_unknown_and_no_route_is_none() {
        let files = Files::new("network");
        let find = || find(&files.root().join("proc"), &files.root().join("sys"));
        assert_eq!(find(), Network::Unknown, "nobody says");
        files.write("proc/net/route", HEAD);
        assert_eq!(find(), Network::None);
        // A network of the neighbours leads nowhere.
        let near = format!("{HEAD}veth0\t0000A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\n");
        files.write("proc/net/route", &near);
        assert_eq!(find(), Network::None);
        files.write(
            "proc/net/route",
            &format!("{near}eth0\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\n"),
        );
        assert_eq!(find(), Network::Unknown, "the card is not there");
        files.write("sys/class/net/eth0/operstate", "up\n");
        files.write("sys/class/net/eth0/speed", "-1\n");
        files.write("sys/class/net/eth0/device/vendor", "");
        assert_eq!(find(), Network::Unknown, "a virtual card");
        files.write("sys/class/net/eth0/speed", "10000\n");
        assert_eq!(find(), Network::Card(10_000));
        files.write("sys/class/net/eth0/operstate", "down\n");
        assert_eq!(find(), Network::Unknown);
    }

    #[test]
    fn a_route_of_the_newer_protocol_counts() {
        let files = Files::new("network-6");
        let anywhere = "0".repeat(32);
        let route = |card| {
            format!(
                "{anywhere} 00 {anywhere} 00 {anywhere} 00000400 00000001 00000000 00000003 {card}\n"
            )
        };
        files.write("proc/net/route", HEAD);
        files.write("proc/net/ipv6_route", &route("lo"));
        let find = || find(&files.root().join("proc"), &files.root().join("sys"));
        assert_eq!(find(), Network::None);
        files.write("proc/net/ipv6_route", &route("eth0"));
        assert_eq!(find(), Network::Unknown);
    }
}
