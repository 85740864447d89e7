//! Times as people write and read them: of this machine's time zone where they write or look at a terminal, of UTC with a `Z`
//! in a pipe or a file.

use std::sync::OnceLock;

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::api::{DueText, parse_duration_ms, parse_time_in, span_text};
use crate::clock::wall_ms;

/// The zone of shown times; unset: of UTC.
static SHOWN_ZONE: OnceLock<TimeZone> = OnceLock::new();

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a duration above 0 such as 20m, or a time such as 18:00 or 2026-11-22T18:00, with +01:00 or Z if not local"
)]
pub(super) struct InvalidDueTime;

/// From now on times are shown in the zone of this machine, as on a terminal.
pub(super) fn show_local_times() {
    // The first zone stays.
    let _ = SHOWN_ZONE.set(TimeZone::system());
}

/// A time; a dash if it is out of range.
pub(super) fn format_time(epoch_ms: i64) -> String {
    time_in(epoch_ms, SHOWN_ZONE.get())
}

fn time_in(epoch_ms: i64, zone: Option<&TimeZone>) -> String {
    match (Timestamp::from_millisecond(epoch_ms), zone) {
        (Ok(time), Some(zone)) => time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S%:z").to_string(),
        (Ok(time), None) => time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        (Err(_), _) => "-".to_owned(),
    }
}

/// A server's text in which times of a day of UTC, `09:30:00 UTC`, are shown as other times are.
pub(super) fn with_shown_times(text: &str) -> String {
    let zone = SHOWN_ZONE.get().zip(Timestamp::from_millisecond(wall_ms()).ok());
    zone.map_or_else(|| text.to_owned(), |(zone, now)| times_in(text, zone, now))
}

/// The same in a zone: a time is the next one of its kind.
fn times_in(text: &str, zone: &TimeZone, now: Timestamp) -> String {
    const MARK: &str = " UTC";
    const TIME: usize = "09:30:00".len();
    let now = now.to_zoned(TimeZone::UTC);
    let mut parts = text.split(MARK);
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let begin = shown.len().checked_sub(TIME).filter(|begin| shown.is_char_boundary(*begin));
        // With a date before it, it is none of these.
        let time = begin.and_then(|begin| {
            let is_alone = !shown[..begin].ends_with(|before: char| before.is_ascii_digit() || before == 'T')
                && !shown[..begin].trim_end().ends_with(|before: char| before.is_ascii_digit());
            Some((begin, time_of_day(&shown[begin..]).filter(|_| is_alone)?))
        });
        let at = time.and_then(|(begin, time)| {
            let at = Timestamp::from_millisecond(next(time, &now)?).ok()?.to_zoned(zone.clone());
            Some((begin, at.strftime("%H:%M:%S %Z").to_string()))
        });
        match at {
            Some((begin, at)) => {
                shown.truncate(begin);
                shown += &at;
            }
            None => shown += MARK,
        }
        shown += part;
    }
    shown
}

/// A deadline that is `left_ms` ahead, as `18:00 CET (in 6 h 35 m)`, with its date unless it is of today.
pub(super) fn format_due(due_ms: i64, left_ms: i64) -> String {
    due_in(due_ms, left_ms, &TimeZone::system())
}

fn due_in(due_ms: i64, left_ms: i64, zone: &TimeZone) -> String {
    let local = |ms: i64| Timestamp::from_millisecond(ms).map(|time| time.to_zoned(zone.clone())).ok();
    // What is left is known to a tenth.
    let due_ms = nearest_second_ms(due_ms);
    let (Some(due), Some(now)) = (local(due_ms), local(due_ms.saturating_sub(left_ms))) else { return "-".to_owned() };
    let date = if due.date() == now.date() { "" } else { "%Y-%m-%d " };
    let seconds = if due.second() == 0 { "" } else { ":%S" };
    let left = span_text(left_ms.unsigned_abs() / 1_000);
    let left = if left_ms < 0 { format!("{left} ago") } else { format!("in {left}") };
    format!("{} ({left})", due.strftime(&format!("{date}%H:%M{seconds} %Z")))
}

