//! A job as facts have it.

use std::sync::Arc;

use crate::engine::JobCost;
use crate::mapreduce::{
    AcceptedJob, AttemptRole, ChangedDeadline, Ending, FinishedJob, JobEstimate, JobFact, JobOutcome, JobSpec,
    StoredJob, has_failed_too_often,
};
use crate::model::{AttemptId, AttemptState, JobId, Kind, PerKind, Priority, RunState};

use super::attempt_view::{AttemptView, TaskList, task_index};

/// A job. Of one that is over the attempts stay in `state.db` alone.
#[derive(Clone, Debug, PartialEq)]
pub struct JobView {
    id: JobId,
    spec: Arc<JobSpec>,
    submit_ms: i64,
    priority: Priority,
    pool: Option<Arc<str>>,
    changed_deadline: Option<Arc<ChangedDeadline>>,
    estimate: JobEstimate,
    has_run: bool,
    ending: Option<Arc<Ending>>,
    end: Option<JobEnd>,
    failure_info: Arc<str>,
    cost: Option<JobCost>,
    counts: PerKind<TaskCounts>,
    tasks: PerKind<TaskList>,
}

/// Counts over the maps or reduces of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TaskCounts {
    /// Tasks that are done. Of a job that failed or was killed they are known while the process runs that saw its end.
    pub(crate) finished: u32,
    /// Tasks that are not done and run.
    pub(crate) running: u32,
    pub(crate) live_attempts: u32,
    /// Tasks that have failed as often as they may.
    pub(crate) failed: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct JobEnd {
    outcome: JobOutcome,
    finish_ms: i64,
}

impl JobView {
    pub(super) fn accepted(accepted: &AcceptedJob) -> Self {
        let AcceptedJob { id, spec, submit_ms, .. } = accepted;
        Self {
            changed_deadline: accepted.tested_deadline().map(Arc::new),
            estimate: accepted.estimate,
            ..Self::new(*id, spec.clone(), *submit_ms)
        }
    }

    fn new(id: JobId, spec: Arc<JobSpec>, submit_ms: i64) -> Self {
        Self {
            id,
            submit_ms,
            priority: spec.priority,
            pool: None,
            changed_deadline: None,
            estimate: JobEstimate::default(),
            has_run: false,
            ending: None,
            end: None,
            failure_info: Arc::default(),
            cost: None,
            counts: PerKind::default(),
            tasks: PerKind::default(),
            spec,
        }
    }

    /// One that is over, with its attempts, as it was before its end.
    pub(crate) fn of_stored(stored: &StoredJob) -> Self {
        Self::unfinished(stored)
    }

    pub(super) fn unfinished(stored: &StoredJob) -> Self {
        let mut job = Self {
            priority: stored.priority,
            pool: stored.pool.clone(),
            changed_deadline: stored.changed_deadline.clone(),
            has_run: stored.is_running,
            ..Self::accepted(&stored.accepted)
        };
        if let Some(ending) = &stored.ending {
            job.decide_end(ending.clone());
        }
        for attempt in &stored.attempts {
            job.change_task(attempt.id, |tasks| tasks.put(AttemptView::stored(attempt)));
        }
        job
    }

    /// One that is over, as it is stored.
    pub(super) fn finished(stored: &FinishedJob) -> Self {
        let FinishedJob { id, spec, submit_ms, priority, has_run, outcome, finish_ms, failure_info, .. } = stored;
        let mut job = Self { priority: *priority, has_run: *has_run, ..Self::new(*id, spec.clone(), *submit_ms) };
        job.end(*outcome, *finish_ms, failure_info);
        job
    }

