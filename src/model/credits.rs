//! Money: [`Credits`], a fixed-point number that is never a float.
//!
//! Invariant: a value read by [`Credits::parse_exact`] or [`Credits::parse_rounded`] lies within plus or minus
//! [`Credits::MAX`], so sums over all queues and products with slot counts stay far below the range of `i128`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::text::excerpt;

/// Decimals of a credit that are kept.
const DECIMALS: usize = 12;
const UNITS_PER_CREDIT: i128 = 1_000_000_000_000;
const FILE_DECIMALS: usize = 20;

/// An amount of money, counted in units of 10^-12 credit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Credits(i128);

/// A text that is not an amount of money.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CreditsError {
    /// Not digits with at most one point, with an optional `-` before them.
    #[error("{0:?} is not a decimal number such as 12.5")]
    NotDecimal(String),
    /// Non-zero digits beyond the twelfth decimal.
    #[error("{0:?} has more than 12 decimals")]
    TooPrecise(String),
    /// Beyond 10^12 either way.
    #[error("{0:?} is beyond 10^12")]
    TooLarge(String),
}

/// The digits of a text, before precision and range are checked.
struct Scanned<'a> {
    negative: bool,
    /// The amount without sign, cut to twelve decimals.
    units: i128,
    /// The digits after the twelfth decimal.
    tail: &'a str,
}

impl Credits {
    pub const ZERO: Credits = Credits(0);
    /// The largest budget, rate or amount in a request or file: 10^12 credits.
    pub const MAX: Credits = Credits(UNITS_PER_CREDIT * UNITS_PER_CREDIT);

    /// An amount from its units of 10^-12 credit.
    pub const fn from_units(units: i128) -> Self {
        Credits(units)
    }

    pub const fn units(self) -> i128 {
        self.0
    }

    /// A rate as people write it: three significant figures, rounded up, so that a bid of it is enough; whole credits are not rounded.
    #[must_use]
    pub(crate) fn rate_text(self) -> String {
        let digits = self.0.unsigned_abs().checked_ilog10().map_or(1, |log| log + 1);
        let step = 10_i128.pow(digits.saturating_sub(3).min(DECIMALS as u32));
        let steps = self.0.div_euclid(step) + i128::from(self.0.rem_euclid(step) > 0);
        Credits(steps.saturating_mul(step)).to_string()
    }

    /// An amount as people write it: two decimals, rounded to the nearest; what is less than a hundredth as a rate.
    #[must_use]
    pub(crate) fn amount_text(self) -> String {
        let hundredth = UNITS_PER_CREDIT / 100;
        if self.0 != 0 && self.0.abs() < hundredth {
            return self.rate_text();
        }
        let hundredths = (self.0.unsigned_abs() + hundredth.unsigned_abs() / 2) / hundredth.unsigned_abs();
        let sign = if self.0 < 0 { "-" } else { "" };
        format!("{sign}{}.{:02}", hundredths / 100, hundredths % 100)
    }

    /// Reads a decimal: digits with at most one point and at least one digit, an optional `-`, no `+`, no exponent,
    /// no blanks. Non-zero digits beyond the twelfth decimal and amounts beyond 10^12 are errors.
    pub fn parse_exact(text: &str) -> Result<Self, CreditsError> {
        let amount = exact(text)?;
        within_range(amount, text)
    }

    /// Reads a decimal as [`parse_exact`](Self::parse_exact) does, but rounds digits beyond the twelfth decimal, half
    /// to even. The flag is true if anything but zeros was cut off.
    pub(crate) fn parse_rounded(text: &str) -> Result<(Self, bool), CreditsError> {
        let scanned = scan(text)?;
        let rounded = !is_zeros(scanned.tail);
        let half = scanned.tail.strip_prefix('5').is_some_and(is_zeros);
        let above_half = scanned.tail.as_bytes().first().is_some_and(|digit| *digit >= b'5') && !half;
        let up = above_half || (half && scanned.units % 2 == 1);
        let units = scanned.units.saturating_add(i128::from(up));
        let amount = Credits(if scanned.negative { -units } else { units });
        Ok((within_range(amount, text)?, rounded))
    }

