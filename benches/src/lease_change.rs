//! Granting, renewing and taking away.

use std::cell::RefCell;
use std::hint::black_box;

use parking_lot::Mutex;
use ternlease::{LeaseId, LeaseManager};

use crate::lease_read::pick;
use crate::measure::{Sample, cpu, keep};
use crate::report::Bench;
use crate::world::{Dice, HOT, Names, Seed, Wish, World, filled_seed};

/// Each renewal comes in another tick than the one before, as renewals do. Ours has work to do only then;
/// the seed does the same whether or not time has passed, so it is spared its ticks, which look at every lease.
pub fn renew(bench: &Bench, world: &mut World, hot: bool, locked: bool) -> Sample {
    // Random ones must differ within a batch: a lease is renewed once per tick.
    let batch = if hot { 50 * HOT } else { world.size.min(5_000) };
    let per_tick = if hot { HOT.min(world.size) } else { batch };
    let rounds: Vec<Vec<usize>> = (0..50).map(|_| world.numbers(batch, hot)).collect();
    let (ours, seed) = (pick(&rounds, &world.our_ids), pick(&rounds, &world.seed_ids));
    let (mut our_round, mut seed_round) = (ours.iter().cycle(), seed.iter().cycle());
    let (manager, peer) = (&world.ours, &mut world.seed);
    bench.budget().compare(
        || {
            let ids = our_round.next().expect("a cycle has no end");
            cpu(batch, || {
                for ids in ids.chunks(per_tick) {
                    manager.tick();
                    for &id in ids {
                        keep(manager.renew(id));
                    }
                }
            })
        },
        || {
            let ids = seed_round.next().expect("a cycle has no end");
            if locked {
                let peer = Mutex::new(&mut *peer);
                return cpu(batch, || ids.iter().for_each(|&id| keep(peer.lock().renew(id))));
            }
            cpu(batch, || {
                for &id in ids {
                    keep(peer.renew(id));
                }
            })
        },
    )
}

/// Renewals that change nothing, because no time has passed.
pub fn renew_same_tick(bench: &Bench, world: &mut World) -> Sample {
    let numbers = [world.numbers(50 * HOT, true)];
    let (ours, seed) = (pick(&numbers, &world.our_ids), pick(&numbers, &world.seed_ids));
    let (manager, peer) = (&world.ours, &mut world.seed);
    bench.budget().compare(
        || {
            cpu(ours[0].len(), || {
                for &id in &ours[0] {
                    keep(manager.renew(id));
                }
            })
        },
        || {
            cpu(seed[0].len(), || {
                for &id in &seed[0] {
                    keep(peer.renew(id));
                }
            })
        },
    )
}

/// How many leases one batch adds. Few beside those there are, but at 100 a clock could not see them.
fn batch_of(size: usize) -> usize {
    (size / 10).clamp(100, 500)
}

/// What one round adds.
#[derive(Clone, Copy)]
struct Batch {
    /// Different leases asked for.
    wishes: usize,
    /// Leases granted.
    pairs: usize,
    /// On a few names, or on any.
    hot: bool,
}

/// The two sides of a benchmark that adds leases.
struct Adding<'a> {
    names: &'a Names,
    size: usize,
    batch: Batch,
    ours: &'a LeaseManager,
    seed: &'a RefCell<Seed>,
    surplus: &'a RefCell<usize>,
}

