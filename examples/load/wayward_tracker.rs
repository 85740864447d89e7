//! A tracker whose tasks end as they are told to, well or badly.

use jobtracker::fake_tracker::{AttemptStep, FakeAttempt, FakeTracker, Role};
use jobtracker::model::{AttemptId, AttemptState, Kind};
use jobtracker::wire::{
    Action, Counter, CounterGroup, Counters, HeartbeatRequest, HeartbeatResponse, Phase, RecordRange, ReduceProgress,
    ReportedCounters, TaskStatus, Text,
};

use crate::steady_tracker::{Slots, usual_resources};

/// A task of such a tracker.
pub type WaywardTask = FakeAttempt<Work>;

/// What is kept about a task.
#[derive(Clone, Debug, Default)]
pub struct Work {
    /// Quarters of it that are done.
    pub quarters: u8,
    /// Maps whose output it could not fetch, not reported yet.
    failed_fetches: Vec<AttemptId>,
    /// Not reported yet.
    diagnostics: &'static str,
}

/// The tracker.
#[derive(Clone, Debug)]
pub struct WaywardTracker {
    /// What it runs and holds.
    pub tracker: FakeTracker<Work>,
    /// Outputs that are gone, not reported yet.
    lost_outputs: Vec<AttemptId>,
    /// Maps whose output went when it lost everything.
    gone: Vec<AttemptId>,
}

/// By the trackers' clocks; no JobTracker compares it with its own.
const START_MS: i64 = 1_795_252_000_000;
const RUN_MS: i64 = 30_000;

// === impl WaywardTracker ===

impl WaywardTracker {
    /// A tracker of that number on that host, that has not called yet.
    pub fn new(number: u32, host: &str, slots: Slots) -> Self {
        let name = format!("tracker_{host}:localhost/127.0.0.1:{}", 20_000 + number);
        let http_port = 50_060 + number.cast_signed();
        let tracker = FakeTracker { http_port, resources: usual_resources(), ..FakeTracker::new(name, host, slots) };
        Self { tracker, lost_outputs: Vec::new(), gone: Vec::new() }
    }

    /// Everything it ran and held is gone; a new process (or with `reinit` the old one) registers with the next heartbeat.
    pub fn restart(&mut self, reinit: bool) {
        self.remember_gone();
        let response_id = self.tracker.response_id;
        self.tracker.restart();
        if reinit {
            (self.tracker.response_id, self.tracker.is_restarted) = (response_id, false);
        }
    }

    /// It is about to lose everything. A map whose end it was about to report may be done for the JobTracker.
    fn remember_gone(&mut self) {
        let had = self.tracker.attempts.iter().filter(|task| task.is_kept() || task.is_output()).map(|task| task.id);
        self.gone.extend(had.chain(self.tracker.outputs.iter().copied()));
        self.gone.append(&mut self.lost_outputs);
    }

    /// The attempts it had, or had the output of, when it last lost everything.
    pub fn forget_lost(&mut self) -> Vec<AttemptId> {
        std::mem::take(&mut self.gone)
    }

    /// Maps whose end it is reporting, or has reported.
    pub fn ended_maps(&self) -> Vec<AttemptId> {
        let ended = self.tracker.attempts.iter().filter(|task| !task.is_kept()).map(|task| task.id);
        ended.filter(|attempt| attempt.task.kind == Kind::Map).chain(self.tracker.outputs.iter().copied()).collect()
    }

    /// Whether its last heartbeat is still to be answered.
    pub fn is_unanswered(&self) -> bool {
        self.tracker.unanswered.is_some()
    }

    /// Reports with the next heartbeat that the output of a map is gone.
    pub fn lose_output(&mut self, attempt: AttemptId) {
        self.tracker.outputs.remove(&attempt);
        self.lost_outputs.push(attempt);
    }

    /// Reports with the next heartbeat that a reduce cannot fetch the output of these maps.
    pub fn fail_fetches(&mut self, reduce: AttemptId, maps: &[AttemptId]) {
        if let Some(task) = self.tracker.attempt_mut(reduce) {
            task.plan.failed_fetches.extend(maps);
        }
    }

