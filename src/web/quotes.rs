//! What a rate would buy at the next tick: for a queue by the tick's own code on what facts have made of the market, for a
//! buyer that bids nothing now as its part of the price.

use serde::Serialize;

use crate::engine::ClusterSnapshot;
use crate::market::{Quote, Share};
use crate::model::{Capability, Credits, PerKind, QueueName};
use crate::views::LastTick;

/// What a rate would buy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct QuoteRow {
    /// None: a buyer that bids nothing now.
    pub(super) queue: Option<QueueName>,
    pub(super) rate: Credits,
    pub(super) price: Credits,
    pub(super) share: String,
    pub(super) map_slots: u32,
    pub(super) reduce_slots: u32,
    pub(super) container_slots: Option<u32>,
    /// Whether the queue can pay one slot over one interval.
    pub(super) is_funded: Option<bool>,
    /// The balance once the open interval is charged.
    pub(super) budget: Option<Credits>,
    /// When the balance is spent with all of these slots in use, epoch ms; none: nothing is charged.
    pub(super) full_use_empty_ms: Option<i64>,
    /// The same at the present use.
    pub(super) present_use_empty_ms: Option<i64>,
}

impl QuoteRow {
    /// Of a queue; the money that a rate costs begins to be spent at the tick after the last one.
    pub(super) fn of(quote: &Quote, tick: LastTick) -> Self {
        let next_tick_ms = tick.at_ms.saturating_add_unsigned(tick.interval_ms);
        let empty_ms =
            |lasts_s: Option<u64>| Some(next_tick_ms.saturating_add_unsigned(lasts_s?.saturating_mul(1_000)));
        Self {
            queue: Some(quote.queue.clone()),
            rate: quote.rate,
            price: quote.price,
            share: quote.share.to_string(),
            map_slots: quote.quota.map,
            reduce_slots: quote.quota.reduce,
            container_slots: Some(quote.quota.container),
            is_funded: Some(quote.is_funded),
            budget: Some(quote.balance),
            full_use_empty_ms: empty_ms(quote.full_use_lasts_s),
            present_use_empty_ms: empty_ms(quote.present_use_lasts_s),
        }
    }

    /// Of a buyer that bids nothing now, if the others stay as they are. A part of a slot is left out: who gets it depends on
    /// what the others bid.
    pub(super) fn of_new_buyer(rate: Credits, price: Credits, slots: PerKind<u32>) -> Self {
        let all = price.checked_add(rate).unwrap_or(Credits::MAX);
        let part = |slots: u32| match all.units() {
            ..=0 => 0,
            all => u32::try_from(rate.units().saturating_mul(slots.into()) / all).unwrap_or(slots),
        };
        Self {
            queue: None,
            rate,
            price: all,
            share: Share::new(rate, all).to_string(),
            map_slots: part(slots.map),
            reduce_slots: part(slots.reduce),
            container_slots: None,
            is_funded: None,
            budget: None,
            full_use_empty_ms: None,
            present_use_empty_ms: None,
        }
    }
}

/// Slots for containers beside map and reduce slots, of one slot's worth each: as many as all workers together declare.
pub(super) fn container_slots(overview: &ClusterSnapshot, slot: Capability) -> u32 {
    let Some(containers) = overview.containers.as_ref() else { return 0 };
    let parts = |all: u64, one: u32| all.checked_div(one.into()).unwrap_or(u64::MAX);
    let all = parts(containers.declared_memory_mb, slot.memory_mb).min(parts(containers.declared_vcores, slot.vcores));
    let tasks = u64::from(overview.slots.map) + u64::from(overview.slots.reduce);
    u32::try_from(all.saturating_sub(tasks)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ContainersSnapshot;

    fn credits(text: &str) -> Credits {
        text.parse().unwrap()
    }

    #[test]
    fn a_new_buyer_gets_the_part_of_the_price_that_its_rate_would_be() {
        let row = QuoteRow::of_new_buyer(credits("0.5"), credits("1.5"), PerKind::new(10, 3));
        assert_eq!((row.share.as_str(), row.price), ("0.250000000", credits("2")));
        assert_eq!((row.map_slots, row.reduce_slots), (2, 0));
        let row = QuoteRow::of_new_buyer(credits("1"), Credits::ZERO, PerKind::new(10, 3));
        assert_eq!((row.share.as_str(), row.map_slots, row.reduce_slots), ("1.000000000", 10, 3));
        assert_eq!(QuoteRow::of_new_buyer(Credits::ZERO, Credits::ZERO, PerKind::new(10, 3)).map_slots, 0);
    }

    #[test]
    fn slots_for_containers_are_what_memory_and_cores_make_beside_tasks() {
        let containers = ContainersSnapshot { declared_memory_mb: 10_240, declared_vcores: 8, ..Default::default() };
        let overview =
            ClusterSnapshot { slots: PerKind::new(3, 1), containers: Some(containers), ..ClusterSnapshot::default() };
        assert_eq!(container_slots(&overview, Capability::new(1_024, 1)), 4);
        assert_eq!(container_slots(&overview, Capability::new(2_048, 1)), 1);
        assert_eq!(container_slots(&ClusterSnapshot::default(), Capability::new(1_024, 1)), 0);
    }
}
