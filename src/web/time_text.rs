//! Times and durations as pages show them.

use jiff::Timestamp;

use crate::api::largest_units;
pub(super) use crate::api::parse_utc_ms;

/// A time, epoch ms, in UTC; a dash for times outside the calendar.
pub(super) fn format_time(epoch_ms: i64) -> String {
    match Timestamp::from_millisecond(epoch_ms) {
        Ok(time) => time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        Err(_) => "–".to_owned(),
    }
}

/// A day and a time without year and seconds, epoch ms, in UTC.
pub(super) fn format_day_and_time(epoch_ms: i64) -> String {
    match Timestamp::from_millisecond(epoch_ms) {
        Ok(time) => time.strftime("%b %d, %H:%M").to_string(),
        Err(_) => "–".to_owned(),
    }
}

/// A time as [`parse_utc_ms`] reads it, with the milliseconds that it has; empty outside the calendar.
pub(super) fn utc_text(epoch_ms: i64) -> String {
    Timestamp::from_millisecond(epoch_ms).map(|time| time.to_string()).unwrap_or_default()
}

/// A duration in its two largest units; a negative one, as a clock set back makes, counts as 0.
pub(super) fn format_duration(ms: i64) -> String {
    let units = largest_units(ms.max(0).unsigned_abs() / 1_000).into_iter();
    let texts = units.map(|(count, unit)| format!("{count} {}", if unit == "m" { "min" } else { unit }));
    texts.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_utc() {
        assert_eq!(format_time(1_238_600_160_788), "2009-04-01 15:36:00 UTC");
        assert_eq!(format_time(i64::MAX), "–");
        assert_eq!(format_day_and_time(1_238_600_160_788), "Apr 01, 15:36");
    }

    #[test]
    fn times_are_read_as_of_utc_and_written_so_that_they_are_read() {
        for (text, ms) in
            [("1970-01-02", 86_400_000), ("1970-01-02T01:30", 91_800_000), ("1970-01-02T01:30+01:30", 86_400_000)]
        {
            assert_eq!(parse_utc_ms(text), Some(ms), "{text}");
            assert_eq!(parse_utc_ms(&utc_text(ms)), Some(ms));
        }
        for text in ["", "yesterday", "1970-13-01", "5", "9999999999-01-01"] {
            assert_eq!(parse_utc_ms(text), None, "{text}");
        }
        assert_eq!(utc_text(i64::MAX), "");
        for (ms, text) in [(86_400_000, "1970-01-02T00:00:00Z"), (86_400_250, "1970-01-02T00:00:00.25Z")] {
            assert_eq!((utc_text(ms).as_str(), parse_utc_ms(text)), (text, Some(ms)));
        }
    }

    #[test]
    fn durations_have_two_units() {
        let texts = [-5, 0, 59_999, 60_000, 3_599_000, 3_600_000, 90_061_000].map(format_duration);
        assert_eq!(texts, ["0 s", "0 s", "59 s", "1 min 0 s", "59 min 59 s", "1 h 0 min", "1 d 1 h"]);
        assert_eq!(format_duration(i64::MAX), "106751991167 d 7 h");
    }
}
