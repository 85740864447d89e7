//! Why a job waited, over time.

use std::sync::Arc;

/// Distance of two samples, ms.
pub(crate) const SAMPLE_MS: u64 = 10_000;
/// Most spans of a job; then the shortest joins a neighbour.
const MOST_SPANS: usize = 200;
/// So long after a sample the next one follows it without a gap, ms.
const GAPLESS_MS: i64 = 25_000;

/// Why a job waited, in spans that do not overlap, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReasonLog(Vec<ReasonSpan>);

/// A span with one first reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReasonSpan {
    /// Epoch ms.
    pub(crate) from_ms: i64,
    /// Epoch ms; the moment itself is of the next span.
    pub(crate) to_ms: i64,
    /// Its name, such as `quota_full`; `unknown` where the policy names none.
    pub(crate) reason: Arc<str>,
    /// Whether it says what a queue has bought, bids or owns.
    pub(crate) is_of_market: bool,
}

impl ReasonLog {
    /// Adds what was seen at a moment, epoch ms; it holds until the next sample, or for as long as samples are apart.
    pub(super) fn add(&mut self, at_ms: i64, reason: Arc<str>, is_of_market: bool) {
        let to_ms = at_ms.saturating_add_unsigned(SAMPLE_MS);
        if let Some(last) = self.0.last_mut() {
            let seen_ms = last.to_ms.saturating_sub_unsigned(SAMPLE_MS);
            if at_ms <= seen_ms {
                // The clock was set back.
                return;
            }
            if at_ms - seen_ms <= GAPLESS_MS {
                if last.reason == reason {
                    last.to_ms = to_ms;
                    return;
                }
                last.to_ms = at_ms;
            }
        }
        self.0.push(ReasonSpan { from_ms: at_ms, to_ms, reason, is_of_market });
        if self.0.len() > MOST_SPANS {
            self.join_shortest();
        }
    }

    /// Of samples: when, epoch ms, the reason, whether it is of the market.
    #[cfg(test)]
    pub(crate) fn of_samples<'a>(samples: impl IntoIterator<Item = (i64, &'a str, bool)>) -> Self {
        let mut log = Self::default();
        samples.into_iter().for_each(|(at_ms, reason, is_of_market)| log.add(at_ms, reason.into(), is_of_market));
        log
    }

    pub(crate) fn spans(&self) -> impl Iterator<Item = &ReasonSpan> {
        self.0.iter()
    }

    /// The shortest span but the last counts to the longer of its neighbours.
    fn join_shortest(&mut self) {
        let length = |span: &ReasonSpan| span.to_ms.saturating_sub(span.from_ms);
        let inner = self.0.len().saturating_sub(1);
        let Some(place) = (0..inner).min_by_key(|place| self.0.get(*place).map(length)) else { return };
        let shortest = self.0.remove(place);
        let before = place.checked_sub(1).and_then(|before| self.0.get(before)).map(length);
        match (before, self.0.get_mut(place)) {
            (before, Some(after)) if before.is_none_or(|before| before < length(after)) => {
                after.from_ms = shortest.from_ms
            }
            _ => {
                if let Some(before) = place.checked_sub(1).and_then(|before| self.0.get_mut(before)) {
                    before.to_ms = shortest.to_ms;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(samples: &[(i64, &str)]) -> Vec<(i64, i64, String)> {
        let mut log = ReasonLog::default();
        samples.iter().for_each(|(at_ms, reason)| log.add(*at_ms, (*reason).into(), false));
        log.spans().map(|span| (span.from_ms, span.to_ms, span.reason.to_string())).collect()
    }

    #[test]
    fn samples_join_where_they_say_the_same_and_leave_a_gap_where_none_was_taken() {
        let found = log(&[(0, "a"), (10_000, "a"), (20_500, "b"), (60_000, "b"), (50_000, "c")]);
        let expected = [(0, 20_500, "a"), (20_500, 30_500, "b"), (60_000, 70_000, "b")];
        assert_eq!(found, expected.map(|(from, to, reason)| (from, to, reason.to_owned())));
    }

    #[test]
    fn a_long_log_keeps_its_length_and_covers_the_same_time() {
        let mut log = ReasonLog::default();
        for number in 0..1_000 {
            log.add(number * 10_000, if number % 2 == 0 { "a" } else { "b" }.into(), false);
        }
        let spans: Vec<&ReasonSpan> = log.spans().collect();
        assert_eq!(spans.len(), MOST_SPANS);
        assert_eq!((spans[0].from_ms, spans[MOST_SPANS - 1].to_ms), (0, 10_000_000));
        assert!(spans.windows(2).all(|pair| pair[0].to_ms == pair[1].from_ms));
    }
}
