//! The two sides, filled with the same leases.

use ternlease::{Error, LeaseId, LeaseManager, Limits, Options};

/// The peer: the crate whose interface `LeaseManager::new()` has.
pub type Seed = ternary_lease::LeaseManager;

/// Leases under each holder's name, and on each resource.
pub const LEASES_PER_NAME: usize = 10;

/// How many names, or ids, count as being in the cache: the same number at every size.
pub const HOT: usize = 100;

/// No lease ends before this tick unless a benchmark says so. Ends are spread over as much again.
pub const LONG: u32 = 1 << 28;

/// A lease to be asked for.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    pub resource: &'a str,
    pub holder: &'a str,
    pub ttl: u32,
}

impl Wish<'_> {
    #[inline(always)]
    pub fn grant(&self, ours: &LeaseManager) -> Result<LeaseId, Error> {
        ours.acquire(self.resource, self.holder, u64::from(self.ttl))
    }

    #[inline(always)]
    pub fn grant_by_seed(&self, seed: &mut Seed) -> u64 {
        seed.acquire(self.resource, self.holder, self.ttl)
    }
}

/// A small generator of numbers that look random and are the same in every run.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % n
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// Names as users of the peer have them.
pub struct Names {
    pub resources: Vec<String>,
    pub holders: Vec<String>,
}

impl Names {
    pub fn new(size: usize) -> Names {
        let names =
            |word: &str| (0..size / LEASES_PER_NAME).map(|i| format!("{word}{i}")).collect();
        Names { resources: names("gpu"), holders: names("worker") }
    }

    /// Lease number `i`: the leases of one holder are on different resources, and the other way round.
    pub fn wish(&self, i: usize) -> Wish<'_> {
        let n = self.holders.len();
        Wish {
            resource: &self.resources[(i * 31 + i / n) % n],
            holder: &self.holders[i % n],
            ttl: LONG + Dice::new(i as u64 + 1).below(LONG as usize) as u32,
        }
    }

    /// `n` more leases like those there are, on a few names or on any.
    pub fn more(&self, n: usize, hot: bool, dice: &mut Dice) -> Vec<Wish<'_>> {
        let names = self.holders.len();
        let among = if hot { HOT.min(names) } else { names };
        let wish = |_| Wish {
            resource: &self.resources[dice.below(among)],
            holder: &self.holders[dice.below(among)],
            ttl: LONG + dice.below(LONG as usize) as u32,
        };
        (0..n).map(wish).collect()
    }
}

/// A manager of ours with the peer's rules and room for `size` leases and some more.
pub fn empty_manager(size: usize) -> LeaseManager {
    manager_with_room(size + size / 4, size / LEASES_PER_NAME)
}

/// The same with room for this many leases and resources; with the usual limits if they suffice.
pub fn manager_with_room(leases: usize, resources: usize) -> LeaseManager {
    let usual = Limits::default();
    let limits = Limits {
        leases: usual.leases.max(leases as u32),
        resources: usual.resources.max(resources as u32),
        ..usual
    };
    LeaseManager::with(Options::ticks().open_house().limits(limits))
}

/// Both sides with the same `size` leases.
pub struct World {
    pub size: usize,
    pub names: Names,
    pub ours: LeaseManager,
    pub our_ids: Vec<LeaseId>,
    pub seed: Seed,
    pub seed_ids: Vec<u64>,
    /// Leases that the seed has had beyond `size`: it forgets none.
    pub surplus: usize,
    pub dice: Dice,
    /// Where the next walk over all ids goes on.
    at: usize,
    /// All lease numbers in a random order.
    order: Vec<u32>,
}

impl World {
    pub fn new(size: usize) -> World {
        let names = Names::new(size);
        let ours = empty_manager(size);
        let grant = |wish: Wish<'_>| wish.grant(&ours);
        let our_ids: Vec<LeaseId> =
            (0..size).map(|i| grant(names.wish(i)).expect("room for every lease")).collect();
        let mut dice = Dice::new(size as u64);
        // A manager in use remembers as many ended leases as it may: from there on, ending one forgets another.
        for i in 0..2 * Limits::default().history as usize {
            let id = grant(names.wish(i % size)).expect("room for one more");
            ours.revoke(id).expect("it was just granted");
        }
        let (seed, seed_ids) = filled_seed(&names, size);
        let mut order: Vec<u32> = (0..size as u32).collect();
        dice.shuffle(&mut order);
        World { size, names, ours, our_ids, seed, seed_ids, surplus: 0, dice, at: 0, order }
    }

    /// Lease numbers for one batch: a few again and again, or the next of all in a random order.
    pub fn numbers(&mut self, n: usize, hot: bool) -> Vec<usize> {
        if hot {
            let hot = HOT.min(self.size);
            // Far apart, so that they share no cache lines or pages they would not share anyway.
            return (0..n).map(|i| i % hot * (self.size / hot)).collect();
        }
        let start = self.at;
        self.at = (self.at + n) % self.size;
        (0..n).map(|i| self.order[(start + i) % self.size] as usize).collect()
    }
}

pub fn filled_seed(names: &Names, size: usize) -> (Seed, Vec<u64>) {
    let mut seed = Seed::new();
    let grant = |i| {
        let wish = names.wish(i);
        wish.grant_by_seed(&mut seed)
    };
    let ids = (0..size).map(grant).collect();
    (seed, ids)
}
