//! Pending submissions.

use crate::mapreduce::{AcceptedJob, JobSpec};

use super::Caller;

/// A submission between its phases.
#[derive(Debug)]
pub(super) enum PendingSubmission {
    /// The edge is reading its files.
    Reading(Caller),
    /// It is valid; the edge is writing its system directory.
    Writing(Box<AcceptedJob>),
}

// === impl PendingSubmission ===

impl PendingSubmission {
    /// The job's specification, once it is read.
    pub(super) fn spec(&self) -> Option<&JobSpec> {
        match self {
            PendingSubmission::Reading(_) => None,
            PendingSubmission::Writing(accepted) => Some(&accepted.spec),
        }
    }

    /// Whether it is for this queue, as far as is known.
    pub(super) fn is_for(&self, queue: &str) -> bool {
        match self {
            PendingSubmission::Reading(_) => false,
            PendingSubmission::Writing(accepted) => accepted.spec.queue == queue,
        }
    }
}
