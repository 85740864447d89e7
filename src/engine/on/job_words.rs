//! Names of a job's state, as clients and pages show it.

use crate::model::RunState;

/// Hadoop's name of a job's state.
pub(super) fn state_word(state: RunState) -> &'static str {
    match state {
        RunState::Prep => "PREP",
        RunState::Running => "RUNNING",
        RunState::Succeeded => "SUCCEEDED",
        RunState::Failed => "FAILED",
        RunState::Killed => "KILLED",
    }
}
