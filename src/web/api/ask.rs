//! A request while it is answered.

use axum::http::Uri;

use crate::views::Shown;

use super::super::applications::{PathParts, Problem, ProblemName};
use super::super::state::WebState;
use super::super::viewer::Viewer;

/// A request, and what is shown to it.
#[derive(Debug)]
pub(super) struct Ask<'a, O> {
    pub(super) web: &'a WebState<O>,
    pub(super) uri: &'a Uri,
    pub(super) parts: PathParts,
    pub(super) viewer: Viewer,
    pub(super) shown: Shown,
}

impl<O> Ask<'_, O> {
    /// Refuses parts of jobs and applications that are not shown to everybody.
    ///
    /// # Errors
    /// `forbidden`.
    pub(super) fn check_parts(&self) -> Result<(), Problem> {
        if self.viewer.sees_parts() {
            return Ok(());
        }
        let why = "access lists are on: only those that they name see more of it than its row in the list";
        Err(Problem::new(ProblemName::Forbidden, why).with_try("jobtracker job tasks JOB"))
    }

    /// Refuses what shows a queue's money.
    ///
    /// # Errors
    /// `forbidden`.
    pub(super) fn check_money(&self, attempt: &str) -> Result<(), Problem> {
        if self.viewer.sees_money() {
            return Ok(());
        }
        let why = "jobtracker.market.visibility is private: only the queue's user and administrators see this";
        Err(Problem::new(ProblemName::Forbidden, why).with_try(attempt))
    }
}
