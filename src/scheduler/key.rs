//! Sort keys of groups and apps: small tuples of integers, compared exactly.

use std::cmp::{Ordering, Reverse};
use std::num::NonZeroU64;

/// A fraction, compared by cross-multiplication in 128 bits, so that equal fractions compare as equal.
///
/// Weights are in millionths: `running / weight` is `Ratio::new(running, weight_millionths)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ratio {
    part: u64,
    whole: NonZeroU64,
}

/// Sort key of an app among its siblings, smallest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AppKey {
    /// Compared first: a priority, 0 (`VERY_HIGH`) to 4 (`VERY_LOW`), or a class of the policy's own.
    pub(super) class: u8,
    /// Smaller is more underserved; zero in policies that order by submission alone.
    pub(super) ratio: Ratio,
    /// When the job was submitted, wall clock, milliseconds.
    pub(super) start_ms: i64,
    /// Sequence of submission or rank of the name; makes the order total.
    pub(super) order: u64,
}

/// The first app of a group, as far as it places the group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FirstApp {
    pub(super) key: AppKey,
    /// Slots that its next grant takes.
    pub(super) slots: u32,
}

/// Sort key of a group among its siblings, smallest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupKey {
    /// Compared first.
    pub(super) class: u8,
    pub(super) ratio: Ratio,
    /// The higher bid comes first.
    pub(super) rate_units: Reverse<i128>,
    /// The key of the group's first app, or what the policy uses of it.
    pub(super) first: AppKey,
    /// Breaks the remaining ties: rank of the name, or of the declaration. Where groups are sorted at fixed moments
    /// ([`Policy::sorts_at_fixed_moments`](super::policy::Policy::sorts_at_fixed_moments)), the rank of the last sort.
    pub(super) rank: i64,
}

impl GroupKey {
    /// By the first app alone: submission order, whatever the group holds.
    pub(super) fn by_first(first: FirstApp) -> Self {
        Self { first: first.key, ..Self::default() }
    }
}

impl Ratio {
    pub(super) const MIN: Ratio = Ratio::new(0, NonZeroU64::MIN);

    pub(super) const fn new(part: u64, whole: NonZeroU64) -> Self {
        Self { part, whole }
    }

    /// A whole number, the larger the smaller: a deficit.
    pub(super) const fn descending(value: i64) -> Self {
        Self { part: i64::MAX.abs_diff(value), whole: NonZeroU64::MIN }
    }
}

impl Default for Ratio {
    fn default() -> Self {
        Self::MIN
    }
}

impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.whole == other.whole {
            return self.part.cmp(&other.part);
        }
        let left = u128::from(self.part) * u128::from(other.whole.get());
        let right = u128::from(other.part) * u128::from(self.whole.get());
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

    fn ratio(part: u64, whole: u64) -> Ratio {
        Ratio::new(part, NonZeroU64::new(whole).unwrap())
    }

    #[test]
    fn ratios_compare_by_value() {
        assert_eq!(ratio(1, 2), ratio(2, 4));
        assert_eq!(ratio(0, 7), Ratio::default());
        assert!(ratio(u64::MAX - 1, u64::MAX) < ratio(u64::MAX, u64::MAX));
        assert!(ratio(1, u64::MAX) < ratio(1, u64::MAX - 1));
    }

    #[test]
    fn the_larger_deficit_comes_first() {
        let deficits = [i64::MAX, 4_000, 1, 0, -1, -2_667, i64::MIN];
        assert!(deficits.map(Ratio::descending).is_sorted());
        assert!(Ratio::descending(1) < Ratio::descending(0));
    }

    #[test]
    fn a_higher_rate_comes_first_and_class_before_it() {
        let rate = |class, units| GroupKey { class, rate_units: Reverse(units), ..GroupKey::default() };
        assert!(rate(1, 5) < rate(1, 4));
        assert!(rate(1, 0) < rate(2, i128::MAX));
    }

    proptest! {
        #[test]
        fn ratios_are_ordered_like_numbers(a in any::<u64>(), b in 1u64.., c in any::<u64>(), d in 1u64..) {
            let exact = (u128::from(a) * u128::from(d)).cmp(&(u128::from(c) * u128::from(b)));
            prop_assert_eq!(ratio(a, b).cmp(&ratio(c, d)), exact);
        }
    }
}
