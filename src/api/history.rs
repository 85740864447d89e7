//! Price and spending over time, in spans of equal length. Old ticks and old ledger rows are summarized, so older spans
//! hold less detail.

use serde::{Deserialize, Serialize};

use crate::model::{Credits, QueueName};

/// The price over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceHistory {
    /// Length of a span, ms.
    pub step_ms: u64,
    /// The spans that contain ticks, newest last.
    pub points: Vec<PricePoint>,
}

/// The prices of one span.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PricePoint {
    /// Time of the span's last tick, epoch ms.
    pub(crate) time_ms: i64,
    pub(crate) tick: u64,
    pub(crate) price: Credits,
    pub(crate) low: Credits,
    pub(crate) high: Credits,
}

/// What a queue has paid over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpendingHistory {
    /// The queue.
    pub queue: QueueName,
    /// Length of a span, ms.
    pub step_ms: u64,
    /// The spans that contain charges, newest last.
    pub points: Vec<SpendingPoint>,
}

/// What a queue has paid in one span.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpendingPoint {
    /// Time of the last charge, epoch ms; a day's sum has the last millisecond of the day.
    pub(crate) time_ms: i64,
    pub(crate) spent: Credits,
    /// Number of intervals paid for.
    pub(crate) intervals: u64,
    /// Map slots paid for, times the milliseconds for which they were held.
    #[serde(default)]
    pub(crate) map_slot_ms: u64,
    #[serde(default)]
    pub(crate) reduce_slot_ms: u64,
    #[serde(default)]
    pub(crate) container_slot_ms: u64,
    /// Map slots paid for before charges went by time, summed over the intervals.
    pub(crate) map_slots: u64,
    pub(crate) reduce_slots: u64,
    #[serde(default)]
    pub(crate) container_slots: u64,
    /// The rate, if all charges had the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<Credits>,
}

impl PricePoint {
    /// A span that contains one tick.
    pub fn of(tick: u64, time_ms: i64, price: Credits) -> PricePoint {
        PricePoint { time_ms, tick, price, low: price, high: price }
    }

    /// Adds an earlier tick of the same span.
    pub(crate) fn add_earlier(&mut self, price: Credits) {
        self.low = self.low.min(price);
        self.high = self.high.max(price);
    }
}

impl SpendingPoint {
    /// Adds earlier charges of the same span; returns false and changes nothing if the sum is out of range.
    pub(crate) fn add_earlier(&mut self, earlier: &SpendingPoint) -> bool {
        let Some(spent) = self.spent.checked_add(earlier.spent) else { return false };
        self.spent = spent;
        self.intervals = self.intervals.saturating_add(earlier.intervals);
        self.map_slot_ms = self.map_slot_ms.saturating_add(earlier.map_slot_ms);
        self.reduce_slot_ms = self.reduce_slot_ms.saturating_add(earlier.reduce_slot_ms);
        self.container_slot_ms = self.container_slot_ms.saturating_add(earlier.container_slot_ms);
        self.map_slots = self.map_slots.saturating_add(earlier.map_slots);
        self.reduce_slots = self.reduce_slots.saturating_add(earlier.reduce_slots);
        self.container_slots = self.container_slots.saturating_add(earlier.container_slots);
        self.rate = self.rate.filter(|_| self.rate == earlier.rate);
        true
    }
}
