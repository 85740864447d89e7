//! How tasks and jobs end (1.2.1 `JobInProgress.completedTask`, `failedTask`, `terminate`, `jobComplete`).

use std::sync::Arc;

use crate::model::{AttemptState, Kind, PerKind, TaskId, lower};
use crate::scheduler::HostId;
use crate::wire::{CompletionStatus, WString};

use super::fetch_failures::FetchFailures;
use super::job::{CompletionEntry, Job, TaskKey};
use super::job_state::{Ending, JobOutcome, JobState};
use super::{Attempt, JobContext, JobFact, TaskState};

impl Job {
    pub(super) fn complete_task(&mut self, key: TaskKey, position: usize, context: &mut JobContext<'_>) {
        let event = self.add_event(key, position, CompletionStatus::Succeeded, context);
        let id = self.task_id(key);
        let task = self.task_mut(key);
        task.enter_state(TaskState::Complete(position), id, context.violations);
        task.finish_ms = context.now.wall_ms;
        task.success_event = Some(event);
        let counters = task.attempts[position].counters.clone();
        // Before what follows, which may end the job.
        self.refresh_counters(key);
        match key {
            TaskKey::Work(kind, _) => {
                self.finished[kind] += 1;
                // 1.2.1 counts given-up tasks as done once all others are.
                if self.finished[kind] + self.failed[kind] == self.total()[kind] {
                    self.fill_progress(kind);
                }
                if let Some(counters) = counters {
                    self.counter_sums[kind].add(&counters);
                }
                self.add_task_cost(key, position);
                self.refresh_reduce_requests(context);
                self.apply_map_output(key, position, context);
                self.fail_on_counter_limit(context);
            }
            TaskKey::Setup(_) if self.ending.is_none() => self.start_work(context),
            // A job whose end is decided may still become RUNNING.
            TaskKey::Setup(_) => {
                self.enter_running(context);
            }
            TaskKey::Cleanup(_) => {
                let outcome = self.ending.as_ref().map_or(JobOutcome::Succeeded, |ending| ending.outcome);
                self.finish_job(outcome, context);
            }
        }
    }

    /// An attempt FAILED or was KILLED: its task waits again, or is given up.
    pub(super) fn on_attempt_failed(
        &mut self,
        key: TaskKey,
        position: usize,
        had_succeeded: bool,
        context: &mut JobContext<'_>,
    ) {
        let kind = key.kind();
        if had_succeeded {
            self.on_output_lost(key, position, context);
        }
        let max_attempts = self.max_attempts(kind);
        let longest_skip = self.longest_skip(key);
        let host = self.host_of(key, position, context);
        let over = self.is_over_or_ending();
        let id = self.task_id(key);
        let task = self.task_mut(key);
        if task.committer == Some(position) {
            task.committer = None;
        }
        let failed = task.attempts[position].state == AttemptState::Failed;
        if failed {
            task.count_failure(position, longest_skip, host);
        }
        let too_often = match failed {
            true => task.has_failed_too_often(max_attempts),
            false => task.was_tried_too_often(),
        };
        let given_up = too_often && !task.is_over();
        let failures = task.failures;
        if given_up {
            task.enter_state(TaskState::Failed, id, context.violations);
        } else if Self::is_task_idle(task) {
            task.enter_state(TaskState::Waiting, id, context.violations);
        }
        let (waits, task_state) = (task.state == TaskState::Waiting, task.state);
        self.refresh_counters(key);
        // No reduce needs to wait for a task that was given up, by this attempt or before it (1.2.1 `JobInProgress.updateTaskStatus`).
        let status = match task_state {
            TaskState::Failed | TaskState::Killed => CompletionStatus::TipFailed,
            _ if failed => CompletionStatus::Failed,
            _ => CompletionStatus::Killed,
        };
        if let (true, Some(host)) = (failed, host) {
            self.record_host_failure(host, context.nodes, context.housekeeping);
        }
        self.add_event(key, position, status, context);
        match key {
            TaskKey::Work(_, number) if waits && !over => self.requeue_task(kind, number, failures, context),
            _ if given_up => self.on_task_given_up(key, context),
            _ => {}
        }
    }

