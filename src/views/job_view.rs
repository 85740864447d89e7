//! A job as facts have it.

use std::sync::Arc;

use crate::engine::JobCost;
use crate::mapreduce::{
    AcceptedJob, AttemptRole, ChangedDeadline, Ending, FinishedJob, JobEstimate, JobFact, JobOutcome, JobSpec,
    SplitTable, StoredJob, has_failed_too_often,
};
use crate::model::{AttemptId, AttemptState, JobId, Kind, PerKind, Priority, RunState};

use super::attempt_view::{AttemptView, CHUNK_TASKS, ListedState, TaskAttempts, task_index};

/// A job. Of one that is over the attempts stay in `state.db` alone.
#[derive(Clone, Debug, PartialEq)]
pub struct JobView {
    id: JobId,
    spec: Arc<JobSpec>,
    /// Empty once it is over.
    splits: Arc<SplitTable>,
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
    counts: PerKind<KindCounts>,
    tasks: PerKind<TaskAttempts>,
}

/// Counts over the maps or reduces of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KindCounts {
    /// Tasks that are done. Of a job that failed or was killed they are known while the process runs that saw its end.
    pub(crate) finished: u32,
    /// Tasks that are not done and run.
    pub(crate) running: u32,
    pub(crate) live_attempts: u32,
    /// Tasks that have failed as often as they may.
    pub(crate) failed: u32,
    /// Attempts that ended so.
    pub(crate) failed_attempts: u32,
    pub(crate) killed_attempts: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct JobEnd {
    outcome: JobOutcome,
    finish_ms: i64,
}

impl JobView {
    pub(super) fn accepted(accepted: &AcceptedJob) -> Self {
        let AcceptedJob { id, spec, splits, submit_ms, .. } = accepted;
        Self {
            splits: splits.clone(),
            changed_deadline: accepted.tested_deadline().map(Arc::new),
            estimate: accepted.estimate,
            ..Self::new(*id, spec.clone(), *submit_ms)
        }
    }

