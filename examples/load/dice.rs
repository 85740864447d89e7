//! Chance that can be thrown again: everything follows from a seed.

/// A sequence of numbers (SplitMix64).
#[derive(Clone, Copy, Debug)]
pub struct Dice(u64);

// === impl Dice ===

impl Dice {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The sequence of a seed and a name: for two names two that have nothing to do with each other.
    pub fn named(seed: u64, name: &str) -> Self {
        // FNV-1a.
        let hash = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        let mut dice = Self(seed ^ hash);
        dice.roll();
        dice
    }

    /// The next number.
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number from 0 to `count`, without that; 0 when there is none.
    pub fn below(&mut self, count: u32) -> u32 {
        (self.roll() % u64::from(count.max(1))) as u32
    }

    /// True so many times in a hundred.
    pub fn percent(&mut self, chance: u32) -> bool {
        self.below(100) < chance
    }

    /// One of them; the first of none is an error of the caller.
    pub fn pick<T: Copy>(&mut self, among: &[T]) -> Option<T> {
        among.get(self.below(among.len() as u32) as usize).copied()
    }
}
