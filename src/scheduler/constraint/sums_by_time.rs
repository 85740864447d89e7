//! Sums of counts up to a moment: adding and asking both cost the square root of the number of moments.

/// Moments of a block before it is split.
const MOST_MOMENTS: usize = 256;

/// Counts at moments, in blocks that know their sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SumsByTime {
    /// In order, none empty.
    blocks: Vec<Block>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Block {
    /// In order, each with a count above zero.
    counts: Vec<(i64, u64)>,
    sum: u64,
}

// === impl SumsByTime ===

impl SumsByTime {
    /// Adds to the count of a moment.
    pub(super) fn add(&mut self, at_us: i64, count: u64) {
        if count == 0 {
            return;
        }
        if self.blocks.is_empty() {
            self.blocks.push(Block::default());
        }
        let index = self.block_of(at_us);
        let block = &mut self.blocks[index];
        block.sum = block.sum.saturating_add(count);
        match block.counts.binary_search_by_key(&at_us, |(at, _)| *at) {
            Ok(place) => block.counts[place].1 = block.counts[place].1.saturating_add(count),
            Err(place) => block.counts.insert(place, (at_us, count)),
        }
        if block.counts.len() > MOST_MOMENTS {
            let counts = block.counts.split_off(MOST_MOMENTS / 2);
            let sum = counts.iter().map(|(_, count)| *count).sum();
            block.sum = block.sum.saturating_sub(sum);
            self.blocks.insert(index + 1, Block { counts, sum });
        }
    }

    /// Subtracts from the count of a moment, as much as was added there.
    pub(super) fn subtract(&mut self, at_us: i64, count: u64) {
        let index = self.block_of(at_us);
        let Some(block) = self.blocks.get_mut(index) else { return };
        let Ok(place) = block.counts.binary_search_by_key(&at_us, |(at, _)| *at) else { return };
        let here = &mut block.counts[place].1;
        let count = count.min(*here);
        *here -= count;
        block.sum -= count;
        if *here == 0 {
            block.counts.remove(place);
        }
        if block.counts.is_empty() {
            self.blocks.remove(index);
        }
    }

    /// The sum of all counts at moments before `end_us`.
    pub(super) fn sum_before(&self, end_us: i64) -> u64 {
        let index = self.block_of(end_us);
        let whole: u64 = self.blocks.iter().take(index).map(|block| block.sum).sum();
        let here = self.blocks.get(index).map_or(&[][..], |block| &block.counts);
        whole + here.iter().take_while(|(at, _)| *at < end_us).map(|(_, count)| *count).sum::<u64>()
    }

    /// The counts at a moment and after it, in order.
    pub(super) fn counts_from(&self, from_us: i64) -> impl Iterator<Item = (i64, u64)> {
        let blocks = self.blocks.iter().skip(self.block_of(from_us));
        blocks.flat_map(|block| block.counts.iter().copied()).skip_while(move |(at, _)| *at < from_us)
    }

    /// The last block that begins at or before a moment, or the first.
    fn block_of(&self, at_us: i64) -> usize {
        let begins_by = |block: &Block| block.counts.first().is_none_or(|(first, _)| *first <= at_us);
        self.blocks.partition_point(begins_by).saturating_sub(1)
    }
}
