//! A job's part in preemption: its preemptible attempts, its use of a slot, and the order to an attempt.
//!
//! A decision stays in memory until the heartbeat of the attempt's tracker. Then either the kill is ordered, which is a
//! fact, or the attempt is done or waits for its commit, and the decision is dropped.

use std::sync::Arc;

use crate::model::{AttemptId, AttemptState, Kind, TrackerId};
use crate::scheduler::Scheduler;

use super::job::{Job, TaskKey};
use super::job_state::JobState;
use super::{Attempt, AttemptRole, JobFact, KillRequest, NodeRegistry, Task};

/// How often a task is preempted at most: the rest of [`Task::MAX_ATTEMPTS`] is for ends that are its own or its owner's.
const MAX_PREEMPTIONS: usize = Task::MAX_ATTEMPTS / 2;

impl Job {
    /// Preemptible attempts of its maps or reduces in order of launch, with their ids.
    pub(crate) fn preemptible_attempts(&self, kind: Kind) -> impl Iterator<Item = (AttemptId, &Attempt)> {
        self.slot_holders[kind].iter().filter_map(move |(_, number, attempt)| {
            let key = TaskKey::Work(kind, *number);
            let task = self.task(key);
            let attempt = task.attempts.get(task.position(*attempt)?)?;
            let may_leave = !attempt.is_releasing && attempt.is_preemptible() && !task.was_preempted_too_often();
            may_leave.then(|| (self.task_id(key).attempt(attempt.number), attempt))
        })
    }

    /// Decides to preempt an attempt. Its tracker gets the order with `why` at its next heartbeat.
    pub(crate) fn preempt(&mut self, id: AttemptId, why: &Arc<str>, scheduler: &mut Scheduler) {
        let Some(key) = self.key_of(id.task) else { return };
        let task = self.task_mut(key);
        let Some(position) = task.position(id.number) else { return };
        let attempt = &mut task.attempts[position];
        if attempt.is_preemptible() {
            attempt.preemption = Some(why.clone());
            self.refresh_releasing(key, scheduler);
        }
    }

    /// The tracker of an attempt whose preemption is decided but not yet ordered; none for any other.
    pub(crate) fn undelivered_preemption(&self, id: AttemptId) -> Option<TrackerId> {
        let attempt = self.attempt(self.key_of(id.task)?, id.number)?;
        attempt.preemption.as_ref().map(|_| attempt.tracker)
    }

    /// Cancels a preemption that was not yet ordered.
    pub(crate) fn cancel_preemption(&mut self, id: AttemptId, scheduler: &mut Scheduler) {
        let Some(key) = self.key_of(id.task) else { return };
        let task = self.task_mut(key);
        let Some(position) = task.position(id.number) else { return };
        task.attempts[position].preemption = None;
        self.refresh_releasing(key, scheduler);
    }

    /// Updates the scheduler after a change that may have decided the end of an attempt of a task.
    pub(super) fn refresh_releasing(&mut self, key: TaskKey, scheduler: &mut Scheduler) {
        let app = self.app;
        self.task_mut(key).refresh_releasing(app, key.kind(), scheduler);
    }

    /// Its maps or reduces that wait for a slot and may have one; second attempts do not count.
    pub(crate) fn runnable(&self, kind: Kind) -> u32 {
        let is_open = kind == Kind::Map || (self.reduces_requested && self.are_reduces_due());
        let is_running = self.state == JobState::Running && !self.is_over_or_ending();
        if is_open && is_running { u32::try_from(self.waiting[kind].len()).unwrap_or(u32::MAX) } else { 0 }
    }

    /// Whether a slot on a tracker would help: for its setup, or for a waiting task.
    pub(crate) fn can_use(&self, kind: Kind, tracker: TrackerId, nodes: &NodeRegistry) -> bool {
        if self.state == JobState::Prep {
            return self.can_set_up_on(kind, tracker, nodes);
        }
        self.can_run_on(kind, tracker, nodes)
            && self.waiting[kind].has_runnable(|number| self.can_rerun_on(kind, number, tracker, nodes))
    }

    /// Whether there may be trackers that it cannot use.
    pub(crate) fn is_constrained(&self, kind: Kind) -> bool {
        let is_picky = |task: &Task| !task.failed_hosts.is_empty();
        self.flaky_hosts().next().is_some()
            || match self.state {
                JobState::Accepted | JobState::Prep => is_picky(&self.setup[kind]),
                _ => {
                    (kind == Kind::Map && self.output.room_per_map_bytes() > 0)
                        || !self.waiting[kind].has_runnable(|_| false)
                }
            }
    }
}

impl Task {
    /// Marks at the scheduler which slots of its attempts, held for `app`, are being released.
    pub(super) fn refresh_releasing(&mut self, app: crate::scheduler::AppId, kind: Kind, scheduler: &mut Scheduler) {
        let is_over = self.is_over();
        for attempt in &mut self.attempts {
            if is_over {
                // Ends with its task.
                attempt.preemption = None;
            }
            let is_releasing = attempt.holds_slot_for_work() && (is_over || attempt.is_to_end());
            match (std::mem::replace(&mut attempt.is_releasing, is_releasing), is_releasing) {
                (false, true) => scheduler.mark_releasing(app, kind, attempt.tracker, attempt.slots),
                (true, false) => scheduler.unmark_releasing(app, kind, attempt.tracker, attempt.slots),
                _ => {}
            }
        }
    }

    fn was_preempted_too_often(&self) -> bool {
        let preempted = || self.attempts.iter().filter(|attempt| attempt.was_preempted).count();
        self.attempts.len() >= MAX_PREEMPTIONS && preempted() >= MAX_PREEMPTIONS
    }
}

impl Attempt {
    /// Whether it runs and its end is not decided. One that waits for its commit is as good as done.
    fn is_preemptible(&self) -> bool {
        let is_at_work = matches!(self.state, AttemptState::Unassigned | AttemptState::Running);
        is_at_work && self.holds_slot_for_work() && !self.is_to_end()
    }

    /// Whether it holds a slot for a map or reduce, not for a task-cleanup.
    pub(super) fn holds_slot_for_work(&self) -> bool {
        self.holds_slot && self.role == AttemptRole::Work && self.cleanup_tracker.is_none()
    }

    /// Whether its end is decided, independently of its task.
    pub(super) fn is_to_end(&self) -> bool {
        self.kill_request.is_some() || self.preemption.is_some() || self.close_sent
    }

    /// Orders the end of the attempt, which cannot succeed from now on. False when it is done or waits for its commit.
    pub(super) fn order_preemption(&mut self, id: AttemptId, why: &str, facts: &mut Vec<JobFact>) -> bool {
        if !self.is_preemptible() {
            return false;
        }
        self.kill_request = Some(KillRequest::Preempt);
        self.was_preempted = true;
        self.diagnostics.add(why);
        facts.push(JobFact::AttemptKillRequested { attempt: id, request: KillRequest::Preempt });
        let diagnostics = self.diagnostics.joined();
        facts.push(JobFact::AttemptReported { attempt: id, diagnostics, failed_fetches: Vec::new() });
        true
    }
}