    fn on_task_given_up(&mut self, key: TaskKey, context: &mut JobContext<'_>) {
        match key {
            TaskKey::Work(kind, _) => self.give_up_task(key, kind, context),
            TaskKey::Setup(_) => {
                let reason = format!("JobSetup Task Failure, Task: {}", self.task_id(key));
                self.decide_end(JobOutcome::Failed, reason, context);
            }
            TaskKey::Cleanup(_) => {
                self.failure_info = format!("JobCleanup Task Failure, Task: {}", self.task_id(key));
                self.finish_job(JobOutcome::Failed, context);
            }
        }
    }

    /// Adds a finished map to the estimate. The job fails where a reduce would get more than the job's limit.
    pub(super) fn apply_map_output(&mut self, key: TaskKey, position: usize, context: &mut JobContext<'_>) {
        if !matches!(key, TaskKey::Work(Kind::Map, _)) {
            return;
        }
        self.record_output(key, position);
        let Some(limit) = self.spec.reduce_input_limit_bytes else { return };
        let estimate = self.output.input_per_reduce_bytes(self.spec.reduces);
        let done = self.finished.reduce + self.failed.reduce >= self.spec.reduces;
        if limit > 0 && estimate > limit && !done {
            // 1.2.1 has these blanks.
            let reason = format!("Job exceeded Reduce Input limit  Limit:  {limit} Estimated: {estimate}");
            self.decide_end(JobOutcome::Failed, reason, context);
        }
    }

    pub(super) fn record_output(&mut self, key: TaskKey, position: usize) {
        let TaskKey::Work(Kind::Map, number) = key else { return };
        let Some(split) = self.splits.splits().get(number as usize) else { return };
        let Some(attempt) = self.task(key).attempts.get(position) else { return };
        self.output.add(split.length_bytes, attempt.output_bytes);
    }

    fn on_output_lost(&mut self, key: TaskKey, position: usize, context: &mut JobContext<'_>) {
        let (kind, id) = (key.kind(), self.task_id(key));
        let task = self.task_mut(key);
        if task.state != TaskState::Complete(position) {
            return;
        }
        // Another attempt may still finish it.
        let state = if task.has_live_attempt() { TaskState::Running } else { TaskState::Waiting };
        task.enter_state(state, id, context.violations);
        task.finish_ms = 0;
        let event = task.success_event.take();
        let counters = task.attempts[position].counters.clone();
        if key.is_work() {
            lower(&mut self.finished[kind], 1_u32, context.violations);
            if let Some(counters) = counters {
                self.counter_sums[kind].subtract(&counters);
            }
            self.refresh_reduce_requests(context);
        }
        if let Some(index) = event {
            if let Some(event) = self.events.get_mut(index) {
                event.status = CompletionStatus::Obsolete;
            }
            self.record_event(index, context);
        }
    }

    fn requeue_task(&mut self, kind: Kind, number: u32, failures: u32, context: &mut JobContext<'_>) {
        let place = self.preferred_hosts_of(TaskKey::Work(kind, number));
        self.requeue(kind, number, failures);
        if kind == Kind::Map || self.reduces_requested {
            context.scheduler.request_slots(self.app, kind, &place, 1);
        }
    }

    /// A task is given up: the job fails, unless it tolerates that many failures.
    fn give_up_task(&mut self, key: TaskKey, kind: Kind, context: &mut JobContext<'_>) {
        self.failed[kind] += 1;
        let percent = match kind {
            Kind::Map => self.spec.max_map_failures_percent,
            Kind::Reduce => self.spec.max_reduce_failures_percent,
        };
        let total = u64::from(self.total()[kind]);
        if u64::from(self.failed[kind]) * 100 > u64::from(percent) * total {
            let reason = too_many_failures_text(kind, self.failed[kind], self.task_id(key));
            self.decide_end(JobOutcome::Failed, reason, context);
        } else {
            self.refresh_reduce_requests(context);
        }
    }

