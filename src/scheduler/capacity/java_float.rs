//! Decimals in texts as Java prints its `float`: the original holds percentages in one, and clients read its texts.
//!
//! For texts only; no decision sees these floats.

use std::fmt;

use crate::model::Decimal;

/// Prints as `Float.toString`: the shortest decimal that reads back as the same float.
pub(super) struct JavaFloat(pub(super) Decimal);

/// Prints `part * 100 / whole` as `%.1f`, computed in `float`, halves up; `0.0` of a whole of zero.
pub(super) struct JavaPercent {
    pub(super) part: u64,
    pub(super) whole: u64,
}

/// Outside of this range Java writes an exponent.
const PLAIN: std::ops::Range<f32> = 1e-3..1e7;

impl fmt::Display for JavaFloat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A decimal always reads as a float.
        let float: f32 = self.0.to_string().parse().unwrap_or_default();
        if float == 0.0 || PLAIN.contains(&float.abs()) {
            return write!(f, "{float:?}");
        }
        let scientific = format!("{float:E}");
        match scientific.split_once('E') {
            Some((mantissa, exponent)) if !mantissa.contains('.') => write!(f, "{mantissa}.0E{exponent}"),
            _ => f.write_str(&scientific),
        }
    }
}

impl fmt::Display for JavaPercent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = if self.whole == 0 { 0.0 } else { self.part as f32 * 100.0 / self.whole as f32 };
        // Exact in 64 bits, unlike the rounding of Rust's own format, which takes halves to the even digit.
        let tenths = (f64::from(percent) * 10.0 + 0.5).floor() as u64;
        write!(f, "{}.{}", tenths / 10, tenths % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_print_as_java_floats() {
        for (written, printed) in [
            ("50", "50.0"),
            ("33.3", "33.3"),
            ("0", "0.0"),
            ("-1", "-1.0"),
            ("33.3333333333", "33.333332"),
            ("0.001", "0.001"),
            ("0.0005", "5.0E-4"),
            ("0.00012", "1.2E-4"),
            ("12345678", "1.2345678E7"),
        ] {
            assert_eq!(JavaFloat(Decimal::parse(written).unwrap()).to_string(), printed);
        }
    }

    #[test]
    fn percentages_have_one_decimal_and_round_halves_up() {
        let percent = |part, whole| JavaPercent { part, whole }.to_string();
        assert_eq!([percent(1, 1), percent(16, 10), percent(4, 10)], ["100.0", "160.0", "40.0"]);
        assert_eq!([percent(1, 3), percent(2, 3), percent(1, 16)], ["33.3", "66.7", "6.3"]);
        assert_eq!([percent(0, 0), percent(5, 0), percent(0, 7)], ["0.0", "0.0", "0.0"]);
    }
}
