//! Decimal numbers as exact integers, so that no sum of percentages and no rounding depends on a float.

use std::fmt;
use std::ops::Add;

/// Decimals kept; further ones are dropped.
const DECIMALS: u32 = 12;
/// The number 1 in the smallest unit.
const ONE: i128 = 10_i128.pow(DECIMALS);
/// Longest text, digits.
const MAX_DIGITS: usize = 40;
/// Larger numbers are refused: no product with a 64-bit count overflows.
const MAX_WHOLE: i128 = 1_000_000_000_000;

/// An exact decimal number of at most twelve decimals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decimal {
    /// In 10^-12.
    units: i128,
}

impl Decimal {
    pub(crate) const ZERO: Decimal = Decimal { units: 0 };

    pub const fn whole(number: i32) -> Self {
        Self { units: number as i128 * ONE }
    }

    /// Parses what Java's `Float.parseFloat` accepts (`50`, `.5`, `-1.0f`, `5e-2`), blanks around it included; none for
    /// anything else, for not-a-number, and from 10^12 on.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text);
        let (sign, text) = match text.strip_prefix('-') {
            Some(text) => (-1, text),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = [whole, fraction].concat();
        if digits.is_empty() || digits.len() > MAX_DIGITS || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let fraction_digits = i32::try_from(fraction.len()).ok()?;
        let power = exponent.checked_add(DECIMALS as i32)?.checked_sub(fraction_digits)?;
        let units = scale(digits.trim_start_matches('0'), power)?;
        (units <= MAX_WHOLE * ONE).then_some(Self { units: sign * units })
    }

    /// The whole part of `self * count`; zero for a negative number.
    pub(crate) fn times(self, count: u64) -> u64 {
        self.times_fraction(count, 1).0
    }

    /// The whole part of `self` percent of `count`; zero for a negative number.
    pub(crate) fn percent_of(self, count: u64) -> u64 {
        self.times_fraction(count, 100).0
    }

    /// The smallest whole number that is not below `self` percent of `count`; zero for a negative number.
    pub(crate) fn percent_of_rounded_up(self, count: u64) -> u64 {
        let (whole, has_rest) = self.times_fraction(count, 100);
        whole.saturating_add(u64::from(has_rest))
    }

    /// The largest whole number that is not above it.
    pub(crate) fn floor(self) -> i128 {
        self.units.div_euclid(ONE)
    }

    /// `self * count / divisor`: the whole part, and whether something is left.
    fn times_fraction(self, count: u64, divisor: u128) -> (u64, bool) {
        let units = self.units.max(0).unsigned_abs();
        // Whole part and fraction apart, so that no product exceeds 128 bits.
        let (whole, fraction) = (units / ONE.unsigned_abs(), units % ONE.unsigned_abs());
        let of_fraction = fraction * u128::from(count);
        let product = whole * u128::from(count) + of_fraction / ONE.unsigned_abs();
        let has_rest = of_fraction % ONE.unsigned_abs() > 0 || !product.is_multiple_of(divisor);
        (u64::try_from(product / divisor).unwrap_or(u64::MAX), has_rest)
    }
}

/// `digits * 10^power`, the rest dropped; none when it exceeds 128 bits.
fn scale(digits: &str, power: i32) -> Option<i128> {
    if digits.is_empty() {
        return Some(0);
    }
    match u32::try_from(power) {
        Ok(power) => digits.parse::<i128>().ok()?.checked_mul(10_i128.checked_pow(power)?),
        Err(_) => {
            let dropped = usize::try_from(power.unsigned_abs()).unwrap_or(usize::MAX);
            let kept = digits.len().saturating_sub(dropped);
            if kept == 0 { Some(0) } else { digits[..kept].parse().ok() }
        }
    }
}

impl Add for Decimal {
    type Output = Decimal;

    fn add(self, other: Decimal) -> Decimal {
        Decimal { units: self.units.saturating_add(other.units) }
    }
}

impl std::iter::Sum for Decimal {
    fn sum<I: Iterator<Item = Decimal>>(numbers: I) -> Decimal {
        numbers.fold(Decimal::ZERO, Decimal::add)
    }
}

/// With one decimal at least: `50.0`, `33.3`.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = self.units.unsigned_abs();
        let sign = if self.units < 0 { "-" } else { "" };
        let fraction = format!("{:0width$}", units % ONE.unsigned_abs(), width = DECIMALS as usize);
        let fraction = fraction.trim_end_matches('0');
        write!(f, "{sign}{}.{}", units / ONE.unsigned_abs(), if fraction.is_empty() { "0" } else { fraction })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text).unwrap()
    }

    #[test]
    fn reads_the_decimals_java_reads() {
        for (text, printed) in [
            ("50", "50.0"),
            (" 33.3 ", "33.3"),
            (".5", "0.5"),
            ("1.", "1.0"),
            ("-1.0f", "-1.0"),
            ("+5e-2D", "0.05"),
            ("1e3", "1000.0"),
            ("33.3333333333333333", "33.333333333333"),
            ("1e-40", "0.0"),
            ("0000", "0.0"),
        ] {
            assert_eq!(decimal(text).to_string(), printed, "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_decimal() {
        for text in ["", "-", ".", "f", "1e", "NaN", "Infinity", "0x10", "1,5", "1.2.3", "--1", "1e13", "1e400", "١"] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_thousand_tenths_are_a_hundred() {
        let sum: Decimal = (0..1000).map(|_| decimal("0.1")).sum();
        assert_eq!((sum, sum.floor()), (Decimal::whole(100), 100));
        assert_eq!((decimal("99.99").floor(), decimal("100.4").floor(), decimal("-0.1").floor()), (99, 100, -1));
    }

    #[test]
    fn percentages_are_of_the_exact_product() {
        assert_eq!((decimal("12.5").percent_of(8), decimal("12.5").percent_of(7)), (1, 0));
        assert_eq!((decimal("0.1").percent_of_rounded_up(5000), decimal("0.1").percent_of_rounded_up(5001)), (5, 6));
        assert_eq!(decimal("0.7").times(10), 7);
        assert_eq!(decimal("1.1").times(10), 11);
        assert_eq!((decimal("-2").times(10), decimal("-2").percent_of_rounded_up(10)), (0, 0));
        assert_eq!(decimal("1e12").times(u64::MAX), u64::MAX);
    }

    proptest! {
        #[test]
        fn printed_decimals_read_back(units in -(MAX_WHOLE * ONE)..MAX_WHOLE * ONE) {
            let number = Decimal { units };
            prop_assert_eq!(Decimal::parse(&number.to_string()), Some(number));
        }

        #[test]
        fn no_text_panics(text in ".{0,60}") {
            let _ = Decimal::parse(&text);
        }
    }
}
