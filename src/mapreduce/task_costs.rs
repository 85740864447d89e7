//! What the tasks of a job cost, from those that succeeded.

use crate::scheduler::constraint::KnownCosts;

use super::Attempt;

/// Bytes of the MB that costs are given for.
const MB: u128 = 1 << 20;
/// The ratio 1, in millionths.
const ONE: u128 = 1_000_000;

/// What the tasks that succeeded have cost so far. Little ones do not count: the start of a process takes its time for
/// a MB as for a few bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TaskCosts {
    /// Of the slowest map, microseconds per MB.
    map_us_per_mb: Option<u64>,
    /// Of the slowest map, microseconds, whatever its input.
    slowest_map_us: Option<u64>,
    /// Of the slowest reduce, microseconds per MB.
    reduce_us_per_mb: Option<u64>,
    /// Input and output of maps whose output is known, bytes.
    input: u128,
    output: u128,
    /// Bytes copied by reduces that began after the last map, and the time of that, ms.
    copied: u128,
    copy_ms: u128,
    /// When a map last ended, epoch ms by its tracker's clock.
    last_map_end_ms: i64,
}

impl TaskCosts {
    pub(super) fn known(&self) -> KnownCosts {
        let ratio = self.output.saturating_mul(ONE).checked_div(self.input);
        KnownCosts {
            map_us_per_mb: self.map_us_per_mb,
            reduce_us_per_mb: self.reduce_us_per_mb,
            copy_us_per_mb: us_per_mb(self.copy_ms, self.copied),
            filter_millionths: ratio.map(|ratio| u64::try_from(ratio).unwrap_or(u64::MAX)),
        }
    }

    /// Of the slowest map, microseconds per MB.
    pub(super) fn map_us_per_mb(&self) -> Option<u64> {
        self.map_us_per_mb
    }

    /// Of the slowest map, microseconds.
    pub(super) fn slowest_map_us(&self) -> Option<u64> {
        self.slowest_map_us
    }

    /// Adds a map that has succeeded; `largest`: the largest input of one, bytes.
    pub(super) fn add_map(&mut self, attempt: &Attempt, input: u64, largest: u64) {
        let (input, largest) = (u128::from(input), u128::from(largest));
        self.last_map_end_ms = self.last_map_end_ms.max(attempt.finish_ms);
        if let Some(output) = attempt.counters.as_ref().and_then(|counters| counters.map_output_bytes()) {
            self.input = self.input.saturating_add(input);
            self.output = self.output.saturating_add(output.into());
        }
        let took_ms = time_ms(attempt.start_ms, attempt.finish_ms);
        let took_us = u64::try_from(took_ms.saturating_mul(1_000)).unwrap_or(u64::MAX);
        self.slowest_map_us = self.slowest_map_us.max((took_us > 0).then_some(took_us));
        if input.saturating_mul(2) >= largest {
            let cost = us_per_mb(took_ms, input);
            self.map_us_per_mb = self.map_us_per_mb.max(cost);
        }
    }

    /// Adds a reduce that has succeeded, one of so many.
    pub(super) fn add_reduce(&mut self, attempt: &Attempt, reduces: u32) {
        let counters = attempt.counters.as_ref();
        let Some(copied) = counters.and_then(|counters| counters.reduce_shuffle_bytes()) else { return };
        let copied = u128::from(copied);
        if attempt.start_ms >= self.last_map_end_ms && attempt.shuffle_finish_ms > 0 {
            self.copied = self.copied.saturating_add(copied);
            let copy_ms = time_ms(attempt.start_ms, attempt.shuffle_finish_ms);
            self.copy_ms = self.copy_ms.saturating_add(copy_ms);
        }
        let mean = self.output / u128::from(reduces.max(1));
        if attempt.shuffle_finish_ms > 0 && copied.saturating_mul(2) >= mean {
            let cost = us_per_mb(time_ms(attempt.shuffle_finish_ms, attempt.finish_ms), copied);
            self.reduce_us_per_mb = self.reduce_us_per_mb.max(cost);
        }
    }
}

