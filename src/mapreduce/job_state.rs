//! The life cycle of a job.

use crate::model::RunState;

/// The state of a job. [`JobState::can_become`] is the only table of transitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobState {
    /// Accepted; it waits until the policy lets it begin (1.2.1: not yet initialised). Clients see PREP.
    Accepted,
    /// Begun; its setup has not succeeded.
    Prep,
    Running,
    Over(JobOutcome),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    Succeeded,
    Failed,
    Killed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// FAILED or KILLED.
    pub outcome: JobOutcome,
    pub reason: String,
}

impl JobOutcome {
    pub(crate) fn run_state(self) -> RunState {
        match self {
            JobOutcome::Succeeded => RunState::Succeeded,
            JobOutcome::Failed => RunState::Failed,
            JobOutcome::Killed => RunState::Killed,
        }
    }
}

impl JobState {
    pub(crate) fn can_become(self, next: JobState) -> bool {
        match (self, next) {
            (JobState::Accepted, JobState::Prep) | (JobState::Prep, JobState::Running) => true,
            (JobState::Accepted | JobState::Prep, JobState::Over(outcome)) => outcome != JobOutcome::Succeeded,
            (JobState::Running, JobState::Over(_)) => true,
            _ => false,
        }
    }

    pub(crate) fn run_state(self) -> RunState {
        match self {
            JobState::Accepted | JobState::Prep => RunState::Prep,
            JobState::Running => RunState::Running,
            JobState::Over(outcome) => outcome.run_state(),
        }
    }
}
