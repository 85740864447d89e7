//! How a queue stands at this moment: what the document's answers show of the last tick, and what they have no word for.

use serde::{Deserialize, Serialize};

use crate::model::PerKind;

use super::allocation::{cost, within};
use super::credits::Credits;
use super::queue_name::QueueName;
use super::quote::lasts_s;
use super::state::Market;
use super::tick::QueueUse;

/// A queue at this moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueStanding {
    /// Its name.
    pub queue: QueueName,
    /// Its balance.
    pub budget: Credits,
    /// The rate that its owner has set, for the next tick.
    pub bid: Credits,
    /// The rate that the open interval will be charged at; 0 when it has none.
    pub rate: Credits,
    /// Its part of the cluster, as a decimal of nine digits.
    pub share: String,
    /// The slots it has a right to.
    pub quota: PerKind<u32>,
    /// The slots it holds.
    pub running: PerKind<u32>,
    /// Tasks that wait.
    pub pending: u64,
    /// How long the balance lasts if it goes on like this, seconds; none when nothing is paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasts_s: Option<u64>,
}

/// Some queues, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standings {
    /// The queues.
    pub queues: Vec<QueueStanding>,
}

// === impl Market: standings ===

impl Market {
    /// How each of `queues` stands, given what runs and waits. Those that do not exist are left out.
    pub fn standings<'a>(
        &self,
        queues: impl IntoIterator<Item = &'a QueueName>,
        usage: &[QueueUse],
        interval_ms: u64,
    ) -> Vec<QueueStanding> {
        let usage: std::collections::BTreeMap<_, _> =
            usage.iter().map(|queue_use| (&queue_use.queue, (queue_use.running, queue_use.pending))).collect();
        let standing = |queue: &'a QueueName| {
            let account = self.account(queue.as_str())?;
            let interval = account.interval().copied().unwrap_or_default();
            let (running, pending) = usage.get(queue).copied().unwrap_or_default();
            let (rate, budget) = (interval.share.rate(), account.balance());
            Some(QueueStanding {
                queue: queue.clone(),
                budget,
                bid: account.bid(),
                rate,
                share: interval.share.to_string(),
                quota: interval.quota,
                running,
                pending,
                lasts_s: lasts_s(budget, cost(rate, within(running, interval.quota)), interval_ms),
            })
        };
        queues.into_iter().filter_map(standing).collect()
    }
}
