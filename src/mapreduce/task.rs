//! One logical task of a job (1.2.1 `TaskInProgress`).

use crate::model::{AttemptState, TaskId, Violations, is_start_failure, is_worker_shortage};
use crate::scheduler::HostId;

use super::failed_ranges::FailedRanges;
use super::{Attempt, CounterValues};

/// Attempts whose command could not be started, after which a task is given up.
const MAX_START_FAILURES: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskState {
    /// No attempt runs.
    Waiting,
    /// An attempt runs or is unclean.
    Running,
    /// Done, by the attempt at this index of [`Task::attempts`].
    Complete(usize),
    /// Given up: too many failures.
    Failed,
    /// Given up: the job ends.
    Killed,
}

#[derive(Clone, Debug)]
pub(crate) struct Task {
    pub state: TaskState,
    /// All its attempts, in order of their numbers.
    pub attempts: Vec<Attempt>,
    pub failures: u32,
    pub committer: Option<usize>,
    /// 0 to 1.
    pub progress: f32,
    /// When the first attempt was launched, epoch ms; 0 = never.
    pub first_launch_ms: i64,
    /// When it was done, epoch ms; 0 = not.
    pub finish_ms: i64,
    /// Index of its success in the job's list of events.
    pub success_event: Option<usize>,
    pub failed_hosts: Vec<HostId>,
    /// Records to skip, as found by its failed attempts.
    pub(super) failed_ranges: Option<Box<FailedRanges>>,
    /// Its key among the straggler candidates: its progress, millionths.
    pub(super) straggler_key: Option<u32>,
    pub(super) is_counted_running: bool,
    /// Its part of the job's sum over running tasks.
    pub(super) counted: Option<CounterValues>,
}

/// What decides whether the task of an attempt is tried again.
pub(crate) trait TriedAttempt {
    fn state(&self) -> AttemptState;
    /// Its diagnostics, the first of several texts at least.
    fn first_text(&self) -> &str;
}

/// Whether a task with these attempts has failed too often to be tried again, of which so many FAILED. A command that cannot be
/// started will not get better: it is tried once more, perhaps on another host, however many attempts the job allows.
pub(crate) fn has_failed_too_often<A: TriedAttempt>(attempts: &[A], failures: u32, max_attempts: u32) -> bool {
    failures >= max_attempts
        || was_tried_too_often(attempts)
        || failures >= MAX_START_FAILURES
            && count_ends(attempts, AttemptState::Failed, is_start_failure) >= MAX_START_FAILURES as usize
}

/// Whether so many attempts have ended, in whatever way, that the task is given up. Those that a worker could not run for want of
/// something do not count: after each the worker pauses for longer, and what it lacks is no fault of the task.
fn was_tried_too_often<A: TriedAttempt>(attempts: &[A]) -> bool {
    let counted = || attempts.len() - count_ends(attempts, AttemptState::Killed, is_worker_shortage);
    attempts.len() >= Task::MAX_ATTEMPTS && counted() >= Task::MAX_ATTEMPTS
}

fn count_ends<A: TriedAttempt>(attempts: &[A], state: AttemptState, is_so: fn(&str) -> bool) -> usize {
    attempts.iter().filter(|attempt| attempt.state() == state && is_so(attempt.first_text())).count()
}

impl TriedAttempt for Attempt {
    fn state(&self) -> AttemptState {
        self.state
    }

    fn first_text(&self) -> &str {
        self.diagnostics.texts().next().unwrap_or_default()
    }
}

impl TaskState {
    pub(crate) fn can_become(self, next: TaskState) -> bool {
        use TaskState as S;
        match self {
            // Given up at once when its only success is lost for the last time.
            S::Waiting => matches!(next, S::Waiting | S::Running | S::Failed | S::Killed),
            S::Running => true,
            // Its output is lost.
            S::Complete(_) => matches!(next, S::Waiting | S::Running),
            S::Failed => false,
            // The job ends, and an attempt was done nevertheless.
            S::Killed => matches!(next, S::Complete(_)),
        }
    }
}

impl Task {
    /// Most attempts of one task, including killed ones, which nothing else limits: then the task is given up.
    pub(crate) const MAX_ATTEMPTS: usize = 1_000;

    pub(crate) fn new() -> Self {
        Self {
            state: TaskState::Waiting,
            attempts: Vec::new(),
            failures: 0,
            committer: None,
            progress: 0.0,
            first_launch_ms: 0,
            finish_ms: 0,
            success_event: None,
            failed_hosts: Vec::new(),
            failed_ranges: None,
            straggler_key: None,
            is_counted_running: false,
            counted: None,
        }
    }

    /// Counts the FAILED attempt at `position`, with its host, and the records that a skipping task may lose.
    pub(super) fn count_failure(&mut self, position: usize, longest_skip: Option<u64>, host: Option<HostId>) {
        self.failures += 1;
        let number = self.attempts[position].number;
        if let (Some(longest), Some(ranges)) = (longest_skip, &mut self.failed_ranges) {
            ranges.record_failure(number, longest);
        }
        if let Some(host) = host.filter(|host| !self.failed_hosts.contains(host)) {
            self.failed_hosts.push(host);
        }
    }

