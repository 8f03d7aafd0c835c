//! Numbers that look random and can be had again.

use std::time::{SystemTime, UNIX_EPOCH};

pub struct Random {
    pub seed: u64,
    state: u64,
}

impl Random {
    /// From `TERN_SEED`, or from the clock.
    pub fn new() -> Random {
        let chosen = std::env::var("TERN_SEED").ok().map(|seed| seed.parse().unwrap());
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64;
        let seed = chosen.unwrap_or_else(now);
        Random { seed, state: seed }
    }

    pub fn below(&mut self, limit: usize) -> usize {
        // A Weyl sequence, well mixed.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        for _ in 0..2 {
            mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        }
        (mixed ^ mixed >> 32) as usize % limit
    }
}
