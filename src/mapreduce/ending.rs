//! How tasks and jobs end (1.2.1 `JobInProgress.completedTask`, `failedTask`, `terminate`, `jobComplete`).

use std::sync::Arc;

use crate::model::{AttemptState, Kind, PerKind};
use crate::scheduler::HostId;
use crate::wire::{CompletionStatus, WString};

use super::fetch_failures::FetchFailures;
use super::job::{Ending, Job, JobEvent, JobState, Outcome, TaskKey};
use super::{JobFact, Scene, Task, TaskState};

// === impl Job: tasks end ===

impl Job {
    /// An attempt has succeeded: its task is done.
    pub(super) fn complete(&mut self, key: TaskKey, position: usize, scene: &mut Scene<'_>) {
        let event = self.add_event(key, position, CompletionStatus::Succeeded, scene);
        let task = self.task_mut(key);
        task.state = TaskState::Complete(position);
        task.finish_ms = scene.now.wall_ms;
        task.success_event = Some(event);
        let counters = task.attempts[position].counters.clone();
        // Now, for the end of the job may follow.
        self.refresh_counters(key);
        match key {
            TaskKey::Work(kind, _) => {
                self.finished[kind] += 1;
                // 1.2.1 takes given up tasks for done ones once the last of the others is.
                if self.finished[kind] + self.failed[kind] == self.total()[kind] {
                    self.fill_progress(kind);
                }
                if let Some(counters) = counters {
                    self.counter_sums[kind].add(&counters);
                }
                self.open_reduces_when_due(scene);
                self.learn_output(key, position, scene);
                self.fail_of_counters(scene);
            }
            TaskKey::Setup(_) if self.ending.is_none() => self.open_work(scene),
            // A job that ends may come to be RUNNING all the same.
            TaskKey::Setup(_) => {
                self.start(scene);
            }
            TaskKey::Cleanup(_) => {
                let outcome = self.ending.as_ref().map_or(Outcome::Succeeded, |ending| ending.outcome);
                self.finish(outcome, scene);
            }
        }
    }

    /// An attempt FAILED or was KILLED: its task waits again, or is given up.
    pub(super) fn fall(&mut self, key: TaskKey, position: usize, had_succeeded: bool, scene: &mut Scene<'_>) {
        let kind = key.kind();
        if had_succeeded {
            self.lose_output(key, position, scene);
        }
        let max_attempts = self.max_attempts(kind);
        let longest_skip = self.longest_skip(key);
        let host = self.host_of(key, position, scene);
        let over = self.is_over_or_ending();
        let task = self.task_mut(key);
        if task.committer == Some(position) {
            task.committer = None;
        }
        let failed = task.attempts[position].state == AttemptState::Failed;
        if failed {
            task.failures += 1;
            let number = task.attempts[position].number;
            if let (Some(longest), Some(ranges)) = (longest_skip, &mut task.failed_ranges) {
                ranges.fail(number, longest);
            }
            if let Some(host) = host.filter(|host| !task.failed_hosts.contains(host)) {
                task.failed_hosts.push(host);
            }
        }
        let too_often = (failed && task.failures >= max_attempts) || task.attempts.len() >= Task::MAX_ATTEMPTS;
        let given_up = too_often && !task.is_over();
        let failures = task.failures;
        if given_up {
            task.state = TaskState::Failed;
        } else if Self::task_is_lost(task) {
            task.state = TaskState::Waiting;
        }
        let (waits, task_state) = (task.state == TaskState::Waiting, task.state);
        self.refresh_counters(key);
        // Nobody need wait for a task that was given up, by this attempt or before it (1.2.1
        // `JobInProgress.updateTaskStatus`).
        let status = match task_state {
            TaskState::Failed | TaskState::Killed => CompletionStatus::TipFailed,
            _ if failed => CompletionStatus::Failed,
            _ => CompletionStatus::Killed,
        };
        if let (true, Some(host)) = (failed, host) {
            self.note_host_failure(host, scene.nodes);
        }
        self.add_event(key, position, status, scene);
        match key {
            TaskKey::Work(_, number) if waits && !over => self.ask_again(kind, number, failures, scene),
            TaskKey::Work(..) if given_up => self.give_up(key, kind, scene),
            TaskKey::Setup(_) if given_up => {
                let reason = format!("JobSetup Task Failure, Task: {}", self.task_id(key));
                self.end(Outcome::Failed, reason, scene);
            }
            TaskKey::Cleanup(_) if given_up => {
                self.failure_info = format!("JobCleanup Task Failure, Task: {}", self.task_id(key));
                self.finish(Outcome::Failed, scene);
            }
            _ => {}
        }
    }

    /// A map that was done has lost its output.
    fn lose_output(&mut self, key: TaskKey, position: usize, scene: &mut Scene<'_>) {
        let kind = key.kind();
        let task = self.task_mut(key);
        if task.state != TaskState::Complete(position) {
            return;
        }
        // Another attempt may still be at work on it, and do it.
        task.state = if task.has_live_attempt() { TaskState::Running } else { TaskState::Waiting };
        task.finish_ms = 0;
        let event = task.success_event.take();
        let counters = task.attempts[position].counters.clone();
        if key.is_work() {
            self.finished[kind] = self.finished[kind].saturating_sub(1);
            if let Some(counters) = counters {
                self.counter_sums[kind].subtract(&counters);
            }
        }
        if let Some(index) = event {
            if let Some(event) = self.events.get_mut(index) {
                event.status = CompletionStatus::Obsolete;
            }
            self.record_event(index, scene);
        }
    }

