//! How many tasks a tracker may run while the load is light, so that it spreads (1.2.1 `CapBasedLoadManager`).
//!
//! In Java's own floats: their rounding decides some caps, and trackers see the difference. No order depends on them.

use crate::model::PartsPerMillion;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LoadCap {
    max_diff: f64,
}

impl LoadCap {
    /// Trackers may exceed their part of the load by this part of their slots (`mapred.fairscheduler.load.max.diff`).
    pub(crate) fn new(max_diff: PartsPerMillion) -> Self {
        // The key is a Java float, which widens to a double: 0.2 is slightly above 0.2 then.
        Self { max_diff: f64::from((max_diff.0 as f64 / PartsPerMillion::ONE.0 as f64) as f32) }
    }

    /// Most tasks of a kind for a tracker with `slots` of the cluster's `total_slots` of it, while the demand of all pools is `runnable`.
    pub(crate) fn cap(&self, slots: u32, total_slots: u64, runnable: u64) -> u32 {
        let load = self.max_diff + runnable as f64 / total_slots as f64;
        // Not a number without slots and demand: Java's `Math.min` keeps it, and the cast makes it zero.
        let part = if load.is_nan() { load } else { load.min(1_f64) };
        (f64::from(slots) * part).ceil() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn may_take(max_diff: u64, slots: u32, running: u32, total: u64, runnable: u64) -> u32 {
        LoadCap::new(PartsPerMillion(max_diff)).cap(slots, total, runnable).saturating_sub(running)
    }

    #[test]
    fn one_task_goes_to_a_free_tracker() {
        assert_eq!(may_take(0, 5, 0, 50, 1), 1);
    }

    #[test]
    fn a_fifth_of_the_load_is_one_task_of_five() {
        assert_eq!(may_take(0, 5, 1, 50, 10), 0);
    }

    #[test]
    fn a_float_difference_widens_above_its_decimal() {
        assert_eq!(may_take(200_000, 5, 1, 50, 10), 2);
    }

    #[test]
    fn a_part_of_a_task_rounds_up() {
        assert_eq!(may_take(0, 5, 1, 50, 11), 1);
        assert_eq!(may_take(0, 5, 2, 50, 11), 0);
    }

    #[test]
    fn the_difference_adds_to_the_load() {
        assert_eq!(may_take(300_000, 5, 2, 50, 6), 1);
    }

    #[test]
    fn a_full_tracker_takes_nothing() {
        assert_eq!(may_take(1_000_000, 5, 5, 50, 50), 0);
    }

    #[test]
    fn caps_without_difference() {
        let cap = |runnable, slots, total| LoadCap::default().cap(slots, total, runnable);
        assert_eq!([cap(1, 1, 100), cap(1, 2, 100), cap(1, 10, 100)], [1, 1, 1]);
        assert_eq!([cap(200, 1, 100), cap(50, 5, 100), cap(100, 5, 100), cap(200, 5, 100)], [1, 3, 5, 5]);
    }

    #[test]
    fn rounding_of_doubles_decides_as_in_java() {
        // 0.07 * 100 is 7.000000000000001.
        assert_eq!(LoadCap::default().cap(100, 100, 7), 8);
        assert_eq!((LoadCap::default().cap(5, 0, 0), LoadCap::default().cap(5, 0, 3)), (0, 5));
    }
}
