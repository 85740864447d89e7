//! What the engine asks of the edges; nothing waits for it inside the engine.

use std::sync::Arc;

use crate::model::{EndNotification, JobId};

/// One request to an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Find out the rack of this host and send [`Event::RackResolved`](super::Event::RackResolved).
    ResolveRack {
        /// The host.
        host: Arc<str>,
    },
    /// The job is over and all trackers know: remove its system directory, and its staging directory if one is named.
    RemoveJobFiles {
        /// The job.
        job: JobId,
        /// The staging directory, unless the job asked to keep it.
        submit_dir: Option<String>,
    },
    /// The job is over, though trackers still read its token: no other JobTracker must take it in.
    RemoveJobInfo {
        /// The job.
        job: JobId,
    },
    /// The job is over: call the URL that its owner named.
    NotifyEnd {
        /// The job.
        job: JobId,
        /// Whom to call, everything filled in, and how hard to try.
        notification: EndNotification,
    },
    /// The budgets have changed: write their image.
    WriteBudgetImage,
    /// A line for the operator's log.
    Log {
        /// How much it matters.
        level: LogLevel,
        /// The line.
        text: String,
    },
}

// === impl Effect ===

impl Effect {
    /// Whether it may happen only once everything that led to it is durable: files that are gone do not come back, nobody
    /// is told of an end that did not last, and the budget file must never show what the ledger does not know.
    pub fn needs_facts(&self) -> bool {
        matches!(
            self,
            Effect::RemoveJobFiles { .. }
                | Effect::RemoveJobInfo { .. }
                | Effect::NotifyEnd { .. }
                | Effect::WriteBudgetImage
        )
    }
}

/// How much a log line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Worth knowing.
    Info,
    /// Worth looking at.
    Warning,
}
