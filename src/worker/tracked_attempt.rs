//! One attempt as the tracker holds it: its state, and the report on it (1.2.1 `TaskTracker.TaskInProgress`).

use std::sync::Arc;

use crate::model::{AttemptState, Kind};
use crate::wire::{Phase, ReduceProgress, ReportedCounters, Task, TaskStatus};

use super::attempt_handle::AttemptHandle;

/// Between two reports of a running attempt with counters, ms.
const COUNTERS_INTERVAL_MS: i64 = 60_000;

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Well; with the bytes of its map output, if it has one.
    Succeeded {
        /// Bytes of `file.out`.
        output_bytes: Option<u64>,
    },
    /// By its own fault, with words for its diagnostics.
    Failed(String),
    /// As it was told.
    Killed(String),
}

/// An attempt of this tracker.
#[derive(Debug)]
pub struct HeldAttempt {
    /// As it was launched.
    pub task: Arc<Task>,
    /// Shared with its thread.
    pub handle: Arc<AttemptHandle>,
    /// Tells this launch from another of the same id.
    pub launch: u64,
    /// Where it stands.
    pub state: AttemptState,
    /// Whether its thread has been started.
    pub is_started: bool,
    /// Not yet told.
    pub diagnostics: String,
    start_ms: i64,
    finish_ms: i64,
    output_bytes: i64,
    shuffle_finish_ms: i64,
    sort_finish_ms: i64,
    counters_told_ms: i64,
}

// === impl HeldAttempt ===

impl HeldAttempt {
    /// One that was launched just now.
    pub fn new(task: Task, launch: u64) -> Self {
        Self {
            // A task-cleanup attempt keeps the state that it cleans up after.
            state: task.status.state,
            task: Arc::new(task),
            handle: Arc::default(),
            launch,
            is_started: false,
            diagnostics: String::new(),
            start_ms: 0,
            finish_ms: 0,
            output_bytes: -1,
            shuffle_finish_ms: 0,
            sort_finish_ms: 0,
            counters_told_ms: 0,
        }
    }

    /// Which slots it takes.
    pub fn kind(&self) -> Kind {
        self.task.body.kind()
    }

    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        matches!(self.state, AttemptState::Succeeded | AttemptState::Failed | AttemptState::Killed)
    }

    /// Whether it left an output that reduces fetch.
    pub fn output_is_kept(&self) -> bool {
        self.state == AttemptState::Succeeded && self.output_bytes >= 0
    }

    /// Whether it takes a slot in the eyes of the JobTracker.
    pub fn takes_slot(&self) -> bool {
        !self.is_over() && self.state != AttemptState::CommitPending
    }

    /// Its thread has been started.
    pub fn start(&mut self, wall_ms: i64) {
        self.is_started = true;
        self.start_ms = wall_ms;
    }

    /// It has the job's files and runs.
    pub fn run(&mut self) {
        if self.state == AttemptState::Unassigned {
            self.state = AttemptState::Running;
        }
    }

    /// Its work is done; its output waits.
    pub fn wait_for_commit(&mut self) {
        if self.state == AttemptState::Running {
            self.state = AttemptState::CommitPending;
        }
    }

    /// It is over.
    pub fn end(&mut self, ending: Ending, wall_ms: i64) {
        if self.is_over() {
            return;
        }
        self.finish_ms = wall_ms;
        let cleans_up_killed = self.task.task_cleanup && self.task.status.state == AttemptState::KilledUnclean;
        let (state, words) = match ending {
            Ending::Succeeded { output_bytes } => {
                self.output_bytes = output_bytes.and_then(|bytes| i64::try_from(bytes).ok()).unwrap_or(-1);
                (AttemptState::Succeeded, String::new())
            }
            Ending::Failed(words) => (AttemptState::Failed, words),
            Ending::Killed(words) => (AttemptState::Killed, words),
        };
        self.state = match state {
            // What a task-cleanup attempt cleans up after is then over as it was.
            _ if cleans_up_killed => AttemptState::Killed,
            _ if self.task.task_cleanup => AttemptState::Failed,
            state => state,
        };
        self.add_diagnostics(&words);
    }

    /// Adds words that are not yet told.
    pub fn add_diagnostics(&mut self, words: &str) {
        if !self.diagnostics.is_empty() && !words.is_empty() {
            self.diagnostics.push('\n');
        }
        self.diagnostics.push_str(words);
    }

    /// Its output, which it had, is gone.
    pub fn lose_output(&mut self, why: &str) {
        if self.state == AttemptState::Succeeded {
            self.state = AttemptState::Failed;
            self.output_bytes = -1;
            self.add_diagnostics(&format!("Map output lost, rescheduling: {why}"));
        }
    }

    /// The report on it; failed fetches are told once.
    pub fn report(&mut self, wall_ms: i64) -> TaskStatus {
        let progress = self.handle.progress();
        let (phase, state_text) = match progress {
            Some(progress) => progress.told(),
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
        let counts = self.state != AttemptState::Running || wall_ms - self.counters_told_ms >= COUNTERS_INTERVAL_MS;
        if counts {
            self.counters_told_ms = wall_ms;
        }
        let counters = progress.map(|progress| ReportedCounters::from(&progress.counters().snapshot()));
        TaskStatus {
            attempt: self.task.status.attempt,
            progress: share,
            num_slots: self.task.num_slots,
            state: self.state,
            diagnostics: std::mem::take(&mut self.diagnostics).into(),
            state_text: state_text.into(),
            // A task-cleanup attempt is told from what it cleans up after by its phase.
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
