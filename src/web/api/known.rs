//! The job, application or queue that a request names.

use std::sync::Arc;

use tokio::time::timeout;

use crate::model::JobId;
use crate::views::{ApplicationView, JobView};

use super::super::applications::{Problem, ProblemName};
use super::super::owner::{Owner, OwnerGone};
use super::super::state::ANSWER_TIMEOUT;
use super::address::part;
use super::ask::Ask;

/// The job of the path.
///
/// # Errors
/// `no-such-job`.
pub(super) fn known_job<O>(ask: &Ask<'_, O>) -> Result<Arc<JobView>, Problem> {
    let text = ask.parts.get(part::JOB);
    let found = text.parse::<JobId>().ok().and_then(|id| ask.shown.views.job(id));
    found.cloned().ok_or_else(|| {
        let detail = format!("there is no job {text} among those that are shown");
        Problem::new(ProblemName::NoSuchJob, detail).with_try("/api/v1/history/jobs")
    })
}

/// A job that is over, with its attempts.
///
/// # Errors
/// `unavailable`.
pub(super) async fn ended_job<O: Owner>(ask: &Ask<'_, O>, job: JobId) -> Result<Option<Arc<JobView>>, Problem> {
    match timeout(ANSWER_TIMEOUT, ask.web.owner.ended_job(job)).await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(OwnerGone)) | Err(_) => Err(Problem::from(OwnerGone)),
    }
}

/// The application of the path.
///
/// # Errors
/// `no-such-application`.
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
