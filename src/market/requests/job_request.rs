//! What a signed request may want of one job or attempt.

use serde::{Deserialize, Serialize};

use crate::model::{AttemptId, JobId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobRequestKind {
    /// `killJob=job`
    Kill,
    /// `killTask=attempt`
    KillTask,
    /// `failTask=attempt`
    FailTask,
    /// `setJobPriority=job&priority=name`
    SetPriority,
    /// `setJobDeadline=job&deadline=due` and perhaps more, or `&clear`
    SetDeadline,
    /// `holdJob=job`
    Hold,
    /// `releaseJob=job`
    Release,
    /// `attempt=attempt`, which has an address of its own.
    LogTicket,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobRequest {
    Kill(JobId),
    KillTask {
        attempt: AttemptId,
        should_fail: bool,
    },
    SetPriority {
        job: JobId,
        /// Hadoop's name of the priority, not yet checked.
        priority: String,
    },
    SetDeadline {
        job: JobId,
        fields: DeadlineFields,
    },
    Hold {
        job: JobId,
        is_on: bool,
    },
    LogTicket(AttemptId),
}

/// A change of a deadline as written; empty fields are not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeadlineFields {
    /// A duration from now or a time; empty clears the deadline.
    pub(crate) due: String,
    pub(crate) map_time: String,
    pub(crate) reduce_time: String,
    pub(crate) filter_ratio: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobAnswer {
    pub(crate) job: JobId,
    pub(crate) attempt: Option<AttemptId>,
    /// Hadoop's name of its state.
    pub(crate) state: &'static str,
    /// Whether it has begun to end, or has ended.
    pub(crate) is_ending: bool,
    /// Hadoop's name of its priority.
    pub(crate) priority: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobRequestError {
    #[error("there is no job {0} in memory")]
    UnknownJob(JobId),
    #[error("there is no attempt {0}")]
    UnknownAttempt(AttemptId),
    #[error("{0} is not running, or has been asked to end")]
    NotRunning(AttemptId),
    /// A value is wrong, or the change is not possible; the text names it.
    #[error("{0}")]
    Refused(String),
    /// The JobTracker takes no changes now; the text says why.
    #[error("{0}")]
    Unavailable(String),
}

impl JobRequestKind {
    pub(crate) const fn parameter(self) -> &'static str {
        match self {
            Self::Kill => "killJob",
            Self::KillTask => "killTask",
            Self::FailTask => "failTask",
            Self::SetPriority => "setJobPriority",
            Self::SetDeadline => "setJobDeadline",
            Self::Hold => "holdJob",
            Self::Release => "releaseJob",
            Self::LogTicket => "attempt",
        }
    }

    pub(crate) const fn is_change(self) -> bool {
        !matches!(self, Self::LogTicket)
    }

    pub(crate) const fn is_of_attempt(self) -> bool {
        matches!(self, Self::KillTask | Self::FailTask | Self::LogTicket)
    }
}
