//! Deadline orders: standing bids for what a job needs until its deadline.

use serde::{Deserialize, Serialize};

use crate::model::{Credits, JobId};

/// A standing order: as long as it stands, its queue bids the least rate that buys what the job needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    pub(crate) job: JobId,
    /// When it must be done, epoch ms.
    pub(crate) deadline_ms: i64,
    /// The highest rate that it bids.
    pub(crate) max_rate: Credits,
    /// What the job may cost with it; none: whatever it does.
    pub(crate) max_cost: Option<Credits>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderEnd {
    JobOver,
    Passed,
    /// Its owner took it back.
    Unbid,
}
