//! The rows of jobs and applications, for lists and the live stream.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::ReportedJob;
use crate::model::{Credits, JobId};
use crate::views::{ApplicationView, JobView, Shown};

use super::answer::lasting;
use super::ask::Ask;

/// The jobs of the policy's report, by id.
pub(super) fn reported_jobs(shown: &Shown) -> BTreeMap<JobId, &ReportedJob> {
    shown.overview.report.jobs.iter().map(|job| (job.job, job)).collect()
}

/// The same with what it is.
pub(super) fn of_kind(kind: &str, mut row: Value) -> Value {
    row["kind"] = kind.into();
    row
}

/// A job in a list.
pub(super) fn job_row<O>(ask: &Ask<'_, O>, job: &JobView, reported: Option<&ReportedJob>) -> Value {
    let spec = job.spec();
    let mut row = ask.shown.job_row(job, reported, ask.viewer.sees_cost_of(&spec.user, &spec.queue));
    row.url = format!("{}{}", ask.web.job_page_prefix, job.id());
    of_kind("job", lasting(&row))
}

/// An application in a list.
pub(super) fn application_row<O>(ask: &Ask<'_, O>, application: &ApplicationView) -> Value {
    lasting(&application.row(cost_of_application(ask, application)))
}

/// What an application has cost, if that is shown.
pub(super) fn cost_of_application<O>(ask: &Ask<'_, O>, application: &ApplicationView) -> Option<Credits> {
    let submitted = application.submitted();
    let is_shown = ask.viewer.sees_cost_of(&submitted.user, &submitted.queue);
    ask.shown.cost_of_application(application).filter(|_| is_shown)
}