/// None before a start; clocks of trackers may be anything.
fn time_ms(start_ms: i64, end_ms: i64) -> u128 {
    match start_ms > 0 && end_ms > start_ms {
        true => end_ms.abs_diff(start_ms).into(),
        false => 0,
    }
}

/// Rounded up; none of nothing.
fn us_per_mb(ms: u128, bytes: u128) -> Option<u64> {
    if ms == 0 || bytes == 0 {
        return None;
    }
    let us = ms.saturating_mul(1_000).saturating_mul(MB).div_ceil(bytes);
    Some(u64::try_from(us).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapreduce::AttemptRole;
    use crate::mapreduce::counters::{CounterInterner, CounterValues};
    use crate::model::{Now, TrackerId};
    use crate::wire::{Counter, CounterGroup, Counters, Phase, ReportedCounters};

    const MIB: u64 = 1 << 20;

    fn counters(name: &str, value: u64) -> Option<CounterValues> {
        let counter = |name: &str, value| Counter { name: name.into(), display_name: None, value };
        let counters = vec![counter("SPILLED_RECORDS", 7), counter(name, value.cast_signed())];
        let group = |name: &str, counters| CounterGroup { name: name.into(), display_name: "".into(), counters };
        let groups =
            vec![group("mine", vec![counter(name, 1)]), group("org.apache.hadoop.mapred.Task$Counter", counters)];
        Some(CounterInterner::default().intern(&ReportedCounters::from(&Counters { groups })))
    }

    fn attempt(start_ms: i64, finish_ms: i64) -> Attempt {
        let now = Now { mono_ms: 0, wall_ms: 0 };
        let attempt = Attempt::launched(0, AttemptRole::Work, Phase::Map, TrackerId::default(), now);
        Attempt { start_ms, finish_ms, ..attempt }
    }

    fn add_map(costs: &mut TaskCosts, seconds: i64, input: u64, output: u64) {
        let attempt = Attempt { counters: counters("MAP_OUTPUT_BYTES", output), ..attempt(1, 1 + seconds * 1_000) };
        costs.add_map(&attempt, input, 64 * MIB);
    }

    fn add_reduce(costs: &mut TaskCosts, start_ms: i64, copied: u64) {
        let attempt = Attempt {
            counters: counters("REDUCE_SHUFFLE_BYTES", copied),
            shuffle_finish_ms: start_ms + 2_000,
            ..attempt(start_ms, start_ms + 12_000)
        };
        costs.add_reduce(&attempt, 2);
    }

    #[test]
    fn the_slowest_tasks_count_and_the_little_ones_do_not() {
        let mut costs = TaskCosts::default();
        add_map(&mut costs, 64, 64 * MIB, 32 * MIB);
        add_map(&mut costs, 128, 64 * MIB, 32 * MIB);
        // The end of a file.
        add_map(&mut costs, 5, 1_000, 1_000);
        assert_eq!(costs.map_us_per_mb, Some(2_000_000));
        let after_ms = costs.last_map_end_ms;
        assert_eq!(after_ms, 128_001);
        // It began to copy while maps ran.
        add_reduce(&mut costs, after_ms - 1, 40 * MIB);
        assert_eq!((costs.copied, costs.reduce_us_per_mb), (0, Some(250_000)));
        add_reduce(&mut costs, after_ms, 20 * MIB);
        assert_eq!((us_per_mb(costs.copy_ms, costs.copied), costs.reduce_us_per_mb), (Some(100_000), Some(500_000)));
        add_reduce(&mut costs, after_ms, 1_000);
        assert_eq!(costs.reduce_us_per_mb, Some(500_000));
    }

    #[test]
    fn times_that_cannot_be_teach_nothing() {
        let mut costs = TaskCosts::default();
        costs.add_map(&attempt(0, 5_000), 100, 100);
        costs.add_map(&attempt(5_000, 4_000), 100, 100);
        costs.add_map(&attempt(i64::MIN, i64::MAX), 100, 100);
        costs.add_map(&attempt(1, 5_000), 0, 0);
        assert_eq!(costs.map_us_per_mb, None);
        costs.add_map(&attempt(1, i64::MAX), 1, 1);
        assert_eq!(costs.map_us_per_mb, Some(u64::MAX));
    }
}
