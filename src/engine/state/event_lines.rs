//! Lines of the Fair scheduler's event log that the current step appends; an edge writes them.

use std::path::Path;
use std::sync::Arc;

use crate::mapreduce::JobFact;
use crate::model::JobId;
use crate::scheduler::fair::event_log::LogEvent;

/// Lines for the event log; none are kept while no event log is wanted.
#[derive(Debug, Default)]
pub(crate) struct EventLines {
    /// Directory of the event log; none: it is not wanted.
    directory: Option<Arc<Path>>,
    lines: Vec<String>,
}

impl EventLines {
    /// Directory of the event log; none while it is not wanted.
    pub(crate) fn directory(&self) -> Option<&Arc<Path>> {
        self.directory.as_ref()
    }

    /// Keeps the lines that follow for an event log in another directory, or none.
    pub(crate) fn set_directory(&mut self, directory: Option<Arc<Path>>) {
        self.directory = directory;
    }

    /// Whether lines are kept; else what an event costs to collect need not be spent.
    pub(crate) fn are_kept(&self) -> bool {
        self.directory.is_some()
    }

    pub(crate) fn append(&mut self, event: &LogEvent<'_>) {
        if self.are_kept() {
            self.lines.push(event.to_string());
        }
    }

    /// Appends what becomes of a job.
    pub(crate) fn append_job_fact(&mut self, job: JobId, fact: &JobFact) {
        let event = match fact {
            JobFact::Accepted(_) => LogEvent::JobAdded(job),
            JobFact::Ended { .. } => LogEvent::JobRemoved(job),
            JobFact::Running { .. }
            | JobFact::Priority { .. }
            | JobFact::PoolSet { .. }
            | JobFact::DeadlineSet { .. } => LogEvent::JobUpdated(job),
            _ => return,
        };
        self.append(&event);
    }

    /// Removes and returns the lines, with the directory that they are for; none without any.
    pub(crate) fn take(&mut self) -> Option<(Arc<Path>, Vec<String>)> {
        let directory = self.directory.as_ref().filter(|_| !self.lines.is_empty())?;
        Some((directory.clone(), std::mem::take(&mut self.lines)))
    }
}