    /// The next heartbeat: the last one again when it was not answered, else every task takes its step.
    pub fn heartbeat(&mut self, mut step: impl FnMut(&WaywardTask) -> AttemptStep) -> HeartbeatRequest {
        if let Some(request) = &self.tracker.unanswered {
            return request.clone();
        }
        for task in &mut self.tracker.attempts {
            let step = step(task);
            advance(task, step);
        }
        // The original does not count an attempt that waits for its commit, ours does; neither gives work to one that
        // asks for none.
        let commits = self.tracker.attempts.iter().any(|task| task.state == AttemptState::CommitPending);
        // Losses first: what else is reported may be the end of those who read.
        let mut reports: Vec<TaskStatus> = self.lost_outputs.drain(..).map(lost_output).collect();
        reports.extend(self.tracker.attempts.iter_mut().map(report));
        let mut request = self.tracker.request(reports);
        request.accept_new_tasks &= !commits;
        self.tracker.unanswered = Some(request.clone());
        request
    }

    /// Does what the answer says.
    pub fn obey(&mut self, answer: &HeartbeatResponse) {
        if answer.actions.contains(&Action::ReinitTracker) {
            self.remember_gone();
        }
        for action in &answer.actions {
            if let Action::KillJob(job) = action {
                self.lost_outputs.retain(|output| output.task.job != *job);
            }
        }
        self.tracker.obey(answer, |_| Work::default());
    }
}

/// One step: work takes two quarters before it can end, and only work leaves anything to remove.
fn advance(task: &mut WaywardTask, step: AttemptStep) {
    use AttemptState as S;
    let before = task.state;
    let is_work = task.role == Role::Work;
    let step = match step {
        AttemptStep::Advance if before == S::Running && is_work && task.plan.quarters < 2 => {
            task.plan.quarters += 1;
            AttemptStep::Wait
        }
        AttemptStep::FailUnclean | AttemptStep::DieUnclean if !is_work => AttemptStep::Die,
        step => step,
    };
    task.advance(step);
    let has_failed = matches!(task.state, S::Failed | S::FailedUnclean);
    if task.state != before && has_failed && task.role != Role::TaskCleanup {
        task.plan.diagnostics = "it broke";
    }
}

fn report(task: &mut WaywardTask) -> TaskStatus {
    let runs = matches!(task.state, AttemptState::Unassigned | AttemptState::Running);
    let progress = if runs { 0.25 * f32::from(task.plan.quarters) } else { 1.0 };
    let mut report = status(task.id, task.state, progress);
    if task.role == Role::TaskCleanup {
        report.phase = Phase::Cleanup;
    }
    if task.is_output() {
        report.output_bytes = 1 << 20;
    }
    report.diagnostics = std::mem::take(&mut task.plan.diagnostics).into();
    if let Some(reduce) = &mut report.reduce {
        reduce.failed_fetches = std::mem::take(&mut task.plan.failed_fetches);
    }
    report
}

/// The report that the output of a map is gone.
fn lost_output(attempt: AttemptId) -> TaskStatus {
    let mut report = status(attempt, AttemptState::Failed, 0.0);
    report.diagnostics = "Map output lost, rescheduling: it broke".into();
    report
}

fn status(attempt: AttemptId, state: AttemptState, progress: f32) -> TaskStatus {
    let runs = matches!(state, AttemptState::Unassigned | AttemptState::Running);
    let finish_ms = if runs || state == AttemptState::CommitPending { 0 } else { START_MS + RUN_MS };
    let is_map = attempt.task.kind == Kind::Map;
    TaskStatus {
        attempt,
        progress,
        num_slots: 1,
        state,
        diagnostics: Text::default(),
        state_text: if is_map { "mapping" } else { "reduce > reduce" }.into(),
        phase: if is_map { Phase::Map } else { Phase::Reduce },
        start_ms: if state == AttemptState::Unassigned { 0 } else { START_MS },
        finish_ms,
        // From the setup of a job the Java JobTracker would conclude how much room its maps need.
        output_bytes: -1,
        counters: (!runs).then(|| ReportedCounters::from(&words())),
        next_record_range: RecordRange::default(),
        reduce: (!is_map).then(|| ReduceProgress {
            shuffle_finish_ms: if runs { 0 } else { START_MS + RUN_MS / 3 },
            sort_finish_ms: if runs { 0 } else { START_MS + RUN_MS / 2 },
            failed_fetches: Vec::new(),
        }),
    }
}

/// What a task counts.
fn words() -> Counters {
    let counters = vec![Counter { name: "READ".into(), display_name: Some("Read".into()), value: 10 }];
    Counters { groups: vec![CounterGroup { name: "words".into(), display_name: "Words".into(), counters }] }
}
