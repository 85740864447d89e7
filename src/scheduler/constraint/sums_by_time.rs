//! A number that changes at moments: its value at any of them, its peak, and when it is low for how long. A change costs the
//! square root of the number of moments; a search passes over whole blocks by their extremes.

/// Moments of a block before it is split.
const MOST_MOMENTS: usize = 128;

/// Changes at moments, in blocks that know their sums.
#[derive(Clone, Debug, Default)]
pub(super) struct SumsByTime {
    /// In order, none empty.
    blocks: Vec<ChangeBlock>,
}

#[derive(Clone, Debug, Default)]
struct ChangeBlock {
    /// In order, none zero.
    changes: Vec<(i64, i64)>,
    /// The value before its first change.
    base: i64,
    sum: i64,
    /// The largest sum of first changes.
    peak: i64,
    low: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValueStep {
    pub(super) at_us: i64,
    pub(super) value: i64,
}

impl PartialEq for SumsByTime {
    /// Where blocks were split does not count.
    fn eq(&self, other: &Self) -> bool {
        self.changes().eq(other.changes())
    }
}

impl Eq for SumsByTime {}

impl SumsByTime {
    fn changes(&self) -> impl Iterator<Item = (i64, i64)> {
        self.blocks.iter().flat_map(|block| block.changes.iter().copied())
    }

    pub(super) fn add(&mut self, at_us: i64, change: i64) {
        if change == 0 {
            return;
        }
        if self.blocks.is_empty() {
            self.blocks.push(ChangeBlock::default());
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
        let mut later = index + 1;
        if block.changes.len() > MOST_MOMENTS {
            let mut behind =
                ChangeBlock { changes: block.changes.split_off(MOST_MOMENTS / 2), ..ChangeBlock::default() };
            block.sum_up();
            // The blocks behind it get the change below.
            behind.base = block.base + block.sum;
            behind.sum_up();
            self.blocks.insert(index + 1, behind);
            later += 1;
        } else if block.changes.is_empty() {
            self.blocks.remove(index);
            later = index;
        } else {
            block.sum_up();
        }
        for block in self.blocks.iter_mut().skip(later) {
            block.base += change;
        }
    }

    /// The value at a moment, the change there included.
    pub(super) fn at(&self, at_us: i64) -> i64 {
        let Some(block) = self.blocks.get(self.block_of(at_us)) else { return 0 };
        let before = block.changes.iter().take_while(|(at, _)| *at <= at_us);
        block.base + before.map(|(_, change)| *change).sum::<i64>()
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
                peak = peak.max(block.base + block.peak);
                value = block.base + block.sum;
                continue;
            }
            for (_, change) in block.changes.iter().filter(|(at, _)| *at > from_us && *at <= until_us) {
                value += change;
                peak = peak.max(value);
            }
        }
        peak
    }

    /// The first moment after that one at which the value drops and is at most this then; none: it never does.
    pub(super) fn first_drop(&self, most: i64, after_us: i64) -> Option<i64> {
        for block in self.blocks.iter().skip(self.block_of(after_us)) {
            if block.base + block.low > most {
                continue;
            }
            let mut value = block.base;
            for (at_us, change) in &block.changes {
                value += change;
                if *at_us > after_us && *change < 0 && value <= most {
                    return Some(*at_us);
                }
            }
        }
        None
    }

    /// The first moment from `from_us` to `until_us` from which the value is at most this for `during_us`, the end not included.
    pub(super) fn first_low(&self, most: i64, during_us: u64, from_us: i64, until_us: i64) -> Option<i64> {
        let mut low_from = (self.at(from_us) <= most).then_some(from_us);
        for block in self.blocks.iter().skip(self.block_of(from_us)) {
            let Some((first, _)) = block.changes.first() else { continue };
            if let Some(low_from) = low_from.filter(|low_from| lasts(*low_from, *first, during_us)) {
                return Some(low_from);
            }
            if *first > from_us && (low_from.is_none() && *first > until_us) {
                return None;
            }
            if *first > from_us && block.base + block.low > most {
                low_from = None;
                continue;
            }
            if *first > from_us && block.base + block.peak <= most {
                low_from = low_from.or(Some(*first));
                continue;
            }
            let mut value = block.base;
            for (at_us, change) in &block.changes {
                value += change;
                if *at_us <= from_us {
                    continue;
                }
                match (low_from, value <= most) {
                    (Some(low_from), _) if lasts(low_from, *at_us, during_us) => return Some(low_from),
                    (None, true) if *at_us > until_us => return None,
                    (None, true) => low_from = Some(*at_us),
                    (Some(_), false) => low_from = None,
                    _ => {}
                }
            }
        }
        // After the last moment nothing changes.
        low_from
    }

    /// Its values from a moment on. Where all of a block are at least `high`, only the first is.
    pub(super) fn steps_from(&self, from_us: i64, high: i64) -> impl Iterator<Item = ValueStep> {
        let now = ValueStep { at_us: from_us, value: self.at(from_us) };
        let steps = self.blocks.iter().skip(self.block_of(from_us)).flat_map(move |block| {
            let first_us = block.changes.first().map_or(i64::MIN, |(first, _)| *first);
            let is_high = first_us > from_us && block.base + block.low >= high;
            let taken = if is_high { 1 } else { block.changes.len() };
            block.changes.iter().take(taken).scan(block.base, |value, (at_us, change)| {
                *value += change;
                Some(ValueStep { at_us: *at_us, value: *value })
            })
        });
        std::iter::once(now).chain(steps.skip_while(move |step| step.at_us <= from_us))
    }

    /// The last block that begins at or before a moment, or the first.
    fn block_of(&self, at_us: i64) -> usize {
        let begins_by = |block: &ChangeBlock| block.changes.first().is_none_or(|(first, _)| *first <= at_us);
        self.blocks.partition_point(begins_by).saturating_sub(1)
    }
}

/// Whether a time between two moments is as long as that.
fn lasts(from_us: i64, until_us: i64, during_us: u64) -> bool {
    until_us > from_us && until_us.abs_diff(from_us) >= during_us
}

impl ChangeBlock {
    fn sum_up(&mut self) {
        let extremes = (0, i64::MIN, i64::MAX);
        (self.sum, self.peak, self.low) = self.changes.iter().fold(extremes, |(sum, peak, low), (_, change)| {
            let sum = sum + change;
            (sum, peak.max(sum), low.min(sum))
        });
    }
}
