//! Estimates the output of a job's maps from those that are done (1.2.1 `ResourceEstimator`). Integers only.

use super::SplitTable;

/// Input and output of the maps done so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OutputEstimate {
    /// Input of all maps plus one byte each, so that maps without input do not look infinitely productive.
    input: u128,
    /// The same of the maps done.
    done_input: u128,
    done_output: u128,
    /// Successes of maps, reruns included.
    done: u32,
    min_done: u32,
    maps: u32,
}

impl OutputEstimate {
    /// No map is done. An estimate needs a tenth of the maps, or those that reduces wait for where these are fewer.
    pub(super) fn new(splits: &SplitTable, slowstart_maps: u32) -> Self {
        let maps = u32::try_from(splits.len()).unwrap_or(u32::MAX);
        let input = splits.splits().iter().map(|split| bytes_read(split.length_bytes)).sum();
        let min_done = (maps / 10).min(slowstart_maps);
        Self { input, done_input: 0, done_output: 0, done: 0, min_done, maps }
    }

    /// Adds a finished map. One that does not report its output (below 0) is ignored.
    pub(super) fn add(&mut self, input_bytes: i64, output_bytes: i64) {
        let Ok(output) = u64::try_from(output_bytes) else { return };
        self.done_input += bytes_read(input_bytes);
        self.done_output += u128::from(output);
        self.done = self.done.saturating_add(1);
    }

    /// Room that all maps will need, bytes: twice their output. 0 while too few are done.
    fn total_room_bytes(&self) -> u64 {
        if self.done < self.min_done || self.done_input == 0 {
            return 0;
        }
        // Adding half the divisor rounds to the nearest.
        let twice = self.input.saturating_mul(self.done_output).saturating_mul(2);
        let room = twice.saturating_add(self.done_input / 2) / self.done_input;
        // 1.2.1 computes in Java's long.
        u64::try_from(room).unwrap_or(u64::MAX).min(i64::MAX as u64)
    }

    pub(super) fn room_per_map_bytes(&self) -> u64 {
        self.total_room_bytes().checked_div(u64::from(self.maps)).unwrap_or(0)
    }

    /// Input of one of `reduces`, bytes, if all get the same.
    pub(super) fn input_per_reduce_bytes(&self, reduces: u32) -> u64 {
        self.total_room_bytes().checked_div(u64::from(reduces)).unwrap_or(0) / 2
    }
}

fn bytes_read(length_bytes: i64) -> u128 {
    u128::from(u64::try_from(length_bytes).unwrap_or(0)) + 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn estimate(maps: usize, length_bytes: i64, slowstart_maps: u32) -> OutputEstimate {
        let mut splits = SplitTable::builder();
        (0..maps).for_each(|_| splits.push(0, length_bytes, []));
        OutputEstimate::new(&splits.build(|_| "/r".into()), slowstart_maps)
    }

    #[test]
    fn a_tenth_of_the_maps_is_enough_for_an_estimate() {
        let mut output = estimate(20, 99, 20);
        output.add(99, 150);
        assert_eq!((output.total_room_bytes(), output.room_per_map_bytes()), (0, 0));
        output.add(99, 250);
        // 20 x 100 read, 400 written for 200 read, and twice that.
        assert_eq!((output.total_room_bytes(), output.room_per_map_bytes()), (8_000, 400));
        assert_eq!((output.input_per_reduce_bytes(4), output.input_per_reduce_bytes(0)), (1_000, 0));
    }

    #[test]
    fn those_that_reduces_wait_for_are_enough() {
        let mut output = estimate(100, 99, 1);
        output.add(99, 100);
        assert_eq!(output.room_per_map_bytes(), 200);
    }

    #[test]
    fn a_map_without_a_reported_output_does_not_count() {
        let mut output = estimate(20, 99, 1);
        output.add(99, -1);
        assert_eq!(output.done, 0);
        assert_eq!(output.total_room_bytes(), 0);
    }

    #[test]
    fn absurd_sizes_are_survived() {
        let mut output = estimate(3, i64::MAX, 0);
        assert_eq!(output.total_room_bytes(), 0, "nothing is done");
        (0..3).for_each(|_| output.add(-7, i64::MAX));
        assert_eq!(output.total_room_bytes(), i64::MAX as u64);
        assert_eq!(estimate(0, 0, 0).room_per_map_bytes(), 0);
    }

    proptest! {
        #[test]
        fn when_all_maps_are_done_the_estimate_is_twice_their_output(
            sizes in prop::collection::vec((0i64..1 << 50, 0i64..1 << 50), 1..50)
        ) {
            let mut splits = SplitTable::builder();
            sizes.iter().for_each(|(input, _)| splits.push(0, *input, []));
            let mut output = OutputEstimate::new(&splits.build(|_| "/r".into()), 0);
            sizes.iter().for_each(|(input, written)| output.add(*input, *written));
            let written: i64 = sizes.iter().map(|(_, written)| written).sum();
            prop_assert_eq!(output.total_room_bytes(), 2 * written as u64);
        }
    }
}
