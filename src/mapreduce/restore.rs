//! Restores a job after a restart, from its rows alone; numbers new attempts beyond those that other JobTrackers may have launched.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::{AttemptId, AttemptState, Kind, Now, PerKind, TrackerId, Violations};
use crate::scheduler::{HostId, RackId, Scheduler};
use crate::wire::{CompletionStatus, Phase};

use super::job::{CompletionEntry, Job, TaskKey};
use super::job_state::JobState;
use super::launch::first_phase;
use super::pending_tasks::PendingTasks;
use super::{
    Attempt, AttemptRole, HousekeepingQueue, JobContext, JobFact, KillRequest, StoredAttempt, StoredEvent, StoredJob,
    TaskState,
};

/// The location of a tracker that attempts from before the restart name.
#[derive(Clone, Debug, Default)]
pub(crate) struct TrackerLocation {
    /// Its tracker; the default when it is not expected back.
    pub(crate) tracker: TrackerId,
    /// Its host, with its rack and the groups of racks above it, if known.
    pub(crate) host: Option<(HostId, Arc<[RackId]>)>,
}

pub(crate) type TrackerLocations = BTreeMap<Arc<str>, TrackerLocation>;

impl Job {
    /// Restores a new job, which has begun if its rows say so, to the state of its rows. `trackers` are those that its attempts name.
    pub(crate) fn restore(&mut self, stored: StoredJob, trackers: &TrackerLocations, context: &mut JobContext<'_>) {
        self.load_rows(stored, trackers, context.now, context.violations);
        self.trackers.retain(|tracker| context.nodes.get(*tracker).is_some());
        self.hold_slots(context.scheduler);
        if self.ending.is_some() {
            context.scheduler.remove_app(self.app);
            self.clear_stragglers();
        } else if self.state == JobState::Running {
            self.request_waiting_tasks(context);
            self.schedule_straggler_check(context);
            self.check_stragglers(context);
        }
        self.refresh(context);
    }

    /// Loads tasks, attempts, events and the decided end. Demand and slots are not the scheduler's yet.
    pub(super) fn load_rows(
        &mut self,
        stored: StoredJob,
        trackers: &TrackerLocations,
        now: Now,
        violations: &mut Violations,
    ) {
        self.priority = stored.priority;
        self.pool = stored.pool.clone();
        self.changed_deadline = stored.changed_deadline.clone();
        self.straggler_watch_ms = now.wall_ms;
        if stored.is_running {
            self.enter_state(JobState::Running);
        }
        self.record_lost_trackers(&stored.attempts, trackers);
        for attempt in stored.attempts {
            self.load_attempt(attempt, trackers, now);
        }
        self.replay_events(&stored.events);
        self.ending = stored.ending;
        if let Some(ending) = &self.ending {
            self.failure_info = ending.reason.clone();
        }
        let is_ending = self.ending.is_some();
        for key in self.all_task_keys() {
            self.derive_task_state(key, is_ending);
            self.refresh_task(key, violations);
        }
        for kind in Kind::ALL {
            if self.finished[kind] + self.failed[kind] == self.total()[kind] {
                self.fill_progress(kind);
            }
        }
        self.queue_task_cleanups();
    }

    pub(super) fn all_task_keys(&self) -> impl Iterator<Item = TaskKey> + use<> {
        let tasks = |kind: Kind| u32::try_from(self.work[kind].len()).unwrap_or(u32::MAX);
        let total = PerKind::new(tasks(Kind::Map), tasks(Kind::Reduce));
        Kind::ALL.into_iter().flat_map(move |kind| {
            let work = (0..total[kind]).map(move |number| TaskKey::Work(kind, number));
            work.chain([TaskKey::Setup(kind), TaskKey::Cleanup(kind)])
        })
    }

