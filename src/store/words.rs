//! How states stand in the database: Hadoop's own words.

use crate::mapreduce::{AttemptRole, KillRequest};
use crate::model::{AttemptState, Priority, RunState};
use crate::wire::CompletionStatus;

pub(super) fn run_state(state: RunState) -> &'static str {
    match state {
        RunState::Prep => "PREP",
        RunState::Running => "RUNNING",
        RunState::Succeeded => "SUCCEEDED",
        RunState::Failed => "FAILED",
        RunState::Killed => "KILLED",
    }
}

pub(super) fn attempt_state(state: AttemptState) -> &'static str {
    match state {
        AttemptState::Running => "RUNNING",
        AttemptState::Succeeded => "SUCCEEDED",
        AttemptState::Failed => "FAILED",
        AttemptState::Unassigned => "UNASSIGNED",
        AttemptState::Killed => "KILLED",
        AttemptState::CommitPending => "COMMIT_PENDING",
        AttemptState::FailedUnclean => "FAILED_UNCLEAN",
        AttemptState::KilledUnclean => "KILLED_UNCLEAN",
    }
}

pub(super) fn priority(priority: Priority) -> &'static str {
    match priority {
        Priority::VeryHigh => "VERY_HIGH",
        Priority::High => "HIGH",
        Priority::Normal => "NORMAL",
        Priority::Low => "LOW",
        Priority::VeryLow => "VERY_LOW",
    }
}

pub(super) fn completion_status(status: CompletionStatus) -> &'static str {
    match status {
        CompletionStatus::Failed => "FAILED",
        CompletionStatus::Killed => "KILLED",
        CompletionStatus::Succeeded => "SUCCEEDED",
        CompletionStatus::Obsolete => "OBSOLETE",
        CompletionStatus::TipFailed => "TIPFAILED",
    }
}

pub(super) fn kill_asked(request: KillRequest) -> &'static str {
    match request {
        KillRequest::Kill => "KILLED",
        KillRequest::Fail => "FAILED",
        KillRequest::Preempt => "PREEMPTED",
    }
}

/// The role of an attempt; a task cleanup is no role of its own but part of the attempt it cleans up after.
pub(super) fn role(role: AttemptRole) -> &'static str {
    match role {
        AttemptRole::JobSetup => "job_setup",
        AttemptRole::JobCleanup => "job_cleanup",
        AttemptRole::Work => "work",
        AttemptRole::TaskCleanup => "task_cleanup",
    }
}

/// The value whose word this is.
fn named<T: Copy>(all: &[T], word: fn(T) -> &'static str, text: &str) -> Option<T> {
    all.iter().copied().find(|value| word(*value) == text)
}

pub(super) fn run_state_named(text: &str) -> Option<RunState> {
    use RunState as S;
    named(&[S::Prep, S::Running, S::Succeeded, S::Failed, S::Killed], run_state, text)
}

pub(super) fn attempt_state_named(text: &str) -> Option<AttemptState> {
    use AttemptState as S;
    let ended = [S::Succeeded, S::Failed, S::Killed, S::FailedUnclean, S::KilledUnclean];
    named(&ended, attempt_state, text)
        .or_else(|| named(&[S::Running, S::Unassigned, S::CommitPending], attempt_state, text))
}

pub(super) fn priority_named(text: &str) -> Option<Priority> {
    use Priority as P;
    named(&[P::VeryHigh, P::High, P::Normal, P::Low, P::VeryLow], priority, text)
}

pub(super) fn completion_status_named(text: &str) -> Option<CompletionStatus> {
    use CompletionStatus as S;
    named(&[S::Failed, S::Killed, S::Succeeded, S::Obsolete, S::TipFailed], completion_status, text)
}

pub(super) fn kill_asked_named(text: &str) -> Option<KillRequest> {
    named(&[KillRequest::Kill, KillRequest::Fail, KillRequest::Preempt], kill_asked, text)
}

/// The role of an attempt as its row has it.
pub(super) fn role_named(text: &str) -> Option<AttemptRole> {
    named(&[AttemptRole::JobSetup, AttemptRole::JobCleanup, AttemptRole::Work], role, text)
}
