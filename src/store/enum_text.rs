//! Texts of values in the database: Hadoop's own names of enums, and values as JSON in a column.

use crate::mapreduce::{AttemptRole, KillRequest};
use crate::model::{AttemptState, Priority};
use crate::wire::CompletionStatus;

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

pub(super) fn kill_request(request: KillRequest) -> &'static str {
    match request {
        KillRequest::Kill => "KILLED",
        KillRequest::Fail => "FAILED",
        KillRequest::Preempt => "PREEMPTED",
    }
}

/// A task cleanup has no row of its own: it is part of the attempt it cleans up after.
pub(super) fn role(role: AttemptRole) -> &'static str {
    match role {
        AttemptRole::JobSetup => "job_setup",
        AttemptRole::JobCleanup => "job_cleanup",
        AttemptRole::Work => "work",
        AttemptRole::TaskCleanup => "task_cleanup",
    }
}

/// The value with this text.
fn parse<T: Copy>(all: &[T], name: fn(T) -> &'static str, text: &str) -> Option<T> {
    all.iter().copied().find(|value| name(*value) == text)
}

pub(super) fn parse_attempt_state(text: &str) -> Option<AttemptState> {
    use AttemptState as S;
    let ended = [S::Succeeded, S::Failed, S::Killed, S::FailedUnclean, S::KilledUnclean];
    parse(&ended, attempt_state, text)
        .or_else(|| parse(&[S::Running, S::Unassigned, S::CommitPending], attempt_state, text))
}

pub(super) fn parse_priority(text: &str) -> Option<Priority> {
    use Priority as P;
    parse(&[P::VeryHigh, P::High, P::Normal, P::Low, P::VeryLow], priority, text)
}

pub(super) fn parse_completion_status(text: &str) -> Option<CompletionStatus> {
    use CompletionStatus as S;
    parse(&[S::Failed, S::Killed, S::Succeeded, S::Obsolete, S::TipFailed], completion_status, text)
}

pub(super) fn parse_kill_request(text: &str) -> Option<KillRequest> {
    parse(&[KillRequest::Kill, KillRequest::Fail, KillRequest::Preempt], kill_request, text)
}

pub(super) fn parse_role(text: &str) -> Option<AttemptRole> {
    parse(&[AttemptRole::JobSetup, AttemptRole::JobCleanup, AttemptRole::Work], role, text)
}

pub(super) fn json(value: &impl serde::Serialize) -> rusqlite::Result<String> {
    serde_json::to_string(value).map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
}
