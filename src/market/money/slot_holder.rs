//! What holds slots that a queue pays for: a job or an application.

use std::fmt;

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
    pub(crate) fn job(self) -> Option<JobId> {
        match self {
            SlotHolder::Job(job) => Some(job),
            SlotHolder::Application(_) => None,
        }
    }
}

impl fmt::Display for SlotHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SlotHolder::Job(job) => job.fmt(f),
            SlotHolder::Application(application) => application.fmt(f),
        }
    }
}
