//! Random numbers from a seed.

pub(super) struct Rng(u64);

impl Rng {
    /// Similar seeds give different numbers.
    pub fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        // The lowest bits of such numbers are the least random.
        (self.0 >> 11) % limit
    }
}