    /// The sum, or `None` when it leaves the range of `i128`.
    pub fn checked_add(self, other: Credits) -> Option<Credits> {
        self.0.checked_add(other.0).map(Credits)
    }

    /// The difference, or `None` when it leaves the range of `i128`.
    pub fn checked_sub(self, other: Credits) -> Option<Credits> {
        self.0.checked_sub(other.0).map(Credits)
    }

    /// The amount `count` times, or `None` when that leaves the range of `i128`.
    pub(crate) fn checked_mul(self, count: u64) -> Option<Credits> {
        self.0.checked_mul(i128::from(count)).map(Credits)
    }

    /// The amount with exactly 20 decimals, as it stands in a budget file.
    pub(crate) fn to_file_string(self) -> String {
        let (sign, whole, fraction) = self.parts();
        format!("{sign}{whole}.{fraction:0DECIMALS$}{:0width$}", 0, width = FILE_DECIMALS - DECIMALS)
    }

    /// Sign, whole credits and the units below one credit.
    fn parts(self) -> (&'static str, u128, u128) {
        let sign = if self.0 < 0 { "-" } else { "" };
        let units = self.0.unsigned_abs();
        let per_credit = UNITS_PER_CREDIT.unsigned_abs();
        (sign, units / per_credit, units % per_credit)
    }
}

/// Plain decimal: no exponent, at least one digit after the point, trailing zeros cut.
impl fmt::Display for Credits {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, whole, fraction) = self.parts();
        let digits = format!("{fraction:0DECIMALS$}");
        let significant = digits.trim_end_matches('0');
        let shown = if significant.is_empty() { "0" } else { significant };
        write!(formatter, "{sign}{whole}.{shown}")
    }
}

impl FromStr for Credits {
    type Err = CreditsError;

    fn from_str(text: &str) -> Result<Self, CreditsError> {
        Self::parse_exact(text)
    }
}

/// For stored values: sums may lie beyond [`Credits::MAX`].
impl TryFrom<String> for Credits {
    type Error = CreditsError;

    fn try_from(text: String) -> Result<Self, CreditsError> {
        exact(&text)
    }
}

impl From<Credits> for String {
    fn from(amount: Credits) -> String {
        amount.to_string()
    }
}

/// A decimal of any size that needs no rounding.
fn exact(text: &str) -> Result<Credits, CreditsError> {
    let scanned = scan(text)?;
    if !is_zeros(scanned.tail) {
        return Err(CreditsError::TooPrecise(excerpt(text)));
    }
    Ok(Credits(if scanned.negative { -scanned.units } else { scanned.units }))
}

fn within_range(amount: Credits, text: &str) -> Result<Credits, CreditsError> {
    if amount.0.unsigned_abs() > Credits::MAX.0.unsigned_abs() {
        return Err(CreditsError::TooLarge(excerpt(text)));
    }
    Ok(amount)
}

fn scan(text: &str) -> Result<Scanned<'_>, CreditsError> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) || whole.len() + fraction.len() == 0 {
        return Err(CreditsError::NotDecimal(excerpt(text)));
    }
    let (kept, tail) = fraction.split_at(fraction.len().min(DECIMALS));
    let mut units: i128 = 0;
    for digit in whole.bytes().chain(kept.bytes()).chain(std::iter::repeat_n(b'0', DECIMALS - kept.len())) {
        units = units
            .checked_mul(10)
            .and_then(|shifted| shifted.checked_add(i128::from(digit - b'0')))
            .ok_or_else(|| CreditsError::TooLarge(excerpt(text)))?;
    }
    Ok(Scanned { negative, units, tail })
}