    pub(super) fn apply(&mut self, fact: &JobFact) {
        match fact {
            JobFact::Priority { priority, .. } => self.priority = *priority,
            JobFact::Ended { state, finish_ms, failure_info, .. } => {
                if let Some(outcome) = outcome_of(*state) {
                    self.end(outcome, *finish_ms, failure_info);
                }
            }
            // Its attempts end with it, and what else is recorded of it later concerns them.
            _ if self.end.is_some() => {}
            JobFact::Running { .. } => self.has_run = true,
            JobFact::Ending { outcome, reason, .. } => {
                if let Some(outcome) = outcome_of(*outcome) {
                    self.decide_end(Ending { outcome, reason: reason.clone() });
                }
            }
            JobFact::PoolSet { pool, .. } => self.pool = Some(pool.clone()),
            JobFact::DeadlineSet { deadline, .. } => self.changed_deadline = Some(deadline.clone()),
            JobFact::Estimated { estimate, .. } => self.estimate = *estimate,
            JobFact::Restarted { .. } => {
                self.has_run = false;
                self.counts = PerKind::default();
                self.tasks = PerKind::default();
            }
            JobFact::AttemptLaunched { attempt, role: AttemptRole::TaskCleanup, tracker, .. } => {
                self.change_attempt(*attempt, |known| known.set_cleanup_tracker(Some(tracker.clone())));
            }
            JobFact::AttemptLaunched { attempt, role, tracker, slots, at_ms, .. } => {
                let launched = AttemptView::launched(*attempt, *role, tracker.clone(), *slots, *at_ms);
                self.change_task(*attempt, |tasks| tasks.put(launched));
            }
            JobFact::AttemptEnded(ended) => self.change_attempt(ended.attempt, |known| known.end(ended)),
            JobFact::AttemptReported { attempt, diagnostics, .. } => {
                self.change_attempt(*attempt, |known| known.report(diagnostics));
            }
            JobFact::AttemptKillRequested { attempt, request } => {
                self.change_attempt(*attempt, |known| known.request_end(*request));
            }
            JobFact::CommitGranted { attempt } => self.change_attempt(*attempt, AttemptView::grant_commit),
            JobFact::TaskCleanupLost { attempt } => {
                self.change_attempt(*attempt, |known| known.set_cleanup_tracker(None));
            }
            // The events of reduces, and numbers of attempts to come, are not shown.
            JobFact::Accepted(_) | JobFact::AttemptBlockSkipped { .. } | JobFact::CompletionEvent { .. } => {}
        }
    }

    /// Its total cost so far.
    pub(super) fn charge(&mut self, cost: JobCost) {
        self.cost = Some(cost);
    }

    /// It is in another queue from now on. An older job was signed where its queue is its user's.
    pub(super) fn move_to(&mut self, queue: &str) {
        let spec = Arc::make_mut(&mut self.spec);
        spec.is_signed = Some(spec.payer().is_some());
        queue.clone_into(&mut spec.queue);
    }

    fn decide_end(&mut self, ending: Ending) {
        self.failure_info = ending.reason.as_str().into();
        self.ending = Some(Arc::new(ending));
    }

    fn end(&mut self, outcome: JobOutcome, finish_ms: i64, failure_info: &str) {
        let finished = PerKind::new(self.counts.map.finished, self.counts.reduce.finished);
        let finished = if outcome == JobOutcome::Succeeded { self.total() } else { finished };
        let count = |finished| TaskCounts { finished, ..TaskCounts::default() };
        *self = Self {
            priority: self.priority,
            has_run: self.has_run,
            end: Some(JobEnd { outcome, finish_ms }),
            failure_info: failure_info.into(),
            cost: self.cost,
            counts: PerKind::new(count(finished.map), count(finished.reduce)),
            ..Self::new(self.id, self.spec.clone(), self.submit_ms)
        };
    }

    fn change_attempt(&mut self, id: AttemptId, change: impl FnOnce(&mut AttemptView)) {
        self.change_task(id, |tasks| {
            if let Some(attempt) = tasks.get_mut(task_index(id), id.number) {
                change(attempt);
            }
        });
    }

