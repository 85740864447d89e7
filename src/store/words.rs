//! How states stand in the database: Hadoop's own words.

use crate::mapreduce::{AttemptRole, KillAsked};
use crate::wire::{AttemptState, CompletionStatus, Priority, RunState};

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

pub(super) fn kill_asked(asked: KillAsked) -> &'static str {
    match asked {
        KillAsked::Kill => "KILLED",
        KillAsked::Fail => "FAILED",
        KillAsked::Preempt => "PREEMPTED",
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
