//! One attempt on the tracker: its state and its status report (1.2.1 `TaskTracker.TaskInProgress`).

use std::sync::Arc;

use crate::model::{AttemptId, AttemptState, Kind, WORKER_SHORTAGE};
use crate::streaming::failure::TaskFailure;
use crate::wire::{Phase, ReduceProgress, ReportedCounters, Task, TaskStatus};

use super::attempt_handle::AttemptHandle;

/// Between two reports of a running attempt that include counters, ms.
const COUNTERS_INTERVAL_MS: i64 = 60_000;

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum AttemptOutcome {
    /// With the bytes of its map output, if it has one.
    Succeeded {
        /// Bytes of `file.out`.
        output_bytes: Option<u64>,
    },
    Failed(String),
    /// On request, with the text for its diagnostics.
    Killed(String),
    /// The worker lacked what it needed, which this text names: reported as killed, which counts against nothing.
    Short(String),
}

impl AttemptOutcome {
    /// Of an attempt whose work has returned this.
    pub(crate) fn of(result: Result<Option<u64>, TaskFailure>, attempt: AttemptId, handle: &AttemptHandle) -> Self {
        match result {
            Ok(output_bytes) => Self::Succeeded { output_bytes },
            Err(failure) if handle.is_killed() => Self::Killed(failure.to_string()),
            // Once the attempt is stopped, the reason for the stop is the reason of the failure.
            Err(_) if handle.is_ending() => Self::Failed(handle.end_reason(attempt).to_string()),
            Err(failure) if failure.is_shortage() => Self::Short(failure.to_string()),
            Err(failure) => Self::Failed(failure.to_string()),
        }
    }
}

#[derive(Debug)]
pub(crate) struct TrackedAttempt {
    pub(crate) task: Arc<Task>,
    /// Shared with its thread.
    pub(crate) handle: Arc<AttemptHandle>,
    /// Distinguishes this launch from another of the same id.
    pub(crate) launch: u64,
    /// The worker's health when its thread was started: [`super::node_health::NodeHealth::wave`].
    pub(crate) wave: u64,
    /// The state of the next report.
    pub(crate) state: AttemptState,
    /// Whether its thread has been started.
    pub(crate) is_started: bool,
    /// Not reported yet.
    pub(crate) diagnostics: String,
    start_ms: i64,
    finish_ms: i64,
    output_bytes: i64,
    shuffle_finish_ms: i64,
    sort_finish_ms: i64,
    counters_reported_ms: i64,
}