/// A deadline as every answer shows it: to the nearest second.
pub(super) fn nearest_second_ms(due_ms: i64) -> i64 {
    due_ms.saturating_add(500).div_euclid(1_000).saturating_mul(1_000)
}

/// A date, or a date with a time, epoch ms; local unless it says otherwise.
fn parse_local_ms(text: &str) -> Option<i64> {
    parse_time_in(text, &TimeZone::system())
}

/// A deadline: a duration from now, a time of today, or of tomorrow if it is past, or a date with a time; local unless it says otherwise.
pub(super) fn parse_due(text: &str) -> Result<DueText, InvalidDueTime> {
    let now = Timestamp::from_millisecond(wall_ms()).map_err(|_: jiff::Error| InvalidDueTime)?;
    parse_due_at(text, &now.to_zoned(TimeZone::system()))
}

fn parse_due_at(text: &str, now: &Zoned) -> Result<DueText, InvalidDueTime> {
    // With seconds it could be read as a duration.
    if let Some(time) = time_of_day(text) {
        return next(time, now).map(DueText::AtMs).ok_or(InvalidDueTime);
    }
    match parse_duration_ms(text) {
        Ok(ms) => Ok(DueText::AfterMs(ms)),
        Err(_) => parse_time_in(text, now.time_zone()).map(DueText::AtMs).ok_or(InvalidDueTime),
    }
}

/// `18:00` or `18:00:30`.
fn time_of_day(text: &str) -> Option<Time> {
    let is_clock = text.contains(':') && text.chars().all(|character| character.is_ascii_digit() || character == ':');
    text.parse().ok().filter(|_| is_clock)
}

/// When the clock shows a time next, epoch ms.
fn next(time: Time, now: &Zoned) -> Option<i64> {
    let on = |day: jiff::civil::Date| day.to_datetime(time).to_zoned(now.time_zone().clone()).ok();
    let today = on(now.date()).filter(|at| at > now);
    today.or_else(|| on(now.date().tomorrow().ok()?)).map(|at| at.timestamp().as_millisecond())
}

#[derive(Debug, thiserror::Error)]
#[error("{option} {text:?} is not a date such as 2026-11-21, with an optional time after a T")]
pub(crate) struct InvalidTime {
    option: &'static str,
    text: String,
}

/// Parses the date of `--since`, epoch ms.
pub(super) fn parse_time_ms(text: &str) -> Result<i64, InvalidTime> {
    parse_time_of("--since", text)
}

