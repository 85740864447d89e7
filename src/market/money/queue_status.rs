//! The live status of queues: the state of the last tick, plus quota, running slots and runway.

use std::collections::BTreeMap;

use crate::api::QueueStatus;
use crate::model::QueueName;

use super::allocation::{cost, within};
use super::quote::lasts_s;
use super::state::Market;
use super::tick::QueueUse;

impl Market {
    /// The live status of each of `queues`, given what runs and waits. Queues that do not exist are left out.
    pub fn live_queue_status<'a>(
        &self,
        queues: impl IntoIterator<Item = &'a QueueName>,
        usage: &[QueueUse],
        interval_ms: u64,
    ) -> Vec<QueueStatus> {
        let usage: BTreeMap<_, _> = usage.iter().map(|queue_use| (&queue_use.queue, queue_use)).collect();
        let status = |queue: &'a QueueName| {
            let account = self.account(queue.as_str())?;
            let interval = account.interval().copied().unwrap_or_default();
            let queue_use = usage.get(queue);
            let (rate, budget) = (interval.share.rate(), account.balance());
            let held = queue_use.map(|queue_use| queue_use.held()).unwrap_or_default();
            Some(QueueStatus {
                queue: queue.clone(),
                budget,
                bid: account.bid(),
                rate,
                share: interval.share.to_string(),
                quota: interval.quota,
                running: held,
                pending: queue_use.map_or(0, |queue_use| queue_use.waiting()),
                cannot_run: None,
                allowance: None,
                orders: Vec::new(),
                lasts_s: lasts_s(budget, cost(rate, within(held, interval.quota)), interval_ms),
            })
        };
        queues.into_iter().filter_map(status).collect()
    }
}
