//! Sums of money as whole units of 10^-12 credit, read and written here independently of the daemon's own code.

/// Units in a credit.
pub const UNITS_PER_CREDIT: i128 = 1_000_000_000_000;
const DECIMALS: usize = 12;

/// The units of a decimal text such as `-12.5`; none if it is no such text or has more than twelve decimals that count.
pub fn units_of(text: &str) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let (kept, beyond) = fraction.split_at(fraction.len().min(DECIMALS));
    if beyond.bytes().any(|byte| byte != b'0') {
        return None;
    }
    let fraction: i128 = format!("{kept:0<DECIMALS$}").parse().ok()?;
    Some(sign * (whole.parse::<i128>().ok()?.checked_mul(UNITS_PER_CREDIT)? + fraction))
}

/// The decimal text of units.
pub fn decimal(units: i128) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let (whole, fraction) = (units.abs() / UNITS_PER_CREDIT, units.abs() % UNITS_PER_CREDIT);
    format!("{sign}{whole}.{fraction:0DECIMALS$}")
}

/// The same with the twenty decimals of a budget file.
pub fn file_decimal(units: i128) -> String {
    decimal(units) + "00000000"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_read_to_the_last_digit() {
        assert_eq!(units_of("12.5"), Some(12_500_000_000_000));
        assert_eq!(units_of("-0.000000000001"), Some(-1));
        assert_eq!(units_of("0.00000000000100000000"), Some(1));
        for bad in ["", ".5", "1e3", "0.0000000000001", "1,5", "--1", "+1"] {
            assert_eq!(units_of(bad), None, "{bad:?}");
        }
        assert_eq!(decimal(-1_500_000_000_001), "-1.500000000001");
        assert_eq!(units_of(&file_decimal(-7)), Some(-7));
    }
}
