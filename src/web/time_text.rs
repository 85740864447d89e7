//! Moments and spans as pages show them.

use jiff::Timestamp;

/// A moment, epoch ms, in UTC; a dash for what no calendar holds.
pub(super) fn moment(epoch_ms: i64) -> String {
    match Timestamp::from_millisecond(epoch_ms) {
        Ok(moment) => moment.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        Err(_) => "–".to_owned(),
    }
}

/// A span in its two largest units; a negative one, as a clock set back makes, is none.
pub(super) fn span(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_utc() {
        assert_eq!(moment(1_238_600_160_788), "2009-04-01 15:36:00 UTC");
        assert_eq!(moment(i64::MAX), "–");
    }

    #[test]
    fn spans_have_two_units() {
        let spans = [-5, 0, 59_999, 60_000, 3_599_000, 3_600_000, 90_061_000].map(span);
        assert_eq!(spans, ["0 s", "0 s", "59 s", "1 min 0 s", "59 min 59 s", "1 h 0 min", "1 d 1 h"]);
        assert_eq!(span(i64::MAX), "106751991167 d 7 h");
    }
}
