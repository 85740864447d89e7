//! Dates, spans, percentages and sizes as 1.2.1 prints them (`StringUtils`, `java.util.Date`), in the time zone of the daemon and
//! with English months.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Version of Hadoop that these pages are of.
pub(super) const VERSION: &str = "1.2.1";
pub(super) const REVISION: &str = "1503152";
pub(super) const COMPILED: &str = "Wed Jul 24 13:39:35 PDT 2013";
pub(super) const COMPILER: &str = "mattf";

/// A time as `java.util.Date` prints it, `Sun Nov 22 03:50:08 UTC 2026`.
pub(super) fn date(epoch_ms: i64) -> String {
    in_zone(epoch_ms, "%a %b %d %H:%M:%S %Z %Y")
}

/// A time as most pages print it, `22-Nov-2026 03:50:34`.
pub(super) fn day_and_time(epoch_ms: i64) -> String {
    in_zone(epoch_ms, "%-d-%b-%Y %H:%M:%S")
}

/// A time as pages of history print it, `22/11 03:50:34`; empty for 0.
pub(super) fn short_day_and_time(epoch_ms: i64) -> String {
    if epoch_ms == 0 { String::new() } else { in_zone(epoch_ms, "%-d/%m %H:%M:%S") }
}

/// The same with the span since another one, where that is known.
pub(super) fn short_with_span(epoch_ms: i64, since_ms: i64) -> String {
    match (epoch_ms, since_ms) {
        (0, _) | (_, 0) => short_day_and_time(epoch_ms),
        _ => format!("{} ({})", short_day_and_time(epoch_ms), span(epoch_ms.saturating_sub(since_ms))),
    }
}

fn in_zone(epoch_ms: i64, format: &str) -> String {
    let time = Timestamp::from_millisecond(epoch_ms).unwrap_or(Timestamp::UNIX_EPOCH);
    time.to_zoned(TimeZone::system()).strftime(format).to_string()
}

/// A span of time, `1hrs, 2mins, 3sec` (`StringUtils.formatTime`).
pub(super) fn span(ms: i64) -> String {
    let (hours, minutes, seconds) = (ms / 3_600_000, ms % 3_600_000 / 60_000, ms % 60_000 / 1_000);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}sec"),
        (0, _) => format!("{minutes}mins, {seconds}sec"),
        (_, 0) => format!("{hours}hrs, {seconds}sec"),
        _ => format!("{hours}hrs, {minutes}mins, {seconds}sec"),
    }
}

/// A time with the span since another one, where that is known; empty for 0 (`StringUtils.getFormattedTimeWithDiff`).
pub(super) fn time_with_span(epoch_ms: i64, since_ms: i64) -> String {
    match (epoch_ms, since_ms) {
        (0, _) => String::new(),
        (_, 0) => day_and_time(epoch_ms),
        _ => format!("{} ({})", day_and_time(epoch_ms), span(epoch_ms.saturating_sub(since_ms))),
    }
}

/// A part as percent with two decimals, rounded down (`StringUtils.formatPercent`).
pub(super) fn percent(part: f32) -> String {
    let hundredths = (f64::from(part.clamp(0.0, 1.0)) * 10_000.0).floor() as u32;
    format!("{}.{:02}%", hundredths / 100, hundredths % 100)
}

/// A size with a unit and at most two decimals, `1.5 GB` (`StringUtils.byteDesc`).
pub(super) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KB", "MB", "GB", "TB", "PB"];
    let mut size = bytes as f64 / 1024.0;
    let mut units = UNITS.iter();
    let mut unit = units.next().copied().unwrap_or_default();
    while size >= 1024.0 {
        let Some(next) = units.next() else { break };
        (size, unit) = (size / 1024.0, next);
    }
    let text = format!("{size:.2}");
    format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A whole number with a comma before each three digits.
pub(super) fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if number < 0 {
        text.push('-');
    }
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// An access list in words (1.2.1 `AccessControlList.toString`).
pub(super) fn access_list(list: &str) -> String {
    if list.trim() == "*" {
        return "All users are allowed".to_owned();
    }
    let names = |names: &str| {
        let mut names: Vec<&str> = names.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        names.sort_unstable();
        names.dedup();
        names.join(", ")
    };
    let (users, groups) = list.split_once(' ').unwrap_or((list, ""));
    match (names(users), names(groups)) {
        (users, groups) if users.is_empty() && groups.is_empty() => "No users are allowed".to_owned(),
        (users, groups) if groups.is_empty() => format!("Users [{users}] are allowed"),
        (users, groups) if users.is_empty() => format!("Members of the groups [{groups}] are allowed"),
        (users, groups) => format!("Users [{users}] and members of the groups [{groups}] are allowed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_leave_out_what_is_zero_but_the_seconds() {
        let texts = [0, 999, 46_000, 106_000, 3_600_000, 3_661_000, 90_061_000].map(span);
        let expected =
            ["0sec", "0sec", "46sec", "1mins, 46sec", "1hrs, 0sec", "1hrs, 1mins, 1sec", "25hrs, 1mins, 1sec"];
        assert_eq!(texts, expected);
    }

    #[test]
    fn percentages_are_rounded_down() {
        assert_eq!([0.0, 2.0 / 3.0, 0.999_99, 1.0].map(percent), ["0.00%", "66.66%", "99.99%", "100.00%"]);
        assert_eq!([-1.0, f32::NAN, 7.0].map(percent), ["0.00%", "0.00%", "100.00%"]);
    }

    #[test]
    fn sizes_have_at_most_two_decimals() {
        let sizes = [512, 268_435_456, 1_610_612_736, 1_181_116_006, 1 << 50].map(bytes);
        assert_eq!(sizes, ["0.5 KB", "256 MB", "1.5 GB", "1.1 GB", "1 PB"]);
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0, 999, 1_000, 18_849_792, -1_234].map(grouped), ["0", "999", "1,000", "18,849,792", "-1,234"]);
        assert_eq!(grouped(i64::MIN), "-9,223,372,036,854,775,808");
    }

    #[test]
    fn access_lists_are_in_hadoops_words() {
        let words = ["*", " ", "bob,alice", " ops", "bob ops,dev"].map(access_list);
        assert_eq!(words[..2], ["All users are allowed", "No users are allowed"]);
        assert_eq!(words[2], "Users [alice, bob] are allowed");
        assert_eq!(words[3], "Members of the groups [ops] are allowed");
        assert_eq!(words[4], "Users [bob] and members of the groups [dev, ops] are allowed");
    }

    #[test]
    fn times_that_never_came_are_empty() {
        assert_eq!((time_with_span(0, 0), time_with_span(0, 5)), (String::new(), String::new()));
        assert!(time_with_span(61_000, 1_000).ends_with(" (1mins, 0sec)"));
        assert_eq!(time_with_span(61_000, 0), day_and_time(61_000));
    }
}
