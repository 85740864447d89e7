//! A decision, as programs and people read it.

use serde::{Deserialize, Serialize};

use crate::model::{ApplicationId, AttemptId, ContainerId, Credits, JobId};

/// What was decided, by the scheduler or by somebody.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Decision {
    /// Rises with time and is never used again.
    pub(crate) number: u64,
    pub(crate) at_ms: i64,
    /// Such as `preempted`.
    pub(crate) kind: &'static str,
    /// The job that it is about; absent, as all that follows: it is about none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) job: Option<JobId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) attempt: Option<AttemptId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) application: Option<ApplicationId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) container: Option<ContainerId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) queue: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) worker: Option<String>,
    pub(crate) text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) numbers: Option<PreemptionNumbers>,
}

/// What a preemption rests on, as of when it was decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct PreemptionNumbers {
    pub(crate) slots: u32,
    /// For how long they had been held, ms.
    pub(crate) age_ms: u64,
    /// For how long work was done in them that is lost, ms.
    pub(crate) lost_ms: u64,
    /// What its queue paid for a slot over a whole interval; absent: no market ruled, or it is private.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<Credits>,
    /// The queues or pools that lacked slots due to them, the one that lacked most first; absent: it is private.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) short: Option<Vec<Claimant>>,
}

/// A queue or pool that lacked slots due to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claimant {
    pub(crate) queue: String,
    /// Slots that it lacked.
    pub(crate) missing: u32,
    /// What it paid for a slot over a whole interval; absent: no market ruled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<Credits>,
}
