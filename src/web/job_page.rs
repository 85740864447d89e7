//! The page of a job: what the start page shows of it, and its attempts where they are open to an unsigned request.

use std::sync::Arc;

use askama::Template;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{Response, StatusCode, Uri};
use tokio::time::timeout;

use crate::api::{JobTasks, TaskAttempt};
use crate::engine::{Caller, ClusterSnapshot, JobSnapshot};
use crate::model::JobId;

use super::cluster_view::ClusterView;
use super::form_body::form_fields;
use super::owner::{MarketPresence, Owner, OwnerGone};
use super::response::{HTML, fresh, text};
use super::rows::Rows;
use super::start_page_rows::{JobRow, cut};
use super::state::{ANSWER_TIMEOUT, WebState};
use super::time_text::{format_duration, format_time};

/// Answers `/jobs/JOB`, with `user.name` as `/scheduler/tasks`.
pub(super) async fn job_page<O: Owner>(
    State(state): State<Arc<WebState<O>>>,
    Path(id): Path<String>,
    uri: Uri,
) -> Response<Body> {
    let fields = form_fields(uri.query().unwrap_or_default().as_bytes()).unwrap_or_default();
    let Ok(id) = id.parse::<JobId>() else {
        return text(StatusCode::BAD_REQUEST, "expected /jobs/JOB, such as /jobs/job_202611211200_0001");
    };
    let view = match ClusterView::of(&state).await {
        Ok(view) => view,
        Err(why) => return text(StatusCode::SERVICE_UNAVAILABLE, why),
    };
    let overview = &view.overview;
    let Some(job) = overview.jobs.iter().find(|job| job.id == id) else {
        let count = overview.jobs.len();
        return text(
            StatusCode::NOT_FOUND,
            format!("{id} is none of the newest {count} jobs; run: jobtracker job status {id}"),
        );
    };
    let is_market_ruling = state.owner.market_presence() == MarketPresence::Ruling;
    let viewer = Caller::named(Arc::from(fields.get("user.name").map(String::as_str).unwrap_or_default()));
    let attempts = match is_market_ruling {
        true => None,
        false => match timeout(ANSWER_TIMEOUT, state.owner.tasks(id, false, Some(viewer), 0)).await {
            Ok(Ok(tasks)) => tasks.ok().flatten(),
            Ok(Err(_)) | Err(_) => return text(StatusCode::SERVICE_UNAVAILABLE, OwnerGone),
        },
    };
    match JobPage::new(overview, job, attempts, is_market_ruling && state.shows_money).render() {
        Ok(html) => view.aged(fresh(StatusCode::OK, HTML, html)),
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, error),
    }
}

/// The input of the template.
#[derive(Template)]
#[template(path = "job.html")]
struct JobPage {
    job: JobRow,
    shows_money: bool,
    /// None if the request does not show who may see them.
    attempts: Option<Rows<AttemptRow>>,
    at: String,
}

/// A row of the table of attempts.
struct AttemptRow {
    id: String,
    task: String,
    state: String,
    worker: String,
    input: String,
    since: String,
    took: String,
    percent: u32,
    status: String,
    /// Address of its logs; none if its worker is gone.
    logs: Option<String>,
}

// === impl JobPage ===

impl JobPage {
    fn new(overview: &ClusterSnapshot, job: &JobSnapshot, tasks: Option<JobTasks>, shows_money: bool) -> Self {
        let at_ms = overview.at_ms;
        JobPage {
            job: JobRow::new(job, at_ms),
            shows_money,
            attempts: tasks.map(|tasks| Rows::new(&tasks.attempts, |attempt| AttemptRow::new(attempt, at_ms))),
            at: format_time(at_ms),
        }
    }
}

// === impl AttemptRow ===

impl AttemptRow {
    fn new(attempt: &TaskAttempt, at_ms: i64) -> Self {
        let TaskAttempt { attempt: id, task, state, worker, http, input, since_ms, finish_ms, percent, status, .. } =
            attempt;
        let end_ms = finish_ms.unwrap_or(at_ms);
        let input = input.as_ref().map(|input| {
            let end_bytes = input.start_bytes.saturating_add(input.length_bytes);
            format!("{} {}..{end_bytes}", cut(&input.file), input.start_bytes)
        });
        AttemptRow {
            id: id.to_string(),
            task: task.clone(),
            state: state.clone(),
            worker: cut(worker.as_deref().unwrap_or_default()),
            input: input.unwrap_or_default(),
            since: format_time(*since_ms),
            took: format_duration(end_ms.saturating_sub(*since_ms)),
            percent: *percent,
            status: cut(status),
            logs: http.as_ref().map(|http| format!("{http}/tasklog?attemptid={id}&all=true")),
        }
    }
}
