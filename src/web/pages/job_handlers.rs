//! The handlers of a job's pages: of the job itself, its attempts, a task, an attempt, the timeline.

use std::str::FromStr;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::Response;
use tokio::time::timeout;

use crate::api::{JobCounter, JobDetail};
use crate::engine::JobSnapshot;
use crate::model::{AttemptId, JobId, TaskId};

use super::super::owner::Owner;
use super::super::signed_request::HttpRequest;
use super::super::state::{ANSWER_TIMEOUT, WebState};
use super::asked::Asked;
use super::attempt_rows::{attempt_page, attempts_page, task_page, tasks_page, timeline_page};
use super::error::Refused;
use super::handlers::{Shared, jobs_of, shown};
use super::job::{Details, job_page};
use super::job_filter::JobFilter;
use super::job_records::{Beside, MOST_EVENTS, conf_page, counters_page, events_page};
use super::viewer::View;

/// The newest jobs whose attempts are shown together.
const JOBS_TOGETHER: usize = 20;

fn id<I: FromStr>(text: &str, what: &str, like: &str) -> Result<I, Refused> {
    text.parse().map_err(|_| Refused::unknown(what, text, Some(format!("an id such as {like}"))))
}

async fn job_of<O: Owner>(state: &WebState<O>, id: JobId) -> Result<JobSnapshot, Refused> {
    let filter = JobFilter { job: Some(id), ..JobFilter::default() };
    let (found, _) = jobs_of(state, filter, 1).await?;
    let unknown = || Refused::unknown("job", &id.to_string(), Some(format!("jobtracker job status {id}")));
    found.into_iter().next().ok_or_else(unknown)
}

async fn details_of<O: Owner>(state: &WebState<O>, view: &View, id: JobId) -> Result<Details, Refused> {
    match timeout(ANSWER_TIMEOUT, state.owner.job_detail(id, view.caller())).await {
        Ok(Ok(Ok(Some(detail)))) => Ok(Ok(detail)),
        Ok(Ok(Ok(None))) => Ok(Err("its attempts are not kept any more".to_owned())),
        Ok(Ok(Err(refusal))) => Ok(Err(refusal.to_string())),
        Ok(Err(_)) | Err(_) => Err(Refused::unavailable("the attempts were not read in time".to_owned())),
    }
}

/// A job with its details, of which the page is made.
async fn open<O: Owner>(state: &WebState<O>, view: &View, id: JobId) -> Result<(JobSnapshot, JobDetail), Refused> {
    let job = job_of(state, id).await?;
    match details_of(state, view, id).await? {
        Ok(detail) => Ok((job, detail)),
        Err(why) => Err(Refused {
            detail: why,
            ..Refused::unknown(
                "list of attempts open to this request, of",
                &id.to_string(),
                Some(format!("jobtracker job tasks {id}")),
            )
        }),
    }
}

pub(super) async fn job<O: Owner>(
    State(state): Shared<O>,
    Path(text): Path<String>,
    request: HttpRequest,
) -> Response<Body> {
    shown(&state, &request, async |view, _| {
        let job = job_of(&state, id(&text, "job", "job_202611211200_0001")?).await?;
        Ok(job_page(view, &job, &details_of(&state, view, job.id).await?))
    })
    .await
}

pub(super) async fn tasks<O: Owner>(
    State(state): Shared<O>,
    Path(text): Path<String>,
    request: HttpRequest,
) -> Response<Body> {
    shown(&state, &request, async |view, asked| {
        let (job, detail) = open(&state, view, id(&text, "job", "job_202611211200_0001")?).await?;
        tasks_page(view, asked, &job, &detail)
    })
    .await
}

pub(super) async fn timeline<O: Owner>(
    State(state): Shared<O>,
    Path(text): Path<String>,
    request: HttpRequest,
) -> Response<Body> {
    shown(&state, &request, async |view, asked| {
        let (job, detail) = open(&state, view, id(&text, "job", "job_202611211200_0001")?).await?;
        timeline_page(view, asked, &job, &detail)
    })
    .await
}

/// A job whose parts are open to this request.
async fn open_parts<O: Owner>(state: &WebState<O>, view: &View, text: &str) -> Result<JobSnapshot, Refused> {
    let (job, _) = open(state, view, id(text, "job", "job_202611211200_0001")?).await?;
    Ok(job)
}