    fn load_attempt(&mut self, stored: StoredAttempt, trackers: &TrackerLocations, now: Now) {
        let Some(key) = self.key_of(stored.id.task) else { return };
        let kind = key.kind();
        let location_of = |name: &Arc<str>| trackers.get(name).cloned().unwrap_or_default();
        let at = location_of(&stored.tracker);
        let host = at.host.as_ref().map(|(host, _)| *host);
        let is_live = stored.is_live();
        let cleanup_tracker = stored.active_cleanup_tracker().map(|name| location_of(name).tracker);
        let named = [at.tracker].into_iter().chain(stored.cleanup_tracker.iter().map(|name| location_of(name).tracker));
        self.trackers.extend(named);
        self.count_launch(key, stored.role, &at);
        let (commit_granted, state) = (stored.commit_granted, stored.state);
        let attempt = restored_attempt(stored, kind, at.tracker, cleanup_tracker, now);
        if let (TaskKey::Work(_, number), true, None) = (key, is_live, cleanup_tracker) {
            self.slot_holders[kind].insert((attempt.launch_mono_ms, number, attempt.number));
        }
        let is_over = matches!(attempt.state, AttemptState::Succeeded | AttemptState::Failed | AttemptState::Killed);
        let task = self.task_mut(key);
        if task.first_launch_ms == 0 {
            task.first_launch_ms = attempt.launch_ms;
        }
        let position = task.attempts.len();
        if commit_granted && !matches!(attempt.state, AttemptState::Failed | AttemptState::Killed) {
            task.committer = Some(position);
        }
        if let (AttemptState::Failed, Some(host)) = (attempt.state, host)
            && !task.failed_hosts.contains(&host)
        {
            task.failed_hosts.push(host);
        }
        task.attempts.push(attempt);
        if is_over {
            self.add_slot_time(key, position);
        }
        if let (AttemptState::Failed, Some(host)) = (state, host) {
            self.restore_host_failure(host);
        }
    }

    fn hold_slots(&mut self, scheduler: &mut Scheduler) {
        for key in self.all_task_keys() {
            let (app, kind) = (self.app, key.kind());
            for attempt in self.task(key).attempts.iter().filter(|attempt| attempt.holds_slot) {
                match (attempt.cleanup_tracker, attempt.role) {
                    (Some(tracker), _) => {
                        scheduler.begin_task_cleanup(app, tracker, kind, attempt.launch_mono_ms);
                    }
                    (None, AttemptRole::Work) => scheduler.add_running(app, kind, attempt.tracker, attempt.slots),
                    (None, _) => {
                        let Attempt { tracker, slots, launch_mono_ms, .. } = *attempt;
                        scheduler.begin_housekeeping(app, tracker, kind, slots, launch_mono_ms);
                    }
                }
            }
            self.refresh_releasing(key, scheduler);
        }
    }

    fn count_launch(&mut self, key: TaskKey, role: AttemptRole, at: &TrackerLocation) {
        if role != AttemptRole::Work {
            return;
        }
        let kind = key.kind();
        self.counts.launched[kind] += 1;
        if let (Kind::Map, Some((host, near))) = (kind, &at.host) {
            self.count_locality(key, *host, near);
        }
    }

    /// A tracker that was lost counts as one failure on its host.
    fn record_lost_trackers(&mut self, attempts: &[StoredAttempt], trackers: &TrackerLocations) {
        let is_lost = |attempt: &&StoredAttempt| {
            let text = Attempt::lost_tracker_text(&attempt.tracker);
            attempt.diagnostics.lines().any(|line| line == text)
        };
        let lost: BTreeSet<&Arc<str>> = attempts.iter().filter(is_lost).map(|attempt| &attempt.tracker).collect();
        for (host, _) in lost.into_iter().filter_map(|name| trackers.get(name)?.host.as_ref()) {
            self.restore_host_failure(*host);
        }
    }

    fn replay_events(&mut self, events: &[StoredEvent]) {
        let is_running = self.state == JobState::Running;
        for (index, event) in events.iter().enumerate() {
            let Some(key) = self.key_of(event.attempt.task) else { continue };
            let number = event.attempt.number;
            self.events.push(CompletionEntry {
                key,
                attempt: number,
                status: event.status,
                http: event.http.clone(),
                run_time_ms: event.run_time_ms,
            });
            let Some(position) = self.task(key).position(number) else { continue };
            match event.status {
                CompletionStatus::Succeeded | CompletionStatus::Obsolete => {
                    self.replay_success(key, position, index, event.status == CompletionStatus::Succeeded);
                }
                CompletionStatus::Failed | CompletionStatus::Killed | CompletionStatus::TipFailed => {
                    self.replay_failure(key, position, event.status == CompletionStatus::TipFailed);
                }
            }
        }
        self.reduces_requested = is_running && self.are_reduces_due();
        let sums = &mut self.counter_sums;
        for kind in Kind::ALL {
            for task in &self.work[kind] {
                let TaskState::Complete(position) = task.state else { continue };
                if let Some(counters) = task.attempts.get(position).and_then(|attempt| attempt.counters.as_ref()) {
                    sums[kind].add(counters);
                }
            }
        }
    }

