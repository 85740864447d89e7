//! How long calls took.

use std::time::Duration;

/// Times of calls, µs.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    us: Vec<u32>,
}

/// More than these are not kept: ten minutes of what one core can send.
const KEPT: usize = 20_000_000;

// === impl Latencies ===

impl Latencies {
    /// Adds one.
    pub fn add(&mut self, took: Duration) {
        if self.us.len() < KEPT {
            self.us.push(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
        }
    }

    /// Adds all of another.
    pub fn extend(&mut self, other: &Self) {
        let room = KEPT - self.us.len();
        self.us.extend(other.us.iter().take(room));
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.us.len() as u64
    }

    /// The times that so many of a thousand stay within, µs; `None` without calls.
    pub fn quantiles_us<const N: usize>(&mut self, per_mille: [usize; N]) -> [Option<u32>; N] {
        self.us.sort_unstable();
        let count = self.us.len();
        per_mille.map(|part| self.us.get((count * part).div_ceil(1000).saturating_sub(1)).copied())
    }
}
