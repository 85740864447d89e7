//! What a job has to do.

use super::key_spread::KeySpread;

/// The work of a job that has not begun, or what is left of one. Durations are microseconds, rounded up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobWork {
    pub maps: u32,
    pub reduces: u32,
    /// Time that one slot needs for all maps.
    pub map_us: u64,
    pub longest_map_us: u64,
    /// Time to move the output of the maps.
    pub copy_us: u64,
    /// Time that one slot needs for all reduces.
    pub reduce_us: u64,
    /// How its keys spread over the reduces.
    pub keys: KeySpread,
}

impl JobWork {
    /// Time of the longest reduce: that of all if one reduce gets every key.
    pub(crate) fn longest_reduce_us(&self) -> u64 {
        match (self.reduces, self.keys) {
            (0, _) => 0,
            (_, KeySpread::Single) => self.reduce_us,
            (reduces, KeySpread::Uniform) => self.reduce_us.div_ceil(reduces.into()),
        }
    }

    /// The same job with maps that take so long at least.
    pub(crate) fn with_maps_of(&self, map_us: u64) -> Self {
        Self {
            map_us: self.map_us.max(map_us.saturating_mul(self.maps.into())),
            longest_map_us: self.longest_map_us.max(map_us),
            ..*self
        }
    }

    /// The same job with this many maps left, which are as long as its others on average.
    pub(crate) fn with_maps_left(&self, maps: u32) -> Self {
        let left = u128::from(self.map_us) * u128::from(maps.min(self.maps));
        let map_us = left.div_ceil(u128::from(self.maps.max(1)));
        // It is at most what it was.
        Self { maps: maps.min(self.maps), map_us: u64::try_from(map_us).unwrap_or(self.map_us), ..*self }
    }

    /// The same job with this many reduces left, each as long as before.
    pub(crate) fn with_reduces_left(&self, reduces: u32) -> Self {
        let left = u128::from(self.reduce_us) * u128::from(reduces.min(self.reduces));
        let reduce_us = left.div_ceil(u128::from(self.reduces.max(1)));
        // It is at most what it was.
        Self {
            reduces: reduces.min(self.reduces),
            reduce_us: u64::try_from(reduce_us).unwrap_or(self.reduce_us),
            ..*self
        }
    }
}
