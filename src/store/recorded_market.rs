//! Reads what moved the market in a stretch of time.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Row;

use crate::market::{LedgerAccount, Reason};
use crate::model::{Credits, JobId, QueueName};
use crate::sim::what_if::{MarketChange, RecordedJob, RecordedMarket, RecordedOrder};

use super::error::StoreError;
use super::loaded_market::{LEDGER, LedgerRow, units};
use super::loader::Loader;

const BIDS: &str = "SELECT wall_ms, queue, rate_units FROM bid_change ORDER BY number";
const ORDERS: &str =
    "SELECT wall_ms, job, deadline_ms, max_rate_units, max_cost_units FROM order_change ORDER BY number";

/// The market from `start_ms` on, epoch ms; none where no queue ever had money or a bid. Jobs without a deadline of their
/// own get the one of their last order. Bids and orders are as old as
/// the tick before them: they count from the next one on.
pub(super) fn load(
    loader: &Loader<'_>,
    start_ms: i64,
    jobs: &mut [RecordedJob],
) -> Result<Option<RecordedMarket>, StoreError> {
    let mut market = RecordedMarket::default();
    load_bids(loader, start_ms, &mut market)?;
    load_money(loader, start_ms, &mut market)?;
    load_orders(loader, jobs, &mut market)?;
    market.changes.sort_by_key(|(at_ms, _)| *at_ms);
    Ok((!market.accounts.is_empty() || !market.changes.is_empty()).then_some(market))
}

fn load_bids(loader: &Loader<'_>, start_ms: i64, market: &mut RecordedMarket) -> Result<(), StoreError> {
    let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?));
    for (tick_ms, queue, rate) in loader.rows(BIDS, read)? {
        let queue: QueueName = loader.parse("bid_change.queue", queue, "a queue's name")?;
        let rate = units(loader, "bid_change.rate_units", rate)?;
        if tick_ms < start_ms {
            market.accounts.entry(queue).or_default().1 = rate;
        } else {
            market.changes.push((tick_ms.saturating_add(1), MarketChange::Bid(queue, rate)));
        }
    }
    Ok(())
}

fn load_money(loader: &Loader<'_>, start_ms: i64, market: &mut RecordedMarket) -> Result<(), StoreError> {
    let mut balances: BTreeMap<QueueName, Credits> = BTreeMap::new();
    let mut closed = BTreeSet::new();
    for row in loader.rows(&format!("{LEDGER} ORDER BY number"), LedgerRow::read)? {
        let entry = row.entry(loader)?;
        let taken = Credits::from_units(-entry.amount.units());
        let is_charge = matches!(entry.reason, Reason::Charge { .. } | Reason::SampledCharge { .. });
        // A transfer moves the money of two queues.
        for (side, amount) in [(&entry.debit, taken), (&entry.credit, entry.amount)] {
            let LedgerAccount::Queue(queue) = side else { continue };
            if entry.wall_ms <= start_ms {
                let balance = balances.entry(queue.clone()).or_default();
                // Far below what the units of any balance may be.
                *balance = Credits::from_units(balance.units() + amount.units());
                match entry.reason {
                    Reason::Closing => closed.insert(queue.clone()),
                    _ => closed.remove(queue),
                };
            } else if !is_charge {
                market.changes.push((entry.wall_ms, MarketChange::Money(queue.clone(), amount)));
            }
        }
    }
    for (queue, balance) in balances.into_iter().filter(|(queue, _)| !closed.contains(queue)) {
        market.accounts.entry(queue).or_default().0 = balance.max(Credits::ZERO);
    }
    Ok(())
}

fn load_orders(loader: &Loader<'_>, jobs: &mut [RecordedJob], market: &mut RecordedMarket) -> Result<(), StoreError> {
    let mut jobs: BTreeMap<JobId, &mut RecordedJob> = jobs.iter_mut().map(|job| (job.id, job)).collect();
    let mut placed_at_once = BTreeSet::new();
    let read = |row: &Row<'_>| {
        let texts: [Option<String>; 2] = [row.get(3)?, row.get(4)?];
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, Option<i64>>(2)?, texts))
    };
    for (tick_ms, job, deadline_ms, [max_rate, max_cost]) in loader.rows(ORDERS, read)? {
        let job: JobId = loader.parse("order_change.job", job, "a job id")?;
        let Some(recorded) = jobs.get_mut(&job) else { continue };
        if recorded.spec.deadline.is_none() {
            recorded.deadline_ms = deadline_ms.or(recorded.deadline_ms);
        }
        // The first one of a job that came with terms is its own.
        if recorded.spec.order.is_some() && placed_at_once.insert(job) {
            continue;
        }
        let change = match (deadline_ms, max_rate) {
            (Some(deadline_ms), Some(max_rate)) => MarketChange::Order(RecordedOrder {
                job,
                deadline_ms,
                max_rate: units(loader, "order_change.max_rate_units", max_rate)?,
                max_cost: max_cost.map(|text| units(loader, "order_change.max_cost_units", text)).transpose()?,
            }),
            _ => MarketChange::OrderTakenBack(job),
        };
        market.changes.push((tick_ms.max(recorded.submit_ms).saturating_add(1), change));
    }
    Ok(())
}
