//! Jobs and applications in one list, and a job by itself.

use std::sync::Arc;

use crate::api::{JobState, TaskState, TaskTally};
use crate::model::{Kind, PerKind};
use crate::views::{ApplicationView, JobView};

use super::super::applications::{Problem, QueryParameters};
use super::super::owner::Owner;
use super::answer::{Found, lasting};
use super::ask::{Ask, ended_job, known_job};
use super::listing::Listing;
use super::work::{
    SORTS, STATES, WorkFilter, application_row, job_row, of_kind, reported_jobs, work_of, work_of_application,
};

enum Row<'a> {
    Job(&'a Arc<JobView>),
    Application(&'a Arc<ApplicationView>),
}

pub(super) fn jobs<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Found, Problem> {
    let listing = Listing::read(&mut parameters, ask.uri, &SORTS);
    let filter = WorkFilter::read(&mut parameters, &STATES);
    let kinds = ["job", "application"];
    let kind = parameters.parsed("kind", "job or application", |text| kinds.into_iter().find(|kind| *kind == text));
    parameters.end()?;
    let shown = &ask.shown;
    let jobs = shown.views.jobs().filter(|_| kind != Some("application")).filter_map(|job| {
        let work = work_of(shown, job);
        filter.passes(work).then(|| (work.place(listing.sort(), job.id().to_string()), Row::Job(job)))
    });
    let applications = shown.views.applications().filter(|_| kind != Some("job")).filter_map(|application| {
        let work = work_of_application(application);
        let place = || work.place(listing.sort(), application.id().to_string());
        filter.passes(work).then(|| (place(), Row::Application(application)))
    });
    let reported = reported_jobs(shown);
    Ok(listing.page(jobs.chain(applications), |row| match row {
        Row::Job(job) => job_row(ask, job, reported.get(&job.id()).copied()),
        Row::Application(application) => of_kind("application", application_row(ask, application)),
    }))
}

pub(super) async fn job<O: Owner>(ask: &Ask<'_, O>, parameters: QueryParameters) -> Result<Found, Problem> {
    parameters.end()?;
    let job = known_job(ask)?;
    let reported = ask.shown.overview.report.jobs.iter().find(|reported| reported.job == job.id());
    let mut found = job_row(ask, &job, reported);
    let (state, _) = ask.shown.views.shown_end(&job);
    if found.get("tasks").is_none()
        && let Some(ended) = ended_job(ask, job.id()).await?
    {
        let tally = |kind| tally_of_ended(&ended, kind);
        found["tasks"] = lasting(&PerKind::new(tally(Kind::Map), tally(Kind::Reduce)));
    }
    if let Some(output) = job.spec().output.as_ref().filter(|_| ask.viewer.sees_parts_of(&job.spec().user)) {
        found["output"] = output.as_str().into();
    }
    found["is_over"] = JobState::of(state).is_finished().into();
    Ok(Found::One(found))
}

/// The tasks of a job that failed or was killed.
fn tally_of_ended(job: &JobView, kind: Kind) -> TaskTally {
    let mut tally = TaskTally { total: job.total()[kind], ..TaskTally::default() };
    for (state, tasks) in job.task_runs(kind, true) {
        match state {
            TaskState::Succeeded => tally.finished += tasks,
            TaskState::Failed => tally.failed += tasks,
            _ => tally.stopped += tasks,
        }
    }
    tally
}
