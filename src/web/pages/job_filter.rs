//! Which jobs a page lists.

use crate::engine::JobSnapshot;
use crate::model::{JobId, RunState};

/// What jobs must be; without a member: anything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobFilter {
    pub(crate) job: Option<JobId>,
    /// In one of these states; empty: in any.
    pub(crate) states: Vec<RunState>,
    pub(crate) user: Option<String>,
    pub(crate) queue: Option<String>,
    /// With this in its name, in whatever case.
    pub(crate) name: Option<String>,
    /// That ended at this moment or later, epoch ms.
    pub(crate) ended_since_ms: Option<i64>,
}

impl JobFilter {
    /// The words of states that a filter may name.
    pub(super) const STATES: &'static [&'static str] =
        &["", "live", "over", "preparing", "running", "succeeded", "failed", "killed"];

    /// The states of a word; none of an unknown one.
    pub(super) fn states_of(word: &str) -> Option<Vec<RunState>> {
        Some(match word {
            "live" => vec![RunState::Prep, RunState::Running],
            "over" => vec![RunState::Succeeded, RunState::Failed, RunState::Killed],
            "preparing" => vec![RunState::Prep],
            "running" => vec![RunState::Running],
            "succeeded" => vec![RunState::Succeeded],
            "failed" => vec![RunState::Failed],
            "killed" => vec![RunState::Killed],
            _ => return None,
        })
    }

    /// Whether a job is listed.
    pub(crate) fn passes(&self, job: &JobSnapshot) -> bool {
        let is = |wanted: &Option<String>, value: &str| wanted.as_ref().is_none_or(|wanted| wanted == value);
        let has_name = |part: &String| job.name.to_lowercase().contains(&part.to_lowercase());
        self.job.is_none_or(|id| id == job.id)
            && (self.states.is_empty() || self.states.contains(&job.state))
            && is(&self.user, &job.user)
            && is(&self.queue, &job.queue)
            && self.name.as_ref().is_none_or(has_name)
            && self.ended_since_ms.is_none_or(|since_ms| job.finish_ms.is_some_and(|end_ms| end_ms >= since_ms))
    }
}
