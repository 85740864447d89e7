//! Records that a task skips because attempts have failed at them (1.2.1 `TaskInProgress.FailedRanges`, `SortedRanges`).
//!
//! In skipping mode an attempt reports its current range of records. The next attempt skips the range of a failed one
//! if that is short enough; else the range is bisected, and the next attempt is a test: it runs the first half alone.
//! Its success proves only that the fault is in the other half, so it is recorded as a failure.

use std::collections::BTreeMap;

use crate::wire::{RecordRange, SkipRanges};

/// Ranges of records, none empty, none overlapping another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SortedRanges {
    /// End by start; the end is not in the range.
    ends: BTreeMap<i64, i64>,
}

/// A bisection of a range that is too long to skip.
#[derive(Clone, Debug)]
struct Bisection {
    /// What the test skips: everything but its half.
    skip: SortedRanges,
    test: RecordRange,
    other: RecordRange,
    /// The number of the attempt that is the test.
    attempt: Option<i32>,
    passed: bool,
}

/// What is known from the failed attempts of one task.
#[derive(Clone, Debug, Default)]
pub(super) struct FailedRanges {
    skip: SortedRanges,
    bisection: Option<Bisection>,
    /// Last reported range by attempt number.
    reported: BTreeMap<i32, RecordRange>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SkipInstructions {
    pub(super) ranges: SkipRanges,
    /// In skipping mode attempts report their current records.
    pub(super) skipping: bool,
    /// Whether it is a test: then skipped records are not written.
    pub(super) is_test: bool,
}

impl SortedRanges {
    /// Adds a range, merged with those it overlaps and one that begins where it ends.
    fn add(&mut self, range: RecordRange) {
        let (mut start, Some(mut end)) = (range.start, range.start.checked_add(range.length)) else { return };
        if end <= start {
            return;
        }
        if let Some((before, before_end)) = self.ends.range(..=start).next_back().map(|(start, end)| (*start, *end))
            && start < before_end
        {
            self.ends.remove(&before);
            start = before;
            end = end.max(before_end);
        }
        while let Some((next, next_end)) = self.ends.range(start..=end).next().map(|(start, end)| (*start, *end)) {
            self.ends.remove(&next);
            if end < next_end {
                end = next_end;
                break;
            }
        }
        self.ends.insert(start, end);
    }

    fn to_wire(&self) -> SkipRanges {
        let ranges: Vec<_> =
            self.ends.iter().map(|(start, end)| RecordRange { start: *start, length: end - start }).collect();
        SkipRanges { records: ranges.iter().fold(0, |sum: i64, range| sum.saturating_add(range.length)), ranges }
    }
}

impl Bisection {
    fn of(range: RecordRange, skip: &SortedRanges) -> Self {
        let half = range.length / 2;
        let test = RecordRange { start: range.start, length: half };
        let other = RecordRange { start: range.start + half, length: range.length - half };
        let mut skip = skip.clone();
        skip.add(RecordRange { start: 0, length: test.start });
        skip.add(RecordRange { start: other.start, length: i64::MAX - other.start });
        Self { skip, test, other, attempt: None, passed: false }
    }
}

impl FailedRanges {
    /// Records the current range of an attempt, in case it ends there. A range that no input can have counts as none.
    pub(super) fn record_range(&mut self, attempt: i32, range: RecordRange) {
        if range.start >= 0 && range.length > 0 && range.start.checked_add(range.length).is_some() {
            self.reported.insert(attempt, range);
        } else {
            self.reported.remove(&attempt);
        }
    }

    /// A launched attempt becomes the test, if one is due.
    pub(super) fn record_launch(&mut self, attempt: i32) {
        if let Some(bisection) = &mut self.bisection {
            bisection.attempt = Some(attempt);
        }
    }

    /// Records a success. True when it was a test, and so has not done the task.
    pub(super) fn record_success(&mut self, attempt: i32) -> bool {
        let test = self.bisection.as_mut().filter(|bisection| bisection.attempt == Some(attempt));
        test.map(|bisection| bisection.passed = true).is_some()
    }

    /// Records a FAILED attempt or a test that passed; at most `longest` records may be skipped at once.
    pub(super) fn record_failure(&mut self, attempt: i32, longest: u64) {
        let reported = self.reported.remove(&attempt).unwrap_or_default();
        let failed = match self.bisection.take_if(|bisection| bisection.attempt == Some(attempt)) {
            Some(bisection) if bisection.passed => bisection.other,
            Some(bisection) => bisection.test,
            None => reported,
        };
        if failed.length.unsigned_abs() <= longest {
            self.skip.add(failed);
        } else if self.bisection.is_none() {
            self.bisection = Some(Bisection::of(failed, &self.skip));
        }
    }