    fn host_of(&self, key: TaskKey, position: usize, context: &JobContext<'_>) -> Option<HostId> {
        let tracker = self.task(key).attempts.get(position)?.tracker;
        context.nodes.get(tracker).map(|info| info.host)
    }

    fn add_event(
        &mut self,
        key: TaskKey,
        position: usize,
        status: CompletionStatus,
        context: &mut JobContext<'_>,
    ) -> usize {
        let attempt = &self.task(key).attempts[position];
        let http: Arc<str> = match context.nodes.get(attempt.tracker) {
            Some(info) => info.http.clone(),
            None => "".into(),
        };
        let run_time_ms = match status {
            CompletionStatus::Succeeded => {
                i32::try_from(attempt.finish_ms.saturating_sub(attempt.start_ms).max(0)).unwrap_or(i32::MAX)
            }
            _ => 0,
        };
        let event = CompletionEntry { key, attempt: attempt.number, status, http, run_time_ms };
        let index = self.events.len();
        self.events.push(event);
        self.record_event(index, context);
        index
    }

    fn record_event(&self, index: usize, context: &mut JobContext<'_>) {
        if let Some(event) = self.event(index) {
            context.facts.push(JobFact::CompletionEvent { job: self.id, event });
        }
    }

    pub(super) fn event(&self, index: usize) -> Option<crate::wire::TaskCompletionEvent> {
        let event = self.events.get(index)?;
        let task = self.task_id(event.key);
        Some(crate::wire::TaskCompletionEvent {
            attempt: task.attempt(event.attempt),
            id_within_job: task.number,
            is_map: matches!(event.key, TaskKey::Work(Kind::Map, _)),
            status: event.status,
            tracker_http: WString(Some(event.http.to_string())),
            run_time_ms: event.run_time_ms,
            event_id: i32::try_from(index).unwrap_or(i32::MAX),
        })
    }

    /// Decides the end: nothing new starts, running attempts are killed, and the job's cleanup has the committer abort.
    pub(crate) fn decide_end(&mut self, outcome: JobOutcome, reason: String, context: &mut JobContext<'_>) {
        if self.is_over_or_ending() {
            return;
        }
        self.failure_info = reason.clone();
        context.facts.push(JobFact::Ending {
            job: self.id,
            outcome: outcome.run_state(),
            reason: reason.clone(),
            at_ms: context.now.wall_ms,
        });
        self.ending = Some(Ending { outcome, reason });
        context.scheduler.remove_app(self.app);
        self.charge_ended_reservations(context);
        self.waiting = PerKind::default();
        self.clear_stragglers();
        self.abandon_task_cleanups(context);
        for kind in Kind::ALL {
            let setup = self.task_id(TaskKey::Setup(kind));
            let work = (0..).zip(&mut self.work[kind]).map(|(number, task)| (self.id.task(kind, number), task));
            for (id, task) in work.chain([(setup, &mut self.setup[kind])]) {
                if !task.is_over() {
                    task.enter_state(TaskState::Killed, id, context.violations);
                    task.counted = None;
                    task.recompute_progress();
                    task.refresh_releasing(self.app, kind, context.scheduler);
                }
            }
        }
        self.running_counters = PerKind::default();
        // Nothing has run, so there is nothing to abort.
        let untouched = Kind::ALL.iter().all(|kind| self.setup[*kind].attempts.is_empty());
        if matches!(self.state, JobState::Accepted | JobState::Prep) && untouched {
            self.finish_job(outcome, context);
        }
        self.refresh(context);
    }

    fn charge_ended_reservations(&mut self, context: &mut JobContext<'_>) {
        for ended in context.scheduler.take_ended_reservations_of(self.app) {
            self.add_fallow_slot_time(&ended, context.now);
        }
    }

