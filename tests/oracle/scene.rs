//! Pools to be set up: all that `every_pool` names, and random ones.

use ternlease::table::Take;

use super::{Pool, Want};

/// What a test sets up: leases, each with its priority and whether it is preemptible, then the
/// claims of a pool in which nothing is held yet.
pub struct Scene {
    pub pool: Pool,
    pub holds: Vec<(Want, i16, bool)>,
}

impl Scene {
    /// What `every_pool` says. How it is taken, and in how many leases, varies with `n`.
    /// `sorted`: claims that fit come last, so that as many as possible have to wait.
    pub fn plain(owner: &[usize], claims: &[(u32, u32)], n: usize, sorted: bool) -> Scene {
        let take = [Take::ONE_SLOT, Take::Exclusive][n % 2];
        let (sizes, workers) = (vec![(1, 0); owner.len()], claims.len());
        let mut scene = Scene { pool: Pool { sizes, workers, ..Pool::default() }, holds: vec![] };
        let mask_of =
            |worker| (0..owner.len()).filter(move |&r| owner[r] == worker).map(|r| 1 << r);
        for (worker, &(mask, count)) in claims.iter().enumerate() {
            let owned = mask_of(worker + 1);
            let leases = if n & 2 == 0 { owned.collect() } else { vec![owned.sum::<u32>()] };
            for mask in leases.into_iter().filter(|mask| *mask != 0) {
                let all = Want { worker, mask, count: mask.count_ones(), take, together: false };
                scene.holds.push((all, 0, false));
            }
            if count != 0 {
                scene.pool.wants.push(Want { worker, mask, count, take, together: false });
            }
        }
        let free: u32 = mask_of(0).sum();
        let fits = |w: &Want| (w.mask & free).count_ones() >= w.count;
        scene.pool.wants.sort_by_key(|w| sorted && fits(w));
        scene
    }

    /// Up to 6 workers with several leases each, and 6 resources with several slots and memory.
    pub fn random(rng: &mut Rng) -> Scene {
        let (workers, n, simple) = (3 + rng.below(4), 3 + rng.below(4), rng.below(2) == 0);
        let size = |rng: &mut Rng| (1 + rng.below(2) as u32, 4 * rng.below(3) as u32);
        let sizes = (0..n).map(|_| if simple { (1, 0) } else { size(rng) }).collect();
        let mut scene = Scene { pool: Pool { sizes, workers, ..Pool::default() }, holds: vec![] };
        let random = |rng: &mut Rng, worker: usize, most: usize| {
            let mask = (0..1 + rng.below(most)).fold(0u32, |mask, _| mask | 1 << rng.below(n));
            let most = mask.count_ones();
            let count = if rng.below(2) == 0 { most } else { 1 + rng.below(most as usize) as u32 };
            let take = match rng.below(if simple { 2 } else { 6 }) {
                0 => Take::Exclusive,
                1 => Take::ONE_SLOT,
                2 | 3 => Take::Shared,
                _ => Take::Amount { slots: 1 + rng.below(2) as u32, memory: rng.below(5) as u32 },
            };
            Want { worker, mask, count, take, together: false }
        };
        for n in 0..workers + rng.below(workers) {
            let hold = random(rng, n % workers, 2);
            scene.holds.push((hold, rng.below(2) as i16, rng.below(2) == 0));
        }
        for worker in (0..workers).filter(|_| rng.below(6) != 0).collect::<Vec<_>>() {
            let mut want = random(rng, worker, 4);
            // Seldom its own: to wait for oneself is a dull deadlock.
            let own = scene.holds.iter().filter(|h| h.0.worker == worker && rng.below(12) != 0);
            want.mask &= !own.fold(0, |all, h| all | h.0.mask);
            want.count = want.count.min(want.mask.count_ones());
            if want.count > 0 && scene.pool.fitting(&want, 0).count_ones() >= want.count {
                scene.pool.wants.push(want);
            }
        }
        scene
    }

    /// The same with the resources spread over two or three nodes, and many a claim for several of one node.
    pub fn random_on_nodes(rng: &mut Rng) -> Scene {
        let mut scene = Scene::random(rng);
        let nodes = 2 + rng.below(2);
        scene.pool.nodes = (0..scene.pool.sizes.len()).map(|_| rng.below(nodes)).collect();
        scene.on_nodes(|_| rng.below(3) != 0)
    }

    /// The same, with those claims for several of one node of which this is true. Those that cannot be served so do without.
    pub fn on_nodes(mut self, mut together: impl FnMut(&Want) -> bool) -> Scene {
        for place in 0..self.pool.wants.len() {
            let want = self.pool.wants[place];
            let want = Want { together: together(&want), ..want };
            if self.pool.suffices(&want, self.pool.fitting(&want, 0)) {
                self.pool.wants[place] = self.pool.counting(&want);
            }
        }
        self
    }
}

/// A seed and how many numbers were drawn. Tells the seed when a panic drops it.
pub struct Rng(pub u64, pub u64);

impl Drop for Rng {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("repeat with TERN_SEED={}", self.0);
        }
    }
}

impl Rng {
    pub fn below(&mut self, n: usize) -> usize {
        self.1 += 1;
        let z = (self.0 << 20 | self.1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % n as u64) as usize
    }
}
