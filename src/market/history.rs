//! Price and spending over time, in spans of equal length. Old ticks and old rows of the ledger are thinned, so the older a
//! span, the less there is in it.

use serde::{Deserialize, Serialize};

use super::credits::Credits;
use super::query::{QueryError, decode, number, set_once};
use super::queue_name::QueueName;

/// The price over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceHistory {
    /// Length of a span, ms.
    pub step_ms: u64,
    /// The spans with ticks in them, newest last.
    pub points: Vec<PricePoint>,
}

/// The prices of a span.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PricePoint {
    /// When the last of its ticks was, epoch ms.
    pub time_ms: i64,
    /// The number of that tick.
    pub tick: u64,
    /// Its price.
    pub price: Credits,
    /// The lowest price of the span.
    pub low: Credits,
    /// The highest price of the span.
    pub high: Credits,
}

/// What a queue has paid over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpendingHistory {
    /// The queue.
    pub queue: QueueName,
    /// Length of a span, ms.
    pub step_ms: u64,
    /// The spans in which it paid anything, newest last.
    pub points: Vec<SpendingPoint>,
}

/// What a queue has paid in a span.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpendingPoint {
    /// When it last paid, epoch ms; the sum of a day stands at the last moment of it.
    pub time_ms: i64,
    /// How much.
    pub spent: Credits,
    /// For how many intervals.
    pub intervals: u64,
    /// Map slots paid for, each interval's counted.
    pub map_slots: u64,
    /// Reduce slots paid for, each interval's counted.
    pub reduce_slots: u64,
    /// The rate, if it was one and the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Credits>,
}

/// Which part of a history is asked for, and how fine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryPage {
    /// From this moment on, epoch ms; else the last day, or what there is of it.
    pub since_ms: Option<i64>,
    /// Spans at most; 1 to [`Self::MOST_POINTS`].
    pub points: u32,
}

/// A part of a history, cut into spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spans {
    /// When the first begins, epoch ms.
    pub since_ms: i64,
    /// Length of each, ms.
    pub step_ms: u64,
    last: u32,
}

// === impl HistoryPage ===

impl HistoryPage {
    /// Spans in one answer at most.
    pub const MOST_POINTS: u32 = 1_000;
    const POINTS: u32 = 100;
    const DAY_MS: i64 = 86_400_000;

    /// Reads `since` and `points` out of a raw query string.
    ///
    /// # Errors
    /// A repeated parameter, or one that is no number or out of range.
    pub fn parse(query: &str) -> Result<HistoryPage, QueryError> {
        let (mut since, mut points) = (None, None);
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match decode(name)?.as_ref() {
                "since" => set_once(&mut since, "since", value)?,
                "points" => set_once(&mut points, "points", value)?,
                _ => {}
            }
        }
        let points = number("points", points)?.unwrap_or(Self::POINTS);
        if !(1..=Self::MOST_POINTS).contains(&points) {
            return Err(QueryError::OutOfRange { parameter: "points", least: 1, most: Self::MOST_POINTS });
        }
        Ok(HistoryPage { since_ms: number("since", since)?, points })
    }

    /// The spans up to `until_ms`, the last moment of all. Where nothing is asked for they begin a day before that, or at
    /// the first moment of all.
    pub fn spans(self, first_ms: i64, until_ms: i64) -> Spans {
        let since_ms = self.since_ms.unwrap_or(until_ms.saturating_sub(Self::DAY_MS).max(first_ms));
        let length_ms = u64::try_from(until_ms.saturating_sub(since_ms)).unwrap_or(0).saturating_add(1);
        Spans { since_ms, step_ms: length_ms.div_ceil(u64::from(self.points.max(1))), last: self.points.max(1) - 1 }
    }
}

// === impl Spans ===

impl Spans {
    /// Which span a moment lies in; none for one before all. What a clock that was set back has left behind the last
    /// moment counts for the last span.
    pub fn of(&self, time_ms: i64) -> Option<u32> {
        let after_ms = u64::try_from(time_ms.checked_sub(self.since_ms)?).ok()?;
        Some(u32::try_from(after_ms / self.step_ms.max(1)).unwrap_or(u32::MAX).min(self.last))
    }
}

// === impl PricePoint ===

impl PricePoint {
    /// A tick, as a span of its own.
    pub fn of(tick: u64, time_ms: i64, price: Credits) -> PricePoint {
        PricePoint { time_ms, tick, price, low: price, high: price }
    }

    /// Takes an earlier tick of the same span in.
    pub fn add_earlier(&mut self, price: Credits) {
        self.low = self.low.min(price);
        self.high = self.high.max(price);
    }
}

// === impl SpendingPoint ===

impl SpendingPoint {
    /// Takes earlier charges of the same span in; false, and nothing has happened, where the sum is out of range.
    pub fn add_earlier(&mut self, earlier: &SpendingPoint) -> bool {
        let Some(spent) = self.spent.checked_add(earlier.spent) else { return false };
        self.spent = spent;
        self.intervals = self.intervals.saturating_add(earlier.intervals);
        self.map_slots = self.map_slots.saturating_add(earlier.map_slots);
        self.reduce_slots = self.reduce_slots.saturating_add(earlier.reduce_slots);
        self.rate = self.rate.filter(|_| self.rate == earlier.rate);
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pages_are_read() {
        let page = |query| HistoryPage::parse(query).map_err(|error| error.to_string());
        assert_eq!(page(""), Ok(HistoryPage { since_ms: None, points: 100 }));
        assert_eq!(page("history&since=-5&points=7&user=u"), Ok(HistoryPage { since_ms: Some(-5), points: 7 }));
        for (query, told) in [
            ("since=x", "since: \"x\" is not a whole number"),
            ("points=0", "points: expected a whole number from 1 to 1000"),
            ("points=1001", "points: expected a whole number from 1 to 1000"),
            ("points=-1", "points: \"-1\" is not a whole number"),
            ("since=1&since=1", "the parameter since is given more than once"),
        ] {
            assert_eq!(page(query), Err(told.to_owned()));
        }
    }

    #[test]
    fn a_day_is_cut_into_equal_spans() {
        let spans = HistoryPage { since_ms: None, points: 24 }.spans(0, 86_400_000);
        assert_eq!((spans.since_ms, spans.step_ms), (0, 3_600_001));
        assert_eq!(
            [-1, 0, 3_600_000, 3_600_001, 86_400_000].map(|at_ms| spans.of(at_ms)),
            [None, Some(0), Some(0), Some(1), Some(23)]
        );
        assert_eq!(spans.of(i64::MAX), Some(23), "a clock was set back");
        let young = HistoryPage { since_ms: None, points: 10 }.spans(86_400_000 - 99, 86_400_000);
        assert_eq!((young.since_ms, young.step_ms), (86_400_000 - 99, 10));
        let nothing = HistoryPage { since_ms: Some(10), points: 5 }.spans(0, 3);
        assert_eq!((nothing.of(3), nothing.of(10)), (None, Some(0)));
    }

    proptest! {
        #[test]
        fn no_moment_panics(since in any::<i64>(), until in any::<i64>(), at in any::<i64>(), points in 1..1_001_u32) {
            let spans = HistoryPage { since_ms: Some(since), points }.spans(since, until);
            prop_assert!(spans.of(at).is_none_or(|span| span < points));
            prop_assert_eq!(spans.of(at).is_none(), at < since || at.checked_sub(since).is_none());
        }
    }
}
