//! Sort keys of groups and apps: small tuples of integers, compared exactly.

use std::cmp::{Ordering, Reverse};
use std::num::NonZeroU32;

/// A fraction, compared by cross-multiplication, so that equal fractions compare as equal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ratio {
    part: u32,
    whole: NonZeroU32,
}

/// Sort key of an app among its siblings, smallest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AppKey {
    /// 0 (`VERY_HIGH`) to 4 (`VERY_LOW`); 0 in policies that ignore it.
    pub(super) priority: u8,
    /// When the job was submitted, wall clock, milliseconds.
    pub(super) start_ms: i64,
    /// Sequence of submission; makes the order total.
    pub(super) order: u64,
}

/// Sort key of a group among its siblings, smallest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupKey {
    /// Compared first.
    pub(super) class: u8,
    /// Smaller is more underserved.
    pub(super) ratio: Ratio,
    /// The higher bid comes first.
    pub(super) rate_units: Reverse<i128>,
    /// The key of the group's first app, or what the policy uses of it.
    pub(super) first: AppKey,
}

// === impl Ratio ===

impl Ratio {
    /// `part` of `whole`.
    pub(super) const fn new(part: u32, whole: NonZeroU32) -> Self {
        Self { part, whole }
    }
}

impl Default for Ratio {
    fn default() -> Self {
        Self::new(0, NonZeroU32::MIN)
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> Ordering {
        let left = u64::from(self.part) * u64::from(other.whole.get());
        let right = u64::from(other.part) * u64::from(self.whole.get());
        left.cmp(&right)
    }
}

impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

// By value, not by field: 1/2 equals 2/4, consistent with `Ord`.
impl PartialEq for Ratio {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ratio {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ratio(part: u32, whole: u32) -> Ratio {
        Ratio::new(part, NonZeroU32::new(whole).unwrap())
    }

    #[test]
    fn ratios_compare_by_value() {
        assert_eq!(ratio(1, 2), ratio(2, 4));
        assert_eq!(ratio(0, 7), Ratio::default());
        assert!(ratio(u32::MAX - 1, u32::MAX) < ratio(u32::MAX, u32::MAX));
        assert!(ratio(1, u32::MAX) < ratio(1, u32::MAX - 1));
    }

    #[test]
    fn a_higher_rate_comes_first_and_class_before_it() {
        let rate = |class, units| GroupKey { class, rate_units: Reverse(units), ..GroupKey::default() };
        assert!(rate(1, 5) < rate(1, 4));
        assert!(rate(1, 0) < rate(2, i128::MAX));
    }

    proptest! {
        #[test]
        fn ratios_are_ordered_like_numbers(a in any::<u32>(), b in 1u32.., c in any::<u32>(), d in 1u32..) {
            let exact = (u128::from(a) * u128::from(d)).cmp(&(u128::from(c) * u128::from(b)));
            prop_assert_eq!(ratio(a, b).cmp(&ratio(c, d)), exact);
        }
    }
}
