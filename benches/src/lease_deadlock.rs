//! Finding deadlocks, in the seed's sense: a holder is taken to want the resource that bears its own name.

use crate::measure::{Sample, cpu, keep};
use crate::report::Bench;
use crate::world::{Seed, World, manager_with_room};

/// One lease in ten is part of a deadlock of two.
const DEADLOCKED: usize = 10;

/// Above this the seed, which compares every lease with every other, would take hours.
const SEED_UP_TO: usize = 10_000;

/// Names like those of the other benchmarks: mostly of different lengths, which the seed tells apart at a glance.
pub fn different_lengths(bench: &Bench, world: &mut World) -> Sample {
    find(bench, world.size, |kind, i| format!("{kind}{i}"))
}

/// Names of equal lengths: the seed has to compare them byte by byte.
pub fn equal_lengths(bench: &Bench, size: usize) -> Sample {
    find(bench, size, |kind, i| format!("{kind:.3}{i:07}"))
}

fn find(bench: &Bench, size: usize, name: impl Fn(&str, usize) -> String) -> Sample {
    // The names of those in deadlocks come on top of the usual ones.
    let ours = manager_with_room(size, size / 5 + size / DEADLOCKED);
    let mut seed = Seed::new();
    let with_seed = size <= SEED_UP_TO;
    let mut grant = |resource: &str, holder: &str| {
        ours.acquire(resource, holder, 1_000_000).expect("room for every lease");
        if with_seed {
            seed.acquire(resource, holder, 1_000_000);
        }
    };
    for i in 0..size / DEADLOCKED / 2 {
        let (a, b) = (name("task", 2 * i), name("task", 2 * i + 1));
        grant(&a, &b);
        grant(&b, &a);
    }
    // The others hold what nobody wants.
    let names = size / 10;
    for i in 0..size - size / DEADLOCKED {
        grant(&name("gpu", i % names), &name("worker", (i * 31 + i / names) % names));
    }
    let deadlocks = size / DEADLOCKED / 2;
    assert_eq!(
        ours.find_deadlocks().expect("a sound table").len(),
        deadlocks,
        "ours finds what is there"
    );
    if !with_seed {
        return bench.budget().alone(|| cpu(1, || keep(ours.find_deadlocks())));
    }
    assert_eq!(seed.find_deadlocks().len(), deadlocks, "the seed finds the same");
    let batch = (20_000 / size).max(1);
    bench.budget().compare(
        || {
            cpu(batch, || {
                for _ in 0..batch {
                    keep(ours.find_deadlocks());
                }
            })
        },
        || {
            cpu(1, || {
                keep(seed.find_deadlocks());
            })
        },
    )
}
