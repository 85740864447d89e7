//! The weight of a job among its siblings (1.2.1 `FairScheduler.getJobWeight`), in exact millionths.

use crate::model::PartsPerMillion;

/// Bits of the fraction of a logarithm: an error below a millionth after rounding.
const LOG_BITS: u32 = 32;
/// Factors by priority, from `VERY_HIGH` to `VERY_LOW`, in quarters.
const PRIORITY_QUARTERS: [u64; 5] = [16, 8, 4, 2, 1];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WeightRule {
    /// Whether larger jobs weigh more (`mapred.fairscheduler.sizebasedweight`).
    pub(crate) is_size_based: bool,
    /// Boost of new jobs (`mapred.fairscheduler.weightadjuster`).
    pub(crate) new_job_boost: Option<NewJobBoost>,
}

/// A larger weight for new jobs (1.2.1 `NewJobWeightBooster`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NewJobBoost {
    /// Factor on the weight (`mapred.newjobweightbooster.factor`).
    pub(crate) factor: PartsPerMillion,
    /// For this time after the job's start, ms (`mapred.newjobweightbooster.duration`).
    pub(crate) duration_ms: u64,
}

impl WeightRule {
    /// The weight of a runnable job; `priority` from 0 (`VERY_HIGH`) to 4 (`VERY_LOW`), `age_ms` since its start.
    pub(crate) fn weight(&self, demand: u32, priority: u8, age_ms: u64) -> PartsPerMillion {
        let mut weight = u128::from(PartsPerMillion::ONE.0);
        if self.is_size_based {
            weight = u128::from(log2_millionths(u64::from(demand) + 1));
        }
        let quarters = PRIORITY_QUARTERS.get(usize::from(priority)).copied().unwrap_or(4);
        weight = weight * u128::from(quarters) / 4;
        if let Some(boost) = self.new_job_boost.filter(|boost| age_ms < boost.duration_ms) {
            weight = weight * u128::from(boost.factor.0) / u128::from(PartsPerMillion::ONE.0);
        }
        PartsPerMillion(u64::try_from(weight).unwrap_or(u64::MAX))
    }
}

/// The logarithm to base 2 of a number from 1, in millionths. That of a power is a multiple of that of its root, so that
/// jobs whose demands are powers of the same number tie where they tie in truth: 2 tasks of 8 and 1 of 2.
fn log2_millionths(number: u64) -> u64 {
    match root(number) {
        Some((root, exponent)) => log2_millionths(root) * u64::from(exponent),
        None => rounded_log2_millionths(number),
    }
}

/// A number and a prime exponent of which this is the power; none where there are none.
fn root(number: u64) -> Option<(u64, u32)> {
    let bits = number.checked_ilog2()?;
    let exponents = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31].into_iter().take_while(|&exponent| exponent <= bits);
    exponents
        .map(|exponent| (integer_root(number, exponent), exponent))
        .find(|&(root, exponent)| root.checked_pow(exponent) == Some(number))
}

/// The largest number whose power is not above this one.
fn integer_root(number: u64, exponent: u32) -> u64 {
    let (mut least, mut above) = (1, 2_u64 << (number.ilog2() / exponent));
    while above - least > 1 {
        let middle = least + (above - least) / 2;
        match middle.checked_pow(exponent).is_some_and(|power| power <= number) {
            true => least = middle,
            false => above = middle,
        }
    }
    least
}

/// Rounded: bit by bit, by squaring.
fn rounded_log2_millionths(number: u64) -> u64 {
    let whole = number.max(1).ilog2();
    // From 1 to below 2, with 63 bits of fraction.
    let mut rest = number.max(1) << (63 - whole);
    let mut fraction = 0_u64;
    for _ in 0..LOG_BITS {
        let square = (u128::from(rest) * u128::from(rest)) >> 63;
        let is_two_or_more = square >> 64 > 0;
        rest = (if is_two_or_more { square >> 1 } else { square }) as u64;
        fraction = (fraction << 1) | u64::from(is_two_or_more);
    }
    let rounding = 1_u64 << (LOG_BITS - 1);
    u64::from(whole) * PartsPerMillion::ONE.0 + ((fraction * PartsPerMillion::ONE.0 + rounding) >> LOG_BITS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NORMAL: u8 = 2;

    #[test]
    fn a_job_weighs_one_times_its_priority_factor() {
        let weights = [0, 1, 2, 3, 4].map(|priority| WeightRule::default().weight(7, priority, 0).0);
        assert_eq!(weights, [4_000_000, 2_000_000, 1_000_000, 500_000, 250_000]);
    }

    #[test]
    fn size_based_weight_is_the_logarithm_of_demand_plus_one() {
        let rule = WeightRule { is_size_based: true, new_job_boost: None };
        let weights = [0, 1, 2, 3, 10, 20].map(|demand| rule.weight(demand, NORMAL, 0).0);
        assert_eq!(weights, [0, 1_000_000, 1_584_963, 2_000_000, 3_459_432, 4_392_317]);
        assert_eq!(rule.weight(3, 1, 0).0, 4_000_000);
    }

    #[test]
    fn a_new_job_weighs_more_until_its_duration_is_over() {
        let boost = NewJobBoost { factor: PartsPerMillion(3_000_000), duration_ms: 300_000 };
        let rule = WeightRule { is_size_based: false, new_job_boost: Some(boost) };
        assert_eq!(
            [0, 299_999, 300_000].map(|age_ms| rule.weight(1, NORMAL, age_ms).0),
            [3_000_000, 3_000_000, 1_000_000]
        );
    }

    proptest! {
        #[test]
        fn logarithms_are_those_of_the_library(number in 1_u64..1 << 33) {
            let exact = (number as f64).log2() * 1e6;
            prop_assert!((rounded_log2_millionths(number) as f64 - exact).abs() < 0.51, "{number}");
            prop_assert!((log2_millionths(number) as f64 - exact).abs() < 16.0, "{number}");
        }

        #[test]
        fn powers_of_a_number_keep_their_ratio(number in 2_u64..2_000, exponent in 1_u32..=3) {
            prop_assert_eq!(log2_millionths(number.pow(exponent)), log2_millionths(number) * u64::from(exponent));
        }
    }
}