    fn ask_again(&mut self, kind: Kind, number: u32, failures: u32, scene: &mut Scene<'_>) {
        let place = self.place(TaskKey::Work(kind, number));
        self.put_back(kind, number, failures);
        // A reduce that has had an attempt was asked for before, so the reduces are open.
        scene.scheduler.request(self.app, kind, &place, 1);
    }

    /// A task is given up: the job may be able to live with it.
    fn give_up(&mut self, key: TaskKey, kind: Kind, scene: &mut Scene<'_>) {
        self.failed[kind] += 1;
        let percent = match kind {
            Kind::Map => self.spec.max_map_failures_percent,
            Kind::Reduce => self.spec.max_reduce_failures_percent,
        };
        let total = u64::from(self.total()[kind]);
        if u64::from(self.failed[kind]) * 100 > u64::from(percent) * total {
            let reason = Outcome::too_many_failures(kind, self.failed[kind], self.task_id(key));
            self.end(Outcome::Failed, reason, scene);
        } else {
            self.open_reduces_when_due(scene);
        }
    }

    fn host_of(&self, key: TaskKey, position: usize, scene: &Scene<'_>) -> Option<HostId> {
        let node = self.task(key).attempts.get(position)?.node;
        scene.nodes.get(node).map(|face| face.host)
    }

    /// Appends a completion event and returns its place.
    fn add_event(&mut self, key: TaskKey, position: usize, status: CompletionStatus, scene: &mut Scene<'_>) -> usize {
        let attempt = &self.task(key).attempts[position];
        let http: Arc<str> = match scene.nodes.get(attempt.node) {
            Some(face) => face.http.clone(),
            None => "".into(),
        };
        let run_time_ms = match status {
            CompletionStatus::Succeeded => {
                i32::try_from(attempt.finish_ms.saturating_sub(attempt.start_ms).max(0)).unwrap_or(i32::MAX)
            }
            _ => 0,
        };
        let event = JobEvent { key, attempt: attempt.number, status, http, run_time_ms };
        let index = self.events.len();
        self.events.push(event);
        self.record_event(index, scene);
        index
    }

    fn record_event(&self, index: usize, scene: &mut Scene<'_>) {
        if let Some(event) = self.event(index) {
            scene.facts.push(JobFact::CompletionEvent { job: self.id, event });
        }
    }

    /// A completion event, as it travels.
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
}

// === impl Job: the job ends ===

impl Job {
    /// Decides the end: nothing new starts, what runs is killed, the cleanup tells the committer to abort.
    pub fn end(&mut self, outcome: Outcome, reason: String, scene: &mut Scene<'_>) {
        if self.is_over_or_ending() {
            return;
        }
        self.failure_info = reason.clone();
        scene.facts.push(JobFact::Ending { job: self.id, outcome: outcome.run_state(), reason: reason.clone() });
        self.ending = Some(Ending { outcome, reason });
        scene.scheduler.remove_app(self.app);
        self.waiting = PerKind::default();
        self.drop_stragglers();
        self.abandon_task_cleanups(scene);
        for kind in Kind::ALL {
            for task in self.work[kind].iter_mut().chain([&mut self.setup[kind]]) {
                if !task.is_over() {
                    task.state = TaskState::Killed;
                    task.counted = None;
                    task.recompute_progress();
                    task.refresh_leaving(self.app, kind, scene.scheduler);
                }
            }
        }
        self.running_counters = PerKind::default();
        // Nothing has run, so there is nothing to abort.
        let untouched = Kind::ALL.iter().all(|kind| self.setup[*kind].attempts.is_empty());
        if self.state == JobState::Prep && untouched {
            self.finish(outcome, scene);
        }
        self.refresh(scene);
    }

    /// The job has ended where nobody here could see it. What had been decided before, holds.
    pub fn end_elsewhere(&mut self, why: &str, scene: &mut Scene<'_>) {
        match &self.ending {
            Some(ending) => self.finish(ending.outcome, scene),
            None => self.end(Outcome::Killed, why.to_owned(), scene),
        }
    }

    /// Attempts that wait for their cleanup are over without it: the job's own cleanup removes all.
    fn abandon_task_cleanups(&mut self, scene: &mut Scene<'_>) {
        for kind in Kind::ALL {
            for (key, number) in std::mem::take(&mut self.task_cleanups[kind]) {
                self.end_unclean(key, number, scene);
            }
        }
    }

    /// The job is over.
    fn finish(&mut self, outcome: Outcome, scene: &mut Scene<'_>) {
        if !self.enter(JobState::Over(outcome)) {
            return;
        }
        self.finish_ms = scene.now.wall_ms;
        scene.scheduler.remove_app(self.app);
        // What only launches need goes: the job may be kept for long.
        self.task_cleanups = PerKind::default();
        self.waiting = PerKind::default();
        self.drop_stragglers();
        self.places = Vec::new();
        let topology = scene.scheduler.topology_mut();
        std::mem::take(&mut self.racks).into_keys().for_each(|host| topology.release(host));
        self.fetch_failures = FetchFailures::default();
        self.refresh(scene);
        scene.facts.push(JobFact::Ended {
            job: self.id,
            state: outcome.run_state(),
            finish_ms: self.finish_ms,
            failure_info: self.failure_info.clone(),
            counters: scene.interner.intern(&(&self.counters(&scene.counter_limits).unwrap_or_default()).into()),
        });
    }
}
