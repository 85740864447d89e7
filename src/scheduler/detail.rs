//! What pages show of groups and apps beside their sums: the numbers of the ruling policy.

use super::capacity::{QueueDetail, QueuedJobDetail};
use super::constraint::DeadlineDetail;
use super::fair::pool_detail::{PoolDetail, PooledJobDetail};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GroupDetail {
    /// The policy counts nothing of a group.
    Plain,
    /// A queue with a capacity.
    Queue(Box<QueueDetail>),
    Pool(PoolDetail),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AppDetail {
    /// The policy counts nothing of an app.
    Plain,
    /// A job of a queue with a capacity.
    Queued(QueuedJobDetail),
    Pooled(PooledJobDetail),
    Due(DeadlineDetail),
}
