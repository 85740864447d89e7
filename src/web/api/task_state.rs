//! How far tasks are, from their attempts.

use crate::model::{AttemptState, Kind};
use crate::views::{AttemptView, JobView};

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskState {
    Pending,
    Running,
    Succeeded,
    Failed,
    Killed,
}

impl TaskState {
    pub(super) const ALL: [Self; 5] = [Self::Pending, Self::Running, Self::Succeeded, Self::Failed, Self::Killed];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Pending => "PENDING",
            Self::Running => "RUNNING",
            Self::Succeeded => "SUCCEEDED",
            Self::Failed => "FAILED",
            Self::Killed => "KILLED",
        }
    }

    /// That of a task with these attempts, which may fail so often.
    pub(super) fn of(attempts: &[AttemptView], most_failures: u32, is_over: bool) -> Self {
        let count = |is: fn(AttemptState) -> bool| attempts.iter().filter(|attempt| is(attempt.state())).count();
        let failures = count(|state| matches!(state, AttemptState::Failed | AttemptState::FailedUnclean));
        if count(|state| state == AttemptState::Succeeded) > 0 {
            Self::Succeeded
        } else if !is_over && attempts.iter().any(AttemptView::is_live) {
            Self::Running
        } else if failures > 0 && failures >= most_failures as usize {
            Self::Failed
        } else if is_over {
            Self::Killed
        } else {
            Self::Pending
        }
    }
}

/// The word for maps or reduces.
pub(super) const fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Map => "map",
        Kind::Reduce => "reduce",
    }
}

/// How often a task may fail.
pub(super) fn most_failures(job: &JobView, kind: Kind) -> u32 {
    match kind {
        Kind::Map => job.spec().map_max_attempts,
        Kind::Reduce => job.spec().reduce_max_attempts,
    }
}

/// The states of all tasks of a kind, in the order of their numbers.
pub(super) fn task_states(job: &JobView, kind: Kind, is_over: bool) -> Vec<TaskState> {
    let (total, most) = (job.total()[kind], most_failures(job, kind));
    let mut states = vec![TaskState::of(&[], most, is_over); total as usize];
    let attempts: Vec<&AttemptView> = job.tasks(kind).iter().collect();
    for of_task in attempts.chunk_by(|one, other| one.task() == other.task()) {
        let Some(task) = of_task.first().map(|attempt| attempt.task()) else { continue };
        if let Some(state) = states.get_mut(task as usize) {
            *state = TaskState::of(job.tasks(kind).of(task), most, is_over);
        }
    }
    states
}
