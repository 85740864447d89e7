//! What pages show of groups and apps beside their sums: the numbers of the ruling policy.

use super::capacity::{QueueDetail, QueuedJobDetail};
use super::constraint::DeadlineDetail;
use super::fair::pool_detail::{PoolDetail, PooledJobDetail};

/// A group under the ruling policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupDetail {
    /// The policy counts nothing of a group.
    Plain,
    /// A queue with a capacity.
    Queue(Box<QueueDetail>),
    /// A pool.
    Pool(PoolDetail),
}

/// An app under the ruling policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppDetail {
    /// The policy counts nothing of an app.
    Plain,
    /// A job of a queue with a capacity.
    Queued(QueuedJobDetail),
    /// A job of a pool.
    Pooled(PooledJobDetail),
    /// A job with a deadline.
    Due(DeadlineDetail),
}
