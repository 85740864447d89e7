//! Live queue status: the fields of `info`, plus quota, running slots and runway.

use serde::{Deserialize, Serialize};

use crate::model::{Credits, PerPool, QueueName};

use super::order_status::OrderStatus;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueStatus {
    pub queue: QueueName,
    pub budget: Credits,
    /// The rate that its owner has set for the next tick.
    pub bid: Credits,
    /// The rate of the open interval; 0 if none is open.
    pub rate: Credits,
    /// Share of the cluster, as a decimal with nine digits.
    pub share: String,
    /// Slots bought for the open interval. Containers may use what its maps and reduces leave of theirs too.
    pub quota: PerPool<u32>,
    /// Slots that its attempts and containers hold.
    pub running: PerPool<u32>,
    /// Tasks that wait for a slot, and containers that are wanted.
    pub pending: u64,
    /// Why none of its waiting work could run on any connected worker; absent if some could, or nothing waits. It buys nothing
    /// then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cannot_run: Option<String>,
    /// Seconds until the balance is spent at the present use; absent if nothing is charged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasts_s: Option<u64>,
    /// What it gets again and again, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowance: Option<AllowanceStatus>,
    /// Its deadline orders, by job.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub orders: Vec<OrderStatus>,
}

/// Several queues, by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QueueStatuses {
    pub(crate) queues: Vec<QueueStatus>,
}

/// Credits that a queue gets again and again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllowanceStatus {
    pub(crate) credits: Credits,
    /// The length of a period, s.
    pub(crate) every_s: u64,
    /// The balance at which payment stops; absent: it never does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cap: Option<Credits>,
    /// Time until the next payment, s, rounded up.
    pub(crate) next_s: u64,
    /// The administrator who set it.
    pub(crate) by: String,
}
