//! Jobs as a restart loads them: the result of the facts about them.

use std::sync::Arc;

use crate::model::{AttemptId, AttemptState, JobId, Priority};
use crate::scheduler::constraint::ChangedDeadline;
use crate::wire::CompletionStatus;

use super::job_state::{Ending, JobOutcome};
use super::{AcceptedJob, AttemptRole, CounterValues, JobSpec, KillRequest};

#[derive(Clone, Debug)]
pub struct StoredJob {
    pub accepted: AcceptedJob,
    /// Current priority; the specification has the submitted one.
    pub priority: Priority,
    /// The pool it was moved to.
    pub pool: Option<Arc<str>>,
    pub changed_deadline: Option<Arc<ChangedDeadline>>,
    pub is_running: bool,
    pub ending: Option<Ending>,
    pub attempts: Vec<StoredAttempt>,
    /// Its completion events; the index is the event's id.
    pub events: Vec<StoredEvent>,
}

/// An attempt. Reports before its end, except diagnostics, are not facts and not stored.
#[derive(Clone, Debug)]
pub struct StoredAttempt {
    pub id: AttemptId,
    pub role: AttemptRole,
    pub tracker: Arc<str>,
    /// Launch time, epoch ms.
    pub launch_ms: i64,
    pub slots: u32,
    /// Name of the last tracker that its task-cleanup was launched on.
    pub cleanup_tracker: Option<Arc<str>>,
    /// RUNNING for all live ones.
    pub state: AttemptState,
    pub kill_request: Option<KillRequest>,
    pub commit_granted: bool,
    /// When its process started, epoch ms; 0 = never, or not yet reported.
    pub start_ms: i64,
    /// When it ended, epoch ms; 0 = not.
    pub finish_ms: i64,
    /// When copying ended (reduces), epoch ms; 0 = not.
    pub shuffle_finish_ms: i64,
    /// When merging ended (reduces), epoch ms; 0 = not.
    pub sort_finish_ms: i64,
    /// Bytes of a map's output; -1 = unknown.
    pub output_bytes: i64,
    pub diagnostics: String,
    pub state_text: String,
    /// Its counters, if it has ended with any.
    pub counters: Option<CounterValues>,
}

/// An entry of the list that shuffling reduces follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    pub attempt: AttemptId,
    pub status: CompletionStatus,
    /// `http://<host>:<port>` of its tracker.
    pub http: Arc<str>,
    /// Run time of a success, ms; else 0.
    pub run_time_ms: i32,
}

#[derive(Clone, Debug)]
pub struct FinishedJob {
    pub id: JobId,
    pub spec: Arc<JobSpec>,
    /// When, epoch ms.
    pub submit_ms: i64,
    pub priority: Priority,
    /// Whether its setup had succeeded.
    pub has_run: bool,
    pub outcome: JobOutcome,
    /// When, epoch ms.
    pub finish_ms: i64,
    /// Why it failed, or empty.
    pub failure_info: String,
    pub counters: Option<CounterValues>,
}

impl StoredJob {
    /// Whether it had begun. One without any launch may wait for its begin again: nothing of it is lost.
    pub(crate) fn has_begun(&self) -> bool {
        self.is_running || self.ending.is_some() || !self.attempts.is_empty()
    }
}

impl StoredAttempt {
    pub fn is_live(&self) -> bool {
        matches!(self.state, AttemptState::Unassigned | AttemptState::Running | AttemptState::CommitPending)
    }

    pub fn active_cleanup_tracker(&self) -> Option<&Arc<str>> {
        let is_unclean = matches!(self.state, AttemptState::FailedUnclean | AttemptState::KilledUnclean);
        self.cleanup_tracker.as_ref().filter(|_| is_unclean)
    }
}
