//! Jobs and applications in one list, a job by itself, and why it has no more slots: the explanation as far as it is shown.

use std::sync::Arc;

use serde_json::Value;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::api::{Explanation, JobState, PolicyName, TaskState, TaskTally, WhyLine};
use crate::model::{Kind, PerKind};
use crate::views::{ApplicationView, JobView};

use super::super::applications::{Problem, ProblemName, QueryParameters};
use super::super::owner::{Owner, OwnerGone};
use super::super::state::ANSWER_TIMEOUT;
use super::answer::{Content, lasting};
use super::ask::{Ask, ended_job, known_job};
use super::listing::Listing;
use super::work::{
    SORTS, STATES, WorkFilter, application_row, job_row, of_kind, reported_jobs, work_of, work_of_application,
};

enum ListedWork<'a> {
    Job(&'a Arc<JobView>),
    Application(&'a Arc<ApplicationView>),
}

pub(super) fn jobs<O: Owner>(ask: &Ask<'_, O>, mut parameters: QueryParameters) -> Result<Content, Problem> {
    let listing = Listing::read(&mut parameters, ask.uri, &SORTS);
    let filter = WorkFilter::read(&mut parameters, &STATES);
    let kinds = ["job", "application"];
    let kind = parameters.parsed("kind", "job or application", |text| kinds.into_iter().find(|kind| *kind == text));
    parameters.end()?;
    let shown = &ask.shown;
    let jobs = shown.views.jobs().filter(|_| kind != Some("application")).filter_map(|job| {
        let work = work_of(shown, job);
        filter.passes(work).then(|| (work.place(listing.sort(), job.id().to_string()), ListedWork::Job(job)))
    });
    let applications = shown.views.applications().filter(|_| kind != Some("job")).filter_map(|application| {
        let work = work_of_application(application);
        let place = || work.place(listing.sort(), application.id().to_string());
        filter.passes(work).then(|| (place(), ListedWork::Application(application)))
    });
    let reported = reported_jobs(shown);
    Ok(listing.page(jobs.chain(applications), |row| match row {
        ListedWork::Job(job) => job_row(ask, job, reported.get(&job.id()).copied()),
        ListedWork::Application(application) => of_kind("application", application_row(ask, application)),
    }))
}

pub(super) async fn job<O: Owner>(ask: &Ask<'_, O>, parameters: QueryParameters) -> Result<Content, Problem> {
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
    Ok(Content::One(found))
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

/// Members of what holds slots that say what other queues have bought.
const OF_QUOTAS: [&str; 3] = ["others_above_quota", "others_unpaid", "others_within_quota"];

pub(super) async fn explain<O: Owner>(ask: &Ask<'_, O>, parameters: QueryParameters) -> Result<Content, Problem> {
    parameters.end()?;
    let job = known_job(ask)?;
    ask.check_parts_of_job(&job).await?;
    let last = match timeout(ANSWER_TIMEOUT, ask.web.owner.last_explanation(job.id())).await {
        Ok(Ok(last)) => last,
        Ok(Err(OwnerGone)) | Err(_) => return Err(Problem::from(OwnerGone)),
    };
    let Some(last) = last else { return Err(not_known_yet(ask, &job.id().to_string())) };
    // The search for the rate of one more slot takes many allocations.
    let explanation = spawn_blocking(move || last.finish().cloned()).await;
    let explanation = explanation.map_err(|error| Problem::new(ProblemName::InternalError, error.to_string()))?;
    let explanation = explanation.ok_or_else(|| {
        let detail = format!("{} is over, and nothing of its slots is remembered", job.id());
        Problem::new(ProblemName::NoSuchJob, detail).with_try(format!("/api/v1/jobs/{}/waits", job.id()))
    })?;
    Ok(Content::One(shown(ask, explanation)))
}

fn not_known_yet<O: Owner>(ask: &Ask<'_, O>, job: &str) -> Problem {
    if !ask.web.owner.is_live() {
        let detail = "no JobTracker runs here: only one that assigns slots knows why a job has no more of them";
        return Problem::new(ProblemName::NoSuchAddress, detail).with_try(format!("/api/v1/jobs/{job}/waits"));
    }
    let detail = format!("the explanation of {job} was not made in time: many jobs are explained at once");
    Problem::new(ProblemName::Unavailable, detail).with_try(format!("jobtracker explain {job}"))
}

/// As the viewer may see it: names of other queues are for administrators, money is that of the viewer's queue.
fn shown<O>(ask: &Ask<'_, O>, mut explanation: Explanation) -> Value {
    let viewer = &ask.viewer;
    // It may be of a moment at which another scheduler ruled than the one that is shown.
    let is_market = ask.shown.overview.report.policy == PolicyName::Dynamic || explanation.is_of_market();
    let sees_money = viewer.sees_money_of(&explanation.queue);
    if !viewer.sees_all_money() {
        explanation.hide_names();
    }
    if !viewer.sees_cost_of(&explanation.user, &explanation.queue) {
        explanation.cost = None;
    }
    if !sees_money {
        explanation.order = None;
    }
    if is_market && !sees_money {
        explanation.hide_market();
    }
    let line = |reason: &_| WhyLine { text: ToString::to_string(reason), reason: Clone::clone(reason) };
    let why: Vec<WhyLine> = explanation.why.iter().map(line).collect();
    let last_round_ms = explanation.preemption.as_ref().and_then(|preempted| Some(preempted.last.as_ref()?.at_ms));
    let mut found = lasting(&explanation);
    found["why"] = lasting(&why);
    // It is the moment of the round, not of the reading.
    if let (Some(at_ms), Some(last)) = (last_round_ms, found.pointer_mut("/preemption/last")) {
        last["at_ms"] = at_ms.into();
    }
    for holders in ["/slots/map", "/slots/reduce"] {
        let members = found.pointer_mut(holders).and_then(Value::as_object_mut).filter(|_| is_market && !sees_money);
        members.into_iter().for_each(|members| members.retain(|name, _| !OF_QUOTAS.contains(&name.as_str())));
    }
    found
}
