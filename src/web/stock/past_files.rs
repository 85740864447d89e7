//! `/gethistory.jsp` leads to `/historyfile`, which answers the history of a job as it is written. Both go by the job's id; no path
//! of a request is opened. `/loadhistory.jsp` and `/legacyjobhistory.jsp` are parts of other pages in 1.2.1.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, StatusCode};

use crate::model::JobId;

use super::super::owner::Owner;
use super::super::response::{fresh, text};
use super::super::state::WebState;
use super::access::{found, viewer};
use super::changes::go_back;
use super::past_job::{lost, named_job};
use super::request::{EarlyAnswer, PageAnswer, PageRequest};

/// Type of raw bytes, as 1.2.1 sends it.
const BYTES: &str = "application/octet-stream; charset=UTF-8";

/// Answers `/legacyjobhistory.jsp`: there are no files of before the present format.
pub(super) async fn legacyjobhistory() -> Response<Body> {
    go_back("jobhistoryhome.jsp")
}

pub(super) async fn gethistory<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> PageAnswer {
    let asked = PageRequest::of(request).await?;
    let id: Option<JobId> = asked.parsed("jobid", "the id of a job")?;
    let id = id.ok_or_else(|| text(StatusCode::BAD_REQUEST, "expected jobid=JOB"))?;
    match place_of(&state, &asked, id).await? {
        None => Err(text(StatusCode::BAD_REQUEST, format_args!("Job {id} not known")).into()),
        Some(None) => Err(text(StatusCode::BAD_REQUEST, format_args!("Job {id} is still in running")).into()),
        Some(Some(log_file)) => Ok(go_back(&format!("/historyfile?logFile={log_file}"))),
    }
}

async fn place_of<O: Owner>(
    state: &WebState<O>,
    asked: &PageRequest,
    id: JobId,
) -> Result<Option<Option<String>>, EarlyAnswer> {
    found(state.owner.stock_history_place(id, viewer(state, asked)?), asked.user(), id).await
}

pub(super) async fn historyfile<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> PageAnswer {
    let asked = PageRequest::of(request).await?;
    if asked.get("logFile").is_none() {
        return Err(text(StatusCode::BAD_REQUEST, "expected logFile=NAME, of a history file").into());
    }
    let id = named_job(&asked)?;
    let read = state.owner.stock_history_file(id, viewer(&state, &asked)?);
    match found(read, asked.user(), id).await? {
        Some(bytes) => Ok(fresh(StatusCode::OK, BYTES, bytes)),
        None => Err(lost(id)),
    }
}

/// Answers `/loadhistory.jsp`, which shows nothing.
pub(super) async fn loadhistory<O: Owner>(State(state): State<Arc<WebState<O>>>, request: Request) -> PageAnswer {
    let asked = PageRequest::of(request).await?;
    let id = named_job(&asked)?;
    match place_of(&state, &asked, id).await? {
        Some(Some(_)) => Ok(fresh(StatusCode::OK, super::super::response::HTML, "")),
        Some(None) | None => Err(lost(id)),
    }
}
