//! What queues were sold at the last ticks of the market. It ends with the process, but for the last tick.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::market::Share;
use crate::model::{PerPool, QueueName};

use super::market_view::MarketView;

/// Ticks that are kept.
const KEPT: usize = 1_000;
/// Queues of a tick, those with the largest shares.
const QUEUES: usize = 100;

/// What queues were sold at a tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TickShares {
    pub(crate) tick: u64,
    /// When, epoch ms.
    pub(crate) time_ms: i64,
    /// Length of the interval that it opened, ms.
    pub(crate) interval_ms: u64,
    /// By name; those without work have none.
    pub(crate) queues: Arc<[TickShare]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TickShare {
    pub(crate) queue: QueueName,
    /// Its part of the cluster and, in it, the rate that it pays.
    pub(crate) share: Share,
    pub(crate) quota: PerPool<u32>,
}

/// The ticks, the oldest first. Cloning it shares all.
#[derive(Clone, Debug, Default)]
pub(super) struct TickLog(Arc<VecDeque<Arc<TickShares>>>);

impl TickLog {
    /// Takes the last tick, if it is new.
    pub(super) fn take(&mut self, market: &MarketView) {
        let Some(tick) = market.tick() else { return };
        let last = self.0.back();
        if last.is_some_and(|last| last.tick == tick.number) {
            return;
        }
        let queues = queues_of(market);
        // Between two ticks that sell the same nothing else is kept.
        let queues = last.map(|last| &last.queues).filter(|last| ***last == *queues).cloned().unwrap_or(queues.into());
        let ticks = Arc::make_mut(&mut self.0);
        if ticks.len() >= KEPT {
            ticks.pop_front();
        }
        let (number, time_ms, interval_ms) = (tick.number, tick.at_ms, tick.interval_ms);
        ticks.push_back(Arc::new(TickShares { tick: number, time_ms, interval_ms, queues }));
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &TickShares> {
        self.0.iter().map(|tick| &**tick)
    }

    #[cfg(test)]
    pub(super) fn of(ticks: Vec<TickShares>) -> Self {
        Self(Arc::new(ticks.into_iter().map(Arc::new).collect()))
    }
}

fn queues_of(market: &MarketView) -> Vec<TickShare> {
    let mut queues: Vec<TickShare> = market
        .accounts()
        .filter_map(|(queue, account)| {
            let interval = account.interval()?;
            Some(TickShare { queue: queue.clone(), share: interval.share, quota: interval.quota })
        })
        .collect();
    if queues.len() > QUEUES {
        queues.sort_by_key(|queue| std::cmp::Reverse(queue.share.rate()));
        queues.truncate(QUEUES);
        queues.sort_by(|left, right| left.queue.cmp(&right.queue));
    }
    queues
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::{Interval, LedgerTotals, MarketFact, QueueTick, Tick};
    use crate::model::{Credits, PerKind};

    fn credits(text: &str) -> Credits {
        text.parse().unwrap()
    }

    /// A tick that sells to these queues at these rates.
    fn tick(number: u64, sold: &[(&str, &str)]) -> MarketFact {
        let price =
            sold.iter().map(|(_, rate)| credits(rate)).fold(Credits::ZERO, |sum, rate| sum.checked_add(rate).unwrap());
        let queue_tick = |(queue, rate): &(&str, &str)| QueueTick {
            queue: queue.parse().unwrap(),
            charge: Default::default(),
            graces: Vec::new(),
            balance: credits("1000"),
            interval: Some(Interval {
                share: Share::new(credits(rate), price),
                quota: PerPool::new(2, 1, 0),
                ..Interval::default()
            }),
            in_vain: PerKind::default(),
            flickers: 0,
        };
        let queue_ticks = sold.iter().map(queue_tick).collect();
        let (ledger, laid, interval_ms) = (LedgerTotals::default(), Vec::new(), 20_000);
        let wall_ms = i64::try_from(number).unwrap() * 20_000;
        MarketFact::Tick(Box::new(Tick { number, wall_ms, interval_ms, price, ledger, queue_ticks, laid }))
    }

    fn account(queue: &str) -> MarketFact {
        let queue = queue.parse().unwrap();
        MarketFact::Account { queue, balance: credits("1000"), rate: credits("1") }
    }

    #[test]
    fn each_tick_is_kept_once_with_the_queues_that_it_sold_to() {
        let (mut market, mut log) = (MarketView::default(), TickLog::default());
        log.take(&market);
        let facts = [account("alice"), account("bob"), tick(1, &[("alice", "1"), ("bob", "3")])];
        facts.iter().for_each(|fact| market.apply(fact));
        log.take(&market);
        log.take(&market);
        for number in 2..=3 {
            market.apply(&tick(number, &[("alice", "1"), ("bob", "3")]));
            log.take(&market);
        }
        market.apply(&tick(4, &[("bob", "3")]));
        log.take(&market);
        let found: Vec<_> = log
            .iter()
            .map(|tick| {
                let queues = tick.queues.iter().map(|sold| format!("{} {}", sold.queue.as_str(), sold.share));
                (tick.tick, tick.time_ms, queues.collect::<Vec<_>>().join(", "))
            })
            .collect();
        let both = "alice 0.250000000, bob 0.750000000";
        let expected = [(1, 20_000, both), (2, 40_000, both), (3, 60_000, both), (4, 80_000, "bob 1.000000000")];
        assert_eq!(found, expected.map(|(tick, time_ms, queues)| (tick, time_ms, queues.to_owned())));
        let ticks: Vec<_> = log.iter().collect();
        assert!(Arc::ptr_eq(&ticks[0].queues, &ticks[2].queues), "what is sold again is kept once");
        for number in 5..=KEPT as u64 + 5 {
            market.apply(&tick(number, &[("bob", "3")]));
            log.take(&market);
        }
        assert_eq!((log.iter().count(), log.iter().next().unwrap().tick), (KEPT, 6));
    }

    #[test]
    fn of_many_queues_those_with_the_largest_shares_are_kept_by_name() {
        let names: Vec<(String, String)> =
            (0..QUEUES + 20).map(|number| (format!("q{number:03}"), (number + 1).to_string())).collect();
        let sold: Vec<(&str, &str)> = names.iter().map(|(queue, rate)| (&**queue, &**rate)).collect();
        let mut market = MarketView::default();
        names.iter().for_each(|(queue, _)| market.apply(&account(queue)));
        market.apply(&tick(1, &sold));
        let queues = queues_of(&market);
        assert_eq!(
            (queues.len(), queues[0].queue.as_str(), queues[QUEUES - 1].queue.as_str()),
            (QUEUES, "q020", "q119")
        );
    }
}
