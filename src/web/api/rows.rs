//! The rows of jobs and applications, for lists and the live stream.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::ReportedJob;
use crate::model::JobId;
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
    let mut row = ask.shown.job_row(job, reported, ask.viewer.sees_money());
    row.url = format!("{}{}", ask.web.job_page_prefix, job.id());
    of_kind("job", lasting(&row))
}

/// An application in a list.
pub(super) fn application_row<O>(ask: &Ask<'_, O>, application: &ApplicationView) -> Value {
    let cost = ask.shown.cost_of_application(application).filter(|_| ask.viewer.sees_money());
    lasting(&application.row(cost))
}
