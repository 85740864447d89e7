//! Parses the length of an allowance's period, and prints it.

/// Units, the largest first, with their seconds.
const UNITS: [(char, u64); 5] = [('w', 604_800), ('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// Parses a period such as `1d`, s.
pub(super) fn parse_period_s(text: &str) -> Option<u64> {
    let unit = text.chars().last()?;
    let (_, unit_s) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    let count = text.strip_suffix(unit)?;
    let is_number = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
    let count: u64 = if is_number { count.parse().ok()? } else { return None };
    count.checked_mul(unit_s).filter(|period_s| *period_s > 0)
}

/// A period in the largest unit that divides it.
pub(super) fn format_period(period_s: u64) -> String {
    let (name, unit_s) = UNITS.into_iter().find(|(_, unit_s)| period_s.is_multiple_of(*unit_s)).unwrap_or(('s', 1));
    format!("{}{name}", period_s / unit_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_have_a_unit() {
        for (text, period_s) in [("1s", 1), ("90s", 90), ("5m", 300), ("1h", 3_600), ("1d", 86_400), ("2w", 1_209_600)]
        {
            assert_eq!(parse_period_s(text), Some(period_s), "{text}");
        }
        for text in [
            "",
            "s",
            "1",
            "0d",
            "-1d",
            "+1d",
            "1.5h",
            "1 d",
            "1y",
            "d1",
            "99999999999999999999w",
            "9999999999999999999w",
        ] {
            assert_eq!(parse_period_s(text), None, "{text}");
        }
        assert_eq!([90, 300, 86_400, 1_209_600, 3_601].map(format_period), ["90s", "5m", "1d", "2w", "3601s"]);
    }
}