    /// An attempt succeeded then; `lasts` when its output was not lost since.
    fn replay_success(&mut self, key: TaskKey, position: usize, event: usize, lasts: bool) {
        let task = self.task_mut(key);
        task.state = TaskState::Complete(position);
        if lasts {
            task.success_event = Some(event);
            task.finish_ms = task.attempts.get(position).map_or(0, |attempt| attempt.finish_ms);
        }
        if let TaskKey::Work(kind, _) = key {
            self.finished[kind] += 1;
            self.record_output(key, position);
            self.add_task_cost(key, position);
        }
    }

    /// An attempt FAILED or was KILLED then.
    fn replay_failure(&mut self, key: TaskKey, position: usize, with_task: bool) {
        let max_attempts = self.max_attempts(key.kind());
        let task = self.task_mut(key);
        let lost_output = task.state == TaskState::Complete(position);
        if lost_output {
            task.state = TaskState::Waiting;
        }
        if task.attempts.get(position).is_some_and(|attempt| attempt.state == AttemptState::Failed) {
            task.failures += 1;
        }
        // Otherwise the end of the job has ended the task.
        let is_given_up = with_task && task.has_failed_too_often(max_attempts) && !task.is_over();
        if is_given_up {
            task.state = TaskState::Failed;
        }
        if let TaskKey::Work(kind, _) = key {
            self.finished[kind] -= u32::from(lost_output);
            self.failed[kind] += u32::from(is_given_up);
        }
    }

    /// Derives the state of a task that is neither done nor given up from its attempts.
    fn derive_task_state(&mut self, key: TaskKey, is_ending: bool) {
        let task = self.task_mut(key);
        if task.is_over() {
            return;
        }
        task.state = match task.has_live_attempt() {
            _ if is_ending && !matches!(key, TaskKey::Cleanup(_)) => TaskState::Killed,
            true => TaskState::Running,
            false => TaskState::Waiting,
        };
    }

    /// Queues task-cleanups not yet launched, in the order in which their attempts ended.
    fn queue_task_cleanups(&mut self) {
        for kind in Kind::ALL {
            let tasks = (0..).zip(&self.work[kind]).map(|(number, task)| (TaskKey::Work(kind, number), task));
            let waits = |attempt: &&Attempt| attempt.is_unclean() && attempt.cleanup_tracker.is_none();
            let mut queue: Vec<_> = tasks
                .flat_map(|(key, task)| {
                    let waiting = task.attempts.iter().filter(waits);
                    waiting.map(move |attempt| (attempt.finish_ms, key, attempt.number))
                })
                .collect();
            queue.sort_unstable();
            self.task_cleanups[kind] = queue.into_iter().map(|(_, key, number)| (key, number)).collect();
        }
    }

    /// Fills the tables of waiting tasks, and requests their slots.
    fn request_waiting_tasks(&mut self, context: &mut JobContext<'_>) {
        let total = self.total();
        self.waiting.map = PendingTasks::maps(&self.preferred_hosts, &self.racks);
        self.waiting.reduce = PendingTasks::reduces(total.reduce);
        for kind in Kind::ALL {
            for number in 0..total[kind] {
                let task = self.task(TaskKey::Work(kind, number));
                let (waits, is_fresh, failures) =
                    (task.state == TaskState::Waiting, task.attempts.is_empty(), task.failures);
                if waits && kind == Kind::Map {
                    let place = self.preferred_hosts_of(TaskKey::Work(kind, number));
                    context.scheduler.request_slots(self.app, kind, &place, 1);
                }
                if !waits || !is_fresh {
                    self.waiting[kind].discard(number);
                }
                if waits && !is_fresh {
                    self.requeue(kind, number, failures);
                }
            }
        }
        if self.reduces_requested {
            let waiting = u32::try_from(self.waiting.reduce.len()).unwrap_or(u32::MAX);
            context.scheduler.request_slots(self.app, Kind::Reduce, &[], waiting);
        }
    }

    /// Whether another JobTracker, or a later state, may have launched attempts of it.
    pub(crate) fn has_foreign_attempts(&self) -> bool {
        self.first_attempt > 0
    }

    pub(crate) fn unknown_attempts(&self) -> u32 {
        self.unknown_attempts
    }

