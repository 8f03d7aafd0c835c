//! Letting time pass.

use crate::lease_read::scans;
use crate::measure::{Sample, cpu};
use crate::report::Bench;
use crate::world::{Names, Seed, Wish, World, empty_manager};

/// Nothing is due.
pub fn tick(bench: &Bench, world: &mut World) -> Sample {
    const BATCH: usize = 2_000;
    let scans = scans(world.size);
    let (ours, seed) = (&world.ours, &mut world.seed);
    bench.budget().compare(
        || {
            cpu(BATCH, || {
                for _ in 0..BATCH {
                    ours.tick();
                }
            })
        },
        || {
            cpu(scans, || {
                for _ in 0..scans {
                    seed.tick();
                }
            })
        },
    )
}

/// All leases end within so many ticks, as many in each: a thousandth per tick.
const CYCLE: usize = 1_000;

/// A lease ends with every tick, or several do: of 100 leases one in ten ticks, of 1,000,000 a thousand in each.
pub fn tick_expiring(bench: &Bench, world: &mut World) -> Sample {
    let (size, names) = (world.size, &world.names);
    let ticks = (CYCLE / 20).min(100_000 / size).max(1);
    let ours = empty_manager(size);
    for i in 0..size {
        let wish = Wish { ttl: ends_after(i, size), ..names.wish(i) };
        wish.grant(&ours).expect("room for every lease");
    }
    let mut next = 0;
    let mut seed = Ending::new(names, size);
    bench.budget().compare(
        || {
            let spent = cpu(ticks, || {
                for _ in 0..ticks {
                    ours.tick();
                }
            });
            // Whatever has ended comes back, to end a whole cycle after its last end.
            let now = ours.tick_count();
            while ours.active_count() < size {
                let end = next / size * CYCLE + ends_after(next % size, size) as usize + CYCLE;
                let wish = Wish { ttl: (end as u64 - now) as u32, ..names.wish(next % size) };
                wish.grant(&ours).expect("room for those that ended");
                next += 1;
            }
            spent
        },
        || {
            if seed.ticks + ticks > CYCLE / 2 {
                seed = Ending::new(names, size);
            }
            seed.ticks += ticks;
            cpu(ticks, || {
                for _ in 0..ticks {
                    seed.leases.tick();
                }
            })
        },
    )
}

fn ends_after(i: usize, size: usize) -> u32 {
    (1 + i * CYCLE / size) as u32
}

/// The seed with leases that end. Ended ones cost it as much as held ones, so they need not come back;
/// they are replaced, all at once, before half of them have ended.
struct Ending {
    leases: Seed,
    ticks: usize,
}

impl Ending {
    fn new(names: &Names, size: usize) -> Ending {
        let mut leases = Seed::new();
        for i in 0..size {
            Wish { ttl: ends_after(i, size), ..names.wish(i) }.grant_by_seed(&mut leases);
        }
        Ending { leases, ticks: 0 }
    }
}