impl Adding<'_> {
    /// The seed with no more than a twentieth of surplus: it forgets nothing, so a small one is made anew.
    fn fresh_seed(&self) {
        let mut surplus = self.surplus.borrow_mut();
        if *surplus > self.size / 20 {
            *self.seed.borrow_mut() = filled_seed(self.names, self.size).0;
            *surplus = 0;
        }
        *surplus += self.batch.pairs;
    }

    /// `ours` and `seed` get the same batch, and tell nanoseconds per wish; whatever ids they keep are revoked afterwards.
    fn compare(
        &self,
        bench: &Bench,
        dice: &mut Dice,
        ours: impl Fn(&LeaseManager, &[Wish<'_>], &mut Vec<LeaseId>) -> f64,
        seed: impl Fn(&mut Seed, &[Wish<'_>], &mut Vec<u64>) -> f64,
    ) -> Sample {
        let batches: Vec<Vec<Wish<'_>>> =
            (0..50).map(|_| self.names.more(self.batch.wishes, self.batch.hot, dice)).collect();
        let (mut our_round, mut seed_round) = (batches.iter().cycle(), batches.iter().cycle());
        // Filled and emptied in each round, so that storing ids costs both sides the same.
        let mut our_ids = Vec::with_capacity(self.batch.wishes);
        let mut seed_ids = Vec::with_capacity(self.batch.wishes);
        bench.budget().compare(
            || {
                let wishes = our_round.next().expect("a cycle has no end");
                our_ids.clear();
                let spent = ours(self.ours, wishes, &mut our_ids);
                for &id in &our_ids {
                    // Already revoked where revoking was measured.
                    let _ = self.ours.revoke(id);
                }
                spent
            },
            || {
                let wishes = seed_round.next().expect("a cycle has no end");
                self.fresh_seed();
                seed_ids.clear();
                let peer = &mut self.seed.borrow_mut();
                let spent = seed(peer, wishes, &mut seed_ids);
                for &id in &seed_ids {
                    peer.revoke(id);
                }
                spent
            },
        )
    }
}

/// Runs a benchmark that adds leases, and puts the seed back.
fn adding(
    bench: &Bench,
    world: &mut World,
    batch: Batch,
    ours: impl Fn(&LeaseManager, &[Wish<'_>], &mut Vec<LeaseId>) -> f64,
    seed: impl Fn(&mut Seed, &[Wish<'_>], &mut Vec<u64>) -> f64,
) -> Sample {
    let peer = RefCell::new(std::mem::take(&mut world.seed));
    let surplus = RefCell::new(world.surplus);
    let sides = Adding {
        names: &world.names,
        size: world.size,
        batch,
        ours: &world.ours,
        seed: &peer,
        surplus: &surplus,
    };
    let sample = sides.compare(bench, &mut world.dice, ours, seed);
    world.surplus = surplus.into_inner();
    world.seed = peer.into_inner();
    sample
}

fn grant(manager: &LeaseManager, wishes: &[Wish<'_>], ids: &mut Vec<LeaseId>) {
    for wish in wishes {
        // It cannot fail: there is room, and any number of holders may share a name.
        ids.extend(wish.grant(manager));
    }
}

fn grant_by_seed(seed: &mut Seed, wishes: &[Wish<'_>], ids: &mut Vec<u64>) {
    for wish in wishes {
        ids.push(wish.grant_by_seed(seed));
    }
}

pub fn acquire(bench: &Bench, world: &mut World, hot: bool) -> Sample {
    let batch = batch_of(world.size);
    adding(
        bench,
        world,
        Batch { wishes: batch, pairs: batch, hot },
        |ours, wishes, ids| cpu(wishes.len(), || grant(ours, wishes, ids)),
        |seed, wishes, ids| cpu(wishes.len(), || grant_by_seed(seed, wishes, ids)),
    )
}

/// Revokes leases that were just granted.
pub fn revoke(bench: &Bench, world: &mut World) -> Sample {
    let batch = batch_of(world.size);
    adding(
        bench,
        world,
        Batch { wishes: batch, pairs: batch, hot: true },
        |ours, wishes, ids| {
            grant(ours, wishes, ids);
            cpu(ids.len(), || {
                for &id in ids.iter() {
                    keep(ours.revoke(id));
                }
            })
        },
        |seed, wishes, ids| {
            grant_by_seed(seed, wishes, ids);
            cpu(ids.len(), || {
                for &id in ids.iter() {
                    keep(seed.revoke(id));
                }
            })
        },
    )
}

/// Revokes any leases. Ours are granted again after each round; to the seed it makes no difference whether a
/// lease has ended before, and it has no way to bring one back.
pub fn revoke_random(bench: &Bench, world: &mut World) -> Sample {
    let batch = batch_of(world.size);
    let rounds: Vec<Vec<usize>> = (0..50).map(|_| world.numbers(batch, false)).collect();
    let (mut our_round, mut seed_round) = (rounds.iter().cycle(), rounds.iter().cycle());
    let World { names, ours, our_ids, seed, seed_ids, .. } = world;
    bench.budget().compare(
        || {
            let numbers = our_round.next().expect("a cycle has no end");
            let ids: Vec<LeaseId> = numbers.iter().map(|&i| our_ids[i]).collect();
            let spent = cpu(batch, || {
                for &id in &ids {
                    keep(ours.revoke(id));
                }
            });
            for &i in numbers {
                let wish = names.wish(i);
                if let Ok(id) = wish.grant(ours) {
                    our_ids[i] = id;
                }
            }
            spent
        },
        || {
            let numbers = seed_round.next().expect("a cycle has no end");
            let ids: Vec<u64> = numbers.iter().map(|&i| seed_ids[i]).collect();
            cpu(batch, || {
                for &id in &ids {
                    keep(seed.revoke(id));
                }
            })
        },
    )
}

/// A few pairs, on a seed that has no more leases than ours: the best it can do.
pub fn acquire_revoke(bench: &Bench, world: &mut World, hot: bool) -> Sample {
    let batch = batch_of(world.size);
    adding(
        bench,
        world,
        Batch { wishes: batch, pairs: batch, hot },
        |ours, wishes, _| cpu(batch, || pairs(ours, wishes, batch)),
        |seed, wishes, _| cpu(batch, || pairs_by_seed(seed, wishes, batch)),
    )
}

/// The same beside a seed in a mutex, which threads can share as they can share ours.
pub fn acquire_revoke_locked(bench: &Bench, world: &mut World, hot: bool) -> Sample {
    let batch = batch_of(world.size);
    adding(
        bench,
        world,
        Batch { wishes: batch, pairs: batch, hot },
        |ours, wishes, _| cpu(batch, || pairs(ours, wishes, batch)),
        |seed, wishes, _| {
            let seed = Mutex::new(seed);
            cpu(batch, || {
                for wish in wishes.iter().cycle().take(batch) {
                    let id = wish.grant_by_seed(&mut seed.lock());
                    keep(seed.lock().revoke(black_box(id)));
                }
            })
        },
    )
}

/// One pair after another, as in a program that runs for a while: what the seed does not forget, it has to store.
pub fn acquire_revoke_steady(bench: &Bench, world: &mut World) -> Sample {
    const PAIRS: usize = 50_000;
    adding(
        bench,
        world,
        Batch { wishes: 500, pairs: PAIRS, hot: true },
        |ours, wishes, _| cpu(PAIRS, || pairs(ours, wishes, PAIRS)),
        |seed, wishes, _| cpu(PAIRS, || pairs_by_seed(seed, wishes, PAIRS)),
    )
}

fn pairs(ours: &LeaseManager, wishes: &[Wish<'_>], n: usize) {
    for wish in wishes.iter().cycle().take(n) {
        if let Ok(id) = wish.grant(ours) {
            keep(ours.revoke(black_box(id)));
        }
    }
}

fn pairs_by_seed(seed: &mut Seed, wishes: &[Wish<'_>], n: usize) {
    for wish in wishes.iter().cycle().take(n) {
        let id = wish.grant_by_seed(seed);
        keep(seed.revoke(black_box(id)));
    }
}
