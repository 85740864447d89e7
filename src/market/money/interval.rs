//! An interval between two ticks: the slots that a queue has bought for it, and the charge at its end.

use serde::{Deserialize, Serialize};

use crate::model::{Credits, JobId, Kind, PerKind, PerPool};

use super::allocation::{RoundingRemainder, total};
use super::metered::{is_default, total_ms};
use super::share::Share;

/// The open interval of an active queue, as its tick opened it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// The queue's share of the cluster and, in it, the rate that the interval will be charged at; 0 if not funded.
    pub share: Share,
    /// Slots that the queue pays for if it uses them. Containers may use all that maps and reduces leave of theirs too:
    /// see [`PerPool::left_for_containers`].
    pub quota: PerPool<u32>,
    pub remainder: PerPool<RoundingRemainder>,
    /// Slots used within the quota when the previous interval closed.
    pub used: u64,
    /// Tasks and containers that waited then.
    pub pending: u64,
    /// The job whose order set the rate; none: its owner's bid did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_order: Option<JobId>,
    /// The owner's bid where an order set the rate: the job of the order pays the difference alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_rate: Option<Credits>,
    /// The most slots that the balance could pay for when it was opened; none: it was stored before that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_paid: Option<u32>,
    /// Intervals up to the one before it that sold slots in vain: the queue held less than a tenth, while map slots were free
    /// or its reduces could not run, since it last held more.
    #[serde(default, skip_serializing_if = "is_default")]
    pub in_vain: PerKind<u8>,
}

impl Interval {
    /// The most slots that it can be charged for at a time.
    pub(super) fn payable(&self) -> u64 {
        self.most_paid.map_or(total(self.quota), u64::from)
    }

    /// The same with this one, in which so much was held within the quota of what was sold, slot-milliseconds. Maps wait in
    /// vain only while slots are free: a setup before them may wait for one that others hold. Reduces do where fewer than were
    /// sold could run at its end, of `want`.
    pub(super) fn in_vain_with(
        &self,
        before: PerKind<u8>,
        within_ms: PerPool<u64>,
        length_ms: u64,
        want: PerPool<u32>,
        had_free_maps: bool,
    ) -> PerKind<u8> {
        let with = |kind: Kind| match (self.quota[kind], kind) {
            (0, _) => before[kind],
            (sold, _) if within_ms[kind] > tenth_ms(sold.into(), length_ms) => 0,
            (_, Kind::Map) => before[kind].saturating_add(had_free_maps.into()),
            (sold, Kind::Reduce) => before[kind].saturating_add((want[kind] < sold).into()),
        };
        PerKind::new(with(Kind::Map), with(Kind::Reduce))
    }

    /// Whether the queue held more than a tenth of all that was sold to it; none: nothing was.
    pub(super) fn is_used(&self, within_ms: PerPool<u64>, length_ms: u64) -> Option<bool> {
        let sold = total(self.quota);
        (sold > 0).then(|| total_ms(within_ms) > tenth_ms(sold, length_ms))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// Credits for one slot over a whole interval: the rate when the interval was opened.
    pub rate: Credits,
    pub interval_ms: u64,
    /// What was held of what was paid for, slot-milliseconds.
    pub slot_ms: PerPool<u64>,
}

impl Charge {
    /// Rate times slots times their part of the interval, rounded down to a unit.
    pub fn amount(&self) -> Credits {
        self.at(self.rate)
    }

    pub(super) fn at(&self, rate: Credits) -> Credits {
        amount(rate, total_ms(self.slot_ms), self.interval_ms)
    }
}

/// A tenth of an interval of so many slots, slot-milliseconds.
fn tenth_ms(slots: u64, length_ms: u64) -> u64 {
    slots.saturating_mul(length_ms) / 10
}

/// What slots cost that were held for so long, of intervals of that length. Within the range of `i128`: rates and slots are
/// bounded as for an allocation, and the rest of a slot is below one.
pub(super) fn amount(rate: Credits, slot_ms: u64, interval_ms: u64) -> Credits {
    let interval_ms = interval_ms.max(1);
    let (slots, rest_ms) = (slot_ms / interval_ms, slot_ms % interval_ms);
    Credits::from_units(rate.units() * i128::from(slots) + rate.units() * i128::from(rest_ms) / i128::from(interval_ms))
}

/// The most slot-milliseconds that an amount pays for.
pub(super) fn most_slot_ms(amount: Credits, rate: Credits, interval_ms: u64) -> u64 {
    let (units, rate) = (amount.units().max(0), rate.units().max(1));
    let interval_ms = i128::from(interval_ms.max(1));
    let most = (units / rate).saturating_mul(interval_ms).saturating_add(units % rate * interval_ms / rate);
    u64::try_from(most).unwrap_or(u64::MAX)
}