    /// Sets that number. The job is not set up while it is above zero: the cleanup of an unknown attempt would remove
    /// the output of new ones.
    pub(crate) fn set_unknown_attempts(&mut self, unknown_attempts: u32, housekeeping: &mut HousekeepingQueue) {
        self.unknown_attempts = unknown_attempts;
        self.refresh_housekeeping(housekeeping);
    }

    /// Numbers new attempts above an unknown one. Returns the fact, if that changes anything.
    pub(crate) fn reserve_numbers_above(&mut self, unknown: AttemptId) -> Option<JobFact> {
        let key = self.key_of(unknown.task)?;
        if unknown.number < self.first_attempt.max(self.task(key).next_number()) {
            return None;
        }
        self.first_attempt = next_attempt_block(unknown.number);
        Some(JobFact::AttemptBlockSkipped { job: self.id, first_attempt: self.first_attempt })
    }
}

/// Both clocks at a launch before the restart. Wrong if the wall clock was set since; but never later than `now`.
fn launch_time(launch_ms: i64, now: Now) -> Now {
    let age_ms = u64::try_from(now.wall_ms.saturating_sub(launch_ms)).unwrap_or(0);
    Now { mono_ms: now.mono_ms.saturating_sub(age_ms), wall_ms: launch_ms }
}

fn restored_attempt(
    stored: StoredAttempt,
    kind: Kind,
    tracker: TrackerId,
    cleanup_tracker: Option<TrackerId>,
    now: Now,
) -> Attempt {
    let is_live = stored.is_live();
    let phase = if cleanup_tracker.is_some() { Phase::Cleanup } else { first_phase(kind) };
    let mut attempt = Attempt {
        // It may have started, so it needs a task-cleanup if it is lost.
        state: if is_live { AttemptState::Running } else { stored.state },
        cleanup_tracker,
        slots: stored.slots,
        holds_slot: is_live || cleanup_tracker.is_some(),
        // An end fulfils the request; the end of a task-cleanup may be requested again, but it is never preempted.
        kill_request: stored
            .kill_request
            .filter(|request| is_live || (cleanup_tracker.is_some() && *request != KillRequest::Preempt)),
        was_preempted: stored.kill_request == Some(KillRequest::Preempt),
        start_ms: stored.start_ms,
        finish_ms: stored.finish_ms,
        shuffle_finish_ms: stored.shuffle_finish_ms,
        sort_finish_ms: stored.sort_finish_ms,
        output_bytes: stored.output_bytes,
        diagnostics: stored.diagnostics.into(),
        state_text: stored.state_text,
        counters: stored.counters,
        ..Attempt::launched(stored.id.number, stored.role, phase, tracker, launch_time(stored.launch_ms, now))
    };
    if cleanup_tracker.is_some() {
        // When its task-cleanup was launched is not known: it counts as just launched.
        attempt.launch_mono_ms = now.mono_ms;
    }
    attempt
}

/// Attempt numbers are skipped in blocks of a thousand: more than any task has attempts
/// ([`Task::MAX_ATTEMPTS`](super::Task::MAX_ATTEMPTS)), and what 1.2.1 meant to do at each of its own restarts.
pub(crate) const ATTEMPT_BLOCK_SIZE: i32 = 1_000;

/// The first number of the block after the one that contains `number`.
pub(crate) fn next_attempt_block(number: i32) -> i32 {
    (number.max(0) / ATTEMPT_BLOCK_SIZE).saturating_add(1).saturating_mul(ATTEMPT_BLOCK_SIZE)
}

impl StoredJob {
    /// Discards all progress; only a decided end remains.
    pub(crate) fn discard_progress(&mut self) {
        self.skip_attempt_block();
        self.is_running = false;
        self.attempts.clear();
        self.events.clear();
    }

    /// Numbers new attempts above all that may have been launched.
    pub(crate) fn skip_attempt_block(&mut self) {
        let highest = self.attempts.iter().map(|attempt| attempt.id.number).max().unwrap_or(0);
        self.accepted.first_attempt = next_attempt_block(highest.max(self.accepted.first_attempt));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempt_blocks_follow_each_other() {
        assert_eq!(
            [0, 7, 999, 1_000, 1_999, i32::MIN].map(next_attempt_block),
            [1_000, 1_000, 1_000, 2_000, 2_000, 1_000]
        );
        assert_eq!(next_attempt_block(i32::MAX), i32::MAX, "there is none");
    }
}