    /// Changes the state: the only place that does so, beside a restart. `id` is the task's own.
    #[track_caller]
    pub(super) fn enter_state(&mut self, next: TaskState, id: TaskId, violations: &mut Violations) {
        violations.check(self.state.can_become(next), || format!("{id} turns from {:?} to {next:?}", self.state));
        self.state = next;
    }

    pub(crate) fn next_number(&self) -> i32 {
        self.attempts.last().map_or(0, |attempt| attempt.number.saturating_add(1))
    }

    pub(crate) fn position(&self, number: i32) -> Option<usize> {
        self.attempts.iter().position(|attempt| attempt.number == number)
    }

    pub(crate) fn is_complete(&self) -> bool {
        matches!(self.state, TaskState::Complete(_))
    }

    pub(crate) fn has_failed_too_often(&self, max_attempts: u32) -> bool {
        has_failed_too_often(&self.attempts, self.failures, max_attempts)
    }

    /// Whether it was killed too often to be tried again.
    pub(super) fn was_tried_too_often(&self) -> bool {
        was_tried_too_often(&self.attempts)
    }

    /// Whether the success of an attempt comes too late: another one has done the task, or it was given up.
    pub(super) fn is_done_without(&self, position: usize) -> bool {
        match self.state {
            TaskState::Complete(winner) => winner != position,
            TaskState::Failed => true,
            TaskState::Waiting | TaskState::Running | TaskState::Killed => false,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, TaskState::Complete(_) | TaskState::Failed | TaskState::Killed)
    }

    pub(crate) fn has_live_attempt(&self) -> bool {
        self.attempts.iter().any(|attempt| attempt.is_active() || attempt.is_unclean())
    }

    /// Whether it is unfinished and an attempt, not a task-cleanup, holds a slot for it.
    pub(super) fn has_running_attempt(&self) -> bool {
        !self.is_over() && self.attempts.iter().any(|attempt| attempt.holds_slot && attempt.cleanup_tracker.is_none())
    }

    /// The attempt whose counters and text represent the task: the successful one, else the running one with the most
    /// progress, and of equals the last (1.2.1 `TaskInProgress.recomputeProgress`).
    pub(crate) fn best_attempt(&self) -> Option<&Attempt> {
        let at_work = |attempt: &&Attempt| matches!(attempt.state, AttemptState::Running | AttemptState::CommitPending);
        match self.state {
            TaskState::Complete(position) => self.attempts.get(position),
            TaskState::Failed | TaskState::Killed => None,
            TaskState::Waiting | TaskState::Running => {
                let at_work = self.attempts.iter().filter(at_work);
                at_work.max_by(|left, right| left.progress.total_cmp(&right.progress))
            }
        }
    }

    pub(super) fn running_counters(&self) -> Option<&CounterValues> {
        if self.state != TaskState::Running {
            return None;
        }
        self.best_attempt()?.counters.as_ref()
    }

    pub(super) fn progress_millionths(&self) -> u32 {
        (self.progress * 1_000_000.0).round() as u32
    }

    /// Recomputes the progress and returns the difference (1.2.1 `TaskInProgress.recomputeProgress`).
    pub(crate) fn recompute_progress(&mut self) -> f64 {
        let old = self.progress;
        self.progress = match self.state {
            TaskState::Complete(_) => 1.0,
            TaskState::Failed | TaskState::Killed => 0.0,
            TaskState::Waiting | TaskState::Running => {
                let mut best = 0.0_f32;
                for attempt in &self.attempts {
                    match attempt.state {
                        AttemptState::Running => best = best.max(attempt.progress),
                        // An attempt that waits for its commit keeps the task's progress.
                        AttemptState::CommitPending => best = best.max(old),
                        _ => {}
                    }
                }
                best
            }
        };
        f64::from(self.progress) - f64::from(old)
    }
}

impl Default for Task {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Kind, Violations};

    #[test]
    fn a_task_that_was_given_up_stays_so() {
        let id = "job_1_0001".parse::<crate::model::JobId>().unwrap().task(Kind::Map, 3);
        let (mut task, mut violations) = (Task::new(), Violations::counting());
        for next in [TaskState::Running, TaskState::Waiting, TaskState::Running, TaskState::Complete(0)] {
            task.enter_state(next, id, &mut violations);
        }
        task.enter_state(TaskState::Waiting, id, &mut violations);
        task.enter_state(TaskState::Failed, id, &mut violations);
        assert!(violations.is_empty());
        task.enter_state(TaskState::Running, id, &mut violations);
        assert_eq!(violations.take()[0].text, "task_1_0001_m_000003 turns from Failed to Running");
    }

    #[test]
    fn a_task_that_has_no_attempt_is_not_done() {
        assert!(!TaskState::Waiting.can_become(TaskState::Complete(0)));
        assert!(!TaskState::Complete(0).can_become(TaskState::Failed));
        assert!(TaskState::Killed.can_become(TaskState::Complete(0)), "done while the job ends");
    }
}