    pub(super) fn instructions(&self, skipping: bool) -> SkipInstructions {
        match &self.bisection {
            Some(bisection) => SkipInstructions { ranges: bisection.skip.to_wire(), skipping, is_test: true },
            None => SkipInstructions { ranges: self.skip.to_wire(), skipping, is_test: false },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn range(start: i64, length: i64) -> RecordRange {
        RecordRange { start, length }
    }

    fn skipped(ranges: &SkipRanges, upto: i64) -> BTreeSet<i64> {
        ranges.ranges.iter().flat_map(|range| range.start..(range.start + range.length).min(upto)).collect()
    }

    /// The result of an attempt over `records` records of which one is bad.
    fn run(order: &SkipInstructions, records: i64, bad: i64, step: i64) -> Result<(), RecordRange> {
        let skipped = skipped(&order.ranges, records);
        if skipped.contains(&bad) { Ok(()) } else { Err(range(bad - bad % step, step.min(records - bad + bad % step))) }
    }

    #[test]
    fn a_short_range_is_skipped_by_the_next_attempt() {
        let mut failed = FailedRanges::default();
        failed.record_range(0, range(7, 2));
        failed.record_failure(0, 2);
        let order = failed.instructions(true);
        assert_eq!(
            order,
            SkipInstructions {
                ranges: SkipRanges { records: 2, ranges: vec![range(7, 2)] },
                skipping: true,
                is_test: false
            }
        );
        failed.record_failure(1, 2);
        assert_eq!(failed.instructions(true), order, "what reports no range changes nothing");
    }

    #[test]
    fn a_long_range_is_halved_by_tests() {
        let mut failed = FailedRanges::default();
        failed.record_range(0, range(10, 5));
        failed.record_failure(0, 1);
        let ranges = vec![range(0, 10), range(12, i64::MAX - 12)];
        assert_eq!(failed.instructions(true).ranges.ranges, ranges, "only records 10 and 11 are run");
        assert!(failed.instructions(true).is_test);
        // Killed: the next attempt is the test.
        failed.record_launch(1);
        failed.record_launch(2);
        assert!(!failed.record_success(1));
        assert!(failed.record_success(2));
        failed.record_failure(2, 1);
        assert_eq!(failed.instructions(true).ranges.ranges, [range(0, 12), range(13, i64::MAX - 13)], "12 of 12 to 14");
        failed.record_launch(3);
        failed.record_failure(3, 1);
        assert_eq!(failed.instructions(true).ranges.ranges, [range(12, 1)], "found");
        assert!(!failed.instructions(true).is_test);
        assert!(!failed.record_success(4));
    }

    #[test]
    fn touching_ranges_merge_only_forwards() {
        let mut ranges = SortedRanges::default();
        [range(5, 2), range(7, 2), range(4, 2)].into_iter().for_each(|range| ranges.add(range));
        assert_eq!(ranges.to_wire().ranges, [range(4, 3), range(7, 2)]);
        ranges.add(range(2, 2));
        assert_eq!(ranges.to_wire(), SkipRanges { records: 7, ranges: vec![range(2, 5), range(7, 2)] });
    }

    #[test]
    fn impossible_ranges_are_ignored() {
        for impossible in [range(-1, 5), range(5, -1), range(i64::MAX, 2), range(i64::MIN, i64::MIN), range(0, 0)] {
            let mut failed = FailedRanges::default();
            failed.record_range(0, impossible);
            failed.record_failure(0, 1);
            assert_eq!(failed.instructions(true).ranges, SkipRanges::default(), "{impossible:?}");
        }
        let mut failed = FailedRanges::default();
        failed.record_range(0, range(0, i64::MAX));
        for attempt in 0..100 {
            failed.record_launch(attempt);
            failed.record_failure(attempt, 1);
        }
        assert_eq!(failed.instructions(true).ranges.ranges, [range(0, 1)]);
    }

    proptest! {
        #[test]
        fn ranges_are_the_union_of_what_was_added(added in prop::collection::vec((0_i64..60, 0_i64..9), 0..25)) {
            let mut ranges = SortedRanges::default();
            added.iter().for_each(|(start, length)| ranges.add(range(*start, *length)));
            let union: BTreeSet<i64> = added.iter().flat_map(|(start, length)| *start..start + length).collect();
            let wire = ranges.to_wire();
            prop_assert_eq!(wire.records, union.len() as i64, "none counted twice");
            prop_assert_eq!(skipped(&wire, i64::MAX), union);
            prop_assert!(wire.ranges.windows(2).all(|pair| pair[0].start + pair[0].length <= pair[1].start));
            prop_assert!(wire.ranges.iter().all(|range| range.length > 0));
        }

        #[test]
        fn one_bad_record_is_found_and_little_else_skipped(
            records in 1_i64..2_000,
            bad in any::<prop::sample::Index>(),
            step in 1_i64..300,
            longest in 1_u64..50,
        ) {
            let bad = bad.index(records as usize) as i64;
            let mut failed = FailedRanges::default();
            for attempt in 0.. {
                prop_assert!(attempt < 30, "each test halves the range");
                let order = failed.instructions(true);
                failed.record_launch(attempt);
                match run(&order, records, bad, step) {
                    Ok(()) if !failed.record_success(attempt) => {
                        prop_assert!(!order.is_test && order.ranges.records as u64 <= longest);
                        break;
                    }
                    Ok(()) => {}
                    Err(at) => failed.record_range(attempt, at),
                }
                failed.record_failure(attempt, longest);
            }
        }
    }
}
