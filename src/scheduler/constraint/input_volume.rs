//! How much a job reads.

/// The input of a job's maps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InputVolume {
    /// One for each map.
    pub(crate) splits: u32,
    /// The lengths of all splits together.
    pub(crate) bytes: u128,
    /// The length of the largest split.
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
