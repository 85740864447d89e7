//! Jobs and applications as far as lists are concerned with both: filters, orders and rows.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::{JobState, ReportedJob};
use crate::model::{Credits, JobId};
use crate::views::{ApplicationView, JobView, Shown};

use super::super::applications::QueryParameters;
use super::answer::lasting;
use super::ask::Ask;
use super::listing::{RowPlace, SortKey};

/// What lists of jobs and applications are ordered by; the first unless it is given.
pub(super) const SORTS: [&str; 6] = ["-started_ms", "finish_ms", "name", "user", "queue", "state"];
/// States of jobs and applications.
pub(super) const STATES: [&str; 7] = ["PREP", "ACCEPTED", "RUNNING", "SUCCEEDED", "FINISHED", "FAILED", "KILLED"];

/// Which jobs or applications are wanted.
#[derive(Clone, Debug, Default)]
pub(super) struct WorkFilter {
    states: Vec<&'static str>,
    users: Vec<String>,
    queues: Vec<String>,
    /// In lower case.
    name: Option<String>,
    since_ms: Option<i64>,
    until_ms: Option<i64>,
}

/// What jobs and applications have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work<'a> {
    pub(super) state: &'a str,
    pub(super) user: &'a str,
    pub(super) queue: &'a str,
    pub(super) name: &'a str,
    pub(super) started_ms: i64,
    pub(super) finish_ms: Option<i64>,
}

impl WorkFilter {
    pub(super) fn read(parameters: &mut QueryParameters, states: &'static [&'static str]) -> Self {
        let expected = format!("one of {}", states.join(", "));
        let state = |text: &str| states.iter().copied().find(|state| *state == text);
        Self {
            states: parameters.parsed_all("state", &expected, state),
            users: parameters.take_all("user"),
            queues: parameters.take_all("queue"),
            name: parameters.take("name").map(|name| name.to_lowercase()),
            since_ms: parameters.whole("since", 0..=i64::MAX.unsigned_abs()),
            until_ms: parameters.whole("until", 0..=i64::MAX.unsigned_abs()),
        }
    }

    pub(super) fn passes(&self, work: Work<'_>) -> bool {
        let is_in = |wanted: &[String], name: &str| wanted.is_empty() || wanted.iter().any(|one| one == name);
        (self.states.is_empty() || self.states.contains(&work.state))
            && is_in(&self.users, work.user)
            && is_in(&self.queues, work.queue)
            && self.name.as_ref().is_none_or(|name| work.name.to_lowercase().contains(name))
            && self.since_ms.is_none_or(|since_ms| work.started_ms >= since_ms)
            && self.until_ms.is_none_or(|until_ms| work.started_ms < until_ms)
    }
}

impl Work<'_> {
    /// Its place in a list; what has not ended comes after what has.
    pub(super) fn place(self, sort: &str, id: String) -> RowPlace {
        let key = match sort {
            "finish_ms" => SortKey::Number(self.finish_ms.unwrap_or(i64::MAX)),
            "name" => SortKey::Text(self.name.to_owned()),
            "user" => SortKey::Text(self.user.to_owned()),
            "queue" => SortKey::Text(self.queue.to_owned()),
            "state" => SortKey::Text(self.state.to_owned()),
            _ => SortKey::Number(self.started_ms),
        };
        RowPlace(key, id)
    }
}

/// A job as far as lists are concerned with it.
pub(super) fn work_of<'a>(shown: &Shown, job: &'a JobView) -> Work<'a> {
    let spec = job.spec();
    let (state, finish_ms) = shown.views.shown_end(job);
    Work {
        state: JobState::of(state).name(),
        user: &spec.user,
        queue: &spec.queue,
        name: &spec.name,
        started_ms: job.submit_ms(),
        finish_ms,
    }
}

/// An application as far as lists are concerned with it.
pub(super) fn work_of_application(application: &ApplicationView) -> Work<'_> {
    let (submitted, standing) = (application.submitted(), application.standing());
    Work {
        state: standing.state.name(),
        user: &submitted.user,
        queue: &submitted.queue,
        name: &submitted.name,
        started_ms: submitted.submitted_ms,
        finish_ms: standing.finished_ms,
    }
}

/// The jobs of the policy's report, by id.
pub(super) fn reported_jobs(shown: &Shown) -> BTreeMap<JobId, &ReportedJob> {
    shown.overview.report.jobs.iter().map(|job| (job.job, job)).collect()
}

pub(super) fn of_kind(kind: &str, mut row: Value) -> Value {
    row["kind"] = kind.into();
    row
}

pub(super) fn job_row<O>(ask: &Ask<'_, O>, job: &JobView, reported: Option<&ReportedJob>) -> Value {
    let spec = job.spec();
    let mut row = ask.shown.job_row(job, reported, ask.viewer.sees_cost_of(&spec.user, &spec.queue));
    row.url = format!("{}{}", ask.web.job_page_prefix, job.id());
    of_kind("job", lasting(&row))
}

pub(super) fn application_row<O>(ask: &Ask<'_, O>, application: &ApplicationView) -> Value {
    lasting(&application.row(cost_of_application(ask, application)))
}

pub(super) fn cost_of_application<O>(ask: &Ask<'_, O>, application: &ApplicationView) -> Option<Credits> {
    let submitted = application.submitted();
    let is_shown = ask.viewer.sees_cost_of(&submitted.user, &submitted.queue);
    ask.shown.cost_of_application(application).filter(|_| is_shown)
}
