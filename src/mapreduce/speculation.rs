//! Speculative attempts for tasks that are far behind the others (1.2.1 `TaskInProgress.hasSpeculativeTask`,
//! `JobInProgress.findSpeculativeTask`).
//!
//! A job requests one slot while it has such a task and nothing else to run. It checks whenever one of its tasks
//! changes, and once after the first minute: at other times no task can become a straggler.

use crate::model::{Kind, TrackerId};

use super::job::{Job, TaskKey};
use super::job_state::JobState;
use super::stragglers::Stragglers;
use super::{JobContext, NodeInfo, Task, TaskState};

/// A task lags when it is this far behind the mean of its kind (1.2.1 `SPECULATIVE_GAP`).
const GAP_MILLIONTHS: u32 = 200_000;
/// No task lags earlier after the submission of its job (1.2.1 `SPECULATIVE_LAG`), or after a restart of the daemon:
/// its progress is unknown until its tracker is back.
const LAG_MS: i64 = 60_000;
/// Most lagging tasks that the search skips because they may not run on a tracker.
const SEARCH_LIMIT: usize = 64;

impl Job {
    /// Schedules the check after the first minute, by the monotonic clock.
    pub(super) fn schedule_straggler_check(&self, context: &mut JobContext<'_>) {
        if Kind::ALL.iter().any(|kind| self.spec.speculative[*kind]) {
            let age_ms = context.now.wall_ms.saturating_sub(self.straggler_watch_ms);
            let left_ms = LAG_MS.saturating_sub(age_ms).clamp(0, LAG_MS).unsigned_abs();
            context.housekeeping.straggler_checks.insert((context.now.mono_ms.saturating_add(left_ms), self.id));
        }
    }

    pub(crate) fn check_stragglers(&mut self, context: &mut JobContext<'_>) {
        Kind::ALL.into_iter().for_each(|kind| self.refresh_straggler_demand(kind, context));
    }

    pub(super) fn refresh_straggler(&mut self, key: TaskKey) {
        let TaskKey::Work(kind, number) = key else { return };
        if !self.spec.speculative[kind] {
            return;
        }
        let never = self.is_over_or_ending() || self.is_skipping(key);
        let task = self.task_mut(key);
        let place = (!never && task.can_lag()).then(|| task.progress_millionths());
        let before = std::mem::replace(&mut task.straggler_key, place);
        if before != place {
            self.stragglers[kind].move_task(number, before, place);
        }
    }

    pub(super) fn refresh_straggler_demand(&mut self, kind: Kind, context: &mut JobContext<'_>) {
        if !self.spec.speculative[kind] || self.state != JobState::Running || self.is_over_or_ending() {
            return;
        }
        let limit = self.lagging_millionths(kind);
        let lags = limit.is_some_and(|limit| self.stragglers[kind].up_to(limit).next().is_some());
        let is_old = context.now.wall_ms.saturating_sub(self.straggler_watch_ms) >= LAG_MS;
        let needs_slot = lags && is_old && self.waiting[kind].len() == 0;
        match (self.stragglers[kind].set_slot_requested(needs_slot), needs_slot) {
            (false, true) => context.scheduler.request_second_attempt(self.app, kind),
            (true, false) => context.scheduler.withdraw_second_attempt(self.app, kind),
            _ => {}
        }
    }

    /// The slowest straggler that may run a second attempt on a tracker, if a slot was requested; this fulfils the request.
    pub(super) fn take_straggler(&mut self, kind: Kind, tracker: TrackerId, info: &NodeInfo) -> Option<u32> {
        let limit = self.lagging_millionths(kind).filter(|_| self.stragglers[kind].is_slot_requested())?;
        let suits = |number: &u32| {
            let task = self.task(TaskKey::Work(kind, *number));
            let runs_here = |attempt: &super::Attempt| attempt.is_active() && attempt.tracker == tracker;
            !task.failed_hosts.contains(&info.host) && !task.attempts.iter().any(runs_here)
        };
        let number = self.stragglers[kind].up_to(limit).take(SEARCH_LIMIT).find(suits)?;
        self.stragglers[kind].set_slot_requested(false);
        Some(number)
    }

    /// Drops all candidates when the job ends; the scheduler has dropped the request.
    pub(super) fn clear_stragglers(&mut self) {
        for kind in Kind::ALL {
            self.stragglers[kind] = Stragglers::default();
        }
    }

    /// The progress at or below which a task of that kind lags; none while the others have not progressed enough.
    fn lagging_millionths(&self, kind: Kind) -> Option<u32> {
        self.progress_millionths(kind).checked_sub(GAP_MILLIONTHS)
    }
}

impl Task {
    /// Whether its only live attempt runs and does not wait for its commit.
    fn can_lag(&self) -> bool {
        let mut live = self.attempts.iter().filter(|attempt| attempt.is_active() || attempt.is_unclean());
        let is_at_work = |attempt: &super::Attempt| {
            use crate::model::AttemptState as S;
            matches!(attempt.state, S::Unassigned | S::Running)
        };
        self.state == TaskState::Running && live.next().is_some_and(is_at_work) && live.next().is_none()
    }
}