    fn change_task(&mut self, id: AttemptId, change: impl FnOnce(&mut TaskList)) {
        let (kind, task) = (id.task.kind, task_index(id));
        let is_work = task < self.total()[kind];
        let most = if kind == Kind::Map { self.spec.map_max_attempts } else { self.spec.reduce_max_attempts };
        let before = counts_of(self.tasks[kind].of(task), most);
        change(&mut self.tasks[kind]);
        if is_work {
            let after = counts_of(self.tasks[kind].of(task), most);
            let counts = &mut self.counts[kind];
            let moved = |count: u32, from: u32, to: u32| (count + to).saturating_sub(from);
            counts.finished = moved(counts.finished, before.finished, after.finished);
            counts.running = moved(counts.running, before.running, after.running);
            counts.live_attempts = moved(counts.live_attempts, before.live_attempts, after.live_attempts);
            counts.failed = moved(counts.failed, before.failed, after.failed);
        }
    }

    /// The same without what no load of `state.db` knows.
    #[cfg(test)]
    pub(super) fn as_loaded(&self) -> Self {
        let is_unknown = self.end.is_some_and(|end| end.outcome != JobOutcome::Succeeded);
        Self { counts: if is_unknown { PerKind::default() } else { self.counts }, ..self.clone() }
    }

    pub(crate) fn id(&self) -> JobId {
        self.id
    }

    pub(crate) fn spec(&self) -> &Arc<JobSpec> {
        &self.spec
    }

    /// When it was submitted, epoch ms.
    pub(crate) fn submit_ms(&self) -> i64 {
        self.submit_ms
    }

    pub(crate) fn priority(&self) -> Priority {
        self.priority
    }

    pub(crate) fn state(&self) -> RunState {
        match self.end {
            Some(end) => end.outcome.run_state(),
            None => self.state_before_end(),
        }
    }

    /// Its state, or, of one that is over, the one before.
    pub(crate) fn state_before_end(&self) -> RunState {
        if self.has_run { RunState::Running } else { RunState::Prep }
    }

    /// The decided end, while its cleanup is still to run.
    pub(crate) fn ending(&self) -> Option<&Ending> {
        self.ending.as_deref()
    }

    /// When it ended, epoch ms; none: it has not.
    pub(crate) fn finish_ms(&self) -> Option<i64> {
        self.end.map(|end| end.finish_ms)
    }

    /// Why it failed; empty unless it did or will.
    pub(crate) fn failure_info(&self) -> &str {
        &self.failure_info
    }

    /// Its cost up to the last tick that charged it.
    pub(crate) fn cost(&self) -> Option<&JobCost> {
        self.cost.as_ref()
    }

    pub(crate) fn total(&self) -> PerKind<u32> {
        PerKind::new(self.spec.maps, self.spec.reduces)
    }

    /// Counts over its maps and reduces.
    pub(crate) fn counts(&self) -> PerKind<TaskCounts> {
        self.counts
    }

    /// The attempts of its tasks of a kind; none once it is over.
    pub(crate) fn tasks(&self, kind: Kind) -> &TaskList {
        &self.tasks[kind]
    }
}

/// What the attempts of one task, which may fail so often, add to the counts.
fn counts_of(attempts: &[AttemptView], most_failures: u32) -> TaskCounts {
    let is_finished = attempts.iter().any(|attempt| attempt.state() == AttemptState::Succeeded);
    let live_attempts = attempts.iter().filter(|attempt| attempt.is_live()).count() as u32;
    let failures = attempts.iter().filter(|attempt| attempt.state() == AttemptState::Failed).count() as u32;
    TaskCounts {
        finished: is_finished.into(),
        running: (!is_finished && live_attempts > 0).into(),
        live_attempts,
        failed: (!is_finished && live_attempts == 0 && has_failed_too_often(attempts, failures, most_failures.max(1)))
            .into(),
    }
}

fn outcome_of(state: RunState) -> Option<JobOutcome> {
    match state {
        RunState::Succeeded => Some(JobOutcome::Succeeded),
        RunState::Failed => Some(JobOutcome::Failed),
        RunState::Killed => Some(JobOutcome::Killed),
        RunState::Prep | RunState::Running => None,
    }
}
