//! How long a cached result should live: the dearer it is to compute beside fetching it, the longer.
//!
//! Run it: `cargo run --release --example cache_ttl`

use std::time::Duration;

use ternlease::cost::Route;
use ternlease::{FnCost, Kind, MachCap, Task};

fn main() {
    let base = Duration::from_secs(60);
    let tasks: [(&str, Task); 4] = [
        ("copy of 1 GB", FnCost::copy(1_000_000_000).kind(Kind::Copy)),
        ("sort of 1M x 64 B", FnCost::sort(1_000_000, 64, 64_000_000).kind(Kind::Sort)),
        ("hash of 100 GB", FnCost::hash(100_000_000_000).kind(Kind::Hash)),
        ("matmul 30,000^3", FnCost::matmul(30_000, 30_000, 30_000, 8).kind(Kind::Dense64)),
    ];
    let networks = [
        ("10 Gbit/s, 0.2 ms", Some(Route::new(200_000, 1_250_000_000))),
        ("100 Mbit/s, 20 ms", Some(Route::new(20_000_000, 12_500_000))),
        ("none", None),
    ];
    println!("{:<20} {:<20} {:>10}", "result", "network", "ttl");
    for (name, task) in tasks {
        let mut longest = Duration::ZERO;
        for (network, route) in networks {
            let machine = MachCap { route, ..MachCap::example() };
            let ttl = machine.suggest_ttl(task, base);
            println!("{name:<20} {network:<20} {:>8.0} s", ttl.as_secs_f64());
            assert!((base / 10..=base * 1000).contains(&ttl));
            longest = longest.max(ttl);
        }
        assert_eq!(longest, base * 1000, "what cannot be fetched again is kept as long as can be");
    }
}
