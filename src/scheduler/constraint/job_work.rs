//! What a job reads and has to do.

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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum KeySpread {
    #[default]
    Uniform,
    /// All go to one reduce, the worst case.
    Single,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InputVolume {
    pub(crate) splits: u32,
    pub(crate) bytes: u128,
    pub(crate) largest_bytes: u64,
}

impl InputVolume {
    pub(crate) fn push(&mut self, bytes: u64) {
        self.splits = self.splits.saturating_add(1);
        self.bytes += u128::from(bytes);
        self.largest_bytes = self.largest_bytes.max(bytes);
    }

    /// So many bytes in splits that differ by a byte at most.
    pub(crate) fn in_equal_splits(bytes: u64, splits: u32) -> Self {
        Self { splits, bytes: bytes.into(), largest_bytes: bytes.div_ceil(u64::from(splits.max(1))) }
    }

    /// So many bytes in blocks, of which the last is what is left.
    pub(crate) fn in_blocks(bytes: u64, block_bytes: u64) -> Self {
        let splits = u32::try_from(bytes.div_ceil(block_bytes.max(1))).unwrap_or(u32::MAX);
        Self { splits, bytes: bytes.into(), largest_bytes: bytes.min(block_bytes) }
    }
}

impl FromIterator<u64> for InputVolume {
    fn from_iter<I: IntoIterator<Item = u64>>(splits_bytes: I) -> Self {
        let mut volume = Self::default();
        splits_bytes.into_iter().for_each(|bytes| volume.push(bytes));
        volume
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_are_those_of_their_splits() {
        let of = |splits: &[u64]| splits.iter().copied().collect::<InputVolume>();
        assert_eq!(InputVolume::in_equal_splits(10, 3), of(&[4, 3, 3]));
        assert_eq!(InputVolume::in_equal_splits(2, 3), of(&[1, 1, 0]));
        assert_eq!(InputVolume::in_blocks(130, 64), of(&[64, 64, 2]));
        assert_eq!(InputVolume::in_blocks(128, 64), of(&[64, 64]));
        assert_eq!(InputVolume::in_blocks(0, 64), of(&[]));
    }
}
