//! Asking, without changing anything.

use std::hint::black_box;

use crate::measure::{Sample, cpu, keep};
use crate::report::Bench;
use crate::world::World;

/// So many operations of the seed, each of which looks at every lease, make a batch worth measuring.
pub fn scans(size: usize) -> usize {
    (100_000 / size).max(1)
}

pub fn state(bench: &Bench, world: &mut World, hot: bool) -> Sample {
    const BATCH: usize = 5_000;
    // The same leases for both sides, and other ones in each round.
    let rounds: Vec<Vec<usize>> = (0..100).map(|_| world.numbers(BATCH, hot)).collect();
    let ours: Vec<Vec<_>> = pick(&rounds, &world.our_ids);
    let seed: Vec<Vec<_>> = pick(&rounds, &world.seed_ids);
    let (mut our_round, mut seed_round) = (ours.iter().cycle(), seed.iter().cycle());
    bench.budget().compare(
        || {
            let ids = our_round.next().expect("a cycle has no end");
            cpu(BATCH, || {
                for &id in ids {
                    keep(world.ours.state(id));
                }
            })
        },
        || {
            let ids = seed_round.next().expect("a cycle has no end");
            cpu(BATCH, || {
                for &id in ids {
                    keep(world.seed.state(id));
                }
            })
        },
    )
}

/// The ids behind lease numbers, batch by batch.
pub fn pick<T: Copy>(rounds: &[Vec<usize>], ids: &[T]) -> Vec<Vec<T>> {
    rounds.iter().map(|numbers| numbers.iter().map(|&i| ids[i]).collect()).collect()
}

pub fn held_by(bench: &Bench, world: &mut World, hot: bool) -> Sample {
    const BATCH: usize = 200;
    let holders = world.names.holders.len();
    let mut chosen: Vec<usize> = Vec::new();
    for _ in 0..20 * BATCH {
        chosen.push(if hot { chosen.len() % 10 } else { world.dice.below(holders) });
    }
    let (mut ours, mut seed) = (chosen.chunks(BATCH).cycle(), chosen.iter().cycle());
    let (names, scans) = (&world.names.holders, scans(world.size));
    bench.budget().compare(
        || {
            let batch = ours.next().expect("a cycle has no end");
            cpu(BATCH, || {
                for &holder in batch {
                    keep(world.ours.held_by(black_box(&names[holder])));
                }
            })
        },
        || {
            cpu(scans, || {
                for &holder in seed.by_ref().take(scans) {
                    keep(world.seed.held_by(black_box(&names[holder])));
                }
            })
        },
    )
}

pub fn active_count(bench: &Bench, world: &mut World) -> Sample {
    const BATCH: usize = 10_000;
    let scans = scans(world.size);
    bench.budget().compare(
        || {
            cpu(BATCH, || {
                for _ in 0..BATCH {
                    keep(black_box(&world.ours).active_count());
                }
            })
        },
        || {
            cpu(scans, || {
                for _ in 0..scans {
                    keep(black_box(&world.seed).active_count());
                }
            })
        },
    )
}
