//! A number that changes at moments: its value at any of them, and its peak. Changing and asking both cost the square root
//! of the number of moments.

/// Moments of a block before it is split.
const MOST_MOMENTS: usize = 256;

/// Changes at moments, in blocks that know their sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SumsByTime {
    /// In order, none empty.
    blocks: Vec<Block>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Block {
    /// In order, none zero.
    changes: Vec<(i64, i64)>,
    sum: i64,
    /// The largest sum of first changes.
    peak: i64,
}

// === impl SumsByTime ===

impl SumsByTime {
    /// Adds to the change at a moment.
    pub(super) fn add(&mut self, at_us: i64, change: i64) {
        if change == 0 {
            return;
        }
        if self.blocks.is_empty() {
            self.blocks.push(Block::default());
        }
        let index = self.block_of(at_us);
        let block = &mut self.blocks[index];
        match block.changes.binary_search_by_key(&at_us, |(at, _)| *at) {
            Ok(place) => {
                block.changes[place].1 += change;
                if block.changes[place].1 == 0 {
                    block.changes.remove(place);
                }
            }
            Err(place) => block.changes.insert(place, (at_us, change)),
        }
        if block.changes.len() > MOST_MOMENTS {
            let mut behind = Block { changes: block.changes.split_off(MOST_MOMENTS / 2), ..Block::default() };
            behind.sum_up();
            block.sum_up();
            self.blocks.insert(index + 1, behind);
        } else if block.changes.is_empty() {
            self.blocks.remove(index);
        } else {
            block.sum_up();
        }
    }

    /// The value at a moment, the change there included.
    pub(super) fn at(&self, at_us: i64) -> i64 {
        let index = self.block_of(at_us);
        let before: i64 = self.blocks.iter().take(index).map(|block| block.sum).sum();
        let here = self.blocks.get(index).map_or(&[][..], |block| &block.changes);
        before + here.iter().take_while(|(at, _)| *at <= at_us).map(|(_, change)| *change).sum::<i64>()
    }

    /// The largest value from a moment to another, both included.
    pub(super) fn peak_between(&self, from_us: i64, until_us: i64) -> i64 {
        let mut value = self.at(from_us);
        let mut peak = value;
        for block in self.blocks.iter().skip(self.block_of(from_us)) {
            let (Some((first, _)), Some((last, _))) = (block.changes.first(), block.changes.last()) else { continue };
            if *first > until_us {
                break;
            }
            if *first > from_us && *last <= until_us {
                peak = peak.max(value + block.peak);
                value += block.sum;
                continue;
            }
            for (_, change) in block.changes.iter().filter(|(at, _)| *at > from_us && *at <= until_us) {
                value += change;
                peak = peak.max(value);
            }
        }
        peak
    }

    /// The changes after a moment, in order.
    pub(super) fn changes_after(&self, after_us: i64) -> impl Iterator<Item = (i64, i64)> {
        let blocks = self.blocks.iter().skip(self.block_of(after_us));
        blocks.flat_map(|block| block.changes.iter().copied()).skip_while(move |(at, _)| *at <= after_us)
    }

    /// The last block that begins at or before a moment, or the first.
    fn block_of(&self, at_us: i64) -> usize {
        let begins_by = |block: &Block| block.changes.first().is_none_or(|(first, _)| *first <= at_us);
        self.blocks.partition_point(begins_by).saturating_sub(1)
    }
}

// === impl Block ===

impl Block {
    fn sum_up(&mut self) {
        (self.sum, self.peak) = self.changes.iter().fold((0, i64::MIN), |(sum, peak), (_, change)| {
            let sum = sum + change;
            (sum, peak.max(sum))
        });
    }
}
