//! What holds slots that a queue pays for: a job or an application.

use serde::{Deserialize, Serialize};

use crate::model::{ApplicationId, JobId};

/// A job, or an application with its containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SlotHolder {
    Job(JobId),
    Application(ApplicationId),
}

impl SlotHolder {
    /// The job; none: it is an application.
    pub fn job(self) -> Option<JobId> {
        match self {
            SlotHolder::Job(job) => Some(job),
            SlotHolder::Application(_) => None,
        }
    }
}