    /// Ends a job that ended unseen by this JobTracker. An end decided earlier holds.
    pub(crate) fn end_unobserved(&mut self, why: &str, context: &mut JobContext<'_>) {
        match &self.ending {
            Some(ending) => self.finish_job(ending.outcome, context),
            None => self.decide_end(JobOutcome::Killed, why.to_owned(), context),
        }
    }

    /// Kills a job of which nothing can run any more, its cleanup included.
    pub(crate) fn end_at_once(&mut self, why: &str, context: &mut JobContext<'_>) {
        self.decide_end(JobOutcome::Killed, why.to_owned(), context);
        self.failure_info = why.to_owned();
        self.finish_job(JobOutcome::Killed, context);
    }

    /// Ends attempts that wait for their task-cleanup without it: the job's own cleanup removes everything.
    fn abandon_task_cleanups(&mut self, context: &mut JobContext<'_>) {
        for kind in Kind::ALL {
            for (key, number) in std::mem::take(&mut self.task_cleanups[kind]) {
                self.end_without_cleanup(key, number, context);
            }
        }
    }

    fn finish_job(&mut self, outcome: JobOutcome, context: &mut JobContext<'_>) {
        if !self.enter_state(JobState::Over(outcome)) {
            return;
        }
        self.finish_ms = context.now.wall_ms;
        context.scheduler.remove_app(self.app);
        context.scheduler.end_app(self.app);
        self.charge_ended_reservations(context);
        // Only launches need these, and the job may be kept for long.
        self.task_cleanups = PerKind::default();
        self.waiting = PerKind::default();
        self.clear_stragglers();
        self.preferred_hosts = Vec::new();
        let topology = context.scheduler.topology_mut();
        std::mem::take(&mut self.racks).into_keys().for_each(|host| topology.release(host));
        self.fetch_failures = FetchFailures::default();
        self.refresh(context);
        context.facts.push(JobFact::Ended {
            job: self.id,
            state: outcome.run_state(),
            finish_ms: self.finish_ms,
            failure_info: self.failure_info.clone(),
            counters: context.interner.intern(&(&self.counters(&context.counter_limits).unwrap_or_default()).into()),
        });
        self.end_live_attempts(context);
    }

    /// Ends the attempts that outlive the job. KILL_JOB ends them on their trackers, which report nothing of it; until a
    /// tracker has received it they hold their slots.
    fn end_live_attempts(&mut self, context: &mut JobContext<'_>) {
        for key in self.all_task_keys() {
            let id = self.task_id(key);
            for position in 0..self.task(key).attempts.len() {
                let finish_ms = self.finish_ms;
                let attempt = &mut self.task_mut(key).attempts[position];
                let state = match attempt.state_without_cleanup() {
                    None if !attempt.is_active() => continue,
                    state => state.unwrap_or(AttemptState::Killed),
                };
                attempt.enter_state(state, id.attempt(attempt.number), context.violations);
                if attempt.finish_ms == 0 {
                    attempt.finish_ms = finish_ms;
                }
                self.record_end(key, position, context);
                self.refresh_task(key, context.violations);
            }
        }
        self.refresh(context);
    }

    /// Whether an attempt is neither done nor ended.
    pub(crate) fn has_live_attempt(&self) -> bool {
        let is_live = |attempt: &Attempt| attempt.is_active() || attempt.is_unclean();
        self.all_task_keys().any(|key| self.task(key).attempts.iter().any(is_live))
    }
}

/// The words of 1.2.1 for a job that has lost too many tasks.
fn too_many_failures_text(kind: Kind, failed: u32, task: TaskId) -> String {
    let kind = match kind {
        Kind::Map => "Map",
        Kind::Reduce => "Reduce",
    };
    format!("# of failed {kind} Tasks exceeded allowed limit. FailedCount: {failed}. LastFailedTask: {task}")
}