    fn new(id: JobId, spec: Arc<JobSpec>, submit_ms: i64) -> Self {
        Self {
            id,
            splits: Arc::default(),
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

    /// One that is over, with its attempts.
    pub(crate) fn ended(head: &FinishedJob, stored: &StoredJob) -> Self {
        let Self { end, failure_info, .. } = Self::finished(head);
        Self { end, failure_info, ..Self::unfinished(stored) }
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
        let count = |finished| KindCounts { finished, ..KindCounts::default() };
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

    fn change_task(&mut self, id: AttemptId, change: impl FnOnce(&mut TaskAttempts)) {
        let (kind, task) = (id.task.kind, task_index(id));
        let is_work = task < self.total()[kind];
        let most = self.max_attempts(kind);
        let of_task = |tasks: &TaskAttempts| (counts_of(tasks.of(task), most), ListedState::of(tasks.of(task), most));
        let (before, was_listed) = of_task(&self.tasks[kind]);
        change(&mut self.tasks[kind]);
        if is_work {
            let (after, is_listed) = of_task(&self.tasks[kind]);
            self.tasks[kind].count_listed(task, was_listed, is_listed);
            let counts = &mut self.counts[kind];
            let moved = |count: u32, from: u32, to: u32| (count + to).saturating_sub(from);
            counts.finished = moved(counts.finished, before.finished, after.finished);
            counts.running = moved(counts.running, before.running, after.running);
            counts.live_attempts = moved(counts.live_attempts, before.live_attempts, after.live_attempts);
            counts.failed = moved(counts.failed, before.failed, after.failed);
            counts.failed_attempts = moved(counts.failed_attempts, before.failed_attempts, after.failed_attempts);
            counts.killed_attempts = moved(counts.killed_attempts, before.killed_attempts, after.killed_attempts);
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

    /// The hosts with the input of a map, each with its rack in front.
    pub(crate) fn split_hosts(&self, map: u32) -> Vec<(&str, &str)> {
        let Some(split) = self.splits.splits().get(map as usize) else { return Vec::new() };
        let indexes = self.splits.locations(split).iter();
        let hosts = indexes.filter_map(|index| self.splits.hosts().get(*index as usize));
        hosts.map(|host| (host.rack.as_str(), host.host.as_str())).collect()
    }

    /// Attempts of a task that may fail.
    pub(super) fn max_attempts(&self, kind: Kind) -> u32 {
        let most = if kind == Kind::Map { self.spec.map_max_attempts } else { self.spec.reduce_max_attempts };
        most.max(1)
    }

    /// Whether facts say that it has begun: it has tasks to show.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_run || self.ending.is_some() || Kind::ALL.into_iter().any(|kind| !self.tasks[kind].is_empty())
    }

    /// The state of a task by which 1.2.1 lists it.
    pub(crate) fn listed_state(&self, kind: Kind, task: u32) -> ListedState {
        let of_task = |kind: Kind, task: u32| ListedState::of(self.tasks[kind].of(task), self.max_attempts(kind));
        let is_over = |state| matches!(state, ListedState::Complete | ListedState::Killed);
        let total = self.total();
        // A setup or a cleanup of which the other variant is over is not needed any more.
        let is_superseded = || {
            let others = Kind::ALL.into_iter().filter(|other| *other != kind);
            let past_work = task.checked_sub(total[kind]);
            past_work.is_some_and(|past| others.into_iter().any(|other| is_over(of_task(other, total[other] + past))))
        };
        match of_task(kind, task) {
            ListedState::Pending if self.gives_up(kind, task) || is_superseded() => ListedState::Killed,
            state => state,
        }
    }

    /// Whether it ends, and with it a task: all but its cleanup.
    pub(crate) fn gives_up(&self, kind: Kind, task: u32) -> bool {
        self.ending.is_some() && task != self.total()[kind]
    }

    /// The maps or reduces that are listed in a state from the `first` of them on, at most so many, and how many there are. O(what
    /// it returns) and a look at each chunk of tasks.
    pub(crate) fn tasks_listed(&self, kind: Kind, wanted: ListedState, first: u32, most: u32) -> (Vec<u32>, u32) {
        let (total, mut seen, mut found) = (self.total()[kind], 0, Vec::new());
        for begin in (0..total).step_by(CHUNK_TASKS as usize) {
            let numbers = begin..total.min(begin.saturating_add(CHUNK_TASKS));
            let listed = self.tasks[kind].listed_from(begin);
            let rest = (numbers.len() as u32).saturating_sub(listed.running + listed.complete);
            let count = match (wanted, self.ending.is_some()) {
                (ListedState::Running, _) => listed.running,
                (ListedState::Complete, _) => listed.complete,
                (ListedState::Killed, false) => listed.killed,
                (ListedState::Pending, false) => rest.saturating_sub(listed.killed),
                (ListedState::Killed, true) => rest,
                (ListedState::Pending, true) => 0,
            };
            let room = most as usize - found.len();
            if room > 0 && seen + count > first {
                let listed = numbers.filter(|task| self.listed_state(kind, *task) == wanted);
                found.extend(listed.skip(first.saturating_sub(seen) as usize).take(room));
            }
            seen += count;
        }
        (found, seen)
    }

    /// When a task was over, epoch ms, also one that was given up (1.2.1 `TaskInProgress.kill`); 0: it is not.
    pub(crate) fn task_end_ms(&self, kind: Kind, task: u32) -> i64 {
        let success_ms = |kind: Kind, task: u32| {
            let done = self.tasks[kind].of(task).iter().find(|attempt| attempt.state() == AttemptState::Succeeded);
            done.and_then(AttemptView::finish_ms)
        };
        match self.listed_state(kind, task) {
            ListedState::Complete => success_ms(kind, task).unwrap_or(0),
            ListedState::Running | ListedState::Pending => 0,
            ListedState::Killed => {
                let total = self.total();
                let past_work = task.checked_sub(total[kind]);
                let mut others = Kind::ALL.into_iter().filter(|other| *other != kind);
                let of_other =
                    past_work.and_then(|past| others.find_map(|other| success_ms(other, total[other] + past)));
                let attempts = self.tasks[kind].of(task);
                let last_ms = || attempts.iter().map(|attempt| attempt.finish_ms().unwrap_or(0)).max();
                of_other.or_else(last_ms).or(self.finish_ms()).unwrap_or(0)
            }
        }
    }

    pub(crate) fn total(&self) -> PerKind<u32> {
        PerKind::new(self.spec.maps, self.spec.reduces)
    }

    /// Counts over its maps and reduces.
    pub(crate) fn counts(&self) -> PerKind<KindCounts> {
        self.counts
    }

    /// The attempts of its tasks of a kind; none once it is over.
    pub(crate) fn tasks(&self, kind: Kind) -> &TaskAttempts {
        &self.tasks[kind]
    }
}

/// What the attempts of one task, which may fail so often, add to the counts.
fn counts_of(attempts: &[AttemptView], most_failures: u32) -> KindCounts {
    let is_finished = attempts.iter().any(|attempt| attempt.state() == AttemptState::Succeeded);
    let live_attempts = attempts.iter().filter(|attempt| attempt.is_live()).count() as u32;
    let failures = attempts.iter().filter(|attempt| attempt.state() == AttemptState::Failed).count() as u32;
    KindCounts {
        finished: is_finished.into(),
        running: (!is_finished && live_attempts > 0).into(),
        live_attempts,
        failed: (!is_finished && live_attempts == 0 && has_failed_too_often(attempts, failures, most_failures)).into(),
        failed_attempts: failures,
        killed_attempts: attempts.iter().filter(|attempt| attempt.state() == AttemptState::Killed).count() as u32,
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
