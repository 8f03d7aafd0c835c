//! `lease.OP_2threads.SIZE`: two threads at once. The seed is not made for that, so it stands behind a lock.
//! Wall time, because waiting for a lock costs time and not processor time.

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::measure::{Sample, keep, on_two_threads};
use crate::report::Bench;
use crate::world::{World, filled_seed};

/// Both threads ask about the same leases.
pub fn state(bench: &Bench, world: &mut World) -> Sample {
    // Short enough that most rounds pass without either thread being interrupted.
    const OURS: usize = 100_000;
    const PEER: usize = 10_000;
    let numbers = world.numbers(PEER, true);
    let our_ids: Vec<_> = numbers.iter().map(|&i| world.our_ids[i]).collect();
    let seed_ids: Vec<_> = numbers.iter().map(|&i| world.seed_ids[i]).collect();
    let seed = Mutex::new(std::mem::take(&mut world.seed));
    let sample = bench.budget().compare(
        || {
            let spent = on_two_threads(|_| {
                for _ in 0..OURS / PEER {
                    our_ids.iter().for_each(|&id| keep(world.ours.state(id)));
                }
            });
            spent / OURS as f64
        },
        || {
            let spent = on_two_threads(|_| {
                seed_ids.iter().for_each(|&id| keep(seed.lock().state(id)));
            });
            spent / PEER as f64
        },
    );
    world.seed = seed.into_inner();
    sample
}

/// Each thread works on names of its own.
pub fn acquire_revoke(bench: &Bench, world: &mut World) -> Sample {
    // As above; and the seed forgets nothing, so a batch must not be large beside what it holds.
    let batch = (world.size / 10).clamp(200, 500);
    let first = world.names.more(1_000, true, &mut world.dice);
    let mut second = world.names.more(1_000, true, &mut world.dice);
    second.iter_mut().for_each(|wish| wish.holder = "another");
    let wishes = [first, second];
    let seed = Mutex::new(std::mem::take(&mut world.seed));
    let surplus = AtomicUsize::new(world.surplus);
    let sample = bench.budget().compare(
        || {
            let spent = on_two_threads(|thread| {
                for wish in wishes[thread].iter().cycle().take(batch) {
                    if let Ok(id) = wish.grant(&world.ours) {
                        keep(world.ours.revoke(black_box(id)));
                    }
                }
            });
            spent / batch as f64
        },
        || {
            if surplus.load(Ordering::Relaxed) > world.size / 20 {
                *seed.lock() = filled_seed(&world.names, world.size).0;
                surplus.store(0, Ordering::Relaxed);
            }
            let spent = on_two_threads(|thread| {
                surplus.fetch_add(batch, Ordering::Relaxed);
                for wish in wishes[thread].iter().cycle().take(batch) {
                    let id = wish.grant_by_seed(&mut seed.lock());
                    keep(seed.lock().revoke(black_box(id)));
                }
            });
            spent / batch as f64
        },
    );
    world.seed = seed.into_inner();
    world.surplus = surplus.into_inner();
    sample
}
