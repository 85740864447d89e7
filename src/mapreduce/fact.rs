//! Facts about jobs and attempts: what must survive a restart.

use std::sync::Arc;

use crate::model::{AttemptId, AttemptState, JobId, Priority, RunState};
use crate::scheduler::constraint::{ChangedDeadline, JobEstimate, JobPlan};
use crate::wire::TaskCompletionEvent;

use super::{AttemptRole, CounterValues, JobSpec, KillRequest, SplitTable};

/// An accepted submission: everything needed to run the job after a restart, without any other file.
#[derive(Clone, Debug)]
pub struct AcceptedJob {
    pub id: JobId,
    pub spec: Arc<JobSpec>,
    pub splits: Arc<SplitTable>,
    /// Order of acceptance over all runs of the daemon.
    pub order: u64,
    /// When, epoch ms.
    pub submit_ms: i64,
    /// Content of the job's `jobToken` file. Secret.
    pub token_file: Arc<[u8]>,
    /// The lowest number that a new attempt may get; the numbers below it may be in use.
    pub first_attempt: i32,
    /// What is believed of its costs.
    pub estimate: JobEstimate,
    /// What keeps its deadline; none: it has none, or nothing was promised.
    pub plan: Option<JobPlan>,
    /// Its job.xml, deflated, for its history. Empty: none, or it is in the store.
    pub job_xml: Arc<[u8]>,
}

/// Approximate memory of a job beside its tasks, bytes, with a token file of that length.
pub(crate) fn job_bytes(spec: &JobSpec, splits: &SplitTable, token_file_bytes: usize) -> u64 {
    (spec.bytes() + splits.bytes() + token_file_bytes) as u64
}

impl AcceptedJob {
    /// Its deadline as it was tested, if slots were promised to keep it.
    pub(crate) fn tested_deadline(&self) -> Option<ChangedDeadline> {
        self.plan.map(|plan| ChangedDeadline { spec: self.spec.deadline.clone(), plan: Some(plan) })
    }

    pub(crate) fn bytes(&self) -> u64 {
        job_bytes(&self.spec, &self.splits, self.token_file.len())
    }
}

#[derive(Clone, Debug)]
pub struct EndedAttempt {
    pub attempt: AttemptId,
    /// A terminal or UNCLEAN state.
    pub state: AttemptState,
    /// When its process started, epoch ms by the tracker's clock; 0 = never.
    pub start_ms: i64,
    /// When it ended, epoch ms.
    pub finish_ms: i64,
    /// When copying ended (reduces), epoch ms; 0 = not.
    pub shuffle_finish_ms: i64,
    /// When merging ended (reduces), epoch ms; 0 = not.
    pub sort_finish_ms: i64,
    /// Bytes of a map's output; -1 = unknown.
    pub output_bytes: i64,
    pub diagnostics: String,
    pub state_text: String,
    pub counters: Option<CounterValues>,
}

#[derive(Clone, Debug)]
pub enum JobFact {
    Accepted(Box<AcceptedJob>),
    Running {
        job: JobId,
        /// When, epoch ms.
        at_ms: i64,
    },
    /// A job's end was decided (kill or failure); its cleanup is still to run.
    Ending {
        job: JobId,
        /// FAILED or KILLED.
        outcome: RunState,
        reason: String,
        /// When, epoch ms.
        at_ms: i64,
    },
    Ended {
        job: JobId,
        /// SUCCEEDED, FAILED or KILLED.
        state: RunState,
        /// When, epoch ms.
        finish_ms: i64,
        /// Why it failed, or empty.
        failure_info: String,
        counters: CounterValues,
    },
    Priority {
        job: JobId,
        priority: Priority,
    },
    PoolSet {
        job: JobId,
        pool: Arc<str>,
    },
    DeadlineSet {
        job: JobId,
        deadline: Arc<ChangedDeadline>,
        /// When, epoch ms.
        at_ms: i64,
    },
    /// Something else is believed of a job's costs.
    Estimated {
        job: JobId,
        estimate: JobEstimate,
    },
    AttemptLaunched {
        attempt: AttemptId,
        role: AttemptRole,
        tracker: Arc<str>,
        /// The id of the response that carries the launch.
        response_id: i16,
        /// Slots that it takes there.
        slots: u32,
        /// When, epoch ms.
        at_ms: i64,
    },
    AttemptEnded(Box<EndedAttempt>),
    /// A live attempt has reported what its tracker will not repeat.
    AttemptReported {
        attempt: AttemptId,
        /// All its diagnostics so far.
        diagnostics: String,
        /// Maps whose output it could not fetch since its last report.
        failed_fetches: Vec<AttemptId>,
    },
    /// A user requested an attempt's end, or its tracker is ordered to kill it for another queue.
    AttemptKillRequested {
        attempt: AttemptId,
        /// How it ends, and at whose request.
        request: KillRequest,
    },
    /// The attempt, and no other of its task, has permission to commit.
    CommitGranted {
        attempt: AttemptId,
    },
    /// The attempt's task-cleanup was lost with its tracker, and waits for another one; a request for its end is over.
    TaskCleanupLost {
        attempt: AttemptId,
    },
    /// The job ran under another JobTracker and restarts from scratch: its earlier progress is discarded.
    Restarted {
        job: JobId,
        /// The lowest number of its new attempts.
        first_attempt: i32,
        /// Current content of its `jobToken` file. Secret.
        token_file: Arc<[u8]>,
    },
    /// The job has unknown attempts: new ones are numbered above them.
    AttemptBlockSkipped {
        job: JobId,
        /// The lowest number of its new attempts.
        first_attempt: i32,
    },
    /// A completion event was appended, or an earlier one replaced.
    CompletionEvent {
        job: JobId,
        /// The event; its id is its index.
        event: TaskCompletionEvent,
    },
}

impl JobFact {
    pub(crate) fn job(&self) -> JobId {
        match self {
            JobFact::Accepted(accepted) => accepted.id,
            JobFact::Running { job, .. }
            | JobFact::Ending { job, .. }
            | JobFact::Ended { job, .. }
            | JobFact::Priority { job, .. }
            | JobFact::PoolSet { job, .. }
            | JobFact::DeadlineSet { job, .. }
            | JobFact::Estimated { job, .. }
            | JobFact::Restarted { job, .. }
            | JobFact::AttemptBlockSkipped { job, .. }
            | JobFact::CompletionEvent { job, .. } => *job,
            JobFact::AttemptLaunched { attempt, .. }
            | JobFact::AttemptReported { attempt, .. }
            | JobFact::AttemptKillRequested { attempt, .. }
            | JobFact::CommitGranted { attempt }
            | JobFact::TaskCleanupLost { attempt } => attempt.task.job,
            JobFact::AttemptEnded(ended) => ended.attempt.task.job,
        }
    }
}