fn is_zeros(digits: &str) -> bool {
    digits.bytes().all(|digit| digit == b'0')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn credits(text: &str) -> Credits {
        Credits::parse_exact(text).unwrap()
    }

    #[test]
    fn plain_decimals_are_read_exactly() {
        assert_eq!(credits("0.11").units(), 110_000_000_000);
        assert_eq!(credits("-3").units(), -3 * UNITS_PER_CREDIT);
        assert_eq!(credits(".5"), credits("0.5"));
        assert_eq!(credits("5."), credits("5"));
        assert_eq!(credits("000.1000000000000000000"), credits("0.1"));
        assert_eq!(credits("1000000000000"), Credits::MAX);
    }

    /// Defect 9: the original's parser took all of these.
    #[test]
    fn defect_09_what_is_not_a_finite_decimal_is_refused() {
        for text in [
            "", "-", ".", "NaN", "Infinity", "1e3", "0.5f", "0x1p3", " 1", "1 ", "+1", "1,5", "1.2.3", "--1", "١", "1d",
        ] {
            assert!(matches!(Credits::parse_exact(text), Err(CreditsError::NotDecimal(_))), "{text:?}");
            assert!(Credits::parse_rounded(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn precision_and_range_are_limited() {
        assert_eq!(credits("0.000000000001").units(), 1);
        assert!(matches!(Credits::parse_exact("0.0000000000001"), Err(CreditsError::TooPrecise(_))));
        for text in ["1000000000000.000000000001", "-1000000000001", &"9".repeat(400)] {
            assert!(matches!(Credits::parse_exact(text), Err(CreditsError::TooLarge(_))), "{text:?}");
            assert!(matches!(Credits::parse_rounded(text), Err(CreditsError::TooLarge(_))), "{text:?}");
        }
        let long = format!("{}x", "1".repeat(1000));
        assert!(Credits::parse_exact(&long).unwrap_err().to_string().len() < 120);
    }

    #[test]
    fn file_values_are_rounded_half_to_even() {
        let rounded = |text| Credits::parse_rounded(text).map(|(amount, flag)| (amount.units(), flag)).unwrap();
        assert_eq!(rounded("0.10999999940395355225"), (109_999_999_404, true));
        assert_eq!(rounded("0.0000000000005"), (0, true));
        assert_eq!(rounded("0.0000000000015"), (2, true));
        assert_eq!(rounded("0.00000000000050000001"), (1, true));
        assert_eq!(rounded("0.0000000000004999"), (0, true));
        assert_eq!(rounded("-0.0000000000015"), (-2, true));
        assert_eq!(rounded("0.50000000000000000000"), (500_000_000_000, false));
    }

    #[test]
    fn amounts_print_as_plain_decimals() {
        assert_eq!(credits("99972").to_string(), "99972.0");
        assert_eq!(credits("16777216").to_string(), "16777216.0");
        assert_eq!(credits("0.0001").to_string(), "0.0001");
        assert_eq!(credits("-12.50").to_string(), "-12.5");
        assert_eq!(Credits::ZERO.to_string(), "0.0");
        assert_eq!(credits("0.5").to_file_string(), "0.50000000000000000000");
        assert_eq!(credits("1000").to_file_string(), "1000.00000000000000000000");
    }

    /// Defect 7: single precision loses these.
    #[test]
    fn defect_07_sums_are_exact() {
        assert_eq!(credits("16777216").checked_add(credits("1")), Some(credits("16777217")));
        let charged = (0..1000).fold(credits("1000000"), |left, _| left.checked_sub(credits("0.01")).unwrap());
        assert_eq!(charged, credits("999990"));
        assert_eq!(credits("0.1").checked_mul(10), Some(credits("1")));
        assert_eq!(Credits::from_units(i128::MAX).checked_add(Credits::from_units(1)), None);
    }

    proptest! {
        #[test]
        fn every_amount_reads_back(units in -Credits::MAX.units()..=Credits::MAX.units()) {
            let amount = Credits::from_units(units);
            prop_assert_eq!(Credits::parse_exact(&amount.to_string()).unwrap(), amount);
            prop_assert_eq!(Credits::parse_rounded(&amount.to_file_string()).unwrap(), (amount, false));
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = Credits::parse_exact(&text);
            let _ = Credits::parse_rounded(&text);
        }
    }
}
