//! Requests to the edges; the engine never waits for their outcome.

use std::path::Path;
use std::sync::Arc;

use crate::api::SwitchPlan;
use crate::model::{ApplicationId, BrokenInvariant, EndNotification, JobId};

use super::audit_entry::AuditEntry;
use super::job_summary::JobSummary;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Resolve the rack of this host and send [`Event::RackResolved`](crate::engine::Event::RackResolved).
    ResolveRack {
        host: Arc<str>,
    },
    /// The job is complete and no tracker needs it: remove its system directory, and its staging directory if given.
    RemoveJobFiles {
        job: JobId,
        /// The staging directory, unless the job keeps it.
        submit_dir: Option<String>,
    },
    /// The job is complete, though trackers still read its token: remove `job-info`, so that no other JobTracker recovers it.
    RemoveJobInfo {
        job: JobId,
    },
    /// The job is complete: call the notification URL of its owner.
    NotifyEnd {
        job: JobId,
        /// The URL with all variables replaced, and the retry policy.
        notification: EndNotification,
    },
    /// The job is over: write its history and send [`Event::HistoryWritten`](crate::engine::Event::HistoryWritten).
    WriteHistory {
        job: JobId,
    },
    /// The job is over: write this summary of it to the log.
    SummarizeJob(Box<JobSummary>),
    /// The budgets have changed: write the budget file.
    WriteBudgetImage,
    /// An invariant is broken: count it, log its place once, show it as health.
    ReportBrokenInvariant(BrokenInvariant),
    /// Another scheduler rules: show whether it is the market.
    ShowScheduler,
    /// The market's tick has come that a switch waited for: notify the operator of what it did, or why it was refused.
    EndWait(Box<SwitchPlan>),
    /// Append lines to the event log of the Fair scheduler.
    AppendToEventLog {
        directory: Arc<Path>,
        /// When they were appended, wall clock, ms.
        wall_ms: i64,
        lines: Vec<String>,
    },
    /// An application has a container or a status that no answer has, or another version: requests that wait for it ask again.
    ApplicationHasNews(ApplicationId),
    /// A worker has something to do: a beat of it that waits asks again.
    WorkerHasNews {
        tracker: Arc<str>,
    },
    Audit(AuditEntry),
    Log {
        level: LogLevel,
        text: String,
    },
}

impl Effect {
    /// Whether the effect must wait until all facts before it are durable: a crash must not undo the end of a job whose
    /// files were removed or whose end was notified or written down, nor a balance that the budget file shows.
    pub(crate) fn needs_facts(&self) -> bool {
        matches!(
            self,
            Effect::RemoveJobFiles { .. }
                | Effect::RemoveJobInfo { .. }
                | Effect::NotifyEnd { .. }
                | Effect::WriteHistory { .. }
                | Effect::SummarizeJob(_)
                | Effect::WriteBudgetImage
                | Effect::ShowScheduler
                | Effect::EndWait(_)
                | Effect::Audit(AuditEntry { is_denied: false, .. })
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    Info,
    /// The operator should look at it.
    Warning,
}
