//! A request while it is answered, and the job, application or queue that it names.

use std::sync::Arc;

use axum::http::Uri;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::model::{JobId, Kind};
use crate::views::{ApplicationView, JobView, Shown};

use super::super::applications::{PathParts, Problem, ProblemName};
use super::super::identify::BadBearer;
use super::super::owner::{LedgerUnreadable, Owner, OwnerGone};
use super::super::state::{ANSWER_TIMEOUT, WebState};
use super::super::viewer::Viewer;
use super::address::part;

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
    pub(super) fn check_parts_of(&self, user: &str) -> Result<(), Problem> {
        if self.viewer.sees_parts_of(user) { Ok(()) } else { Err(only_the_row()) }
    }

    /// Refuses what shows a queue's money.
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

/// The job of the path.
pub(super) fn known_job<O>(ask: &Ask<'_, O>) -> Result<Arc<JobView>, Problem> {
    let text = ask.parts.get(part::JOB);
    let found = text.parse::<JobId>().ok().and_then(|id| ask.shown.views.job(id));
    found.cloned().ok_or_else(|| {
        let detail = format!("there is no job {text} among those that are shown");
        Problem::new(ProblemName::NoSuchJob, detail).with_try("/api/v1/history/jobs")
    })
}

/// A job that is over, with its attempts.
pub(super) async fn ended_job<O: Owner>(ask: &Ask<'_, O>, job: JobId) -> Result<Option<Arc<JobView>>, Problem> {
    match timeout(ANSWER_TIMEOUT, ask.web.owner.ended_job(job)).await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(OwnerGone)) | Err(_) => Err(Problem::from(OwnerGone)),
    }
}

/// The application of the path.
pub(super) fn known_application<O>(ask: &Ask<'_, O>) -> Result<Arc<ApplicationView>, Problem> {
    let id = ask.parts.application()?;
    let unknown = || {
        let detail = format!("there is no application {id} among those that are shown");
        Problem::new(ProblemName::NoSuchApplication, detail).with_try("/api/v1/history/jobs")
    };
    ask.shown.views.application(id).cloned().ok_or_else(unknown)
}

pub(super) fn no_such_queue(name: &str) -> Problem {
    let detail = format!("there is no queue {name:?}");
    Problem::new(ProblemName::NoSuchQueue, detail).with_try("/api/v1/queues")
}

/// What was read from `state.db`.
pub(super) fn found<T>(read: Result<Result<T, LedgerUnreadable>, Elapsed>) -> Result<T, Problem> {
    match read {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) => Err(Problem::new(ProblemName::Unavailable, error.to_string())),
        Err(_) => Err(Problem::new(ProblemName::Unavailable, "it was not read in time: ask for a shorter range")),
    }
}