/// Parses the date of an option, epoch ms.
pub(super) fn parse_time_of(option: &'static str, text: &str) -> Result<i64, InvalidTime> {
    parse_local_ms(text).ok_or_else(|| InvalidTime { option, text: text.to_owned() })
}

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

    /// A zone that needs no database of zones on this machine.
    fn berlin() -> TimeZone {
        TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
    }

    fn at(text: &str) -> i64 {
        parse_time_in(text, &TimeZone::UTC).unwrap()
    }

    #[test]
    fn a_terminal_shows_local_times_with_their_offset_and_a_pipe_those_of_utc() {
        let time_ms = 1_700_000_000_000;
        assert_eq!(time_in(time_ms, None), "2023-11-14T22:13:20Z");
        assert_eq!(time_in(time_ms, Some(&berlin())), "2023-11-14 23:13:20+01:00");
        assert_eq!(time_in(at("2026-07-01"), Some(&berlin())), "2026-07-01 02:00:00+02:00");
        assert_eq!(time_in(i64::MAX, None), "-");
    }

    #[test]
    fn times_of_a_day_in_a_servers_text_are_local_on_a_terminal() {
        let now = Timestamp::from_millisecond(at("2026-11-26T12:00Z")).unwrap();
        let shown = |text: &str| times_in(text, &berlin(), now);
        assert_eq!(shown("Maps 0/6 minimum from 12:31:05 UTC. Reduces"), "Maps 0/6 minimum from 13:31:05 CET. Reduces");
        assert_eq!(shown("11:00:00 UTC and 23:30:00 UTC"), "12:00:00 CET and 00:30:00 CET");
        for other in [
            "",
            " UTC",
            "no 1:2 UTC",
            "2026-11-26 12:31:05 UTC",
            "2026-11-26T12:31:05 UTC",
            "ä12:31:0 UTC",
            "25:00:00 UTC",
        ] {
            assert_eq!(shown(other), other);
        }
        // A pipe gets it as the server said it.
        assert_eq!(with_shown_times("from 12:31:05 UTC"), "from 12:31:05 UTC");
    }

    #[test]
    fn a_deadline_is_said_by_the_clock_with_the_time_left() {
        let due_ms = at("2026-11-26T17:00Z");
        let said = |due_ms: i64, left_s: i64| due_in(due_ms, left_s * 1_000, &berlin());
        assert_eq!(said(due_ms, 6 * 3_600 + 35 * 60), "18:00 CET (in 6 h 35 m)");
        assert_eq!(said(due_ms - 40, 59), "18:00 CET (in 59 s)");
        assert_eq!(said(due_ms + 5_000, 65), "18:00:05 CET (in 1 m 5 s)");
        assert_eq!(said(due_ms, 86_400 + 3_600), "2026-11-26 18:00 CET (in 1 d 1 h)");
        assert_eq!(said(due_ms, -300), "18:00 CET (5 m 0 s ago)");
        assert_eq!(said(i64::MAX, 5), "-");
    }

    #[test]
    fn a_deadline_by_the_clock_is_the_next_one() {
        let now = Timestamp::from_millisecond(at("2026-11-26T10:25Z")).unwrap().to_zoned(berlin());
        for (text, due) in [
            ("18:00", DueText::AtMs(at("2026-11-26T17:00Z"))),
            ("11:25", DueText::AtMs(at("2026-11-27T10:25Z"))),
            ("09:30:15", DueText::AtMs(at("2026-11-27T08:30:15Z"))),
            ("2026-11-27T18:00", DueText::AtMs(at("2026-11-27T17:00Z"))),
            ("2026-11-27T18:00Z", DueText::AtMs(at("2026-11-27T18:00Z"))),
            ("2026-11-27T18:00+05:00", DueText::AtMs(at("2026-11-27T13:00Z"))),
            ("2026-07-01", DueText::AtMs(at("2026-06-30T22:00Z"))),
            ("20m", DueText::AfterMs(1_200_000)),
        ] {
            assert_eq!(parse_due_at(text, &now), Ok(due), "{text}");
        }
        for text in ["", "20", "0s", "-5m", "soon", "25:00", "18:00Z", "T18:00", "18", "999999999999999h"] {
            assert_eq!(parse_due_at(text, &now), Err(InvalidDueTime), "{text}");
        }
    }

    #[test]
    fn dates_are_local_unless_they_say_otherwise() {
        for (text, ms) in [
            ("1970-01-02", 82_800_000),
            ("1970-01-02T01:30", 88_200_000),
            ("1970-01-02T01:30:05.250", 88_205_250),
            ("1970-01-02T01:30+01:30", 86_400_000),
            ("1970-01-02T00:00Z", 86_400_000),
        ] {
            assert_eq!(parse_time_in(text, &berlin()), Some(ms), "{text}");
        }
        for text in ["", "yesterday", "1970-13-01", "5"] {
            assert_eq!(parse_time_in(text, &berlin()), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_named_with_its_option() {
        assert_eq!(parse_time_ms("1970-01-02T00:00Z").unwrap(), 86_400_000);
        for text in ["", "yesterday", "1970-13-01", "5"] {
            let error = parse_time_ms(text).unwrap_err();
            assert!(error.to_string().starts_with("--since \""), "{error}");
        }
    }

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
