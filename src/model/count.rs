//! Counts that never wrap: a wrapped one would grant four thousand million slots. One that would leave its range is a
//! broken invariant, and saturates.

use std::fmt::Display;

use super::Violations;

pub(crate) trait Count: Copy + Display {
    const MOST: Self;
    const ZERO: Self;

    fn plus(self, by: Self) -> Option<Self>;

    fn minus(self, by: Self) -> Option<Self>;
}

macro_rules! counts {
    ($($count:ty),*) => {
        $(impl Count for $count {
            const MOST: Self = <$count>::MAX;
            const ZERO: Self = 0;

            fn plus(self, by: Self) -> Option<Self> {
                self.checked_add(by)
            }

            fn minus(self, by: Self) -> Option<Self> {
                self.checked_sub(by)
            }
        })*
    };
}

counts!(u32, u64, usize);

#[track_caller]
#[inline]
pub(crate) fn raise<C: Count>(count: &mut C, by: impl Into<C>, violations: &mut Violations) {
    let by = by.into();
    let sum = count.plus(by);
    violations.check(sum.is_some(), || format!("a count of {count} cannot rise by {by}"));
    *count = sum.unwrap_or(C::MOST);
}

#[track_caller]
#[inline]
pub(crate) fn lower<C: Count>(count: &mut C, by: impl Into<C>, violations: &mut Violations) {
    let by = by.into();
    let rest = count.minus(by);
    violations.check(rest.is_some(), || format!("a count of {count} cannot drop by {by}"));
    *count = rest.unwrap_or(C::ZERO);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_within_its_range_is_exact() {
        let mut violations = Violations::default();
        let (mut small, mut large) = (3_u32, u64::from(u32::MAX));
        raise(&mut small, 4_u32, &mut violations);
        lower(&mut small, 7_u32, &mut violations);
        raise(&mut large, 1_u32, &mut violations);
        assert_eq!((small, large), (0, 1 << 32));
        assert!(violations.is_empty());
    }

    #[test]
    #[should_panic(expected = "a count of 2 cannot drop by 3")]
    fn a_count_below_zero_stops_a_debug_build() {
        lower(&mut 2_u32, 3_u32, &mut Violations::default());
    }

    #[test]
    #[should_panic(expected = "cannot rise by 1")]
    fn a_count_beyond_its_type_stops_a_debug_build() {
        raise(&mut u32::MAX.clone(), 1_u32, &mut Violations::default());
    }

    #[test]
    fn a_release_counts_the_violation_and_saturates() {
        let mut violations = Violations::counting();
        let (mut low, mut high) = (2_u32, u64::MAX - 1);
        lower(&mut low, 3_u32, &mut violations);
        raise(&mut high, 5_u32, &mut violations);
        assert_eq!((low, high), (0, u64::MAX));
        let texts: Vec<String> = violations.take().into_iter().map(|broken| broken.text).collect();
        assert_eq!(texts, ["a count of 2 cannot drop by 3", "a count of 18446744073709551614 cannot rise by 5"]);
    }
}
