//! The words of the API for states and kinds of tasks.

use crate::api::TaskState;
use crate::model::Kind;

/// The states of tasks, in the order in which the API lists them.
pub(super) const STATES: [&str; 5] = ["PENDING", "RUNNING", "SUCCEEDED", "FAILED", "KILLED"];

/// The place of a state in [`STATES`]: a task whose last attempt was preempted is pending.
pub(super) const fn place_of(state: TaskState) -> usize {
    match state {
        TaskState::Waiting | TaskState::Preempted => 0,
        TaskState::Running => 1,
        TaskState::Succeeded => 2,
        TaskState::Failed => 3,
        TaskState::Killed => 4,
    }
}

/// The word for maps or reduces.
pub(super) const fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Map => "map",
        Kind::Reduce => "reduce",
    }
}