impl TrackedAttempt {
    pub(crate) fn new(task: Task, launch: u64) -> Self {
        Self {
            // A task-cleanup attempt keeps the state that it cleans up after.
            state: task.status.state,
            task: Arc::new(task),
            handle: Arc::default(),
            launch,
            wave: 0,
            is_started: false,
            diagnostics: String::new(),
            start_ms: 0,
            finish_ms: 0,
            output_bytes: -1,
            shuffle_finish_ms: 0,
            sort_finish_ms: 0,
            counters_reported_ms: 0,
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.task.body.kind()
    }

    /// Slots that it occupies: more than one for a task with much memory.
    pub(crate) fn slots(&self) -> u64 {
        u64::try_from(self.task.num_slots).unwrap_or(0).max(1)
    }

    /// Whether it has succeeded, failed or been killed.
    pub(crate) fn is_finished(&self) -> bool {
        self.state.is_over()
    }

    /// Whether it has an output that reduces fetch.
    pub(crate) fn has_served_output(&self) -> bool {
        self.state == AttemptState::Succeeded && self.output_bytes >= 0
    }

    /// Whether it occupies its slots, as the JobTracker counts them.
    pub(crate) fn occupies_slot(&self) -> bool {
        !self.is_finished() && self.state != AttemptState::CommitPending
    }

    pub(crate) fn mark_started(&mut self, wall_ms: i64) {
        self.is_started = true;
        self.start_ms = wall_ms;
    }

    pub(crate) fn mark_running(&mut self) {
        if self.state == AttemptState::Unassigned {
            self.state = AttemptState::Running;
        }
    }

    /// Its output waits for permission to commit.
    pub(crate) fn mark_commit_pending(&mut self) {
        if self.state == AttemptState::Running {
            self.state = AttemptState::CommitPending;
        }
    }

    pub(crate) fn finish(&mut self, outcome: AttemptOutcome, wall_ms: i64) {
        if self.is_finished() {
            return;
        }
        self.finish_ms = wall_ms;
        let cleans_up_killed = self.task.task_cleanup && self.task.status.state == AttemptState::KilledUnclean;
        let (state, text) = match outcome {
            AttemptOutcome::Succeeded { output_bytes } => {
                self.output_bytes = output_bytes.and_then(|bytes| i64::try_from(bytes).ok()).unwrap_or(-1);
                (AttemptState::Succeeded, String::new())
            }
            AttemptOutcome::Failed(text) => (AttemptState::Failed, text),
            AttemptOutcome::Killed(text) => (AttemptState::Killed, text),
            AttemptOutcome::Short(text) => (AttemptState::Killed, format!("{WORKER_SHORTAGE}{text}")),
        };
        self.state = match state {
            // A task-cleanup attempt keeps the state of the attempt that it cleans up after.
            _ if cleans_up_killed => AttemptState::Killed,
            _ if self.task.task_cleanup => AttemptState::Failed,
            state => state,
        };
        self.add_diagnostics(&text);
    }

    /// Adds a line to the diagnostics of the next report.
    pub(crate) fn add_diagnostics(&mut self, text: &str) {
        if !self.diagnostics.is_empty() && !text.is_empty() {
            self.diagnostics.push('\n');
        }
        self.diagnostics.push_str(text);
    }

    /// Fails a succeeded map whose output is lost.
    pub(crate) fn fail_for_lost_output(&mut self, why: &str) {
        if self.state == AttemptState::Succeeded {
            self.state = AttemptState::Failed;
            self.output_bytes = -1;
            self.add_diagnostics(&format!("Map output lost, rescheduling: {why}"));
        }
    }

    /// Builds its status report; each failed fetch is reported once.
    pub(crate) fn build_report(&mut self, wall_ms: i64) -> TaskStatus {
        let progress = self.handle.progress();
        let (phase, state_text) = match progress {
            Some(progress) => progress.status(),
            None => (self.task.status.phase, "initializing".to_owned()),
        };
        if matches!(phase, Phase::Sort | Phase::Reduce) && self.shuffle_finish_ms == 0 {
            self.shuffle_finish_ms = wall_ms;
        }
        if phase == Phase::Reduce && self.sort_finish_ms == 0 {
            self.sort_finish_ms = wall_ms;
        }
        let share = match (self.state, progress) {
            (AttemptState::Succeeded, _) => 1.0,
            (AttemptState::Failed | AttemptState::Killed, _) | (_, None) => 0.0,
            (_, Some(progress)) => progress.done_thousandths() as f32 / 1000.0,
        };
        let counts = self.state != AttemptState::Running || wall_ms - self.counters_reported_ms >= COUNTERS_INTERVAL_MS;
        if counts {
            self.counters_reported_ms = wall_ms;
        }
        let counters = progress.map(|progress| ReportedCounters::from(&progress.counters().snapshot()));
        TaskStatus {
            attempt: self.task.status.attempt,
            progress: share,
            num_slots: self.task.num_slots,
            state: self.state,
            diagnostics: std::mem::take(&mut self.diagnostics).into(),
            state_text: state_text.into(),
            // The phase distinguishes a task-cleanup attempt from the one that it cleans up after.
            phase: if self.task.task_cleanup { Phase::Cleanup } else { phase },
            start_ms: self.start_ms,
            finish_ms: self.finish_ms,
            output_bytes: self.output_bytes,
            counters: counts.then(|| counters.unwrap_or_default()),
            next_record_range: self.task.status.next_record_range,
            reduce: (self.kind() == Kind::Reduce).then(|| ReduceProgress {
                shuffle_finish_ms: self.shuffle_finish_ms,
                sort_finish_ms: self.sort_finish_ms,
                failed_fetches: progress.map(|progress| progress.take_failed_fetches()).unwrap_or_default(),
            }),
        }
    }
}
