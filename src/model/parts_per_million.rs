//! Ratios as exact integers, so that no decision depends on the rounding of a float.

use std::fmt;

/// A ratio in millionths: `0.05` is 50 000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartsPerMillion(pub u64);

const LONGEST: usize = 30;

impl PartsPerMillion {
    /// The whole: 1.0.
    pub(crate) const ONE: PartsPerMillion = PartsPerMillion(1_000_000);

    /// Parses the ordinary decimals that Java's `Float.parseFloat` accepts (`0.05`, `.5`, `5e-2`, `1f`), exactly; digits after
    /// the sixth decimal round half up. `None` for anything else, for negative, infinite and not-a-number values.
    #[must_use]
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text);
        let text = text.strip_prefix('+').unwrap_or(text);
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: String = [whole, fraction].concat();
        if digits.is_empty() || digits.len() > LONGEST || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let digits: u128 = digits.parse().ok()?;
        let power = exponent.checked_add(6)?.checked_sub(i32::try_from(fraction.len()).ok()?)?;
        let millionths = if power >= 0 {
            digits.checked_mul(10u128.checked_pow(power.unsigned_abs())?)?
        } else {
            match 10u128.checked_pow(power.unsigned_abs()) {
                Some(divisor) => (digits + divisor / 2) / divisor,
                None => 0,
            }
        };
        u64::try_from(millionths).ok().map(PartsPerMillion)
    }
}

impl fmt::Display for PartsPerMillion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = format!("{:06}", self.0 % 1_000_000);
        let fraction = fraction.trim_end_matches('0');
        write!(f, "{}.{}", self.0 / 1_000_000, if fraction.is_empty() { "0" } else { fraction })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_the_decimals_java_reads() {
        for (text, millionths) in [
            ("0.05", 50_000),
            ("5e-2", 50_000),
            (".5", 500_000),
            ("1.", 1_000_000),
            (" 1 ", 1_000_000),
            ("+1.0f", 1_000_000),
            ("0.0000005", 1),
            ("0.0000004", 0),
            ("1e-40", 0),
        ] {
            assert_eq!(PartsPerMillion::parse(text), Some(PartsPerMillion(millionths)), "{text}");
        }
    }

    #[test]
    fn refuses_malformed_ratios() {
        for text in ["", "-0.1", "NaN", "Infinity", "0x1p3", "1,5", "1.2.3", "1e400", "f", ".", "1e", "١"] {
            assert_eq!(PartsPerMillion::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn printed_ratios_read_back(millionths in 0..u64::MAX / 2) {
            let ratio = PartsPerMillion(millionths);
            prop_assert_eq!(PartsPerMillion::parse(&ratio.to_string()), Some(ratio));
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = PartsPerMillion::parse(&text);
        }
    }
}
