//! Deadlines as people write them: `20m`, or `2026-11-22T18:00Z`.

use std::str::FromStr;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum DueText {
    /// So long from now, ms, above 0.
    AfterMs(u64),
    /// At a time, epoch ms.
    AtMs(i64),
}

/// A text that is neither a duration nor a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a duration above 0 such as 20m, or a time such as 2026-11-22T18:00Z")]
pub(crate) struct InvalidDue;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a duration above 0 such as 40s or 1h30m")]
pub(crate) struct InvalidDuration;

impl FromStr for DueText {
    type Err = InvalidDue;

    fn from_str(text: &str) -> Result<Self, InvalidDue> {
        match parse_duration_ms(text) {
            Ok(ms) => Ok(Self::AfterMs(ms)),
            Err(InvalidDuration) => parse_utc_ms(text).map(Self::AtMs).ok_or(InvalidDue),
        }
    }
}

/// Parses a duration of at least a millisecond, ms.
pub(crate) fn parse_duration_ms(text: &str) -> Result<u64, InvalidDuration> {
    let ms = text.trim().parse::<SignedDuration>().ok().and_then(|duration| i64::try_from(duration.as_millis()).ok());
    ms.and_then(|ms| u64::try_from(ms).ok()).filter(|ms| *ms > 0).ok_or(InvalidDuration)
}

/// That a time has passed, and how long ago.
pub(crate) fn passed_text(at_ms: i64, now_ms: i64) -> String {
    let at =
        Timestamp::from_second(at_ms.div_euclid(1_000)).map_or_else(|_| format!("{at_ms} ms"), |at| at.to_string());
    format!("{at} passed {} ago", span_text(now_ms.saturating_sub(at_ms).max(0).unsigned_abs() / 1_000))
}

/// A duration in its two largest units, such as `6 h 35 m`.
pub(crate) fn span_text(seconds: u64) -> String {
    let units = largest_units(seconds).into_iter().map(|(count, unit)| format!("{count} {unit}"));
    units.collect::<Vec<_>>().join(" ")
}

/// The two largest units of a duration, of `d`, `h`, `m` and `s`; seconds alone below a minute.
pub(crate) fn largest_units(seconds: u64) -> Vec<(u64, &'static str)> {
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => vec![(seconds, "s")],
        (0, 0, _) => vec![(minutes, "m"), (seconds % 60, "s")],
        (0, ..) => vec![(hours, "h"), (minutes % 60, "m")],
        _ => vec![(days, "d"), (hours % 24, "h")],
    }
}

/// A date, or a date with a time, epoch ms; in UTC unless it says otherwise.
pub(crate) fn parse_utc_ms(text: &str) -> Option<i64> {
    parse_time_in(text, &TimeZone::UTC)
}

/// The same, in this zone unless it says otherwise.
pub(crate) fn parse_time_in(text: &str, zone: &TimeZone) -> Option<i64> {
    let local = || Ok(text.parse::<DateTime>()?.to_zoned(zone.clone())?.timestamp());
    let time = text.parse::<Timestamp>().or_else(|_: jiff::Error| local());
    time.map(Timestamp::as_millisecond).map_err(|_: jiff::Error| ()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_has_passed_is_said_with_its_distance() {
        assert_eq!(passed_text(1_767_261_600_000, 1_795_740_514_875), "2026-01-01T10:00:00Z passed 329 d 14 h ago");
        assert_eq!(passed_text(0, 59_999), "1970-01-01T00:00:00Z passed 59 s ago");
    }

    #[test]
    fn durations_count_from_now_and_times_are_of_utc_unless_they_say_otherwise() {
        for (text, due) in [
            ("20m", DueText::AfterMs(1_200_000)),
            ("1h30m", DueText::AfterMs(5_400_000)),
            ("90 s", DueText::AfterMs(90_000)),
            ("1970-01-02", DueText::AtMs(86_400_000)),
            ("1970-01-02T01:30+01:30", DueText::AtMs(86_400_000)),
        ] {
            assert_eq!(text.parse(), Ok(due), "{text}");
        }
        for text in ["", "20", "0s", "-5m", "soon", "1970-13-01", "999999999999999h"] {
            assert_eq!(text.parse::<DueText>(), Err(InvalidDue), "{text}");
        }
    }
}
