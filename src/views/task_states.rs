//! How far tasks are, from their attempts: one rule for pages, pictures and the API.

use crate::api::TaskState;
use crate::mapreduce::{KillRequest, TriedAttempt, has_failed_too_often};
use crate::model::{AttemptState, Kind};

use super::attempt_view::AttemptView;
use super::job_view::JobView;

impl JobView {
    /// How far a task is; `is_over`: nothing of the job runs again.
    pub(crate) fn task_state(&self, kind: Kind, task: u32, is_over: bool) -> TaskState {
        let spec = self.spec();
        let max_attempts = if kind == Kind::Map { spec.map_max_attempts } else { spec.reduce_max_attempts };
        state_of(self.tasks(kind).of(task), max_attempts, is_over)
    }

    /// The states of its tasks of a kind in the order of their numbers, as lengths of runs of one state.
    pub(crate) fn task_runs(&self, kind: Kind, is_over: bool) -> Vec<(TaskState, u32)> {
        let total = self.total()[kind];
        let untouched = state_of(&[], 1, is_over);
        let mut runs: Vec<(TaskState, u32)> = Vec::new();
        let mut add = |state, count: u32| match runs.last_mut() {
            _ if count == 0 => {}
            Some((last, length)) if *last == state => *length += count,
            _ => runs.push((state, count)),
        };
        let mut next = 0;
        for task in self.tasks(kind).iter().map(AttemptView::task).filter(|task| *task < total) {
            if task >= next {
                add(untouched, task - next);
                add(self.task_state(kind, task, is_over), 1);
                next = task + 1;
            }
        }
        add(untouched, total.saturating_sub(next));
        runs
    }
}

impl TriedAttempt for AttemptView {
    fn state(&self) -> AttemptState {
        self.state()
    }

    fn first_text(&self) -> &str {
        self.diagnostics()
    }
}

/// How far a task with these attempts is. A task of a job that is over has FAILED where its failures gave it up, as the JobTracker's
/// reports to clients count it; what else is not done was stopped with the job.
fn state_of(attempts: &[AttemptView], max_attempts: u32, is_over: bool) -> TaskState {
    let count = |is: fn(&AttemptView) -> bool| attempts.iter().filter(|attempt| is(attempt)).count();
    let failures = count(|attempt| attempt.state() == AttemptState::Failed);
    let is_last_preempted = || attempts.last().and_then(AttemptView::kill_request) == Some(KillRequest::Preempt);
    if count(|attempt| attempt.state() == AttemptState::Succeeded) > 0 {
        TaskState::Succeeded
    } else if !is_over && count(AttemptView::is_live) > 0 {
        TaskState::Running
    } else if has_failed_too_often(attempts, u32::try_from(failures).unwrap_or(u32::MAX), max_attempts) {
        TaskState::Failed
    } else if is_over {
        TaskState::Killed
    } else if is_last_preempted() {
        TaskState::Preempted
    } else {
        TaskState::Waiting
    }
}
