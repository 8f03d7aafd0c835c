//! Memoisation that knows when it does not pay: results that are quicker to compute than to look up and fetch are not cached at all.
//!
//! Run it: `cargo run --release --example memoise`

use std::collections::HashMap;

use ternlease::{FnCost, Kind, MachCap};

/// A function with what it costs.
struct Function {
    name: &'static str,
    cost: fn(u64) -> FnCost,
    kind: Kind,
}

const FUNCTIONS: [Function; 3] = [
    Function { name: "fingerprint", cost: FnCost::hash, kind: Kind::Hash },
    Function { name: "count lines", cost: |n| FnCost::scan(n, 8), kind: Kind::Stream },
    Function { name: "duplicate", cost: FnCost::copy, kind: Kind::Copy },
];

/// Results elsewhere, by what was computed from what. A cost is the same on every machine, so that it can be a part of the key.
#[derive(Default)]
struct Cache {
    entries: HashMap<(&'static str, FnCost), u64>,
    looked_up: u32,
    computed: u32,
}

impl Cache {
    fn call(&mut self, machine: &MachCap, function: &Function, bytes: u64) -> u64 {
        let cost = (function.cost)(bytes);
        if machine.should_compute(cost.kind(function.kind)) {
            self.computed += 1;
            return compute(bytes);
        }
        self.looked_up += 1;
        *self.entries.entry((function.name, cost)).or_insert_with(|| compute(bytes))
    }
}

/// What stands for the work itself.
fn compute(bytes: u64) -> u64 {
    bytes.rotate_left(7) ^ 0x9e37_79b9
}

fn main() {
    // In a program of yours: MachCap::read("."), and the route to your cache. Here a machine that is the same everywhere.
    let machine = MachCap::example();
    println!("{:<12} {:>10}  verdict", "function", "input");
    for function in &FUNCTIONS {
        for (bytes, size) in [(64 << 10, "64 KiB"), (64 << 20, "64 MiB"), (16 << 30, "16 GiB")] {
            let verdict = machine.verdict((function.cost)(bytes).kind(function.kind));
            println!("{:<12} {size:>10}  {verdict}", function.name);
        }
    }
    let mut cache = Cache::default();
    let results: Vec<u64> = (0..9)
        .map(|n| cache.call(&machine, &FUNCTIONS[n % 3], [64 << 10, 64 << 20, 2 << 30][n / 3]))
        .collect();
    println!("\n{} computed at once, {} looked up", cache.computed, cache.looked_up);
    assert_eq!(cache.computed + cache.looked_up, 9);
    assert!(cache.computed > 0 && cache.looked_up > 0, "both have their place");
    assert!(results.iter().all(|result| *result != 0));
}
