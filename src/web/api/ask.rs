//! A request while it is answered.

use axum::http::Uri;
use tokio::time::timeout;

use crate::model::Kind;
use crate::views::{JobView, Shown};

use super::super::applications::{PathParts, Problem, ProblemName};
use super::super::identify::BadBearer;
use super::super::owner::{Owner, OwnerGone};
use super::super::state::{ANSWER_TIMEOUT, WebState};
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
    /// Refuses parts of a user's application to all but that user and administrators, while access lists are on.
    ///
    /// # Errors
    /// `forbidden`.
    pub(super) fn check_parts_of(&self, user: &str) -> Result<(), Problem> {
        if self.viewer.sees_parts_of(user) { Ok(()) } else { Err(only_the_row()) }
    }

    /// Refuses what shows a queue's money.
    ///
    /// # Errors
    /// `forbidden`.
    pub(super) fn check_money_of(&self, queue: &str, attempt: &str) -> Result<(), Problem> {
        if self.viewer.sees_money_of(queue) {
            return Ok(());
        }
        let why = "jobtracker.market.visibility is private: only the queue's user and administrators see this, who sign in by \
                   jobtracker open";
        Err(Problem::new(ProblemName::Forbidden, why).with_try(attempt))
    }
}

impl<O: Owner> Ask<'_, O> {
    /// Refuses parts of a job to those that its access lists keep out. The owner is asked where lists must be looked at.
    ///
    /// # Errors
    /// `forbidden`, `unavailable`.
    pub(super) async fn check_parts_of_job(&self, job: &JobView) -> Result<(), Problem> {
        let caller = self.viewer.caller();
        if self.viewer.sees_parts_of(&job.spec().user) {
            return Ok(());
        }
        if caller.user.is_empty() {
            return Err(only_the_row());
        }
        // Who may see the logs of an attempt may see all parts of its job.
        let attempt = job.id().task(Kind::Map, 0).attempt(0);
        match timeout(ANSWER_TIMEOUT, self.web.owner.check_view_logs(attempt, caller.user)).await {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(_))) => Err(only_the_row()),
            Ok(Err(OwnerGone)) | Err(_) => Err(Problem::from(OwnerGone)),
        }
    }
}

/// Refuses a bearer that is no session.
pub(super) fn refused_bearer(bad: BadBearer) -> Problem {
    Problem::new(ProblemName::SessionRefused, bad.to_string()).with_try("jobtracker open --token")
}

fn only_the_row() -> Problem {
    let why = "access lists are on: only those that they name see more of it than its row in the list";
    Problem::new(ProblemName::Forbidden, why).with_try("jobtracker job tasks JOB")
}