/// The other job that is asked for, whose parts must be open to this request too, with what is read of it.
async fn beside<O: Owner, T>(
    state: &WebState<O>,
    view: &View,
    asked: &mut Asked,
    read: impl AsyncFnOnce(JobId) -> Result<T, Refused>,
) -> Result<Beside<T>, Refused> {
    let Some(text) = asked.take("with") else { return Ok(None) };
    let other = open_parts(state, view, text.trim()).await?.id;
    Ok(Some((other, read(other).await?)))
}

async fn counters_of<O: Owner>(state: &WebState<O>, id: JobId) -> Result<Vec<JobCounter>, Refused> {
    let counters = Refused::unless_read(state.owner.job_counters(id), "the counters were").await?;
    counters.ok_or_else(|| Refused::unknown("job", &id.to_string(), None))
}

async fn conf_of<O: Owner>(state: &WebState<O>, id: JobId) -> Result<Vec<(String, String)>, Refused> {
    // Without a viewer the owner is not asked: who may see it was judged before.
    match timeout(ANSWER_TIMEOUT, state.owner.stock_conf(id, None)).await {
        Ok(Ok(found)) => Ok(found.ok().flatten().unwrap_or_default()),
        Ok(Err(_)) | Err(_) => Err(Refused::unavailable("the configuration was not read in time".to_owned())),
    }
}

pub(super) async fn counters<O: Owner>(
    State(state): Shared<O>,
    Path(text): Path<String>,
    request: HttpRequest,
) -> Response<Body> {
    shown(&state, &request, async |view, asked| {
        let job = open_parts(&state, view, &text).await?;
        let beside = beside(&state, view, asked, async |other| counters_of(&state, other).await).await?;
        Ok(counters_page(asked, &job, &counters_of(&state, job.id).await?, &beside))
    })
    .await
}

pub(super) async fn conf<O: Owner>(
    State(state): Shared<O>,
    Path(text): Path<String>,
    request: HttpRequest,
) -> Response<Body> {
    shown(&state, &request, async |view, asked| {
        let job = open_parts(&state, view, &text).await?;
        let beside = beside(&state, view, asked, async |other| conf_of(&state, other).await).await?;
        Ok(conf_page(asked, &job, &conf_of(&state, job.id).await?, &beside))
    })
    .await
}

pub(super) async fn events<O: Owner>(
    State(state): Shared<O>,
    Path(text): Path<String>,
    request: HttpRequest,
) -> Response<Body> {
    shown(&state, &request, async |view, asked| {
        let job = open_parts(&state, view, &text).await?;
        let first = asked.take("from").map(|from| from.parse::<usize>()).transpose();
        let first = first.map_err(|_| Refused::unknown("number of an event", "that is asked for", None))?.unwrap_or(0);
        let read = state.owner.job_events(job.id, first, MOST_EVENTS + 1);
        Ok(events_page(asked, &job, first, &Refused::unless_read(read, "the events were").await?))
    })
    .await
}

pub(super) async fn task<O: Owner>(
    State(state): Shared<O>,
    Path(text): Path<String>,
    request: HttpRequest,
) -> Response<Body> {
    shown(&state, &request, async |view, _| {
        let task: TaskId = id(&text, "task", "task_202611211200_0001_m_000000")?;
        let (job, detail) = open(&state, view, task.job).await?;
        task_page(view, task, &job, &detail)
    })
    .await
}

pub(super) async fn attempt<O: Owner>(
    State(state): Shared<O>,
    Path(text): Path<String>,
    request: HttpRequest,
) -> Response<Body> {
    shown(&state, &request, async |view, _| {
        let attempt: AttemptId = id(&text, "attempt", "attempt_202611211200_0001_m_000000_0")?;
        let (job, detail) = open(&state, view, attempt.task.job).await?;
        attempt_page(view, attempt, &job, &detail)
    })
    .await
}

pub(super) async fn attempts<O: Owner>(State(state): Shared<O>, request: HttpRequest) -> Response<Body> {
    shown(&state, &request, async |view, asked| {
        let job = asked.take("job").map(|text| id(&text, "job", "job_202611211200_0001")).transpose()?;
        let (jobs, _) = jobs_of(&state, JobFilter { job, ..JobFilter::default() }, JOBS_TOGETHER).await?;
        let mut details = Vec::new();
        for job in jobs {
            if let Ok(detail) = details_of(&state, view, job.id).await? {
                details.push((job, detail));
            }
        }
        attempts_page(view, asked, &details)
    })
    .await
}
