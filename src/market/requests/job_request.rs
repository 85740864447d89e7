//! What a signed request may want of one job or attempt.

use serde::{Deserialize, Serialize};

use crate::model::{AttemptId, JobId};

/// The operations on a job, each named by a parameter.
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

/// An operation on a job with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobRequest {
    Kill(JobId),
    /// The end of an attempt.
    KillTask {
        attempt: AttemptId,
        should_fail: bool,
    },
    SetPriority {
        job: JobId,
        /// Hadoop's name of the priority, not yet checked.
        priority: String,
    },
    /// Another deadline, or none.
    SetDeadline {
        job: JobId,
        /// The change as written.
        words: DeadlineWords,
    },
    /// Whether anything of it starts.
    Hold {
        job: JobId,
        /// Whether nothing does from now on.
        is_on: bool,
    },
    LogTicket(AttemptId),
}

/// A change of a deadline as written; empty fields are not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeadlineWords {
    /// `deadline`: a duration from now or a time; empty: `clear` is given instead.
    pub(crate) due: String,
    pub(crate) map_time: String,
    pub(crate) reduce_time: String,
    pub(crate) filter_ratio: String,
}

/// A job after a signed request about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobAnswer {
    pub(crate) job: JobId,
    /// The attempt that was asked to end.
    pub(crate) attempt: Option<AttemptId>,
    /// Hadoop's name of its state.
    pub(crate) state: &'static str,
    /// Whether it has begun to end, or has ended.
    pub(crate) is_ending: bool,
    /// Hadoop's name of its priority.
    pub(crate) priority: &'static str,
}

/// Why a signed request about a job was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobRequestError {
    /// No such job in memory.
    #[error("there is no job {0} in memory")]
    UnknownJob(JobId),
    #[error("there is no attempt {0}")]
    UnknownAttempt(AttemptId),
    /// The attempt has ended, or was asked to.
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
    /// The parameter that selects it.
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

    /// Whether its own parameter is an attempt's id.
    pub(crate) const fn is_of_attempt(self) -> bool {
        matches!(self, Self::KillTask | Self::FailTask | Self::LogTicket)
    }
}
